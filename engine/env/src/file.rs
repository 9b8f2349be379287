//! Files: appended, read at an offset or mapped, and log regions that are overwritten in place.
//!
//! Every error names the file and its directory, because a program may have several databases whose
//! files have the same names.

use std::fmt::{self, Debug};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::Result;

/// The access pattern of a mapping's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Point reads: no read-ahead.
    Random,
    /// A scan or compaction from front to back.
    Sequential,
    /// Reads of many pages, each from front to back: the system's default.
    Pieces,
}

/// A file that is written once, from front to back.
pub trait WritableFile: Debug + Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// `NoSpace` or `Io`. After an error the file's length is unknown and it must not be appended
    /// to again.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends all `parts` in order, without joining them first. An implementation may use one
    /// system call for all of them; this default uses one for each non-empty part.
    ///
    /// # Errors
    /// Same as [`WritableFile::append`]; some of the parts may already have been appended.
    fn append_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| self.append(part))
    }

    /// Returns the number of bytes appended so far.
    fn size(&self) -> u64;

    /// Makes every appended byte durable (`fdatasync`).
    ///
    /// # Errors
    /// `Io`; a failed sync must never be retried.
    fn sync(&mut self) -> Result<()>;

    /// Returns a second handle to the same file, through which another thread, the syncer, can sync
    /// the bytes appended so far. The handle keeps the descriptor open, so no write-back error is
    /// lost.
    fn syncer(&self) -> Arc<dyn FileSync>;
}

/// A handle for syncing a file that another handle writes.
pub trait FileSync: Debug + Send + Sync {
    /// Makes the bytes appended so far durable.
    ///
    /// # Errors
    /// `Io`; a failed sync must never be retried.
    fn sync(&self) -> Result<()>;

    /// Starts writing back the bytes appended so far, without waiting. Syncing several files in
    /// sequence takes half the time if write-back of all of them is started first. This is a hint:
    /// nothing is durable before [`FileSync::sync`], which also reports errors from in between.
    fn begin(&self) {}
}

/// An immutable file.
pub trait ReadFile: Debug + Send + Sync {
    /// Returns the file's length when it was opened.
    fn size(&self) -> u64;

    /// Reads exactly `out.len()` bytes at `offset`.
    ///
    /// # Errors
    /// `Corruption` if the file ends before the range does; otherwise `Io`.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Maps the first `len` bytes, at most the file's length when it was opened; `None` if the
    /// environment does not support mappings. The mapped bytes must not change while the mapping
    /// lives; the file may grow.
    ///
    /// # Errors
    /// `Io`; `Corruption` if the file is shorter.
    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>>;

    /// Advises the environment that a range will be read soon or, if `wanted` is false, is no
    /// longer needed in memory. Does not wait.
    fn advise(&self, offset: u64, len: u64, wanted: bool);

    /// Advises the environment how [`ReadFile::read_at`] will be called.
    fn expect(&self, access: Access) {
        let _ = access;
    }
}

/// Owner of mapped bytes: a real mapping, or heap bytes under simulation.
pub trait MappedBytes: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the bytes. Called once, when a [`Mapping`] is created.
    fn bytes(&self) -> &[u8];

    /// See [`Mapping::read_ahead`].
    fn read_ahead(&self, offset: usize, len: usize) {
        let _ = (offset, len);
    }

    /// See [`Mapping::map_now`].
    fn map_now(&self, offset: usize, len: usize) {
        let _ = (offset, len);
    }
}

/// Read-only bytes that stay valid and unchanged while the mapping lives. Dereferencing is a field
/// access.
#[derive(Clone)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    /// Keeps `start..start + len` alive.
    owner: Arc<dyn MappedBytes>,
}

