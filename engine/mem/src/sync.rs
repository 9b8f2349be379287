//! Atomics of the memtable: std's atomics, or loom's under `--cfg loom`.
//!
//! This module is the only place that selects them. A [`Witness`] is zero-sized in a real build.
//! Under loom it is a tracked cell next to a node's plain bytes, so that a reader that reaches a
//! node without the happens-before edge that publishes its bytes fails the model.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// A stand-in for plain memory that is written once, before it is published.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Witness;

#[cfg(not(loom))]
impl Witness {
    /// Returns a witness of memory that has just been written.
    #[inline]
    pub(crate) fn written() -> Witness {
        Witness
    }

    /// Records a read of the memory.
    #[inline]
    #[expect(clippy::unused_self, reason = "the loom version uses it")]
    pub(crate) fn read(&self) {}
}

/// A stand-in for plain memory that is written once, before it is published.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Witness(loom::cell::UnsafeCell<()>);

#[cfg(loom)]
impl Witness {
    /// Returns a witness of memory that has just been written.
    pub(crate) fn written() -> Witness {
        let witness = Witness(loom::cell::UnsafeCell::new(()));
        witness.0.with_mut(|_| ());
        witness
    }

    /// Records a read of the memory.
    pub(crate) fn read(&self) {
        self.0.with(|_| ());
    }
}
