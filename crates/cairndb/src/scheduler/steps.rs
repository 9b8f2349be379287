//! `Steps`: runs one job of background work at a time, in an order that the caller chooses.

use std::sync::Arc;

use cairndb_base::Result;

use crate::compaction::compactor::Compactor;
use crate::durable::persist::Persister;
use crate::durable::sweeper::Sweeper;
use crate::flush::flusher::Flusher;
use crate::scheduler::idle_space::IdleSpace;
use crate::space::make_room::SpaceMaker;
use crate::space::squeeze::Squeezer;
use crate::value_gc::collect::{Moment, ValueGc};
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::Shared;

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
    /// Make installed tables durable and free log segments.
    Persist,
    /// Unlink obsolete files.
    Reap,
    /// Drop value files without a live value.
    DropValues,
}

pub(crate) struct Steps {
    shared: Arc<Shared>,
    sweeper: Arc<Sweeper>,
    persister: Arc<Persister>,
    flusher: Arc<Flusher>,
    compactor: Arc<Compactor>,
    dead_files: Arc<DeadFiles>,
    value_gc: Arc<ValueGc>,
    squeezer: Arc<Squeezer>,
    space: Arc<SpaceMaker>,
    idle_space: Arc<IdleSpace>,
}

impl Steps {
    #[expect(
        clippy::too_many_arguments,
        reason = "each parameter is a separate component"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        sweeper: Arc<Sweeper>,
        persister: Arc<Persister>,
        flusher: Arc<Flusher>,
        compactor: Arc<Compactor>,
        dead_files: Arc<DeadFiles>,
        value_gc: Arc<ValueGc>,
        squeezer: Arc<Squeezer>,
        space: Arc<SpaceMaker>,
        idle_space: Arc<IdleSpace>,
    ) -> Steps {
        Steps {
            shared,
            sweeper,
            persister,
            flusher,
            compactor,
            dead_files,
            value_gc,
            squeezer,
            space,
            idle_space,
        }
    }

    /// Runs one job. Returns whether there was anything to do.
    pub(crate) fn step(&self, job: Job) -> Result<bool> {
        self.shared.origin.check()?;
        if self.shared.settings.read_only {
            return Ok(false);
        }
        match job {
            Job::Flush => self.space.with_room(|| self.flusher.flush_once()),
            Job::Compact => {
                self.space.with_room(|| {
                    Ok(self.compactor.compact_once()?
                        || self.value_gc.relocate_values(Moment::Load)?)
                })
            }
            Job::IdleCompact => self.space.with_room(|| self.idle_once()),
            Job::Persist => self.space.with_room(|| self.persister.persist()),
            Job::Reap => Ok(self.sweeper.reap()),
            Job::DropValues => self.dead_files.drop_dead_values(),
        }
    }

    /// Does one piece of an idle database's work, except flushes. Returns whether there was any.
    fn idle_once(&self) -> Result<bool> {
        Ok(self.compactor.compact_idle()?
            || self.idle_space.seal_for_space()
            || self.value_gc.relocate_values(Moment::Idle)?
            || self.squeezer.squeeze_when_nearly_full()?)
    }

    /// Does the work of an idle database until none is left. Returns whether there was time for all
    /// of it.
    pub(crate) fn step_until_idle(&self, end: Option<u64>) -> Result<bool> {
        let jobs = [
            Job::Flush,
            Job::IdleCompact,
            Job::Persist,
            Job::DropValues,
            Job::Reap,
        ];
        let mut more = true;
        while more {
            more = false;
            for job in jobs {
                while self.step(job)? {
                    more = true;
                    if self.shared.is_over(end) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}
