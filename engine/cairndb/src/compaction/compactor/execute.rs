//! The steps of one compaction, with flushes between them, on one or two threads.
//!
//! A caller of `compact_range` waits for its compaction, which is therefore split at a key in the
//! middle of the largest run. A second thread compacts the keys from there on. The halves share
//! only the plan: each reads with its own cursors and writes its own tables, and both are installed
//! together. All versions of a key are in the same half.
//!
//! Compactions of the worker are not split: no caller waits for them, and the other core belongs to
//! the application.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Result, watch};
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_env::{Join, Priority};
use cairndb_files::{Relocate, guarded};
use cairndb_format::table::{BoundLimits, Table};

use crate::compaction::compactor::Compactor;
use crate::jobs::inputs::Inputs;
use crate::jobs::job::{Job, Outcome, STEP_ENTRIES};
use crate::jobs::plan::CompactionPlan;
use crate::read::source::{MergeSource, RunCursor};
use crate::state::sections::Section;
use crate::state::version::Run;
use crate::versions::engine_state::stopped;
use crate::versions::version_set::WATCHED_WAIT;

/// Maximum size of output that is read back and checked. It equals the limit for compacting an idle
/// database, and such output is usually still in memory. A larger output would have to be read from
/// the disk.
const CHECKED_BYTES_MAX: u64 = 256 << 20;

/// The keys that one thread compacts.
#[derive(Clone, Debug, Default)]
struct Keys {
    from: Option<(Section, Vec<u8>)>,
    end: Option<(Section, Vec<u8>)>,
}

impl Keys {
    /// Returns whether some of them may be in `section`.
    fn reach(&self, section: Section) -> bool {
        let starts = self.from.as_ref().is_none_or(|(from, _)| *from <= section);
        let ends = self.end.as_ref().is_some_and(|(end, _)| *end < section);
        starts && !ends
    }

    /// Returns the bound in `section`, if it has one.
    fn within(bound: Option<&(Section, Vec<u8>)>, section: Section) -> Option<Vec<u8>> {
        let bound = bound.filter(|(there, _)| *there == section);
        bound.map(|(_, key)| key.clone())
    }
}

/// State shared by the threads of one compaction.
#[derive(Debug, Default)]
struct Halves {
    /// Whether one half failed, so that the output of the other would be discarded.
    failed: AtomicBool,
    /// Number of steps that the watcher has not been informed of.
    steps: AtomicU64,
    /// Result of the second thread.
    second: Mutex<Option<Result<Outcome>>>,
    /// Signalled when the second thread has a result.
    done: Condvar,
}

impl Halves {
    /// Informs the watcher of this thread, if there is one, of the steps of both.
    ///
    /// # Errors
    /// `Interrupted` if it stops the call.
    fn report(&self, plan: &CompactionPlan) -> Result<()> {
        if !plan.waited_for || !watch::is_watched() {
            return Ok(());
        }
        let tables = || plan.inputs.iter().flat_map(Run::tables);
        let entries: u64 = tables().map(|table| table.record.entries).sum();
        let bytes: u64 = tables().map(|table| table.record.bytes).sum();
        let steps = self.steps.swap(0, Ordering::Relaxed);
        watch::advance(steps.saturating_mul(STEP_ENTRIES) * (bytes / entries.max(1)))
    }

