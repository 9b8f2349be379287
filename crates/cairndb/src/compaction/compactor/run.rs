//! Carrying a merge out: in steps, with flushes between them, by one thread or by two.
//!
//! Who calls `compact_range` waits, so its merge is cut at a key in the middle of the largest run, and a second thread
//! merges what lies behind. The halves share nothing but the plan: each reads with cursors of its own and writes
//! tables of its own, and together they are installed as one merge would be. A key's versions are all in one half.
//!
//! Merges of the worker are not halved: they have all the time there is, and the other processor is the caller's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;
use cairndb_env::{Join, Priority};
use cairndb_format::table::Table;

use crate::compaction::compactor::Compactor;
use crate::jobs::inputs::Inputs;
use crate::jobs::job::{Job, Outcome, STEP_ENTRIES};
use crate::jobs::plan::CompactionPlan;
use crate::jobs::rules::Rules;
use crate::read::source::{RunCursor, Source};
use crate::state::guard::guarded;
use crate::state::version::Run;
use crate::versions::state::stopped;

/// What a merge makes is read back where it is no more than this, the bound of what an idle database is merged for: that
/// is in memory still, as a rule. More may not be, and would be read from the disk once more.
const CHECKED_BYTES_MAX: u64 = 256 << 20;

/// The keys that one thread merges.
#[derive(Clone, Debug, Default)]
struct Keys {
    from: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
}

/// What the threads of one merge know of each other.
#[derive(Debug, Default)]
struct Halves {
    /// One of them failed: the other's tables would be thrown away.
    failed: AtomicBool,
    /// What the second thread has come to.
    behind: Mutex<Option<Result<Outcome>>>,
}

#[cfg(test)]
mod tests;

impl Compactor {
    /// Merges what `plan` says; nothing is installed.
    ///
    /// # Errors
    /// Of reading or writing, and `Closed` when the database is closed meanwhile; no file is left then.
    pub(crate) fn carry_out(&self, plan: &CompactionPlan) -> Result<Outcome> {
        self.shared.health.check_write()?;
        self.reserve.check_room_to_compact(plan)?;
        let mut outcome = match plan.middle().filter(|_| plan.waited_for) {
            Some(middle) => self.compact_halves(plan, middle)?,
            None => self.compact_keys(plan, Keys::default(), &Halves::default())?,
        };
        let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
        if (plan.waited_for || plan.when_idle) && bytes <= CHECKED_BYTES_MAX {
            self.open_checked(&mut outcome)?;
        } else {
            self.installer.open_for_readers(&mut outcome);
        }
        Ok(outcome)
    }

    /// Merges the keys before `middle`, and has another thread merge the rest.
    fn compact_halves(&self, plan: &CompactionPlan, middle: Vec<u8>) -> Result<Outcome> {
        let end = Some(middle.clone());
        let (before, behind) = (
            Keys { from: None, end },
            Keys {
                from: Some(middle),
                end: None,
            },
        );
        let halves = Arc::new(Halves::default());
        let joins = self.compact_beside(plan, behind.clone(), &halves);
        let first = self.compact_keys(plan, before, &halves);
        let second = match joins {
            Some(join) => {
                join();
                halves.behind.lock().take()
            }
            // No thread is to be had: stepped, or the system refused one.
            None => first
                .is_ok()
                .then(|| self.compact_keys(plan, behind, &halves)),
        };
        match (first, second) {
            (Ok(first), Some(Ok(second))) => Ok(first.and(second)),
            (Ok(done), Some(Err(error))) | (Err(error), Some(Ok(done))) => {
                done.discard(&*self.shared.dir);
                Err(error)
            }
            // Of two errors one is that the other half had failed.
            (Err(first), Some(Err(second))) if first.kind() == ErrorKind::Closed => Err(second),
            (Err(error), _) => Err(error),
            (Ok(done), None) => {
                done.discard(&*self.shared.dir);
                Err(stopped())
            }
        }
    }

    /// Begins a thread that merges `keys`; `None` when there can be none.
    fn compact_beside(
        &self,
        plan: &CompactionPlan,
        keys: Keys,
        halves: &Arc<Halves>,
    ) -> Option<Join> {
        if self.shared.stepped() {
            return None;
        }
        let core = self.myself.upgrade()?;
        let (plan, halves) = (plan.clone(), Arc::clone(halves));
        let body = move || {
            let result = core.compact_keys(&plan, keys, &halves);
            *halves.behind.lock() = Some(result);
        };
        // Not below its caller, who waits for it.
        let thread = self
            .shared
            .env
            .spawn("cairndb-merge", Priority::Normal, Box::new(body));
        thread.ok()
    }

