//! Background work in the thread of a caller, a step at a time.

use cairndb_base::{Result, watch};

use crate::durable::intervals::Intervals;
use crate::scheduler::policy::{ALL, Task, Tasks};
use crate::scheduler::runner::{Choice, Runner, Turn};

/// One kind of background work, for callers that run it themselves: programs without background
/// threads, and tests. A handle with threads needs no such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Job {
    /// Flush immutable memtables.
    Flush,
    /// Run one compaction chosen by the picker, or copy large values out of mostly dead files.
    Compact,
    /// Like `Compact`, but as an idle database does it.
    IdleCompact,
    /// Make installed tables durable and free log segments; sync the log for readers of changes,
    /// and record the leases that followers ask for.
    Persist,
    /// Unlink obsolete files.
    Reap,
    /// Drop value files without a live value.
    DropValues,
}

impl Job {
    /// Returns the tasks among which the policy chooses.
    fn tasks(self) -> Tasks {
        match self {
            Job::Flush => Tasks::of(&[Task::FlushAll]),
            Job::Compact => Tasks::of(&[Task::Compact, Task::RelocateUnderLoad]),
            Job::IdleCompact => Tasks::of(&[
                Task::CompactIdle,
                Task::Squeeze,
                Task::SealForSpace,
                Task::RelocateIdle,
            ]),
            Job::Persist => Tasks::of(&[Task::Persist]),
            Job::Reap => Tasks::of(&[Task::Reap]),
            Job::DropValues => Tasks::of(&[Task::DropValues]),
        }
    }
}

impl Runner {
    /// Runs one job. Returns whether there was anything to do.
    pub(crate) fn step(&self, job: Job) -> Result<bool> {
        self.base.origin.check()?;
        if job == Job::Persist {
            Intervals { disk: &self.disk }.tick();
        }
        self.step_with(&mut Turn::asked(job.tasks()))
    }

    /// Runs the policy's tasks until one has worked. Returns whether one has.
    fn step_with(&self, turn: &mut Turn) -> Result<bool> {
        if self.base.settings.read_only {
            return Ok(false);
        }
        loop {
            let choice = self.next(turn, &self.base.versions.lock());
            let Choice::Run(task) = choice else {
                return Ok(false);
            };
            if self.run(turn, task)? {
                return Ok(true);
            }
        }
    }

    /// Does the work of an idle database until none is left, or `wanted` no longer holds. Returns
    /// whether none is left.
    pub(crate) fn step_while(&self, wanted: impl Fn() -> bool) -> Result<bool> {
        self.base.origin.check()?;
        let mut turn = Turn::asked(ALL);
        while self.step_with(&mut turn)? {
            if !wanted() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Frees the dead values that an idle database would free, in value files numbered below
    /// `below`: later files, which writers may fill forever, are not waited for. Returns whether
    /// there was time for all of it.
    pub(crate) fn empty_files(&self, below: u64, end: Option<u64>) -> Result<bool> {
        let mut turn = Turn::emptying(below, end);
        while self.step_with(&mut turn)? {
            watch::check()?;
            if self.base.is_over(end) || self.base.versions.lock().closing {
                return Ok(false);
            }
        }
        // Another thread may have made the last copies, which may not be durable yet.
        self.disk.persist_all()?;
        self.tables.dead_files.drop_all_dead_values()?;
        Ok(true)
    }
}