// SAFETY: the bytes are only ever read, and their owner is itself `Send + Sync`.
#[expect(unsafe_code, reason = "a raw pointer next to the owner of its bytes")]
unsafe impl Send for Mapping {}
// SAFETY: as above: only shared reads of bytes that never change.
#[expect(unsafe_code, reason = "a raw pointer next to the owner of its bytes")]
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Wraps an owner of bytes.
    pub fn new(owner: Arc<dyn MappedBytes>) -> Mapping {
        let bytes = owner.bytes();
        let (start, len) = (NonNull::from(bytes).cast::<u8>(), bytes.len());
        Mapping { start, len, owner }
    }

    /// Returns the `len` bytes at `offset`, which keep the whole mapping alive; `None` if the range
    /// is out of bounds.
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Option<Mapping> {
        let part = self.get(offset..offset.checked_add(len)?)?;
        let start = NonNull::from(part).cast::<u8>();
        Some(Mapping {
            start,
            len,
            owner: Arc::clone(&self.owner),
        })
    }

    /// Asks the system to start reading the part of the range that is not in memory, in as few
    /// requests as possible. Advice only; does not wait. The range is relative to the whole
    /// mapping, even if `self` is a part of it.
    pub fn read_ahead(&self, offset: usize, len: usize) {
        self.owner.read_ahead(offset, len);
    }

    /// Asks the system to map the range now instead of taking a page fault for every few pages;
    /// waits for pages that must be read. Advice only. The range is relative to the whole mapping,
    /// as in [`Mapping::read_ahead`].
    pub fn map_now(&self, offset: usize, len: usize) {
        self.owner.map_now(offset, len);
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    #[expect(
        unsafe_code,
        reason = "a virtual call on each use would cost more than the use"
    )]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `len` come from a slice borrowed from the owner, or from a subslice
        // of it (`part`), and this value shares the owner. An `Arc` never moves its content and
        // gives no exclusive access while shared, so the slice, borrowed for as long as the owner
        // lives, is valid and unchanged here.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The memory of one log segment: a fixed length, written from front to back, by one writer.
///
/// A real region is a shared mapping: a `write` is a copy and survives `SIGKILL`. A simulated one
/// is heap bytes: each write is split into pieces that a kill may separate, and each dirtied
/// 512-byte sector is a pending unit of a crash state.
///
/// Once any bytes have been read in place ([`LogRegion::bytes`]), written bytes stay unchanged
/// while the region is shared; only its sole owner may allow overwriting them
/// ([`LogRegion::reuse`]).
pub trait LogRegion: Debug + Send + Sync {
    /// Returns the fixed length in bytes.
    fn size(&self) -> u64;

    /// Copies `parts` consecutively to `offset`. The operating system then holds the bytes: they
    /// survive the death of this process, but perhaps not a power loss. `sync_next` means that the
    /// caller will call [`LogRegion::sync`] immediately afterwards, so that an implementation can
    /// choose the path that makes that sync cheapest.
    ///
    /// Must not be called concurrently with itself.
    ///
    /// # Errors
    /// `NoSpace` or `Io`; after an error the region must not be written again.
    ///
    /// # Panics
    /// If the bytes extend past the end of the region; if they start before the end of the written
    /// bytes after a call of [`LogRegion::bytes`]; on a concurrent call.
    fn write(&self, offset: u64, parts: &[&[u8]], sync_next: bool) -> Result<()>;

    /// Borrows `len` written bytes at `offset`, to be read in place; `None` if the environment has
    /// no stable memory for them.
    ///
    /// The bytes are in the page cache. If the system evicted a page that the disk failed to store,
    /// they differ from what was written. Readers that rely on them must verify them.
    ///
    /// # Panics
    /// If any of the bytes were not written since the region was created, opened or reused; on the
    /// first call, if a write is in progress.
    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let _ = (offset, len);
        None
    }

    /// Returns the file name and offset of `bytes`, for an error about them; `None` unless
    /// [`LogRegion::bytes`] returned them.
    fn place_of(&self, bytes: &[u8]) -> Option<(&str, u64)> {
        let _ = bytes;
        None
    }

    /// Announces that the region will be written from its start again and that no reader uses it in
    /// place any more.
    fn reuse(&mut self) {}

    /// Makes every byte written so far durable. May run while another thread writes; bytes written
    /// during the call are not covered.
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&self) -> Result<()>;

    /// Begins to write the bytes written so far to the disk, without waiting: for a caller that
    /// will sync several regions one after another. Advice only.
    fn begin_sync(&self) {}

    /// Prepares the region's memory so that the following writes take few page faults. Advice only:
    /// may do nothing if the region was prepared recently and has not been synced since.
    ///
    /// This dirties the whole region, so the next [`LogRegion::sync`] writes all of it back.
    /// Intended for regions that are about to be written without syncs.
    fn warm(&self);
}
