//! A copy from its beginning, or from the saved key, to its verified end.

use std::ops::Bound;
use std::path::PathBuf;

use cairndb_store::{Entries, Entry, ErrorKind, Read, Scan, Snapshot, Value};

use super::batches::Batches;
use super::lockstep::{Lockstep, Pair};
use super::pace::Pace;
use super::state::{self, State};
use super::verify::verify;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::store::{Access, Opened, identity, open};
use crate::transfer::Contents;
use crate::transfer::saved::{Base64Bytes, Saved};

/// What messages call the arguments.
const FROM: &str = "FROM-URL";
const TO: &str = "TO-URL";

/// What is to be copied.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The file for the position, if it is not the usual one.
    pub(crate) state: Option<PathBuf>,
    /// Whether the target may hold entries already; those that the source does not hold are
    /// deleted.
    pub(crate) overwrite: bool,
    pub(crate) restart: bool,
    /// Bytes of entries between two saves.
    pub(crate) save_bytes: u64,
    /// Bytes of entries a second.
    pub(crate) rate: Option<u64>,
}

/// What a copy has done.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) from: String,
    pub(crate) to: String,
    /// What both stores hold.
    pub(crate) contents: Contents,
    /// Keys that were written or deleted in the target.
    pub(crate) changed: u64,
}

/// Copies all entries, and compares both stores.
pub(crate) fn copy(job: &Job) -> Result<Copied, Failure> {
    let source = open(FROM, &job.from, Access::Read)?;
    if source.identity == identity(TO, &job.to)? {
        return Err(Failure::Usage(format!(
            "{FROM} and {TO} are the same store"
        )));
    }
    let target = open(TO, &job.to, Access::Create)?;
    let saved = state::file(&target, job.state.as_ref());
    if job.restart {
        saved.remove()?;
    }
    let view = View::of(&source)?;
    let mut copier = Copier::begin(job, &saved, &source, &target)?;
    copier.run(view.reader(&source))?;
    let (state, mut pace) = copier.end();
    let from = (view.reader(&source), &source);
    let contents = verify(from, &target, state.copied.bytes, &mut pace)?;
    drop(view);
    target.close()?;
    source.close()?;
    saved.remove()?;
    Ok(Copied {
        from: source.name,
        to: target.name,
        contents,
        changed: state.changed,
    })
}

/// One state of the source, if it has snapshots: what is copied is then also what is compared,
/// although others write.
struct View(Option<Box<dyn Snapshot>>);

impl View {
    fn of(source: &Opened) -> Result<View, Failure> {
        match source.store.snapshot() {
            Ok(snapshot) => Ok(View(Some(snapshot))),
            Err(error) if error.kind() == ErrorKind::NotSupported => Ok(View(None)),
            Err(error) => Err(source.failure()(error)),
        }
    }

    fn reader<'a>(&'a self, source: &'a Opened) -> &'a dyn Read {
        match &self.0 {
            Some(snapshot) => &**snapshot,
            None => source.reader(),
        }
    }
}

struct Copier<'a> {
    saved: &'a Saved,
    save_bytes: u64,
    source: &'a Opened,
    target: &'a Opened,
    /// Whether the target may hold entries after the last key.
    is_merge: bool,
    state: State,
    batches: Batches<'a>,
    pace: Pace,
    progress: Progress,
    /// The last key that was read.
    last: Option<Vec<u8>>,
    /// Bytes of the source that the last save covers.
    saved_bytes: u64,
    /// Bytes since the last batch.
    read_bytes: u64,
}