    /// Merges some of the keys of `plan`, in steps. Flushes that fall due between them are done in between, so
    /// that writers never wait for a merge.
    fn compact_keys(&self, plan: &CompactionPlan, keys: Keys, halves: &Halves) -> Result<Outcome> {
        let result = guarded(|| self.compact_steps(plan, keys, halves));
        if result.is_err() {
            halves.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn compact_steps(&self, plan: &CompactionPlan, keys: Keys, halves: &Halves) -> Result<Outcome> {
        let mut job = self.job_of(plan, keys);
        loop {
            let room = match &plan.relocation {
                Some(_) => self.value_files.room_for_copies(),
                None => Ok(()),
            };
            let stepped = room
                .and_then(|()| job.step(&*self.shared.dir, &self.shared.next_file, STEP_ENTRIES));
            match stepped {
                Ok(false) => return job.finish(&*self.shared.dir, &self.shared.next_file),
                Ok(true) => {}
                Err(error) => {
                    job.abandon(&*self.shared.dir, &self.shared.next_file);
                    return Err(error);
                }
            }
            // Relaxed: the sooner it is seen the less is written for nothing.
            if self.versions.lock().closing || halves.failed.load(Ordering::Relaxed) {
                job.abandon(&*self.shared.dir, &self.shared.next_file);
                return Err(stopped());
            }
            if self.run_due() {
                // Its failure is noted and met by whoever needs the room.
                let _ = self
                    .flusher
                    .flush_up_to(self.shared.settings.budget.flush_max);
            }
        }
    }

    /// Opens what was made at rest or by `compact_range`, mapped and every page of it checked: there is time, or somebody
    /// who is about to read and would have each page checked then. And while the inputs are there, a table that is not
    /// as it was written is none that anything is lost with. A millisecond a table, between which flushes are done as
    /// between the steps of the merge; what is left when the database is closed is checked by its first reader, as are
    /// tables that are not mapped or cannot be opened now.
    ///
    /// # Errors
    /// `Corruption` of a table just written; none of them is left then.
    pub(crate) fn open_checked(&self, outcome: &mut Outcome) -> Result<()> {
        for at in 0..outcome.tables.len() {
            let record = &outcome.tables[at].record;
            let (opened, checked) = self.installer.open_mapped(record, Table::check_pages);
            match checked {
                Ok(()) => outcome.tables[at].opened = Some(opened),
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    outcome.discard(&*self.shared.dir);
                    let message = "a table that was just written is not as it was written; it was thrown away";
                    let named =
                        Error::corruption(message).file(error.file_name().unwrap_or_default());
                    return Err(named.source_error(error));
                }
                // It says nothing of the table's bytes: those who need it are told.
                Err(_) => {}
            }
            if self.versions.lock().closing {
                break;
            }
            if self.run_due() {
                // As above.
                let _ = self
                    .flusher
                    .flush_up_to(self.shared.settings.budget.flush_max);
            }
        }
        Ok(())
    }

    fn job_of(&self, plan: &CompactionPlan, keys: Keys) -> Job {
        let order = &self.shared.context.order;
        let source = |run: &Run| {
            let cursor = RunCursor::new(Arc::new(run.clone()), order.clone());
            Source::Run(Box::new(cursor.rechecking()))
        };
        let sources = plan.hiders.iter().chain(&plan.inputs).map(source);
        let rules = Rules {
            snapshots: self.versions.readable_at(),
            bottom: plan.bottom,
            context: (*self.shared.context).clone(),
            values: Arc::clone(&self.versions.view().version.values),
            end: keys.end,
        };
        let mut inputs = Inputs::new(sources.collect(), order.clone());
        if !plan.hiders.is_empty() {
            inputs = inputs.hidden_by(plan.hiders.len());
        }
        let mut output = self.shared.settings.output.clone();
        output.begin_syncs = plan.waited_for;
        output.table_bytes = self.reserve.table_bytes();
        output.relocation.clone_from(&plan.relocation);
        let job = Job::new(inputs, rules, output);
        match keys.from {
            Some(key) => job.beginning_at(key),
            None => job,
        }
    }

    /// Whether a merge should be left for a flush: for a whole run, not as soon as the worker would begin one else.
    /// With each smaller run there is more to merge, a quarter of a random deletion's time. Where somebody reads it is
    /// left as soon.
    fn run_due(&self) -> bool {
        let state = self.versions.lock();
        self.flusher
            .flush_wanted(&state, self.shared.settings.budget.run)
    }
}