    /// Waits for the second thread, and stops it if the caller's watcher stops the call.
    fn wait_for_second(&self, plan: &CompactionPlan) {
        let mut second = self.second.lock();
        while watch::is_watched() && second.is_none() && !self.failed.load(Ordering::Relaxed) {
            self.done.wait_for(&mut second, WATCHED_WAIT);
            if MutexGuard::unlocked(&mut second, || self.report(plan)).is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests;

impl Compactor {
    /// Runs the compaction `plan`. Nothing is installed.
    ///
    /// # Errors
    /// Errors of reading or writing; `Closed` if the database is closed in the meantime. After an
    /// error no file is left.
    pub(crate) fn carry_out(&self, plan: &CompactionPlan) -> Result<Outcome> {
        self.base.health.check_write()?;
        if plan.unread {
            return Ok(self.unread(plan));
        }
        self.disk.reserve.check_disk_space_to_compact(plan)?;
        let mut outcome = match plan.middle().filter(|_| plan.waited_for) {
            Some(middle) => self.compact_halves(plan, middle)?,
            None => self.compact_keys(plan, Keys::default(), &Halves::default())?,
        };
        let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
        if (plan.waited_for || plan.when_idle) && bytes <= CHECKED_BYTES_MAX {
            self.open_checked(&mut outcome)?;
        } else {
            self.disk.installer.open_for_readers(&mut outcome);
        }
        Ok(outcome)
    }

    /// Returns the outcome of a plan whose tables hold nothing that is kept.
    fn unread(&self, plan: &CompactionPlan) -> Outcome {
        let mut dead = BTreeMap::new();
        for table in plan.inputs.iter().flat_map(Run::tables) {
            for (file, bytes) in &table.record.value_refs {
                *dead.entry(*file).or_insert(0) += bytes;
            }
        }
        Outcome {
            tables: Vec::new(),
            dead,
            snapshots: 0,
            drops: self.base.keyspaces.drops(),
        }
    }

    /// Compacts the keys before `middle` while another thread compacts the rest.
    fn compact_halves(&self, plan: &CompactionPlan, middle: (Section, Vec<u8>)) -> Result<Outcome> {
        let end = Some(middle.clone());
        let (before, after) = (
            Keys { from: None, end },
            Keys {
                from: Some(middle),
                end: None,
            },
        );
        let halves = Arc::new(Halves::default());
        let joins = self.compact_beside(plan, after.clone(), &halves);
        let first = self.compact_keys(plan, before, &halves);
        let second = match joins {
            Some(join) => {
                halves.wait_for_second(plan);
                join();
                halves.second.lock().take()
            }
            // There is no second thread: the environment is stepped, or the system refused one.
            None => first
                .is_ok()
                .then(|| self.compact_keys(plan, after, &halves)),
        };
        match (first, second) {
            (Ok(first), Some(Ok(second))) => Ok(first.and(second)),
            (Ok(done), Some(Err(error))) | (Err(error), Some(Ok(done))) => {
                done.discard(&*self.base.dir);
                // If this thread was stopped while it waited, the other only noticed.
                watch::check()?;
                Err(error)
            }
            // If there are two errors, `Closed` only means that the other half failed.
            (Err(first), Some(Err(second))) if first.kind() == ErrorKind::Closed => Err(second),
            (Err(error), _) => Err(error),
            (Ok(done), None) => {
                done.discard(&*self.base.dir);
                Err(stopped())
            }
        }
    }

    /// Starts a thread that compacts `keys`. Returns `None` if no thread can be started.
    fn compact_beside(
        &self,
        plan: &CompactionPlan,
        keys: Keys,
        halves: &Arc<Halves>,
    ) -> Option<Join> {
        if self.base.stepped() {
            return None;
        }
        let compactor = self.clone();
        let (plan, halves) = (plan.clone(), Arc::clone(halves));
        let body = move || {
            let result = compactor.compact_keys(&plan, keys, &halves);
            *halves.second.lock() = Some(result);
            halves.done.notify_all();
        };
        // The thread has the priority of the caller, which waits for it.
        let thread = self
            .base
            .env
            .spawn("cairndb-compact", Priority::Normal, Box::new(body));
        thread.ok()
    }

    /// Compacts `keys` in steps and runs due flushes between them, so that writers never wait for a
    /// compaction.
    fn compact_keys(&self, plan: &CompactionPlan, keys: Keys, halves: &Halves) -> Result<Outcome> {
        let result = guarded(|| self.compact_steps(plan, keys, halves));
        if result.is_err() {
            halves.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Compacts section after section: a table has one.
    fn compact_steps(&self, plan: &CompactionPlan, keys: Keys, halves: &Halves) -> Result<Outcome> {
        let mut written: Option<Outcome> = None;
        for section in plan.sections().filter(|section| keys.reach(*section)) {
            let next = self.compact_section(plan, section, &keys, halves);
            written = Some(Outcome::followed_by(written, next, &*self.base.dir)?);
        }
        Ok(written.expect("a plan has inputs, and a half begins at one of their keys"))
    }

    fn compact_section(
        &self,
        plan: &CompactionPlan,
        section: Section,
        keys: &Keys,
        halves: &Halves,
    ) -> Result<Outcome> {
        let mut job = self.job_of(plan, section, keys);
        loop {
            let ready = match &plan.relocation {
                Some(_) => self.disk.value_files.ensure_copy_file(),
                None => Ok(()),
            };
            let stepped =
                ready.and_then(|()| job.step(&*self.base.dir, &self.base.next_file, STEP_ENTRIES));
            match stepped {
                Ok(false) => return job.finish(&*self.base.dir, &self.base.next_file),
                Ok(true) => {}
                Err(error) => {
                    job.abandon(&*self.base.dir, &self.base.next_file);
                    return Err(error);
                }
            }
            halves.steps.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = halves.report(plan) {
                job.abandon(&*self.base.dir, &self.base.next_file);
                return Err(error);
            }
            // Relaxed: a late observation only costs additional writes.
            if self.base.versions.lock().closing || halves.failed.load(Ordering::Relaxed) {
                job.abandon(&*self.base.dir, &self.base.next_file);
                return Err(stopped());
            }
            if self.run_due() {
                // A failure is recorded, and returned to the writer that needs the space.
                let _ = self
                    .tables
                    .flusher
                    .flush_up_to(self.base.settings.budget.flush_max);
            }
        }
    }

    /// Opens, maps and checks every page of the output of an idle compaction or of `compact_range`:
    /// there is time, or the caller is about to read. The inputs still exist, so nothing is lost if
    /// a table was not written correctly. Due flushes run between tables. Tables that remain when
    /// the database is closed, that are not mapped or that cannot be opened are checked by their
    /// first reader.
    ///
    /// # Errors
    /// `Corruption` of a newly written table; `Interrupted`. The output is then removed.
    pub(crate) fn open_checked(&self, outcome: &mut Outcome) -> Result<()> {
        for at in 0..outcome.tables.len() {
            if let Err(error) = watch::check() {
                outcome.discard(&*self.base.dir);
                return Err(error);
            }
            let record = &outcome.tables[at].record;
            let (opened, checked) = self.disk.installer.open_mapped(record, Table::check_pages);
            match checked {
                Ok(()) => outcome.tables[at].opened = Some(opened),
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    outcome.discard(&*self.base.dir);
                    let message = "a table was not written correctly and was removed; the old tables stay in use";
                    let named =
                        Error::corruption(message).file(error.file_name().unwrap_or_default());
                    return Err(named.source_error(error));
                }
                // The error does not concern the table's bytes. It is returned to a reader that
                // needs them.
                Err(_) => {}
            }
            if self.base.versions.lock().closing {
                break;
            }
            if self.run_due() {
                // As above.
                let _ = self
                    .tables
                    .flusher
                    .flush_up_to(self.base.settings.budget.flush_max);
            }
        }
        Ok(())
    }

    fn job_of(&self, plan: &CompactionPlan, section: Section, keys: &Keys) -> Job {
        let order = &self.base.opener.orders[section];
        let part = |run: &Run| Arc::new(run.clone()).part(section).cloned();
        let source = |run: Arc<Run>| {
            let cursor = RunCursor::new(run, order.clone());
            MergeSource::Run(Box::new(cursor.rechecking()))
        };
        let hiders: Vec<Arc<Run>> = plan.hiders.iter().filter_map(part).collect();
        let parts: Vec<Arc<Run>> = plan.inputs.iter().filter_map(part).collect();
        // Only the value files that the job may read: it would keep others on disk.
        let tables = hiders.iter().chain(&parts).flat_map(|run| run.tables());
        let refs = tables.flat_map(|table| &table.record.value_refs);
        let files = refs.map(|(file, _)| *file).collect();
        let values = self.base.versions.view().version.values_among(&files);
        let end = Keys::within(keys.end.as_ref(), section);
        let readers = self.base.flushed_ranges(section);
        let rules = self
            .base
            .rules(section, plan.bottom, Arc::new(values), end.clone(), readers);
        let limits = BoundLimits {
            before: end,
            ..plan.limits(&self.base.opener.orders, section)
        };
        let hider_count = hiders.len();
        let sources = hiders.into_iter().chain(parts).map(source);
        let mut inputs = Inputs::new(sources.collect(), order.clone());
        if hider_count > 0 {
            inputs = inputs.hidden_by(hider_count);
        }
        let mut output = self.base.output(section);
        output.begin_syncs = plan.waited_for;
        output.table_bytes = self.disk.reserve.table_bytes();
        output.relocation = plan.relocation.clone().map(|it| it as Arc<dyn Relocate>);
        match Keys::within(keys.from.as_ref(), section) {
            Some(key) => {
                let limits = BoundLimits {
                    from: Some(key.clone()),
                    ..limits
                };
                let job = Job::new(inputs, rules, output).within(limits);
                job.beginning_at(key)
            }
            None => Job::new(inputs, rules, output).within(limits),
        }
    }

    /// Returns whether a compaction should pause for a flush: only for a whole run, because smaller
    /// runs cause more compactions. If there are readers, it pauses as early as the worker would
    /// flush.
    fn run_due(&self) -> bool {
        let state = self.base.versions.lock();
        self.tables
            .flusher
            .flush_wanted(&state, self.base.settings.budget.run)
    }
}
