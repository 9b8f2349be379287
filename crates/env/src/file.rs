//! Files: appended, read at an offset or mapped, and log regions that are overwritten in place.
//!
//! Every error names the file and its directory: a program may have several databases, and each has
//! files of the same names.

use std::fmt::{self, Debug};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};

/// How a reader means to use a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Point reads: no read-ahead.
    Random,
    /// A scan or merge from front to back.
    Sequential,
    /// Pieces of many pages, each from front to back: what the system does unasked.
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

    /// Appends all of `parts`, one behind the other, without joining them first. An implementation
    /// may take one system call for all; this default takes one for each that is not empty.
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

    /// A second handle on the same file whose only use is to `sync` what was appended before, from
    /// another thread: the syncer's. It keeps the descriptor open, so no write-back error is lost.
    fn syncer(&self) -> Arc<dyn FileSync>;
}

/// Syncs a file that another handle wrote.
pub trait FileSync: Debug + Send + Sync {
    /// Makes the bytes appended so far durable.
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&self) -> Result<()>;

    /// Asks that the bytes appended so far begin to be written, and does not wait for them: several
    /// files that are begun first are synced one after the other in half the time. A hint: nothing is
    /// durable before [`FileSync::sync`], which also reports what went wrong meanwhile.
    fn begin(&self) {}
}

/// An immutable file.
pub trait ReadFile: Debug + Send + Sync {
    /// Its length when it was opened.
    fn size(&self) -> u64;

    /// Reads exactly `out.len()` bytes at `offset`.
    ///
    /// # Errors
    /// `Corruption` when the file ends before; `Io` otherwise.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Maps the first `len` bytes, at most as many as the file had when it was opened, or `None` where the environment
    /// does not map. None of them may be changed while the mapping lives; the file may become longer.
    ///
    /// # Errors
    /// `Io`; `Corruption` when the file is shorter.
    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>>;

    /// Tells the system that a range will be read soon, or (with `wanted` false) is not needed in
    /// memory any more. Advice only.
    fn advise(&self, offset: u64, len: u64, wanted: bool);
}

/// The first `len` bytes of a file of `size` as a length in memory, for [`ReadFile::map`], which
/// names the file in the error.
pub(crate) fn front_of(len: u64, size: u64) -> Result<usize> {
    if len > size {
        return Err(Error::corruption("the file ends before the bytes wanted")
            .offset(size)
            .expected(format_args!("{len} bytes"))
            .found(format_args!("a file of {size} bytes")));
    }
    usize::try_from(len)
        .map_err(|_| Error::new(ErrorKind::NotSupported, "the file is larger than memory"))
}

/// What keeps mapped bytes alive: a real mapping, or heap bytes under simulation.
pub trait MappedBytes: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The bytes. Asked once, when a [`Mapping`] is made.
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
#[expect(unsafe_code, reason = "a raw pointer beside the owner of its bytes")]
unsafe impl Send for Mapping {}
// SAFETY: as above: shared reads of bytes that nobody changes.
#[expect(unsafe_code, reason = "a raw pointer beside the owner of its bytes")]
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Wraps an owner of bytes.
    pub fn new(owner: Arc<dyn MappedBytes>) -> Mapping {
        let bytes = owner.bytes();
        let (start, len) = (NonNull::from(bytes).cast::<u8>(), bytes.len());
        Mapping { start, len, owner }
    }

    /// The `len` bytes at `offset`, which keep all of the mapping alive; `None` where it has not so many.
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

    /// Has the system begin to read what of the range is not in memory, in as few requests as it can.
    /// Advice only; does not wait. The range is of the whole mapping, also where this is a part of it.
    pub fn read_ahead(&self, offset: usize, len: usize) {
        self.owner.read_ahead(offset, len);
    }

    /// Has the system map the range at once instead of by a page fault for every few pages; waits for
    /// what must be read. Advice only. The range is as of [`Mapping::read_ahead`].
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
        // SAFETY: `start` and `len` come from a slice borrowed from the owner, or from one within that (`part`),
        // which this value shares. An `Arc` never moves what it owns and gives no exclusive access while shared, so
        // the slice, borrowed for as long as the owner lives, is valid and unchanged here.
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

/// The memory of one log segment: a fixed length, written from front to back, one writer.
///
/// Real: a shared mapping (a `write` is a copy, survives `SIGKILL`). Simulated: heap bytes, each
/// write split into pieces that a kill may separate and each dirtied 512-byte sector a pending unit
/// of a crash state.
///
/// Once something of it was read in place ([`LogRegion::bytes`]), what has been written stays as it is
/// while the region is shared; only its sole owner may have it overwritten ([`LogRegion::reuse`]).
pub trait LogRegion: Debug + Send + Sync {
    /// The fixed length in bytes.
    fn size(&self) -> u64;

    /// Copies `parts` one behind the other to `offset`. They are then handed to the operating
    /// system: the death of this process loses nothing, the loss of power may. `sync_next` says
    /// that the caller will call [`LogRegion::sync`] right after, which lets an implementation take
    /// the path that makes that sync cheapest.
    ///
    /// Must not be called concurrently with itself.
    ///
    /// # Errors
    /// `NoSpace` or `Io`; afterwards the region must not be written again.
    ///
    /// # Panics
    /// When the bytes reach past the end of the region or, after [`LogRegion::bytes`], begin before the
    /// end of what was written; on a concurrent call.
    fn write(&self, offset: u64, parts: &[&[u8]], sync_next: bool) -> Result<()>;

    /// `len` bytes at `offset`, written before, to be read where they lie; `None` where the
    /// environment keeps no memory of them that stays.
    ///
    /// They lie in the page cache: should the system have dropped them, and the disk not have kept
    /// what it was given, they are not what was written. Whoever relies on them checks them.
    ///
    /// # Panics
    /// When not all of them were written since the region was created, opened or reused; the first
    /// time, when a write is under way.
    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let _ = (offset, len);
        None
    }

    /// The name of the file and the offset in it of `bytes` that [`LogRegion::bytes`] gave, for an
    /// error about them; `None` for others.
    fn place_of(&self, bytes: &[u8]) -> Option<(&str, u64)> {
        let _ = bytes;
        None
    }

    /// The region will be written from its front again: nobody reads it in place any more.
    fn reuse(&mut self) {}

    /// Makes every byte written so far durable. May run while another thread writes; what that
    /// thread writes meanwhile is not covered.
    ///
    /// # Errors
    /// `Io`; never retried.
    fn sync(&self) -> Result<()>;

    /// Prepares the region's memory so that following writes take few page faults. Advice only: a region
    /// that was prepared a moment ago, and not synced since, may be let be.
    ///
    /// It dirties the whole region, so the next [`LogRegion::sync`] writes all of it back: for
    /// regions that will be written without syncs, ahead of their use.
    fn warm(&self);
}
