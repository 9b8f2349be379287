//! The first part of a copy: entries are read from the source and written to the target.

use cairndb_store::{Entries, Entry, Read, Scan, Value};

use super::batches::Batches;
use super::lockstep::{Lockstep, Pair};
use super::pace::Pace;
use super::state::{CopyState, check, check_empty};
use crate::arguments::Copy;
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::range::Range;
use crate::store::Opened;
use crate::transfer::saved::Saved;

/// Bytes of entries between two waits, at most.
const STEP_BYTES: usize = 64 << 10;

/// The work of one command.
pub(super) struct Copier<'a> {
    saved: &'a Saved,
    save_bytes: u64,
    range: &'a Range,
    source: &'a Opened,
    target: &'a Opened,
    /// Whether the target may hold entries after the last key.
    is_merge: bool,
    state: CopyState,
    /// The state before the first write, until it is saved: a copy that has written nothing leaves
    /// no position.
    begun: Option<CopyState>,
    batches: Batches<'a>,
    pace: Pace,
    progress: Progress,
    /// The last key that was read.
    last: Option<Vec<u8>>,
    /// Bytes of entries, of either store, since the last save.
    unsaved_bytes: u64,
    /// Bytes that were read since the last wait.
    read_bytes: u64,
    /// Bytes after which to wait, also if nothing is written.
    step_bytes: u64,
}

impl<'a> Copier<'a> {
    /// Continues after the saved key, or begins.
    pub(super) fn begin(
        (job, range): (&Copy, &'a Range),
        saved: &'a Saved,
        source: &'a Opened,
        target: &'a Opened,
    ) -> Result<Copier<'a>> {
        let found = saved.load::<CopyState>()?;
        let is_resumed = found.is_some();
        let mut state = if let Some(state) = found {
            check(&state, range, saved, source, target)?;
            state
        } else {
            if !job.overwrite {
                check_empty(target, range)?;
            }
            CopyState {
                from: source.identity.clone(),
                to: target.identity.clone(),
                range: range.clone(),
                ..CopyState::default()
            }
        };
        state.overwrite |= job.overwrite;
        let pace = Pace::new(job.rate_limit);
        Ok(Copier {
            saved,
            save_bytes: job.save_every,
            range,
            source,
            target,
            is_merge: is_resumed || state.overwrite,
            step_bytes: pace.batch_bytes(STEP_BYTES) as u64,
            batches: Batches::new(target, |most| pace.batch_bytes(most)),
            pace,
            progress: Progress::begin("copying"),
            last: state.last.clone(),
            unsaved_bytes: 0,
            read_bytes: 0,
            begun: Some(state.clone()),
            state,
        })
    }

    /// Copies the entries after the last key. Saves the position also if that fails.
    pub(super) fn run(&mut self, reader: &dyn Read) -> Result<()> {
        let after = self.last.clone();
        let scan = Scan::range(match &after {
            None => self.range.bounds(),
            Some(key) => self.range.bounds_after(key),
        });
        let from = reader.scan(&scan).map_err(self.source.failure())?;
        let to = if self.is_merge {
            self.target.scan(&scan)?
        } else {
            Entries::new(std::iter::empty())
        };
        let mut pairs = Lockstep::begin((from, self.source), (to, self.target))?;
        let read = loop {
            match pairs.advance() {
                // After a failed write, the batch still holds what failed, and nothing is saved.
                Ok(Some(pair)) => self.take(pair)?,
                Ok(None) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        self.save()?;
        read
    }

    pub(super) fn end(self) -> (CopyState, Pace) {
        (self.state, self.pace)
    }

    /// Makes the target hold what the source does for one key.
    fn take(&mut self, pair: Pair) -> Result<()> {
        let key = match pair {
            Pair::Source(entry) => self.put(entry)?,
            Pair::Both { entry, found } if entry.1 != found => {
                self.check_overwrite(&entry.0, "another value of the key")?;
                self.put(entry)?
            }
            Pair::Both {
                entry: (key, value),
                ..
            } => {
                self.count(&key, &value);
                key
            }
            Pair::Target((key, value)) => {
                self.check_overwrite(&key, "a key that the source lacks,")?;
                self.make_room(key.len())?;
                self.batches.delete(&key);
                self.spend(key.len() + value.len());
                self.state.changed += 1;
                key
            }
        };
        self.progress.entry(|| None)?;
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(&key);
        if self.unsaved_bytes >= self.save_bytes {
            self.save()?;
        }
        Ok(())
    }

    /// Checks that the copy may replace or delete what the target holds. A continued copy has
    /// written entries after its last key, but they are those of the source.
    fn check_overwrite(&mut self, key: &[u8], held: &str) -> Result<()> {
        if self.state.overwrite {
            return Ok(());
        }
        // What precedes the key is good.
        self.save()?;
        let (name, key) = (&self.target.name, escaped(key));
        Err(Failure::other(format!(
            "{name} holds {held} \"{key}\": something else has written to one of the stores since \
             the copy was interrupted; pass --restart --overwrite to replace what {name} holds \
             with the entries of {}",
            self.source.name
        )))
    }

    /// Puts an entry, and returns its key.
    fn put(&mut self, (key, value): Entry) -> Result<Value> {
        self.make_room(key.len() + value.len())?;
        if let Err(failure) = self.batches.put(&key, &value) {
            // What precedes the entry is good.
            self.save()?;
            return Err(failure);
        }
        self.count(&key, &value);
        self.state.changed += 1;
        Ok(key)
    }

    /// Counts an entry of the source.
    fn count(&mut self, key: &[u8], value: &[u8]) {
        self.state.copied.add(key, value);
        self.spend(key.len() + value.len());
    }

    /// Counts bytes of entries, at the pace that was asked for.
    fn spend(&mut self, bytes: usize) {
        self.unsaved_bytes += bytes as u64;
        self.read_bytes += bytes as u64;
        if self.read_bytes >= self.step_bytes {
            self.pace.spend(std::mem::take(&mut self.read_bytes));
        }
    }

    /// Writes the batch if `bytes` more would not fit.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if self.batches.has_room(bytes) {
            Ok(())
        } else {
            self.write()
        }
    }

    /// Writes the batch, at the pace that was asked for.
    fn write(&mut self) -> Result<()> {
        self.pace.spend(std::mem::take(&mut self.read_bytes));
        if self.batches.is_empty() {
            return Ok(());
        }
        if let Some(begun) = self.begun.take() {
            self.saved.save(&begun)?;
        }
        self.batches.write()?;
        self.progress.update(None);
        Ok(())
    }

    /// Makes what was written durable, and saves the position, if there is one.
    fn save(&mut self) -> Result<()> {
        if self.last.is_none() {
            return Ok(());
        }
        self.write()?;
        let synced = self.target.store.sync();
        synced.map_err(self.target.failure())?;
        self.state.last.clone_from(&self.last);
        self.unsaved_bytes = 0;
        self.saved.save(&self.state)
    }
}
