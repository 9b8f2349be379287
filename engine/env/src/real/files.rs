//! Append-only files and immutable files, over descriptors.
//!
//! Every append reaches the operating system before it returns: the death of the process loses
//! nothing that was appended, and callers batch as they see fit. Interrupted calls are repeated,
//! and short ones are continued.

use std::io::IoSlice;
use std::num::NonZeroU64;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use rustix::io::Errno;

use super::descriptor::system_error;
use crate::file::{Access, FileSync, MappedBytes, Mapping, ReadFile, WritableFile};
use crate::implement::front_of;

/// Maximum number of parts per system call: records have two or three, pages of a table a few more.
const PARTS_MAX: usize = 16;

/// A descriptor, and the directory and name for its errors; shared by a writer and its syncers.
#[derive(Debug)]
pub(super) struct NamedFile {
    pub(super) fd: OwnedFd,
    pub(super) dir: Arc<Path>,
    pub(super) name: String,
}

impl NamedFile {
    /// Adds this file to the error.
    #[cold]
    pub(super) fn named(&self, error: Error) -> Error {
        error.file(&*self.name).directory(&self.dir)
    }
}

impl FileSync for NamedFile {
    fn sync(&self) -> Result<()> {
        sync_data(&self.fd).map_err(|errno| self.named(system_error("sync the file", errno)))
    }

    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "a system call that no library wraps")]
    fn begin(&self) {
        let fd = self.fd.as_raw_fd();
        // SAFETY: the descriptor is open as long as `self.fd`; no memory is passed.
        let _ = unsafe { libc::sync_file_range(fd, 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    }
}

/// A file being written from front to back.
#[derive(Debug)]
pub(super) struct RealWritableFile {
    file: Arc<NamedFile>,
    size: u64,
    failed: bool,
}

impl RealWritableFile {
    pub(super) fn new(file: NamedFile) -> RealWritableFile {
        RealWritableFile {
            file: Arc::new(file),
            size: 0,
            failed: false,
        }
    }
}

impl WritableFile for RealWritableFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_parts(&[bytes])
    }

    fn append_parts(&mut self, parts: &[&[u8]]) -> Result<()> {
        if self.failed {
            let message = "an earlier append failed; the file's end is unknown";
            return Err(self.file.named(Error::new(ErrorKind::Io, message)));
        }
        if let Err(errno) = write_parts_at(&self.file.fd, parts, self.size) {
            self.failed = true;
            if matches!(errno, Errno::NOSPC | Errno::DQUOT | Errno::FBIG) {
                // The partial write is useless and would occupy space that others need.
                let _ = rustix::fs::ftruncate(&self.file.fd, self.size);
            }
            let error = system_error("append to the file", errno);
            return Err(self.file.named(error).offset(self.size));
        }
        self.size += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        Ok(())
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn syncer(&self) -> Arc<dyn FileSync> {
        self.file.clone()
    }
}

/// Makes a file's bytes durable, and only those attributes that reading them needs.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn sync_data(fd: impl AsFd) -> std::result::Result<(), Errno> {
    rustix::fs::fdatasync(fd)
}

/// On this system `fsync` stops at the drive's cache; only this request flushes that cache.
#[cfg(target_vendor = "apple")]
pub(super) fn sync_data(fd: impl AsFd) -> std::result::Result<(), Errno> {
    match rustix::fs::fcntl_fullfsync(&fd) {
        // The file system does not support this request.
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => rustix::fs::fsync(fd),
        result => result,
    }
}

