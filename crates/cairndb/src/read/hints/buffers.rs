//! Buffers of a cursor for the current key and value, passed from one cursor of a thread to the
//! next.
//!
//! Many cursors live for one seek, and two allocations and their growth took a considerable part of
//! its instructions. A thread keeps the buffers of the last cursor it dropped, unless they have
//! grown long.

use std::cell::Cell;

/// Length above which a buffer is freed: a thread keeps at most three times as much.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Buffers for a copied key and value.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) key: Vec<u8>,
    /// A key that is not, or not yet, current.
    pub(crate) other: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

thread_local! {
    static KEPT: Cell<Buffers> = const {
        Cell::new(Buffers {
            key: Vec::new(),
            other: Vec::new(),
            value: Vec::new(),
        })
    };
}

impl Buffers {
    /// Returns the thread's buffers, or new ones if another cursor has them or the thread is
    /// exiting.
    #[inline]
    pub(crate) fn take() -> Buffers {
        KEPT.try_with(Cell::take).unwrap_or_default()
    }

    /// Leaves the buffers for the thread's next cursor.
    #[inline]
    pub(crate) fn keep(self) {
        let longest = self.key.capacity().max(self.other.capacity());
        if longest.max(self.value.capacity()) <= KEPT_BYTES_MAX {
            // An exiting thread keeps nothing.
            let _ended = KEPT.try_with(|kept| kept.set(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_the_last_buffers_unless_they_are_long() {
        let buffers = |bytes| Buffers {
            key: vec![1; 10],
            other: Vec::new(),
            value: Vec::with_capacity(bytes),
        };
        buffers(100).keep();
        assert_eq!(Buffers::take().value.capacity(), 100);
        assert_eq!(Buffers::take().key.capacity(), 0, "taken");
        buffers(KEPT_BYTES_MAX + 1).keep();
        assert_eq!(Buffers::take().key.capacity(), 0);
    }
}
