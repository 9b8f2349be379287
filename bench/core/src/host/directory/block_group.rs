//! A database's directory kept apart from what others have done to the same file system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Makes `db`, which is missing or an empty directory of ours, anew in a part of the file system
/// that counts as unused, if the file system supports that; otherwise does nothing.
///
/// ext4 without a journal does not reuse an inode for minutes after it was deleted, and searches
/// past all such inodes nearby whenever a file is created: one engine or round would pay for the
/// files that another removed. A directory's files lie in its block group, and directories whose
/// parent has the attribute `T` are spread over the groups by a hash of their names. The attribute
/// is set on a directory of our own, `staging`, never on the user's.
pub(super) fn make(db: &Path, staging: &Path) {
    // A link or a mount at the place, or the file system, may refuse: then the plain way is left.
    if !is_started_in(db) {
        clear(staging);
        let parent = db.parent().map_or(Ok(()), fs::create_dir_all);
        if parent.and_then(|()| fs::create_dir(staging)).is_ok() {
            let _moved = move_from(staging, db);
            clear(staging);
        }
    }
}

/// Removes a staging directory, and what a run that was killed left in it. Nothing but empty
/// directories can be removed so.
fn clear(staging: &Path) {
    for left in fs::read_dir(staging).into_iter().flatten().flatten() {
        let _kept = fs::remove_dir(left.path());
    }
    let _kept = fs::remove_dir(staging);
}

/// Makes a directory in `staging`, under a name that was not used before, and moves it to `db`.
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

/// Whether the program runs in this directory, which then must stay the one it is.
fn is_started_in(db: &Path) -> bool {
    let id = |path: &Path| {
        fs::metadata(path)
            .map(|about| (about.dev(), about.ino()))
            .ok()
    };
    id(Path::new(".")).is_some_and(|here| id(db) == Some(here))
}

/// Lets the file system write what others have left to be written, the engine of the turn before
/// most of all: the kernel would do it during the first rows, on a processor that an engine with
/// work for both of two would miss, and one that writes from a single thread would not.
pub(super) fn settle(db: &Path) {
    // If that is not supported, rows are measured without it.
    let _asked = fs::File::open(db).map(rustix::fs::syncfs);
}