/// Writes all of `bytes` at `offset`.
pub(super) fn write_all_at(
    fd: impl AsFd,
    mut bytes: &[u8],
    mut offset: u64,
) -> std::result::Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(&fd, bytes, offset) {
            // A write to a regular file takes at least one byte or reports an error; never loop on
            // 0.
            Ok(0) => return Err(Errno::IO),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Writes all of `parts` consecutively at `offset`, a few per system call.
pub(super) fn write_parts_at(
    fd: impl AsFd,
    parts: &[&[u8]],
    offset: u64,
) -> std::result::Result<(), Errno> {
    let mut offset = offset;
    for group in parts.chunks(PARTS_MAX) {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        for (slice, part) in slices.iter_mut().zip(group) {
            *slice = IoSlice::new(part);
        }
        let mut left = &mut slices[..group.len()];
        loop {
            IoSlice::advance_slices(&mut left, 0);
            if left.is_empty() {
                break;
            }
            match rustix::io::pwritev(&fd, left, offset) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(())
}

/// A file that is no longer written.
#[derive(Debug)]
pub(super) struct RealReadFile {
    file: NamedFile,
    size: u64,
}

impl RealReadFile {
    pub(super) fn new(file: NamedFile, size: u64) -> RealReadFile {
        RealReadFile { file, size }
    }
}

impl ReadFile for RealReadFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < out.len() {
            match rustix::io::pread(&self.file.fd, &mut out[done..], offset + done as u64) {
                Ok(0) => {
                    let error = Error::corruption("the file ends before the requested bytes");
                    return Err(self
                        .file
                        .named(error)
                        .offset(offset)
                        .expected(format_args!("{} bytes", out.len()))
                        .found(format_args!("{done} bytes")));
                }
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    let error = system_error("read the file", errno);
                    return Err(self.file.named(error).offset(offset));
                }
            }
        }
        Ok(())
    }

    fn map(&self, len: u64, access: Access) -> Result<Option<Mapping>> {
        if len == 0 {
            return Ok(Some(Mapping::new(Arc::new(NoBytes))));
        }
        let fail = |cause| self.file.named(Error::io("map the file", cause));
        let len = front_of(len, self.size).map_err(|error| self.file.named(error))?;
        let mut options = memmap2::MmapOptions::new();
        options.len(len);
        // SAFETY: files are written once, from front to back and under the directory's lock, and
        // never opened for writing again, even if the mapping outlives that lock. Nothing in this
        // program changes bytes whose append has returned, or shortens the file below them, and
        // `len` bytes existed when it was opened. If an append fails while they are mapped, no
        // pointer refers past its start. No reader of a shared mapping can exclude changes by other
        // programs, as documented.
        #[expect(unsafe_code, reason = "tables are read in place")]
        let map = unsafe { options.map(&self.file.fd) }.map_err(fail)?;
        let advice = match access {
            Access::Random => memmap2::Advice::Random,
            Access::Sequential => memmap2::Advice::Sequential,
            Access::Pieces => memmap2::Advice::Normal,
        };
        // Advice only: without it the kernel reads too much or too little.
        let _ = map.advise(advice);
        Ok(Some(Mapping::new(Arc::new(MappedFile(map)))))
    }

    fn advise(&self, offset: u64, len: u64, wanted: bool) {
        if let Some(len) = NonZeroU64::new(len) {
            advise(&self.file.fd, offset, len, wanted);
        }
    }

    #[cfg(not(target_vendor = "apple"))]
    fn expect(&self, access: Access) {
        let advice = match access {
            Access::Random => rustix::fs::Advice::Random,
            Access::Sequential => rustix::fs::Advice::Sequential,
            Access::Pieces => rustix::fs::Advice::Normal,
        };
        // Advice only: without it the kernel reads too much or too little.
        let _ = rustix::fs::fadvise(&self.file.fd, 0, None, advice);
    }
}

#[cfg(not(target_vendor = "apple"))]
fn advise(fd: &OwnedFd, offset: u64, len: NonZeroU64, wanted: bool) {
    let advice = if wanted {
        rustix::fs::Advice::WillNeed
    } else {
        rustix::fs::Advice::DontNeed
    };
    // Advice only: a refusal changes nothing but speed.
    let _ = rustix::fs::fadvise(fd, offset, Some(len), advice);
}

#[cfg(target_vendor = "apple")]
fn advise(_fd: &OwnedFd, _offset: u64, _len: NonZeroU64, _wanted: bool) {}

#[derive(Debug)]
struct MappedFile(memmap2::Mmap);

impl MappedBytes for MappedFile {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn read_ahead(&self, offset: usize, len: usize) {
        // Advice only, here and below: without it the system reads or maps each page when it is
        // touched.
        let _ = self.0.advise_range(memmap2::Advice::WillNeed, offset, len);
    }

    #[cfg(target_os = "linux")]
    fn map_now(&self, offset: usize, len: usize) {
        let _ = self
            .0
            .advise_range(memmap2::Advice::PopulateRead, offset, len);
    }
}

/// The content of an empty file, which no system can map.
#[derive(Debug)]
struct NoBytes;

impl MappedBytes for NoBytes {
    fn bytes(&self) -> &[u8] {
        &[]
    }
}
