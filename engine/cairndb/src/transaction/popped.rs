//! What a transaction has popped, so that its next pop continues there.
//!
//! A transaction that pops many entries sees its own tombstones in front of the next one. A search
//! from the end of the keys would step over all of them, each time.

use cairndb_base::Order;

/// One end of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEnd {
    First,
    Last,
}

/// The entry that was popped last at one end: the transaction sees no key from that end up to it.
#[derive(Debug)]
pub(super) struct Popped {
    pub(super) key: Vec<u8>,
    /// Index of the range that the pops have read, if reads are recorded.
    pub(super) span: Option<usize>,
}

/// What was popped last at each end.
#[derive(Debug, Default)]
pub(super) struct PoppedEnds([Option<Popped>; 2]);

impl PoppedEnds {
    /// Returns what was popped last at `end`, and forgets it.
    pub(super) fn take(&mut self, end: KeyEnd) -> Option<Popped> {
        self.0[end as usize].take()
    }

    pub(super) fn keep(&mut self, end: KeyEnd, popped: Popped) {
        self.0[end as usize] = Some(popped);
    }

    /// Forgets what was popped at an end where `key`, which is about to be written, would be seen.
    #[inline]
    pub(super) fn forget(&mut self, key: &[u8], order: &Order) {
        let [first, last] = &mut self.0;
        first.take_if(|popped| order.compare(key, &popped.key).is_le());
        last.take_if(|popped| order.compare(key, &popped.key).is_ge());
    }
}
