//! The policy of background work: which task is next, given the facts.
//!
//! One pure function decides for everybody who runs background work: the worker, the syncer, and
//! callers that do it themselves ([`steps`](crate::scheduler::steps)), such as `wait_idle`
//! without threads and the crash campaigns. So what ships is what is tested.
//!
//! The facts do not say whether every task would find something to do, because that may need a look
//! at files. Such a task is tried: if it finds nothing, it is *fruitless* until another task has
//! worked or the caller has waited, and the next one in order is tried.
//!
//! The order is that of urgency. Disk space first, because without it nothing else succeeds;
//! then what writers wait for; then what readers and space gain. What only an idle database does is
//! last: seal and flush the memtable that keeps space, compact to one run, compress, copy values
//! out of emptying files.
//!
//! If a caller waits for idle work (`hurrying`), it is done as if the database were idle, with
//! flushes only every other time: with a fast writer some flush is always due, and a compaction
//! flushes between its steps.

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Task {
    /// Take or return the reserve that was asked for.
    TendReserve,
    /// Free space on a full disk.
    FreeSpace,
    /// Flush the oldest memtables.
    Flush,
    /// Seal and flush deletions, without which a compaction may find no space.
    FlushDeletes,
    /// Run the compaction that the picker chooses while writes continue.
    Compact,
    /// Run the compaction that the picker chooses for an idle database, or compress.
    CompactIdle,
    /// Rewrite tables without hidden entries on a nearly full disk.
    Squeeze,
    /// Copy values out of mostly dead files, as far as writers leave space for it.
    RelocateUnderLoad,
    /// Unlink files that nothing uses any more.
    Reap,
    /// Seal a memtable that keeps space.
    SealForSpace,
    /// Flush all memtables.
    FlushAll,
    /// Copy values out of emptying files.
    RelocateIdle,
    /// Drop value files without a live value.
    DropValues,
    /// Take a reserve that was released.
    RetakeReserve,
    /// Remove the spare segments of the log.
    TrimSpares,
    /// Make the installed version durable.
    Persist,
    /// Create the next segment of the log.
    PrepareSpare,
}

/// A set of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tasks(u32);

impl Tasks {
    pub(crate) const NONE: Tasks = Tasks(0);

    pub(crate) const fn of(tasks: &[Task]) -> Tasks {
        let mut set = Tasks::NONE;
        let mut at = 0;
        while at < tasks.len() {
            set = set.with(tasks[at]);
            at += 1;
        }
        set
    }

    const fn all_but(tasks: &[Task]) -> Tasks {
        Tasks(!Tasks::of(tasks).0)
    }

    pub(crate) const fn with(self, task: Task) -> Tasks {
        Tasks(self.0 | 1 << task as u8)
    }

    pub(crate) const fn contains(self, task: Task) -> bool {
        self.0 & 1 << task as u8 != 0
    }
}

/// The tasks of a caller that does without threads.
pub(crate) const ALL: Tasks = Tasks::all_but(&[Task::PrepareSpare]);

/// The tasks of the worker, which flushes and compacts.
pub(crate) const WORKER: Tasks = Tasks::all_but(&[Task::Persist, Task::PrepareSpare]);

/// The tasks of the syncer, which makes installed versions durable.
pub(crate) const SYNCER: Tasks = Tasks::of(&[
    Task::Persist,
    Task::DropValues,
    Task::Reap,
    Task::TrimSpares,
    Task::PrepareSpare,
]);

/// The tasks of a call that frees dead values.
pub(crate) const EMPTYING: Tasks =
    Tasks::of(&[Task::RelocateIdle, Task::Persist, Task::DropValues]);

/// What a caller of the policy knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The tasks that it runs.
    pub(crate) mine: Tasks,
    /// The tasks that have found nothing since one has worked or the caller has waited.
    pub(crate) fruitless: Tasks,
    /// The last task.
    pub(crate) last: Option<Task>,
    /// It has just waited because background work had failed.
    pub(crate) after_pause: bool,
    /// It has seen that nothing was written for a while.
    pub(crate) rested: bool,
    /// It has made a version durable since it waited.
    pub(crate) persisted: bool,
}

/// What the policy decides by. All are read at one moment, under the state lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "any combination of these facts may occur"
)]
pub(crate) struct Facts {
    pub(crate) caller: Caller,
    /// Background work has failed, and is not to be tried yet.
    pub(crate) paused: bool,
    /// The reserve must be taken or returned.
    pub(crate) reserve_due: bool,
    /// The file system is nearly full.
    pub(crate) nearly_full: bool,
    /// So much waits in memtables that a flush pays, or readers would search too many.
    pub(crate) flush_due: bool,
    /// A memtable waits, and one more thread may flush.
    pub(crate) can_flush: bool,
    /// A compaction is due while writes continue.
    pub(crate) compaction: bool,
    /// A compaction is due in an idle database, or values wait for compression.
    pub(crate) idle_compaction: bool,
    /// Memtables are being flushed, or runs compacted, by another thread.
    pub(crate) others_work: bool,
    /// Somebody waits for idle work.
    pub(crate) hurrying: bool,
    /// The worker has found no idle work, and none was announced since.
    pub(crate) quiet: bool,
    /// The installed version should become durable now.
    pub(crate) persist_due: bool,
}

/// Returns the task to run next; `None` if the caller should wait.
pub(crate) fn next(facts: &Facts) -> Option<Task> {
    let caller = &facts.caller;
    // The syncer does the rest of its tasks once it has made something durable.
    let syncer = caller.mine.contains(Task::PrepareSpare);
    let idle = caller.rested || facts.hurrying;
    let looking = !syncer && idle && !facts.quiet;
    let flushed = caller.last == Some(Task::Flush);
    let is_quiet = caller.persisted && facts.quiet;
    let order = [
        (Task::TendReserve, facts.reserve_due),
        (Task::FreeSpace, caller.after_pause),
        (Task::Flush, facts.flush_due && !(facts.hurrying && flushed)),
        (
            Task::FlushDeletes,
            facts.hurrying && !facts.quiet && facts.nearly_full,
        ),
        (Task::CompactIdle, facts.hurrying && facts.idle_compaction),
        (Task::Compact, facts.compaction),
        (Task::Squeeze, facts.nearly_full),
        (Task::RelocateUnderLoad, true),
        (Task::Persist, facts.persist_due),
        (Task::Reap, !syncer || caller.persisted),
        (Task::SealForSpace, looking),
        (Task::FlushAll, idle && facts.can_flush),
        (Task::CompactIdle, idle && facts.idle_compaction),
        (Task::RelocateIdle, looking),
        (Task::DropValues, looking || caller.persisted),
        (Task::RetakeReserve, looking),
        (Task::TrimSpares, looking && !facts.others_work || is_quiet),
        (Task::PrepareSpare, caller.persisted && !facts.quiet),
    ];
    let may = |task: Task| {
        let despite_pause = matches!(task, Task::FreeSpace | Task::TendReserve);
        caller.mine.contains(task)
            && !caller.fruitless.contains(task)
            && (!facts.paused || despite_pause)
    };
    let found = order.into_iter().find(|(task, due)| *due && may(*task));
    found.map(|(task, _)| task)
}

#[cfg(test)]
mod scripts;
