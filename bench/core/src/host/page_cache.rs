//! The part of a directory that is in the page cache.
//!
//! An engine that maps its files, or reads them through the kernel, uses page cache memory that its
//! own limit does not count. The kernel reports residency page by page for a mapped file; mapping
//! alone reads nothing.
#![expect(
    unsafe_code,
    reason = "the kernel is asked about pages of a mapping that nothing reads"
)]

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// Number of bytes mapped at once: 256 MiB need a vector of 64 KiB.
const WINDOW: u64 = 256 << 20;

/// Returns the number of bytes of all files below `dir` that are in the page cache.
///
/// # Errors
/// As reported by the system; a file that disappears or cannot be mapped is not counted.
pub fn page_cache_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            bytes += page_cache_bytes(&entry.path())?;
        } else if kind.is_file() {
            bytes += File::open(entry.path()).map_or(0, |file| of_file(&file));
        }
    }
    Ok(bytes)
}

/// Drops all files below `dir` from the page cache, as far as no process has them mapped.
///
/// # Errors
/// As reported by the system; a file that disappears meanwhile is passed over.
pub fn drop_page_cache(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            drop_page_cache(&entry.path())?;
        } else if kind.is_file()
            && let Ok(file) = File::open(entry.path())
        {
            // Pages that are not written yet stay.
            file.sync_all()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

fn of_file(file: &File) -> u64 {
    let length = file.metadata().map_or(0, |data| data.len());
    let page = rustix::param::page_size() as u64;
    let mut pages = 0;
    let mut offset = 0;
    while offset < length {
        let window = WINDOW.min(length - offset);
        pages += resident_pages(file, offset, window).unwrap_or(0);
        offset += window;
    }
    (pages * page).min(length.next_multiple_of(page))
}

/// Returns the number of pages of a window that are in the cache.
fn resident_pages(file: &File, offset: u64, window: u64) -> Option<u64> {
    let length = usize::try_from(window).ok()?;
    let offset = libc::off_t::try_from(offset).ok()?;
    let mut flags = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: a new private mapping without access rights; no memory of this process is replaced.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset,
        )
    };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping covers `length` bytes and the vector has one byte for each of its pages.
    let reported = unsafe { libc::mincore(address, length, flags.as_mut_ptr().cast()) };
    // SAFETY: exactly the mapping created above; no other code has its address.
    let unmapped = unsafe { libc::munmap(address, length) };
    debug_assert_eq!(unmapped, 0, "a mapping of our own is removed");
    (reported == 0).then(|| flags.iter().map(|flag| u64::from(flag & 1)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_written_is_in_the_cache() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("in")).expect("a folder");
        std::fs::write(dir.path().join("in/file"), vec![7; 300_000]).expect("written");
        std::fs::write(dir.path().join("empty"), "").expect("written");
        let bytes = page_cache_bytes(dir.path()).expect("readable");
        assert!((300_000..320_000).contains(&bytes), "{bytes}");
        drop_page_cache(dir.path()).expect("dropped");
        // A directory in memory has nothing else.
        let left = page_cache_bytes(dir.path()).expect("readable");
        assert!(left == 0 || left == bytes, "{left}");
    }
}
