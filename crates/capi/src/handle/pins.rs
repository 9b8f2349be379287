//! Pins: which shared objects the threads are using now.
//!
//! Before a thread uses a database or a snapshot, it writes the handle into a cell of its own. The
//! thread that destroys the object first changes the slot's state, then reads the cells of all
//! threads. Both sides are sequentially consistent, so at least one of them sees the other: either
//! the user finds the handle destroyed, or the destroyer finds the pin and leaves the object to a
//! later call (`retired.rs`).
//!
//! Rejected: a reference count in the slot, which all threads would write for each call, so that
//! eight readers of one database would be no faster than one.
//!
//! A thread's cells are a stack, because a callback may use another handle during a call.

use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use cairndb::{Error, Result};

use crate::handle::Handle;

/// Maximum number of handles that one thread uses at once: a call uses two at most, the others are
/// those of callbacks.
const PINS_MAX: usize = 16;

/// The cells of one thread. Leaked, and used again by a later thread.
#[repr(align(64))]
struct Record {
    cells: [AtomicU64; PINS_MAX],
    depth: AtomicUsize,
    taken: AtomicBool,
    next: *const Record,
}

/// All records, the newest first.
static RECORDS: AtomicPtr<Record> = AtomicPtr::new(null_mut());

thread_local! {
    /// The thread's record. Has no destructor, so that reading it costs one load.
    static RECORD: Cell<*const Record> = const { Cell::new(null()) };
    static RELEASE: Release = const { Release };
}

/// Returns the record of a thread that ends.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        let record = RECORD.replace(null());
        // SAFETY: null, or a record, which is never freed.
        if let Some(record) = unsafe { record.as_ref() } {
            record.taken.store(false, Ordering::Release);
        }
    }
}

/// Keeps an object from being freed.
pub(crate) struct Pin {
    record: &'static Record,
    depth: usize,
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        self.record.depth.store(self.depth, Ordering::Relaxed);
        self.record.cells[self.depth].store(0, Ordering::Release);
    }
}

/// Announces that this thread uses the object of `handle`. The caller checks the handle afterwards.
///
/// # Errors
/// `InvalidArgument` if callbacks are nested too deeply.
#[inline]
pub(crate) fn pin(handle: Handle) -> Result<Pin> {
    // SAFETY: null, or a record, which is never freed.
    let record = match unsafe { RECORD.get().as_ref() } {
        Some(record) => record,
        None => register(),
    };
    let depth = record.depth.load(Ordering::Relaxed);
    let Some(cell) = record.cells.get(depth) else {
        return Err(Error::invalid(
            "callbacks call the library from within its own calls too deeply",
        ));
    };
    cell.store(handle.0, Ordering::SeqCst);
    record.depth.store(depth + 1, Ordering::Relaxed);
    Ok(Pin { record, depth })
}

/// Takes a record for this thread: one that a thread has left, or a new one.
#[cold]
fn register() -> &'static Record {
    let record = left_record().unwrap_or_else(new_record);
    RECORD.set(record);
    // A thread that first calls the library while its thread-local storage is being destroyed
    // keeps its record: 192 bytes.
    let _ = RELEASE.try_with(|_| ());
    record
}

fn left_record() -> Option<&'static Record> {
    records().find(|record| {
        record
            .taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    })
}

fn new_record() -> &'static Record {
    let record = Box::leak(Box::new(Record {
        cells: [const { AtomicU64::new(0) }; PINS_MAX],
        depth: AtomicUsize::new(0),
        taken: AtomicBool::new(true),
        next: null(),
    }));
    let address = &raw mut *record;
    let mut newest = RECORDS.load(Ordering::Acquire);
    loop {
        record.next = newest;
        match RECORDS.compare_exchange_weak(newest, address, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return record,
            Err(now) => newest = now,
        }
    }
}

fn records() -> impl Iterator<Item = &'static Record> {
    let mut next = RECORDS.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a record, which is never freed and whose link never changes once it is
        // in the list.
        let record = unsafe { next.as_ref() }?;
        next = record.next;
        Some(record)
    })
}

/// Returns whether a thread uses the object of `handle`, whose slot no longer accepts it.
pub(crate) fn is_pinned(handle: Handle) -> bool {
    records().any(|record| {
        let mut cells = record.cells.iter();
        cells.any(|cell| cell.load(Ordering::SeqCst) == handle.0)
    })
}
