//! Whether anything is left to do in the background: the worker looks for it, with and without the state's lock, and says
//! when it has found nothing.
//!
//! Invariant: there is rest only if nothing was made known since the worker began to look. It looks into
//! files without the lock, where a writer may seal a part meanwhile, or somebody begin to wait for rest: for that one
//! the worker has to look again. (Without the count it said so all the same, and who waited for rest found parts
//! that were not flushed.)
//!
//! Threads: under the state's lock.

/// Whether the database is idle, and what ends that.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    quiet: bool,
    disturbed: u64,
}

/// A moment at which the worker began to look for something to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookedSince(u64);

impl Idle {
    /// The worker found nothing to do, idle merges included, and nothing has been made known since.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// There may be something to do from now on; whether there was idle.
    pub(crate) fn disturb(&mut self) -> bool {
        self.disturbed += 1;
        std::mem::replace(&mut self.quiet, false)
    }

    /// Now, for [`Idle::settle`].
    pub(crate) fn look(&self) -> LookedSince {
        LookedSince(self.disturbed)
    }

    /// Nothing to do was found since then; whether that is so still.
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
