//! Log regions: preallocated files overwritten in place.
//!
//! On file systems that overwrite in place (ext4, XFS) the region is a shared mapping: a write is a
//! copy into the page cache, without a system call, and survives the death of the process.
//! Elsewhere every write is a `pwritev`. Both leave the file's length and blocks unchanged, so a
//! sync writes data only.
//!
//! A write that is followed by a sync uses `pwritev` in either case. The sync write-protects the
//! mapped page, so a stored record would take a page fault after each sync, which costs more than
//! the system call. Without syncs a store is far cheaper.
//!
//! Written bytes are read in place through the mapping, however they were written (see
//! `borrowing`).
//!
//! Mapped stores and `pwritev` on one file are coherent on Linux (one page cache). A mapped store
//! cannot run out of space because the zeros were written, not only reserved. A medium error that
//! stops the kernel from reading a page back kills the process with `SIGBUS`, which can only happen
//! to pages that were dropped after they were written. The file's blocks must not be shared either
//! (a reflink copy of an open database on XFS): a store would then need new blocks, and on a full
//! disk it would kill the process, too.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::Result;
use cairndb_kernel::prefetch_span;
use memmap2::MmapRaw;
use rustix::fs::{FlockOperation, SeekFrom};
use rustix::io::Errno;

use super::descriptor::system_error;
use super::files::{NamedFile, write_all_at, write_parts_at};
use crate::file::{FileSync, LogRegion};
use crate::fork::Origin;
use crate::implement::Borrowing;
use crate::system::now_ns;

/// Number of zeros written at a time.
const ZEROS_BYTES: usize = 256 << 10;

/// Writes `len` zeros, so that the file has all its blocks, though not yet durably.
pub(super) fn fill_with_zeros(fd: BorrowedFd<'_>, len: u64) -> std::result::Result<(), Errno> {
    // The zeros are never written and take no heap memory.
    static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];
    let mut offset = 0;
    while offset < len {
        let part = usize::try_from(len - offset).map_or(ZEROS_BYTES, |left| left.min(ZEROS_BYTES));
        write_all_at(fd, &ZEROS[..part], offset)?;
        offset += part as u64;
    }
    Ok(())
}

/// Returns whether a store can never need a block: the file has all of them and shares none. A file
/// copied with holes or by reference (`cp` on XFS, `tar -S`) may lack them, and a mapped store on a
/// full disk would kill the process; such a segment is written by system calls.
pub(super) fn has_its_blocks(fd: BorrowedFd<'_>, len: u64) -> bool {
    // The descriptor's position does not matter: every access passes its own offset.
    rustix::fs::seek(fd, SeekFrom::Hole(0)) == Ok(len) && unshare(fd, len)
}

/// Gives a file its own blocks on file systems that share blocks.
#[cfg(target_os = "linux")]
fn unshare(fd: BorrowedFd<'_>, len: u64) -> bool {
    use rustix::fs::{FallocateFlags, fallocate};
    let flags = FallocateFlags::UNSHARE_RANGE;
    // ext4, which shares none, does not support the request.
    len == 0 || matches!(fallocate(fd, flags, 0, len), Ok(()) | Err(Errno::OPNOTSUPP))
}

#[cfg(not(target_os = "linux"))]
fn unshare(_fd: BorrowedFd<'_>, _len: u64) -> bool {
    true
}

/// Minimum size of a write that uses one system call. A warmed segment takes smaller stores without
/// page faults, and takes batches faster than a call does. But a write this long has most of a
/// segment to itself, which has not been warmed, and then the faults cost more.
const WRITE_CALL_BYTES_MIN: usize = 512 << 10;

/// Duration for which a warmed region counts as warm, in nanoseconds.
const WARM: u64 = 250_000_000;

/// Distance after a record at which lines are prefetched, and number of bytes prefetched: a record
/// of 16 + 100 bytes takes 143.
const AHEAD_BYTES: usize = 192;

/// The file of one log segment.
#[derive(Debug)]
pub(super) struct RealLogRegion {
    file: NamedFile,
    len: u64,
    map: Option<MmapRaw>,
    /// Guards the mapped memory: threads that break the contract get a panic, not a data race.
    borrowing: Borrowing,
    /// Whether the last records were long and went through system calls, so that warming would have
    /// been useless. Not set if a sync followed: stores may come between such records.
    by_call: AtomicBool,
    /// Time of the last warming, by the environment's clock; 0 after a sync, which write-protects
    /// the pages it writes. The system's own write-back does so, too, hence the limit [`WARM`].
    /// Rejected: warming at each use of a segment, because it cost batches CPU time.
    warmed: AtomicU64,
    /// The process that locked the file: a forked child shares the description and must not unlock
    /// it.
    owner: Origin,
}

impl Drop for RealLogRegion {
    fn drop(&mut self) {
        if self.owner.check().is_ok() {
            // Not by closing: a newly forked child that is about to run another program still holds
            // a duplicate, and opening the file again meanwhile would report that it is in use.
            let _ = rustix::fs::flock(&self.file.fd, FlockOperation::Unlock);
        }
    }
}

