//! Files: appended, read at an offset or mapped, and log regions that are overwritten in place.
//!
//! Every error names the file and its directory: a program may have several databases with files of
//! the same names.

use std::fmt::{self, Debug};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::Result;

/// How a reader will use a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Point reads: no read-ahead.
    Random,
    /// A scan or compaction from front to back.
    Sequential,
    /// Pieces of many pages, each from front to back: the system's default.
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

    /// Appends all of `parts`, one after the other, without joining them first. An implementation
    /// may use one system call for all; this default uses one for each that is not empty.
    ///
    /// # Errors
    /// As [`WritableFile::append`]; some of the parts may then have been appended.
    fn append_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| self.append(part))
    }

    /// Bytes appended so far.
    fn size(&self) -> u64;

    /// Makes every appended byte durable (`fdatasync`).
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&mut self) -> Result<()>;

    /// A second handle on the same file, with which another thread, the syncer, can `sync` what was
    /// appended before. It keeps the descriptor open, so no write-back error is lost.
    fn syncer(&self) -> Arc<dyn FileSync>;
}

/// Syncs a file that another handle wrote.
pub trait FileSync: Debug + Send + Sync {
    /// Makes the bytes appended so far durable.
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&self) -> Result<()>;

    /// Starts writing the bytes appended so far, without waiting: syncing several files one after
    /// the other takes half the time if all are started first. A hint: nothing is durable before
    /// [`FileSync::sync`], which also reports intermediate errors.
    fn begin(&self) {}
}

/// An immutable file.
pub trait ReadFile: Debug + Send + Sync {
    /// Its length when it was opened.
    fn size(&self) -> u64;

    /// Reads exactly `out.len()` bytes at `offset`.
    ///
    /// # Errors
    /// `Corruption` if the file ends before; `Io` otherwise.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Maps the first `len` bytes, at most as many as the file had when it was opened; `None` if
    /// the environment does not map. None of them may be changed while the mapping lives; the file
    /// may grow.
    ///
    /// # Errors
    /// `Io`; `Corruption` if the file is shorter.
    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>>;

    /// Announces that a range will be read soon, or (with `wanted` false) is no longer needed in
    /// memory. Advice only.
    fn advise(&self, offset: u64, len: u64, wanted: bool);
}

/// Owner of mapped bytes: a real mapping, or heap bytes under simulation.
pub trait MappedBytes: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The bytes. Called once, when a [`Mapping`] is made.
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

/// Read-only bytes that stay valid and unchanged while it lives. Dereferencing is a field access.
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
// SAFETY: as above: shared reads of bytes that nobody changes.
#[expect(unsafe_code, reason = "a raw pointer next to the owner of its bytes")]
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Wraps an owner of bytes.
    pub fn new(owner: Arc<dyn MappedBytes>) -> Mapping {
        let bytes = owner.bytes();
        let (start, len) = (NonNull::from(bytes).cast::<u8>(), bytes.len());
        Mapping { start, len, owner }
    }

    /// The `len` bytes at `offset`, which keep all of the mapping alive; `None` where it has not so
    /// many.
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
    /// requests as possible. Advice only; does not wait. The range is of the whole mapping, even if
    /// this is a part of it.
    pub fn read_ahead(&self, offset: usize, len: usize) {
        self.owner.read_ahead(offset, len);
    }

    /// Asks the system to map the range now instead of by a page fault for every few pages; waits
    /// for pages that must be read. Advice only. The range is as for [`Mapping::read_ahead`].
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
        // SAFETY: `start` and `len` come from a slice borrowed from the owner, or from one within
        // that (`part`), which this value shares. An `Arc` never moves its content and gives no
        // exclusive access while shared, so the slice, borrowed for as long as the owner lives, is
        // valid and unchanged here.
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
/// Real: a shared mapping (a `write` is a copy and survives `SIGKILL`). Simulated: heap bytes,
/// where each write is split into pieces that a kill may separate, and each dirtied 512-byte sector
/// is a pending unit of a crash state.
///
/// Once any of it was read in place ([`LogRegion::bytes`]), written bytes stay unchanged while the
/// region is shared; only its sole owner may allow overwriting them ([`LogRegion::reuse`]).
pub trait LogRegion: Debug + Send + Sync {
    /// The fixed length in bytes.
    fn size(&self) -> u64;

    /// Copies `parts` consecutively to `offset`. The operating system then has them: the death of
    /// this process loses nothing, a power loss may. `sync_next` says that the caller will call
    /// [`LogRegion::sync`] right after, so that an implementation can choose the path that makes
    /// that sync cheapest.
    ///
    /// Must not be called concurrently with itself.
    ///
    /// # Errors
    /// `NoSpace` or `Io`; afterwards the region must not be written again.
    ///
    /// # Panics
    /// If the bytes reach past the end of the region or, after [`LogRegion::bytes`], begin before
    /// the end of the written bytes; on a concurrent call.
    fn write(&self, offset: u64, parts: &[&[u8]], sync_next: bool) -> Result<()>;

    /// Borrows `len` written bytes at `offset`, to be read in place; `None` if the environment has
    /// no stable memory for them.
    ///
    /// They are in the page cache: if the system dropped them and the disk lost what it was given,
    /// they are not what was written. Readers that rely on them must check them.
    ///
    /// # Panics
    /// If not all of them were written since the region was created, opened or reused; at the first
    /// call, if a write is under way.
    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let _ = (offset, len);
        None
    }

    /// File name and offset of `bytes` that [`LogRegion::bytes`] returned, for an error about them;
    /// `None` for other bytes.
    fn place_of(&self, bytes: &[u8]) -> Option<(&str, u64)> {
        let _ = bytes;
        None
    }

    /// Announces that the region will be written from its front again: nobody reads it in place any
    /// more.
    fn reuse(&mut self) {}

    /// Makes every byte written so far durable. May run while another thread writes; bytes written
    /// during the call are not covered.
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&self) -> Result<()>;

    /// Prepares the region's memory so that the following writes take few page faults. Advice only:
    /// may do nothing if the region was prepared a moment ago and not synced since.
    ///
    /// It dirties the whole region, so the next [`LogRegion::sync`] writes all of it back: meant
    /// for regions that will be written without syncs, ahead of their use.
    fn warm(&self);
}
