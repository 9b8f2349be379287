//! Operations that must not change any result: flushes, compactions, checkpoints, closing and
//! reopening.

use std::ops::{Bound, Range};
use std::path::Path;

use cairndb::env::Env;
use cairndb::{ErrorKind, Job, destroy, verify};

use crate::config::Place;
use crate::keyspaces::Opened;
use crate::op::{Closing, End, Target, Walk};
use crate::runner::{Outcome, Runner, ensure, failed};

impl Runner<'_> {
    fn next_path(&mut self) -> std::path::PathBuf {
        self.paths += 1;
        self.config.path(self.root.as_ref(), self.paths - 1)
    }

    pub(crate) fn flush(&mut self) -> Outcome {
        self.unlogged = false;
        self.db().flush().map_err(failed)
    }

    pub(crate) fn compact(&mut self, low: End, high: End) -> Outcome {
        // A range whose end comes before its start is empty.
        let (low, high) = (self.bound(low), self.bound(high));
        let bounds = (low.map(|key| &**key), high.map(|key| &**key));
        if let Some(keyspace) = self.keyspace() {
            return keyspace.compact_range(bounds).map_err(failed);
        }
        self.db().compact_range(bounds).map_err(failed)?;
        self.unlogged = false;
        Ok(())
    }

    pub(crate) fn step(&mut self, job: Job) -> Outcome {
        self.db().step_background(job).map(drop).map_err(failed)
    }

    pub(crate) fn size(&mut self, low: u32, high: u32) -> Outcome {
        let (low, high) = (self.bytes(low), self.bytes(high));
        let size = |range: Range<Option<&[u8]>>| match self.keyspace() {
            None => self.db().approximate_size(bounds(range)),
            Some(keyspace) => keyspace.approximate_size(bounds(range)),
        };
        let whole = size(None..None).map_err(failed)?;
        let part = size(Some(low)..Some(high)).map_err(failed)?;
        let before = size(None..Some(low)).map_err(failed)?;
        let after = size(Some(low)..None).map_err(failed)?;
        if self.config.place == Place::Stepped {
            ensure!(
                part <= whole,
                "a part of {part} bytes in a whole of {whole}"
            );
            let adds_up = before + after == whole;
            ensure!(adds_up, "{before} bytes and {after} make {whole}");
        }
        Ok(())
    }

    pub(crate) fn property(&mut self, number: u8) -> Outcome {
        let names = [
            "leveldb.stats",
            "leveldb.sstables",
            "leveldb.approximate-memory-usage",
            "leveldb.num-files-at-level0",
            "cairndb.memory",
            "cairndb.space",
            "cairndb.stalls",
            "cairndb.stats",
        ];
        let name = names[usize::from(number)];
        ensure!(self.db().property(name).is_some(), "{name} is unknown");
        Ok(())
    }

    /// Creates a checkpoint, verifies, opens and compares it, and removes it.
    pub(crate) fn checkpoint(&mut self) -> Outcome {
        let path = self.next_path();
        self.db().checkpoint(&path).map_err(failed)?;
        self.unlogged = false;
        verify(&path, &self.options()).map_err(failed)?;
        let copy = self.open_at(&path)?;
        ensure!(copy.db.open_report().clean, "the checkpoint is not clean");
        let ours = self.open.replace(copy);
        let compared = self.in_each(|runner| runner.scan(None, false));
        let Opened { db: copy, .. } = std::mem::replace(&mut self.open, ours).expect("it is open");
        compared?;
        copy.put(b"own life", b"begins").map_err(failed)?;
        copy.close().map_err(failed)?;
        drop(copy);
        destroy(&path, &self.options()).map_err(failed)
    }

    pub(crate) fn reopen(&mut self, closing: Closing) -> Outcome {
        let old = self.path.clone();
        let killed = closing == Closing::Kill && self.config.place == Place::Stepped;
        if killed {
            if self.unlogged {
                self.flush()?;
            }
            self.path = self.next_path();
            copy_files(self.env.as_deref(), &old, &self.path).map_err(failed)?;
        } else if closing == Closing::Close {
            self.db().close().map_err(failed)?;
        }
        let next = self.options();
        let before = self.open.take();
        if !killed {
            // Dropping the last handle closes the database. Held snapshots, cursors and keyspaces
            // do not keep it open.
            drop(before);
            self.open = Some(self.open_at(&self.path)?);
            let clean = self.db().open_report().clean;
            ensure!(clean, "not clean when opened after {closing:?}");
            self.check_ended()?;
        } else {
            self.open = Some(self.open_at(&self.path)?);
            drop(before);
            destroy(&old, &next).map_err(failed)?;
        }
        let report = self.db().open_report();
        // After a kill, old content of a recycled segment may look like a torn record.
        let whole = report.log_cut.is_none() && report.unlogged_lost == 0;
        ensure!(whole || killed, "opened after {closing:?}: {report:?}");
        self.snapshots = [const { None }; _];
        self.cursors = [const { None }; _];
        self.unlogged = false;
        self.in_each(|runner| runner.scan(None, false))
    }

    /// Checks that snapshots and cursors of a closed database return `Closed`.
    fn check_ended(&mut self) -> Outcome {
        let snapshots = self.snapshots.iter().flatten();
        let mut results: Vec<_> = snapshots.map(|held| held.0.get(b"").map(drop)).collect();
        let cursors = self.cursors.iter_mut().flatten();
        results.extend(cursors.map(|held| held.cursor.seek_to_first()));
        for result in results {
            let kind = result.err().map(|error| error.kind());
            ensure!(kind == Some(ErrorKind::Closed), "{kind:?} after a close");
        }
        Ok(())
    }

    /// Runs the final check: scans in both directions, then again after compacting and reopening.
    pub(crate) fn finish(&mut self) -> Outcome {
        for place in 0..crate::op::PLACES {
            self.in_each(|runner| runner.scan(Some(place), true))?;
            self.in_each(|runner| runner.scan(Some(place), false))?;
            let (turns, steps) = (u64::MAX, 50);
            self.move_held(place, Some(Target::Last), Walk { turns, steps })?;
        }
        self.in_each(|runner| {
            runner.scan(None, true)?;
            runner.compact(End::Open, End::Open)?;
            runner.scan(None, true)
        })?;
        self.reopen(Closing::Close)?;
        self.db().close().map_err(failed)?;
        let verified = verify(&self.path, &self.options());
        verified.map(drop).map_err(failed)
    }
}

/// Returns the bounds of a range from its start and before its end.
fn bounds(range: Range<Option<&[u8]>>) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let start = range.start.map_or(Bound::Unbounded, Bound::Included);
    (start, range.end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// Copies a database in the state that a kill of its process would leave. Jobs are stepped, so no
/// file changes during the copy.
fn copy_files(env: Option<&cairndb::env::MemEnv>, from: &Path, to: &Path) -> cairndb::Result<()> {
    let env = env.expect("a stepped list runs in memory");
    let (from, to) = (env.open_dir(from, false)?, env.open_dir(to, true)?);
    for name in from.list()? {
        let file = from.open_read(&name)?;
        let mut bytes = vec![0; usize::try_from(file.size()).expect("the file fits in memory")];
        file.read_at(0, &mut bytes)?;
        to.create(&name)?.append(&bytes)?;
    }
    Ok(())
}
