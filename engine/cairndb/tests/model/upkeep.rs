//! Operations that must not change any result: flushes, compactions, forks, closing and reopening.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::path::Path;

use cairndb::env::Env;
use cairndb::{Db, Difference, ErrorKind, ForkReport, Job, destroy, verify};

use crate::config::Place;
use crate::data::ValueSpec;
use crate::keyspaces::Oracles;
use crate::op::{Closing, End, Target, Through, Walk};
use crate::oracle::Oracle;
use crate::runner::{Outcome, Runner, ensure, failed, show};

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

    /// Makes a fork, verifies, opens, compares, changes and compacts it. Then it is removed or, if
    /// the list `goes_on` in it, the database that it is of.
    pub(crate) fn fork(&mut self, through: Through, goes_on: bool) -> Outcome {
        let path = self.next_path();
        let held = through.and_then(|place| self.snapshots[usize::from(place)].as_ref());
        let report = match held {
            Some((snapshot, _)) => snapshot.fork(&path),
            None if goes_on => self.db().fork(&path),
            None => self.db().checkpoint(&path).map(|()| ForkReport::default()),
        };
        let report = report.map_err(failed)?;
        ensure!(report.cloned + report.copied == 0, "not linked: {report:?}");
        let moment = held.map_or_else(|| self.oracles.clone(), |(_, moment)| moment.clone());
        self.unlogged = false;
        verify(&path, &self.options()).map_err(failed)?;
        let fork = self.open_at(&path)?;
        ensure!(fork.db.open_report().clean, "the fork is not clean");
        let before = (self.opened().db.clone(), self.oracles.clone());
        same_difference((&before.0, &before.1), (&fork.db, &moment))?;
        let ours = (
            self.open.replace(fork),
            std::mem::replace(&mut self.oracles, moment),
            std::mem::take(&mut self.snapshots),
        );
        let lived = self.in_each(|runner| {
            runner.scan(None, false)?;
            runner.scan(None, true)?;
            runner.put(0, ValueSpec { seed: 1, len: 8 }, None)?;
            runner.compact(End::Open, End::Open)?;
            runner.scan(None, false)
        });
        lived.map_err(|error| format!("a fork: {error}"))?;
        same_difference((&before.0, &before.1), (self.db(), &self.oracles))?;
        drop(before);
        let (removed, original) = if goes_on {
            self.end_feed(false);
            self.cursors = [const { None }; _];
            (std::mem::replace(&mut self.path, path), ours.0)
        } else {
            self.oracles = ours.1;
            self.snapshots = ours.2;
            (path, std::mem::replace(&mut self.open, ours.0))
        };
        let original = original.expect("it is open");
        original.db.close().map_err(failed)?;
        drop(original);
        destroy(&removed, &self.options()).map_err(failed)
    }

    pub(crate) fn reopen(&mut self, closing: Closing) -> Outcome {
        let old = self.path.clone();
        self.end_feed(true);
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
        if self.consumer.is_some() {
            self.follow()?;
        }
        self.reopen(Closing::Close)?;
        if self.consumer.is_some() {
            self.follow()?;
        }
        self.db().close().map_err(failed)?;
        let verified = verify(&self.path, &self.options());
        verified.map(drop).map_err(failed)
    }
}

/// Compares the difference of two databases with that of their models.
fn same_difference(one: (&Db, &Oracles), other: (&Db, &Oracles)) -> Outcome {
    let found = cairndb::diff(one.0, other.0).map_err(failed)?;
    let found: cairndb::Result<Vec<_>> = found.take(100_000).collect();
    let mut found = found.map_err(failed)?;
    let mut count = 0;
    for (space, (before_side, after_side)) in one.1.iter().zip(other.1).enumerate() {
        let name = space.checked_sub(1).map(|at| crate::config::NAMES[at]);
        let keys = [before_side, after_side].into_iter().flatten();
        let keys: BTreeSet<_> = keys.flat_map(|oracle| oracle.map().keys()).collect();
        for key in keys {
            let value = |oracle: &Option<Oracle>| {
                let entry = oracle.as_ref().and_then(|oracle| oracle.map().get(key));
                entry.map(|entry| entry.value.to_vec())
            };
            let (before, after) = (value(before_side), value(after_side));
            if before == after {
                continue;
            }
            count += 1;
            let is_it = |it: &Difference| {
                let oracle = [before_side, after_side].into_iter().flatten().next();
                let is_key =
                    oracle.is_some_and(|oracle| oracle.key(&it.key.as_slice().into()) == *key);
                it.keyspace.as_deref() == name
                    && is_key
                    && (&it.before, &it.after) == (&before, &after)
            };
            let known = found.iter().position(is_it);
            ensure!(
                known.is_some(),
                "a difference at {} is missing",
                show(&key.bytes)
            );
            if let Some(at) = known {
                found.swap_remove(at);
            }
        }
    }
    ensure!(
        found.is_empty(),
        "{} of {count}: no difference at {:?}",
        found.len(),
        found[0]
    );
    Ok(())
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
