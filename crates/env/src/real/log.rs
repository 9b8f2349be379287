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
//! stops the kernel from reading a page back ends the process with `SIGBUS`, which can only happen
//! to pages that were dropped after they were written. The file's blocks must not be shared either
//! (a reflink copy of an open database on XFS): a store would then need new ones, and on a full
//! disk end the process, too.

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

/// Zeros written at a time.
const ZEROS_BYTES: usize = 256 << 10;

/// Writes `len` zeros: the file then has all its blocks, if not yet durably.
pub(super) fn fill_with_zeros(fd: BorrowedFd<'_>, len: u64) -> std::result::Result<(), Errno> {
    // In the program's own pages, which are never written: no heap memory.
    static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];
    let mut offset = 0;
    while offset < len {
        let part = usize::try_from(len - offset).map_or(ZEROS_BYTES, |left| left.min(ZEROS_BYTES));
        write_all_at(fd, &ZEROS[..part], offset)?;
        offset += part as u64;
    }
    Ok(())
}

/// Whether a store can never need a block: the file has all of them, and shares none. A file copied
/// with holes or by reference (`cp` on XFS, `tar -S`) may lack them, and a mapped store on a full
/// disk would end the process; such a segment is written by system calls.
pub(super) fn has_its_blocks(fd: BorrowedFd<'_>, len: u64) -> bool {
    // The descriptor's position does not matter: every access names its own offset.
    rustix::fs::seek(fd, SeekFrom::Hole(0)) == Ok(len) && unshare(fd, len)
}

/// Gives a file blocks of its own on file systems that share blocks.
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

/// Writes of this size and more use one system call. A warmed segment takes smaller stores without
/// page faults, and batches faster than by a call. But a write this long has most of a segment to
/// itself, which has not been warmed, and then the faults cost more.
const WRITE_CALL_BYTES_MIN: usize = 512 << 10;

/// For how long a warmed region counts as warm, in nanoseconds.
const WARM: u64 = 250_000_000;

/// How far after a record lines are prefetched, and how many bytes: a record of 16 + 100 bytes
/// takes 143.
const AHEAD_BYTES: usize = 192;

/// One log segment's file.
#[derive(Debug)]
pub(super) struct RealLogRegion {
    file: NamedFile,
    len: u64,
    map: Option<MmapRaw>,
    /// Guards the mapped memory, so that threads that break the contract get a panic, not a data
    /// race.
    borrowing: Borrowing,
    /// The last records were long and went through system calls, so warming would have been
    /// useless. Not set if a sync followed: stores may come between such records.
    by_call: AtomicBool,
    /// When it was last warmed, by the environment's clock; 0 after a sync, which write-protects
    /// the pages it writes. The system's own write-back does so, too, hence the limit [`WARM`].
    /// Warming at each use of a segment cost batches processor time.
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
    /// The region of a file that the caller has locked, if the file system can. The lock is
    /// released with the region.
    pub(super) fn new(file: NamedFile, len: u64, mapped: bool) -> RealLogRegion {
        let map = match usize::try_from(len) {
            // If it cannot be mapped, system calls do as well, only slower.
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
            // parts, and `at` counts those copied.
            let to = unsafe { map.as_mut_ptr().add(at) };
            // SAFETY: `part.len()` bytes from `to` lie within the mapping, which lives as long as
            // `self`; the caller asked `borrowing`: no other thread writes, and nothing from
            // `offset` on is borrowed, not even by a slice among `parts`.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            at += part.len();
        }
        // The next record will be stored here, after the one whose lines were prefetched before.
        // Otherwise random puts wait for their stores, most of which go to pages of a recycled
        // segment.
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
            "a log write reaches past the end of its region"
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
        // SAFETY: `borrowing` granted written bytes, which are within the mapping, and which nobody
        // writes while `self` is shared; the holder of the slice must keep it shared.
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

    fn sync(&self) -> Result<()> {
        let synced = self.file.sync();
        self.warmed.store(0, Ordering::Relaxed);
        synced
    }

    #[cfg(target_os = "linux")]
    fn warm(&self) {
        /// Cleared by the first kernel (before 5.14) that lacks the advice.
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
