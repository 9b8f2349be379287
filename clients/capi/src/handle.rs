//! Handles: what a C program holds for a database, a keyspace, an iterator, a comparison,
//! a feed of changes, a snapshot or a batch.
//!
//! A handle is not an address. It is a number: the index of a slot, the generation of that slot,
//! and the kind of object. The slot holds its current generation, and every call compares the two,
//! so NULL, a handle used after its object was destroyed, a handle of another kind and a handle of
//! the parent process are errors rather than accesses to freed memory.
//!
//! ```text
//! bit 63 ... 27   generation, from 1; never repeats in a slot
//! bit 26 ...  3   slot
//! bit  2 ...  0   kind, from 1, so that no handle is NULL or a multiple of 8, as pointers are
//! ```
//!
//! The slot's state has the same parts, the number of forks of the process that made the handle,
//! and two marks: `BUSY` while a call uses an exclusive kind, `POISONED` after a panic.
//!
//! Objects of shared kinds are pinned during a call (`pins.rs`): a destroyed object is freed once
//! no call of another thread uses it. Exclusive kinds have one call at a time, which `BUSY`
//! ensures.

mod access;
mod pins;
mod retired;
mod table;

use cairndb::{Error, ErrorKind};
use cairndb_env::Origin;

pub(crate) use access::{destroy, insert, with_exclusive, with_pinned, with_shared};
pub(crate) use table::{Entry, entry_of};

#[cfg(test)]
mod tests;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a handle takes 64 bits; the C library supports 64-bit platforms only");

const KIND_BITS: u32 = 3;
const SLOT_BITS: u32 = 24;
const GENERATION_SHIFT: u32 = KIND_BITS + SLOT_BITS;
/// A slot whose generation reaches this is never used again.
const GENERATION_MAX: u64 = (1 << (64 - GENERATION_SHIFT)) - 1;

const STATE_FORKS_SHIFT: u32 = 8;
const STATE_GENERATION_SHIFT: u32 = 24;
const BUSY: u64 = 0x10;
const POISONED: u64 = 0x20;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HandleKind {
    Database = 1,
    Iterator = 2,
    Snapshot = 3,
    Batch = 4,
    Keyspace = 5,
    Comparison = 6,
    Feed = 7,
}

impl HandleKind {
    fn name(self) -> &'static str {
        match self {
            HandleKind::Database => "database",
            HandleKind::Iterator => "iterator",
            HandleKind::Snapshot => "snapshot",
            HandleKind::Batch => "batch",
            HandleKind::Keyspace => "keyspace",
            HandleKind::Comparison => "comparison",
            HandleKind::Feed => "feed of changes",
        }
    }

    /// Returns the function that ends the life of such an object.
    fn end(self) -> &'static str {
        match self {
            HandleKind::Database | HandleKind::Keyspace => "closed",
            HandleKind::Iterator
            | HandleKind::Batch
            | HandleKind::Comparison
            | HandleKind::Feed => "destroyed",
            HandleKind::Snapshot => "released",
        }
    }
}

/// An object that a handle stands for.
pub(crate) trait Object: Send {
    const KIND: HandleKind;
}

/// An object that several threads may use at once.
pub(crate) trait SharedObject: Object + Sync {}

/// The number that a C program holds. It may be anything: the program may pass what it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(u64);

impl Handle {
    /// No object: NULL.
    pub(crate) const NULL: Handle = Handle(0);

    fn new(slot: u32, generation: u64, kind: HandleKind) -> Handle {
        debug_assert!(generation > 0 && generation <= GENERATION_MAX);
        debug_assert!(u64::from(slot) < 1 << SLOT_BITS);
        let slot = u64::from(slot) << KIND_BITS;
        Handle(generation << GENERATION_SHIFT | slot | kind as u64)
    }

    /// Returns the handle that a C program passed.
    #[inline]
    pub(crate) fn of<T>(pointer: *const T) -> Handle {
        Handle(pointer.addr() as u64)
    }

    /// Returns the handle as a C program holds it.
    pub(crate) fn pointer<T>(self) -> *mut T {
        let bits = usize::try_from(self.0).expect("pointers have 64 bits");
        std::ptr::without_provenance_mut(bits)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn slot(self) -> usize {
        (self.0 >> KIND_BITS) as usize & ((1 << SLOT_BITS) - 1)
    }

    fn generation(self) -> u64 {
        self.0 >> GENERATION_SHIFT
    }

    fn is_of(self, kind: HandleKind) -> bool {
        self.0 & ((1 << KIND_BITS) - 1) == kind as u64
    }

    /// Returns the state of the slot while this handle is valid in this process and not in use.
    #[inline]
    fn live_state(self) -> u64 {
        self.live_state_as(self.0 & ((1 << KIND_BITS) - 1))
    }

    /// Like [`Handle::live_state`], for a handle that must be of `kind`: the state names the kind,
    /// so that of the handle needs no check of its own.
    #[inline]
    fn live_state_as(self, kind: u64) -> u64 {
        let forks = u64::from(Origin::forks_now() & 0xffff);
        (self.0 >> GENERATION_SHIFT) << STATE_GENERATION_SHIFT | forks << STATE_FORKS_SHIFT | kind
    }

    /// Returns the error for a handle whose slot has `state` rather than its live state.
    #[cold]
    fn refusal(self, kind: HandleKind, state: Option<u64>) -> Error {
        let name = kind.name();
        if self.is_null() {
            return Error::invalid(format!("the {name} is NULL"));
        }
        // A slot that was never used has generation 0, and no handle has.
        let made = self.is_of(kind) && self.generation() > 0;
        let Some(state) = state.filter(|_| made) else {
            return Error::invalid(format!("the handle is not that of a {name}"));
        };
        if state >> STATE_GENERATION_SHIFT != self.generation() {
            let message = format!("the {name} was {} before this call", kind.end());
            return Error::new(ErrorKind::Closed, message);
        }
        if (state ^ self.live_state()) & (0xffff << STATE_FORKS_SHIFT) != 0 {
            return cairndb_env::forked();
        }
        if state & BUSY != 0 {
            return Error::invalid(format!(
                "another call is using the {name}; use it from one thread at a time"
            ));
        }
        let message = format!("an earlier call panicked, so the {name} is not used any more");
        Error::new(ErrorKind::Poisoned, message)
    }
}
