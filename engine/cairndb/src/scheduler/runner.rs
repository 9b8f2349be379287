//! `Runner`: gathers the facts of background work, and runs its tasks.

use std::sync::Arc;
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::sync::MutexGuard;

use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::scheduler::policy::{Caller, EMPTYING, Facts, Task, Tasks, next};
use crate::space::space_maker::SpaceMaker;
use crate::value_gc::collect::{Moment, Relocated};
use crate::versions::base::Base;
use crate::versions::engine_state::{EngineState, UNSYNCED_TABLES_MAX};
use crate::versions::idle::LookedSince;
use crate::write::writer::Writer;

/// Maximum time before a flush is made durable, however little it wrote.
pub(super) const PERSIST_AFTER: Duration = Duration::from_secs(1);

/// What a caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Run(Task),
    /// Background work has failed and is not to be retried yet.
    Pause,
    /// There is nothing to do.
    Wait,
}

/// How a thread waits under the state lock: for at most the given time, or until there is work. A
/// simulated thread returns at once.
pub(super) type Wait<'w> = &'w dyn Fn(MutexGuard<'_, EngineState>, Option<Duration>);

/// How a turn of a thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Ran(Task),
    Waited,
    /// The handle is closing, which ends the thread.
    Closing,
}

/// What one caller of the policy has done since it last waited.
#[derive(Debug)]
pub(crate) struct Turn {
    caller: Caller,
    /// The moment since which everything has been fruitless.
    since: Option<LookedSince>,
    /// A caller asks for the tasks now, and retries what has failed.
    asked: bool,
    /// The caller waits until the value files numbered below this have been emptied.
    below: Option<u64>,
    /// The time at which it no longer waits.
    end: Option<u64>,
}

impl Turn {
    /// Returns the turn of a thread that runs the tasks `mine`.
    pub(crate) fn new(mine: Tasks) -> Turn {
        Turn {
            caller: Caller {
                mine,
                ..Caller::default()
            },
            since: None,
            asked: false,
            below: None,
            end: None,
        }
    }

    /// Returns the turn of a caller that runs the tasks `mine` of an idle database.
    pub(super) fn asked(mine: Tasks) -> Turn {
        let mut turn = Turn::new(mine);
        turn.caller.rested = true;
        turn.asked = true;
        turn
    }

    /// Returns the turn of a caller that waits, until `end`, for the emptying of value files
    /// numbered below `below`.
    pub(super) fn emptying(below: u64, end: Option<u64>) -> Turn {
        Turn {
            below: Some(below),
            end,
            ..Turn::asked(EMPTYING)
        }
    }

    /// Records whether nothing was written for a while.
    pub(super) fn rest(&mut self, rested: bool) {
        self.caller.rested = rested;
    }

    /// Records that the caller waits now, and returns the moment since which it has found nothing.
    pub(super) fn wait(&mut self, after_pause: bool) -> LookedSince {
        let since = self.since.expect("the policy was asked in this turn");
        *self = Turn::new(self.caller.mine);
        self.caller.after_pause = after_pause;
        since
    }

    /// Records the result of a task.
    fn note(&mut self, task: Task, result: &Result<bool>) {
        self.caller.last = Some(task);
        self.caller.after_pause &= task != Task::FreeSpace;
        if matches!(result, Ok(false)) {
            self.caller.fruitless = self.caller.fruitless.with(task);
            return;
        }
        // A failure is recorded and followed by a pause, after which there is more to do.
        self.caller.persisted |= task == Task::Persist;
        self.caller.fruitless = Tasks::NONE;
        self.caller.rested = self.asked;
        self.since = None;
    }
}

pub(crate) struct Runner {
    pub(super) base: Arc<Base>,
    pub(super) disk: Arc<Disk>,
    pub(super) tables: Arc<Tables>,
    pub(super) space: Arc<SpaceMaker>,
    pub(super) writer: Arc<Writer>,
}

impl Runner {
    pub(crate) fn new(
        base: &Arc<Base>,
        disk: &Arc<Disk>,
        tables: &Arc<Tables>,
        space: &Arc<SpaceMaker>,
        writer: &Arc<Writer>,
    ) -> Runner {
        Runner {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            tables: Arc::clone(tables),
            space: Arc::clone(space),
            writer: Arc::clone(writer),
        }
    }

    /// Asks the policy.
    pub(super) fn next(&self, turn: &mut Turn, state: &EngineState) -> Choice {
        turn.since
            .get_or_insert_with(|| state.background.idle.look());
        let facts = self.facts(turn, state);
        match next(&facts) {
            Some(task) => Choice::Run(task),
            None if facts.paused => Choice::Pause,
            None => Choice::Wait,
        }
    }

    /// Gathers the facts. Those that cost more than a look at the state are gathered only if the
    /// policy may ask for them.
    pub(super) fn facts(&self, turn: &Turn, state: &EngineState) -> Facts {
        let caller = turn.caller;
        let hurrying = state.background.hurrying > 0;
        let idle = caller.rested || hurrying;
        let may = |task| caller.mine.contains(task) && !caller.fruitless.contains(task);
        let wanted = |idle| {
            self.tables
                .schedule
                .compaction_wanted(state, idle)
                .is_some()
        };
        let ended = |idle| self.tables.schedule.may_have_ended(state, idle);
        Facts {
            caller,
            paused: !turn.asked && self.is_paused(state),
            reserve_due: self.disk.reserve.is_due(),
            nearly_full: self.disk.reserve.is_near(),
            flush_due: self
                .tables
                .flusher
                .flush_wanted(state, self.base.settings.budget.flush),
            can_flush: state.can_flush(),
            compaction: may(Task::Compact) && (wanted(false) || ended(false)),
            idle_compaction: may(Task::CompactIdle)
                && idle
                && (wanted(true) || ended(true) || self.tables.schedule.encoding_wanted(state)),
            others_work: state.is_compacting() || state.flushing(),
            hurrying,
            // A caller that asks looks for itself.
            quiet: !turn.asked && state.background.idle.is_quiet(),
            persist_due: may(Task::Persist) && self.persist_due(turn, state),
        }
    }