impl<'a> Copier<'a> {
    /// Continues after the saved key, or begins.
    fn begin(
        job: &Job,
        saved: &'a Saved,
        source: &'a Opened,
        target: &'a Opened,
    ) -> Result<Copier<'a>, Failure> {
        let begun = saved.load::<State>()?;
        let is_resumed = begun.is_some();
        let state = match begun {
            Some(state) => {
                check(&state, saved, source, target)?;
                state
            }
            None => {
                if !job.overwrite {
                    check_empty(target)?;
                }
                let state = State {
                    from: source.identity.clone(),
                    to: target.identity.clone(),
                    ..State::default()
                };
                saved.save(&state)?;
                state
            }
        };
        let pace = Pace::new(job.rate);
        Ok(Copier {
            saved,
            save_bytes: job.save_bytes,
            source,
            target,
            is_merge: is_resumed || job.overwrite,
            batches: Batches::new(target, |most| pace.batch_bytes(most)),
            pace,
            progress: Progress::begin("copying"),
            last: state.last.as_ref().map(|key| key.0.clone()),
            saved_bytes: state.copied.bytes,
            read_bytes: 0,
            state,
        })
    }

    /// Copies the entries after the last key. Saves the position also if that fails.
    fn run(&mut self, reader: &dyn Read) -> Result<(), Failure> {
        let after = self.last.clone();
        let scan = match &after {
            None => Scan::all(),
            Some(key) => Scan::range((Bound::Excluded(key.as_slice()), Bound::Unbounded)),
        };
        let from = reader.scan(&scan).map_err(self.source.failure())?;
        let to = match self.is_merge {
            true => {
                let scanned = self.target.reader().scan(&scan);
                scanned.map_err(self.target.failure())?
            }
            false => Entries::new(std::iter::empty()),
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

    fn end(self) -> (State, Pace) {
        (self.state, self.pace)
    }

    /// Makes the target hold what the source does for one key.
    fn take(&mut self, pair: Pair) -> Result<(), Failure> {
        let key = match pair {
            Pair::Source(entry) => self.put(entry)?,
            Pair::Both { entry, found } if entry.1 != found => self.put(entry)?,
            Pair::Both {
                entry: (key, value),
                ..
            } => {
                self.count(&key, &value);
                key
            }
            Pair::Target((key, _)) => {
                self.make_room(key.len())?;
                self.batches.delete(&key);
                self.state.changed += 1;
                key
            }
        };
        self.progress.entry(|| None);
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(&key);
        if self.state.copied.bytes - self.saved_bytes >= self.save_bytes {
            self.save()?;
        }
        Ok(())
    }

    /// Puts an entry, and returns its key.
    fn put(&mut self, (key, value): Entry) -> Result<Value, Failure> {
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

    fn count(&mut self, key: &[u8], value: &[u8]) {
        self.state.copied.add(key, value);
        self.read_bytes += key.len() as u64 + value.len() as u64;
    }

    /// Writes the batch if `bytes` more would not fit.
    fn make_room(&mut self, bytes: usize) -> Result<(), Failure> {
        match self.batches.has_room(bytes) {
            true => Ok(()),
            false => self.write(),
        }
    }

    /// Writes the batch, at the pace that was asked for.
    fn write(&mut self) -> Result<(), Failure> {
        self.pace.spend(std::mem::take(&mut self.read_bytes));
        self.batches.write()?;
        self.progress.update(None);
        Ok(())
    }

    /// Makes what was written durable, and saves the position.
    fn save(&mut self) -> Result<(), Failure> {
        self.write()?;
        let synced = self.target.store.sync();
        synced.map_err(self.target.failure())?;
        self.state.last = self.last.clone().map(Base64Bytes);
        self.saved_bytes = self.state.copied.bytes;
        self.saved.save(&self.state)
    }
}

/// Checks that a saved position belongs to these stores, and that the target still holds its key.
fn check(state: &State, saved: &Saved, source: &Opened, target: &Opened) -> Result<(), Failure> {
    let file = saved.path().display();
    if (&state.from, &state.to) != (&source.identity, &target.identity) {
        return Err(Failure::Other(format!(
            "{file} was left by a copy from {} to {}; finish that one, name another file with \
             --state, or begin again with --restart",
            state.from, state.to
        )));
    }
    let held = match &state.last {
        // An overwriting copy may have ended with keys that it deleted.
        Some(key) if state.copied.entries > 0 => {
            let held = target
                .reader()
                .scan(&Scan::range(..=key.0.as_slice()).limit(1));
            let mut held = held.map_err(target.failure())?;
            held.next().transpose().map_err(target.failure())?.is_some()
        }
        _ => true,
    };
    if held {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "{} is empty, but {file} says that entries were copied into it; begin again with --restart",
        target.name
    )))
}

fn check_empty(target: &Opened) -> Result<(), Failure> {
    let first = target.reader().scan(&Scan::all().limit(1));
    let mut first = first.map_err(target.failure())?;
    match first.next().transpose().map_err(target.failure())? {
        None => Ok(()),
        Some(_) => Err(Failure::Other(format!(
            "{} holds entries already; pass --overwrite to replace them by those of the source, \
             and to delete those that it does not hold",
            target.name
        ))),
    }
}
