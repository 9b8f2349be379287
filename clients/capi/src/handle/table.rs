//! The slots of all handles.
//!
//! Slots are allocated in chunks that are never freed, so a slot may be read with any index. A free
//! slot is on a stack; the stack's head counts its changes, so that a slot that was taken and
//! returned in between is noticed. No lock is held, so a child process finds the table usable.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use cairndb::{Error, Result};

use crate::handle::{Handle, HandleKind, SLOT_BITS};

const CHUNK_SLOTS: usize = 1024;
const CHUNKS: usize = (1 << SLOT_BITS) / CHUNK_SLOTS;

/// An object's place. The line of the entry is the iterator's: `key` and `value` read it without
/// a call into the engine.
#[repr(align(64))]
pub(crate) struct Slot {
    /// Generation, forks, kind and marks; of a free slot, the next generation alone.
    pub(crate) state: AtomicU64,
    pub(crate) object: AtomicPtr<()>,
    pub(crate) entry: EntryCell,
    /// Index of the next free slot, plus one.
    next_free: AtomicU32,
}

/// Where an iterator's entry is, as of its last move.
pub(crate) struct EntryCell {
    key: AtomicPtr<u8>,
    key_len: AtomicUsize,
    value: AtomicPtr<u8>,
    value_len: AtomicUsize,
}

/// An iterator's entry: addresses and lengths that are valid until its next move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: *const u8,
    pub(crate) key_len: usize,
    pub(crate) value: *const u8,
    pub(crate) value_len: usize,
}

impl EntryCell {
    /// Sets the entry. `None` if the iterator is not on one. Only the thread that has the
    /// iterator sets it.
    #[inline]
    pub(crate) fn set(&self, entry: Option<(&[u8], &[u8])>) {
        // Relaxed: the addresses are of use to the thread that moved the iterator, or to one that
        // synchronised with it.
        let Some((key, value)) = entry else {
            return self.key.store(null_mut(), Ordering::Relaxed);
        };
        self.key.store(key.as_ptr().cast_mut(), Ordering::Relaxed);
        self.key_len.store(key.len(), Ordering::Relaxed);
        self.value
            .store(value.as_ptr().cast_mut(), Ordering::Relaxed);
        self.value_len.store(value.len(), Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> Option<Entry> {
        let key = self.key.load(Ordering::Relaxed);
        (!key.is_null()).then(|| Entry {
            key,
            key_len: self.key_len.load(Ordering::Relaxed),
            value: self.value.load(Ordering::Relaxed),
            value_len: self.value_len.load(Ordering::Relaxed),
        })
    }
}

struct Chunk {
    slots: [Slot; CHUNK_SLOTS],
}

static TABLE: [AtomicPtr<Chunk>; CHUNKS] = [const { AtomicPtr::new(null_mut()) }; CHUNKS];
/// Number of slots that were ever used.
static USED: AtomicU32 = AtomicU32::new(0);
/// In the upper half, the number of changes; in the lower, the index of the first free slot plus
/// one.
static FREE: AtomicU64 = AtomicU64::new(0);

/// Returns the slot of `handle`, unless it is in a chunk that was never allocated.
#[inline]
pub(crate) fn slot_of(handle: Handle) -> Option<&'static Slot> {
    let index = handle.slot();
    let chunk = TABLE[index / CHUNK_SLOTS].load(Ordering::Acquire);
    // SAFETY: null, or a chunk that was leaked complete before its address was published.
    let chunk = unsafe { chunk.as_ref() }?;
    Some(&chunk.slots[index % CHUNK_SLOTS])
}

/// Returns the entry of an iterator: `Ok(None)` if it is not on one.
///
/// # Errors
/// Those of a handle that is not an iterator's, or is in use.
#[inline]
pub(crate) fn entry_of(handle: Handle) -> Result<Option<Entry>> {
    if let Some(slot) = slot_of(handle)
        && slot.state.load(Ordering::Acquire) == handle.live_state_as(HandleKind::Iterator as u64)
    {
        return Ok(slot.entry.get());
    }
    Err(refusal(handle, HandleKind::Iterator))
}

/// Returns the error for a handle that is not valid now.
#[cold]
pub(crate) fn refusal(handle: Handle, kind: HandleKind) -> Error {
    let state = slot_of(handle).map(|slot| slot.state.load(Ordering::Acquire));
    handle.refusal(kind, state)
}

/// Takes a free slot; returns its index.
///
/// # Errors
/// `InvalidArgument` if 16 million handles are open.
pub(crate) fn take() -> Result<(u32, &'static Slot)> {
    let mut head = FREE.load(Ordering::Acquire);
    loop {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let Some(index) = (head as u32).checked_sub(1) else {
            return take_new();
        };
        let slot = existing(index);
        let next = u64::from(slot.next_free.load(Ordering::Relaxed));
        let new = ((head >> 32) + 1) << 32 | next;
        match FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok((index, slot)),
            Err(now) => head = now,
        }
    }
}

fn existing(index: u32) -> &'static Slot {
    let handle = Handle::new(index, 1, HandleKind::Database);
    slot_of(handle).expect("the chunk of a used slot exists")
}

fn take_new() -> Result<(u32, &'static Slot)> {
    let used = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
        (used < 1 << SLOT_BITS).then_some(used + 1)
    });
    let Ok(index) = used else {
        return Err(Error::invalid("too many handles are open; destroy some")
            .expected(format_args!("at most {}", 1 << SLOT_BITS)));
    };
    let place = &TABLE[index as usize / CHUNK_SLOTS];
    if place.load(Ordering::Acquire).is_null() {
        let slots = std::array::from_fn(|_| Slot {
            state: AtomicU64::new(0),
            object: AtomicPtr::new(null_mut()),
            entry: EntryCell {
                key: AtomicPtr::new(null_mut()),
                key_len: AtomicUsize::new(0),
                value: AtomicPtr::new(null_mut()),
                value_len: AtomicUsize::new(0),
            },
            next_free: AtomicU32::new(0),
        });
        let chunk = Box::into_raw(Box::new(Chunk { slots }));
        let other = place.compare_exchange(null_mut(), chunk, Ordering::AcqRel, Ordering::Acquire);
        if other.is_err() {
            // SAFETY: another thread was first, so nobody has seen this chunk.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
    Ok((index, existing(index)))
}

/// Returns a slot to the free ones.
pub(crate) fn put_back(handle: Handle, slot: &Slot) {
    let index = u32::try_from(handle.slot()).expect("24 bits");
    let mut head = FREE.load(Ordering::Acquire);
    loop {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        slot.next_free.store(head as u32, Ordering::Relaxed);
        let new = ((head >> 32) + 1) << 32 | u64::from(index + 1);
        match FREE.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}
