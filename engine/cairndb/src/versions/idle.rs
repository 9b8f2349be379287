//! Idle state of a database: whether all background work is done.
//!
//! The worker looks for work with and without the state lock, and records here that it found none.
//!
//! Invariant: the database counts as idle only if no work was announced since the worker started to
//! look. The worker examines files without the lock. In the meantime a writer may seal a memtable,
//! or a caller may start to wait until the database is idle; then the worker has to look again.
//! (Without the counter, callers that waited until the database was idle found unflushed
//! memtables.)
//!
//! Threads: used under the state lock.

/// Idle state of the database, and the events that end it.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    quiet: bool,
    disturbed: u64,
}

/// A moment at which the worker started to look for work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookedSince(u64);

impl Idle {
    /// Returns whether the worker found no work, including idle compactions, and none was announced
    /// since.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Announces that there may be work from now on, and returns whether the database was idle.
    pub(crate) fn disturb(&mut self) -> bool {
        self.disturbed += 1;
        std::mem::replace(&mut self.quiet, false)
    }

    /// Returns the current moment, for [`Idle::settle`].
    pub(crate) fn look(&self) -> LookedSince {
        LookedSince(self.disturbed)
    }

    /// Records that no work was found since `since`, and returns whether the database is now idle.
    #[must_use]
    pub(crate) fn settle(&mut self, since: LookedSince) -> bool {
        self.quiet |= since.0 == self.disturbed;
        self.quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_known_while_the_worker_looks_is_looked_at() {
        let mut idle = Idle::default();
        let since = idle.look();
        assert!(!idle.disturb());
        assert!(!idle.settle(since) && !idle.is_quiet());
        let since = idle.look();
        assert!(idle.settle(since) && idle.is_quiet());
        assert!(idle.disturb());
        assert!(!idle.is_quiet());
    }
}