impl RealLogRegion {
    /// Creates the region of a file that the caller has locked, if the file system supports locks.
    /// Dropping the region releases the lock.
    pub(super) fn new(file: NamedFile, len: u64, mapped: bool) -> RealLogRegion {
        let map = match usize::try_from(len) {
            // If the file cannot be mapped, system calls work as well, only more slowly.
            Ok(bytes) if mapped && bytes > 0 => memmap2::MmapOptions::new()
                .len(bytes)
                .map_raw(&file.fd)
                .ok(),
            _ => None,
        };
        RealLogRegion {
            file,
            len,
            map,
            borrowing: Borrowing::default(),
            by_call: AtomicBool::new(false),
            warmed: AtomicU64::new(0),
            owner: Origin::here(),
        }
    }

    /// Copies `parts` into the mapping. The caller has checked that they fit.
    #[expect(
        unsafe_code,
        reason = "the mapping is shared memory, reached by pointer only"
    )]
    fn store(map: &MmapRaw, offset: usize, parts: &[&[u8]]) {
        let mut at = offset;
        for part in parts {
            // SAFETY: `at` is at most the mapping's length: the caller checked the sum of all
            // parts, and `at` counts the copied ones.
            let to = unsafe { map.as_mut_ptr().add(at) };
            // SAFETY: `part.len()` bytes from `to` lie within the mapping, which lives as long as
            // `self`. `borrowing` granted the write: no other thread writes, and nothing from
            // `offset` on is borrowed, not even by a slice among `parts`.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            at += part.len();
        }
        // A record after the next one will be stored here; the lines of the next one were
        // prefetched with the last. Otherwise random puts wait for their stores, most of which go
        // to pages of a recycled segment.
        let next = map.as_mut_ptr().wrapping_add(at + AHEAD_BYTES);
        prefetch_span(next, AHEAD_BYTES);
    }
}

impl LogRegion for RealLogRegion {
    fn size(&self) -> u64 {
        self.len
    }

    #[inline]
    fn write(&self, offset: u64, parts: &[&[u8]], sync_next: bool) -> Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let end = offset.checked_add(bytes as u64);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "a log write extends past the end of its region"
        );
        self.borrowing.begin(offset);
        let result = match &self.map {
            Some(map) if !sync_next && bytes < WRITE_CALL_BYTES_MIN => {
                // Within the region, which was mapped as a whole: it fits the address space.
                #[expect(clippy::cast_possible_truncation, reason = "mapped, so it fits")]
                Self::store(map, offset as usize, parts);
                Ok(())
            }
            _ => {
                self.by_call.store(!sync_next, Ordering::Relaxed);
                write_parts_at(&self.file.fd, parts, offset)
            }
        };
        match result {
            Ok(()) => self.borrowing.written(offset + bytes as u64),
            Err(_) => self.borrowing.failed(),
        }
        result.map_err(|errno| {
            let error = system_error("write the log segment", errno);
            self.file.named(error).offset(offset)
        })
    }

    #[inline]
    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let map = self.map.as_ref()?;
        self.borrowing.borrow(offset, len);
        #[expect(clippy::cast_possible_truncation, reason = "mapped, so it fits")]
        let start = map.as_ptr().wrapping_add(offset as usize);
        // SAFETY: `borrowing` granted written bytes, which are within the mapping, and which no
        // thread writes while `self` is shared; the holder of the slice must keep `self` shared.
        #[expect(unsafe_code, reason = "the mapping is reached by pointer only")]
        Some(unsafe { std::slice::from_raw_parts(start, len) })
    }

    fn place_of(&self, bytes: &[u8]) -> Option<(&str, u64)> {
        let start = self.map.as_ref()?.as_ptr().addr();
        let offset = bytes.as_ptr().addr().checked_sub(start)? as u64;
        (offset + bytes.len() as u64 <= self.len).then_some((&*self.file.name, offset))
    }

    fn reuse(&mut self) {
        self.borrowing.reuse();
    }

    fn begin_sync(&self) {
        self.file.begin();
    }

    fn sync(&self) -> Result<()> {
        let synced = self.file.sync();
        self.warmed.store(0, Ordering::Relaxed);
        synced
    }

    #[cfg(target_os = "linux")]
    fn warm(&self) {
        /// Cleared when the kernel (before 5.14) lacks the advice.
        static KNOWN: AtomicBool = AtomicBool::new(true);
        let Some(map) = &self.map else { return };
        if !KNOWN.load(Ordering::Relaxed) || self.by_call.swap(false, Ordering::Relaxed) {
            return;
        }
        let (now, warmed) = (now_ns(), self.warmed.load(Ordering::Relaxed));
        if warmed > 0 && now.saturating_sub(warmed) < WARM {
            return;
        }
        let advice = rustix::mm::Advice::LinuxPopulateWrite;
        // SAFETY: the range is exactly this mapping, and populating changes no contents.
        #[expect(unsafe_code, reason = "memory is prepared by its address")]
        let result = unsafe { rustix::mm::madvise(map.as_mut_ptr().cast(), map.len(), advice) };
        match result {
            Ok(()) => self.warmed.store(now, Ordering::Relaxed),
            Err(Errno::INVAL) => KNOWN.store(false, Ordering::Relaxed),
            Err(_) => {}
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn warm(&self) {}
}

impl AsFd for NamedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
