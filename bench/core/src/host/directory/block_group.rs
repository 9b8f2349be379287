//! Isolation of a database directory from earlier activity on the same file system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Recreates `db`, which is missing or one of our empty directories, in an unused part of the file
/// system. Does nothing if the file system does not support this.
///
/// ext4 without a journal does not reuse an inode for minutes after it was deleted, and skips all
/// such inodes nearby whenever a file is created: one engine or round would pay for the files that
/// another removed. A directory's files are in its block group, and directories whose parent has
/// the attribute `T` are spread over the groups by a hash of their names. The attribute is set on
/// our own directory `staging`, never on a user's.
pub(super) fn make(db: &Path, staging: &Path) {
    // This can fail if the path is a link or a mount, or if the file system does not support it.
    // The directory is then created normally.
    if !is_started_in(db) {
        clear(staging);
        let parent = db.parent().map_or(Ok(()), fs::create_dir_all);
        if parent.and_then(|()| fs::create_dir(staging)).is_ok() {
            let _moved = move_from(staging, db);
            clear(staging);
        }
    }
}

/// Removes a staging directory and whatever a killed run left in it. Only empty directories can be
/// removed this way.
fn clear(staging: &Path) {
    for left in fs::read_dir(staging).into_iter().flatten().flatten() {
        let _kept = fs::remove_dir(left.path());
    }
    let _kept = fs::remove_dir(staging);
}

/// Creates a directory in `staging` under an unused name and moves it to `db`.
fn move_from(staging: &Path, db: &Path) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let opened = fs::File::open(staging)?;
    let flags = rustix::fs::ioctl_getflags(&opened)?;
    rustix::fs::ioctl_setflags(&opened, flags | rustix::fs::IFlags::TOPDIR)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let made = staging.join(format!("{}-{count}", std::process::id()));
    fs::create_dir(&made)?;
    if let Ok(about) = fs::metadata(db) {
        fs::set_permissions(&made, about.permissions())?;
    }
    fs::rename(made, db)
}

/// Returns whether this is the working directory, which must not be replaced.
fn is_started_in(db: &Path) -> bool {
    let id = |path: &Path| {
        fs::metadata(path)
            .map(|about| (about.dev(), about.ino()))
            .ok()
    };
    id(Path::new(".")).is_some_and(|here| id(db) == Some(here))
}

/// Lets the file system write out dirty data that earlier processes left, mainly the previous
/// engine. Otherwise the kernel would write it during the first rows. With two processors, that
/// would slow down an engine that uses both but not one that writes from a single thread.
pub(super) fn settle(db: &Path) {
    // If `syncfs` is not supported, rows are measured without it.
    let _asked = fs::File::open(db).map(rustix::fs::syncfs);
}
