//! The file systems that the engine distinguishes.

use std::os::fd::BorrowedFd;

/// The kinds of file systems that the engine distinguishes.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "file systems are only distinguished on Linux")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileSystem {
    /// ext2/3/4 or XFS: preallocated blocks are overwritten in place and a store cannot run out of
    /// space, so logs are mapped.
    InPlace,
    /// Local, but may copy on write (Btrfs, `OverlayFS`, F2FS) or swap (tmpfs): mapped for reads
    /// only.
    Local,
    /// Network or unknown: no mappings.
    Unknown,
}

#[cfg(target_os = "linux")]
pub(super) fn magic(fd: BorrowedFd<'_>) -> Option<i64> {
    // Some platforms hold the number as a signed 32-bit integer.
    let stat = rustix::fs::fstatfs(fd).ok()?;
    Some(i64::from(stat.f_type) & 0xFFFF_FFFF)
}

/// On other systems nothing is known for certain: no mappings.
#[cfg(not(target_os = "linux"))]
pub(super) fn magic(_fd: BorrowedFd<'_>) -> Option<i64> {
    None
}

/// Returns the kind of the file system, and whether processes may share memory in it.
pub(super) fn classify(magic: Option<i64>) -> (FileSystem, bool) {
    const EXT: i64 = 0xEF53;
    const XFS: i64 = 0x5846_5342;
    const TMPFS: i64 = 0x0102_1994;
    const BTRFS: i64 = 0x9123_683E;
    const F2FS: i64 = 0xF2F5_2010;
    const OVERLAY: i64 = 0x794C_7630;
    const ZFS: i64 = 0x2FC1_2FC1;
    match magic {
        Some(EXT | XFS) => (FileSystem::InPlace, true),
        // The files of an overlay are in another file system, most often one of those above.
        Some(TMPFS | OVERLAY) => (FileSystem::Local, true),
        Some(BTRFS | F2FS | ZFS) => (FileSystem::Local, false),
        _ => (FileSystem::Unknown, false),
    }
}
