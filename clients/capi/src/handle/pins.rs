//! Pins: which shared objects the threads are using now.
//!
//! Before a thread uses a database or a snapshot, it writes the handle into a cell of its own, then
//! reads the slot's state. The thread that destroys the object first changes the state, then reads
//! the cells of all threads. Each side has a barrier between its two steps, so at least one of them
//! sees the other: either the user finds the handle destroyed, or the destroyer finds the pin and
//! leaves the object to a later call (`retired.rs`).
//!
//! A barrier costs 9 ns on the machine this was written on, and a get has 40. So the destroyer pays
//! for both sides where the kernel allows it: the system call `membarrier` makes every running
//! thread of the process pass one. Elsewhere, each side has its own.
//!
//! Rejected: a reference count in the slot, which all threads would write for each call, so that
//! eight readers of one database would be no faster than one.
//!
//! A thread's cells are a stack, because a callback may use another handle during a call.

use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

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
    /// The thread's buffer for values. Taken during a read, which may be nested.
    buffer: Cell<Vec<u8>>,
    /// Whether the last value that the thread read was large.
    large: Cell<bool>,
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

/// Size above which a thread's buffer is not kept, and values are no longer copied to it.
const LARGE_BYTES: usize = 64 << 10;

impl Pin {
    /// Returns whether the next value is probably short.
    #[inline]
    pub(crate) fn expects_short_value(&self) -> bool {
        !self.record.large.get()
    }

    /// Notes the length of a value that was read.
    #[inline]
    pub(crate) fn note_value(&self, len: usize) {
        self.record.large.set(len >= LARGE_BYTES);
    }

    /// Takes the thread's buffer; a nested call finds an empty one.
    #[inline]
    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        self.record.buffer.take()
    }

    /// Gives the buffer back.
    #[inline]
    pub(crate) fn keep_buffer(&self, buffer: Vec<u8>) {
        if buffer.capacity() <= 2 * LARGE_BYTES {
            self.record.buffer.set(buffer);
        }
    }
}

/// Whether the kernel makes all threads pass a barrier, so that users need none.
static KERNEL_BARRIER: AtomicBool = AtomicBool::new(false);

/// Commands of the system call.
#[cfg(target_os = "linux")]
mod command {
    pub(super) const PRIVATE_EXPEDITED: libc::c_int = 8;
    pub(super) const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 16;
}

/// Returns whether the kernel has executed the command.
#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Prepares the kernel's barrier. Called before the first handle exists.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        KERNEL_BARRIER.store(
            membarrier(command::REGISTER_PRIVATE_EXPEDITED),
            Ordering::Relaxed,
        );
    });
}

/// The barrier of a thread that destroys an object. Returns whether all users have passed one.
fn barrier() -> bool {
    fence(Ordering::SeqCst);
    #[cfg(target_os = "linux")]
    if KERNEL_BARRIER.load(Ordering::Relaxed) {
        return membarrier(command::PRIVATE_EXPEDITED);
    }
    true
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
    cell.store(handle.0, Ordering::Relaxed);
    if KERNEL_BARRIER.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
    record.depth.store(depth + 1, Ordering::Relaxed);
    Ok(Pin { record, depth })
}

/// Takes a record for this thread: one that a thread has left, or a new one.
#[cold]
fn register() -> &'static Record {
    let record = left_record().unwrap_or_else(new_record);
    RECORD.set(record);
    // A thread that first calls the library while its thread-local storage is being destroyed
    // keeps its record, which is small.
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
        buffer: Cell::default(),
        large: Cell::new(false),
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

/// Returns whether a thread may use the object of `handle`, whose slot no longer accepts it.
pub(crate) fn is_pinned(handle: Handle) -> bool {
    // If the kernel refuses what it has promised, the object waits for good.
    !barrier()
        || records().any(|record| {
            let mut cells = record.cells.iter();
            cells.any(|cell| cell.load(Ordering::Acquire) == handle.0)
        })
}