    fn is_paused(&self, state: &EngineState) -> bool {
        state.background.retry_at_ns > self.base.env.now_ns() || self.base.health.is_poisoned()
    }

    /// Returns whether installed versions should become durable. Each pass flushes the disk several
    /// times, and a table that is compacted away before the pass is never synced, so a busy
    /// database waits until it retains much of the log.
    fn persist_due(&self, turn: &Turn, state: &EngineState) -> bool {
        let Some(pending) = state.durable.pending.as_ref() else {
            return false;
        };
        let now = self.base.env.now_ns();
        let age = Duration::from_nanos(now.saturating_sub(pending.since_ns));
        !state.durable.persisting
            && (turn.asked
                || state.background.idle.is_quiet()
                || state.background.hurrying > 0
                || age >= PERSIST_AFTER
                || self.disk.log.segments().retained_bytes() >= self.base.settings.budget.persist
                || pending.added.len() > UNSYNCED_TABLES_MAX)
    }

    /// Runs a task. Returns whether there was anything to do.
    ///
    /// # Errors
    /// Those of the task. They are recorded for callers that wait, and followed by a pause.
    pub(super) fn run(&self, turn: &mut Turn, task: Task) -> Result<bool> {
        let flushes = matches!(task, Task::Flush | Task::FlushDeletes | Task::FlushAll);
        let result = if flushes || turn.asked && turn.below.is_none() {
            self.space.with_disk_space(|| self.do_task(turn, task))
        } else {
            // Space is freed after the pause, or by the caller.
            self.do_task(turn, task)
        };
        turn.note(task, &result);
        result
    }

    /// Does a step of `task`. `Ok(false)` means that there was nothing to do, and the policy skips
    /// the task until another one does something. A task that fails records the error with
    /// `Base::note_background`, which sets the pause; otherwise the policy would choose the task
    /// again at once.
    fn do_task(&self, turn: &Turn, task: Task) -> Result<bool> {
        let flush_max = self.base.settings.budget.flush_max;
        match task {
            Task::TendReserve => {
                self.disk.reserve.tend_due();
                Ok(true)
            }
            Task::FreeSpace => {
                self.free_space_after_pause();
                Ok(true)
            }
            Task::Flush => self.tables.flusher.flush_up_to(flush_max),
            Task::FlushDeletes => Ok(self.seal_for_space() && self.tables.flusher.flush_once()?),
            Task::Compact => self.space.compactor.compact_once(),
            Task::CompactIdle => self.space.compactor.compact_idle(),
            Task::Squeeze => self.space.squeezer().squeeze_when_nearly_full(),
            Task::RelocateUnderLoad => self.space.value_gc().relocate_values(Moment::Load),
            Task::Reap => Ok(self.reap()),
            Task::SealForSpace => Ok(self.seal_for_space()),
            Task::FlushAll => self.tables.flusher.flush_once(),
            Task::RelocateIdle => match turn.below {
                Some(below) => self.empty_some(below, turn.end),
                None => self.space.value_gc().relocate_values(Moment::Idle),
            },
            // Also those that were open for appending: `RelocateIdle` has closed them.
            Task::DropValues => self.tables.dead_files.drop_dead_values(),
            Task::RetakeReserve => {
                self.disk.reserve.tend_reserve();
                self.disk.reserve.retake_reserve();
                Ok(false)
            }
            Task::TrimSpares => {
                self.disk.log.trim_spares();
                Ok(false)
            }
            Task::Persist => self.disk.persist(),
            Task::PrepareSpare => {
                self.disk.log.prepare_spare();
                Ok(false)
            }
        }
    }

    /// Copies some live values out of value files numbered below `below`, or waits for the
    /// compaction that prevents it. Returns whether there may be more.
    fn empty_some(&self, below: u64, end: Option<u64>) -> Result<bool> {
        match self.space.value_gc().relocate(Moment::Asked { below })? {
            Relocated::Some => Ok(true),
            Relocated::Nothing => Ok(false),
            Relocated::Busy => {
                let mut state = self.base.versions.lock();
                if !state.closing && (state.is_compacting() || !state.may_compact()) {
                    self.base.wait_changed(&mut state, end)?;
                }
                Ok(!state.closing)
            }
        }
    }

    /// Unlinks obsolete files. Returns whether there were any.
    fn reap(&self) -> bool {
        let kept = self.base.sweeper.followers.has_kept();
        let any = self.base.sweeper.reap();
        if !kept && self.base.sweeper.followers.has_kept() {
            // The worker looks at them every second, but not before it is woken once.
            self.base.versions.notify_work();
        }
        any
    }

    /// Frees space on a full disk, where readers may have released files. This is done once the
    /// pause is over, and not at every signal.
    fn free_space_after_pause(&self) {
        self.base.sweeper.reap_for_space();
        let over = self.base.versions.lock().background.retry_at_ns <= self.base.env.now_ns();
        if over && self.base.health.lacks_space() {
            // The latest deletions may hide the only data that can be freed.
            let _ = self.seal_for_space() || self.space.free_disk_space();
        }
    }
}
