//! Every error of the real environment names its path; see `crate::testing::naming`.
//!
//! Each call is made to fail by the contents of the directory, by an unsuitable descriptor, or by a
//! limit of the process, for which this test binary is started again. Two kinds of errors are not
//! walked: those of `stat` on an open file, `fcntl` and `flock` other than a held lock, which
//! require a broken or a network file system; and those of the copy that replaces a link, beyond
//! its first call, because it consists of calls that are walked.

use std::os::unix::net::UnixStream;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::*;
use crate::file::{Access, LogRegion, ReadFile};
use crate::testing::naming::{About, SPAWN, Walk, walk_what_all_refuse};

/// Not a single path component.
const BAD_NAME: &str = "a/b";

#[test]
fn every_error_names_its_path() {
    let (temp, path) = temp();
    let env = RealEnv::new();
    let foreign = crate::MemEnv::new(Background::Threads);
    let foreign = foreign.open_dir(&path, true).unwrap();
    let mut walk = walk_what_all_refuse(&*env, &path, &*foreign);
    walk_directories(&mut walk, temp.path());
    walk_bad_names(&mut walk, &path);
    walk_other_things(&mut walk, &path);
    walk_a_removed_directory(&mut walk, &temp.path().join("gone"));
    walk_unfit_descriptors(&mut walk);
    let listing = ("Dir::list", "walked in the process without descriptors");
    let space = ("Dir::space", "an open directory lies on a file system");
    let mut excused = vec![listing, space, SPAWN];
    if cfg!(target_os = "linux") {
        walk_what_cannot_be_synced(&mut walk, Path::new("/proc/self"));
    } else {
        let reason = "only Linux has directories that cannot be synced";
        excused.insert(1, ("Dir::sync", reason));
    }
    walk.assert_complete(&excused);
}

#[test]
fn every_error_for_want_of_descriptors_names_its_path() {
    for role in ["no-descriptors", "no-duplicates"] {
        let (_temp, path) = temp();
        assert!(child::run(role, &path), "{role}");
    }
}

#[test]
fn every_error_for_want_of_room_names_its_path() {
    let (_temp, path) = temp();
    assert!(child::run("small-files", &path));
}

fn walk_directories(walk: &mut Walk, parent: &Path) {
    let env = RealEnv::new();
    let mut fails = |path: &Path, create| {
        let opened = env.open_dir(path, create);
        walk.fails("Env::open_dir", About::Directory(path), opened);
    };
    fs::write(parent.join("file"), b"").unwrap();
    fails(&parent.join("file"), false);
    fails(&parent.join("missing/deeper"), true);
    fails(&parent.join("n".repeat(256)), true);
    let path = parent.join("moved");
    let dir = env.open_dir(&path, true).unwrap();
    let at = About::Directory(&path);
    fs::remove_dir(&path).unwrap();
    walk.fails("Dir::remove", at, dir.remove());
    fs::create_dir(&path).unwrap();
    walk.fails("Dir::remove", at, dir.remove());
}

fn walk_bad_names(walk: &mut Walk, path: &Path) {
    let env = RealEnv::new();
    let dir = env.open_dir(path, false).unwrap();
    let to = env.open_dir(&path.join("to"), false).unwrap();
    let here = About::File(path, BAD_NAME);
    let there = About::File(to.path(), BAD_NAME);
    walk.fails("Dir::lock", here, dir.lock(BAD_NAME));
    walk.fails("Dir::lock_shared", here, dir.lock_shared(BAD_NAME));
    walk.fails("Dir::lock_state", here, dir.lock_state(BAD_NAME));
    walk.fails("Dir::open_shared", here, dir.open_shared(BAD_NAME, 8, true));
    walk.fails("Dir::size_of", here, dir.size_of(BAD_NAME));
    walk.fails("Dir::create", here, dir.create(BAD_NAME));
    walk.fails("Dir::open_read", here, dir.open_read(BAD_NAME));
    walk.fails("Dir::create_log", here, dir.create_log(BAD_NAME, 10));
    walk.fails("Dir::open_log", here, dir.open_log(BAD_NAME));
    walk.fails("Dir::rename", here, dir.rename(BAD_NAME, "f"));
    walk.fails("Dir::rename", here, dir.rename("f", BAD_NAME));
    walk.fails("Dir::unlink", here, dir.unlink(BAD_NAME));
    walk.fails("Dir::sync_file", here, dir.sync_file(BAD_NAME));
    walk.fails("Dir::link", here, dir.link(BAD_NAME, &*to, "u"));
    walk.fails("Dir::link", there, dir.link("f", &*to, BAD_NAME));
}

/// Directories and links in place of files.
fn walk_other_things(walk: &mut Walk, path: &Path) {
    let env = RealEnv::new();
    let dir = env.open_dir(path, false).unwrap();
    let to = env.open_dir(&path.join("to"), false).unwrap();
    fs::create_dir(path.join("folder")).unwrap();
    symlink("f", path.join("link")).unwrap();
    for name in ["folder", "link"] {
        let here = About::File(path, name);
        walk.fails("Dir::lock", here, dir.lock(name));
        walk.fails("Dir::lock_shared", here, dir.lock_shared(name));
        walk.fails("Dir::lock_state", here, dir.lock_state(name));
        walk.fails("Dir::open_shared", here, dir.open_shared(name, 8, true));
        walk.fails("Dir::size_of", here, dir.size_of(name));
        walk.fails("Dir::create", here, dir.create(name));
        walk.fails("Dir::open_read", here, dir.open_read(name));
        walk.fails("Dir::create_log", here, dir.create_log(name, 10));
        walk.fails("Dir::open_log", here, dir.open_log(name));
        walk.fails("Dir::sync_file", here, dir.sync_file(name));
    }
    let folder = About::File(path, "folder");
    walk.fails("Dir::unlink", folder, dir.unlink("folder"));
    // A directory cannot be linked: a copy is tried.
    walk.fails("Dir::link", folder, dir.link("folder", &*to, "u"));
    let file = About::File(path, "f");
    walk.fails("Dir::rename", file, dir.rename("f", "folder"));
}

fn walk_a_removed_directory(walk: &mut Walk, path: &Path) {
    let env = RealEnv::new();
    let dir = env.open_dir(path, true).unwrap();
    let from_path = path.with_extension("from");
    let from = env.open_dir(&from_path, true).unwrap();
    from.create("f").unwrap();
    fs::remove_dir(path).unwrap();
    let here = |name| About::File(path, name);
    walk.fails("Dir::lock", here("LOCK"), dir.lock("LOCK"));
    walk.fails("Dir::create", here("new"), dir.create("new"));
    walk.fails("Dir::create_log", here("new"), dir.create_log("new", 10));
    // The file exists; its target directory does not.
    walk.fails("Dir::link", here("new"), from.link("f", &*dir, "new"));
    let none = About::File(&from_path, "none");
    walk.fails("Dir::link", none, from.link("none", &*dir, "new"));
}

/// Handles on a socket, which cannot be read or written at an offset, mapped or synced.
fn walk_unfit_descriptors(walk: &mut Walk) {
    let path = Path::new("/some/db");
    let here = About::File(path, "f");
    let unfit = || {
        let (socket, _other) = UnixStream::pair().unwrap();
        named(OwnedFd::from(socket), path, "f")
    };
    let mut file = files::RealWritableFile::new(unfit());
    walk.fails("WritableFile::sync", here, file.sync());
    walk.fails("FileSync::sync", here, file.syncer().sync());
    walk.fails("WritableFile::append", here, file.append(b"x"));
    // This append fails because an earlier one did.
    walk.fails("WritableFile::append", here, file.append(b"x"));
    let mut file = files::RealWritableFile::new(unfit());
    let appended = file.append_parts(&[b"x", b"y"]);
    walk.fails("WritableFile::append_parts", here, appended);
    let file = files::RealReadFile::new(unfit(), 100);
    walk.fails("ReadFile::read_at", here, file.read_at(0, &mut [0; 9]));
    walk.fails("ReadFile::map", here, file.map(9, Access::Sequential));
    let log = log::RealLogRegion::new(unfit(), 100, false);
    walk.fails("LogRegion::write", here, log.write(0, &[b"x"], false));
    walk.fails("LogRegion::write", here, log.write(0, &[b"x"], true));
    walk.fails("LogRegion::sync", here, log.sync());
}

/// Runs in a process directory of `/proc`.
fn walk_what_cannot_be_synced(walk: &mut Walk, path: &Path) {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    walk.fails("Dir::sync", About::Directory(path), dir.sync());
    let file = About::File(path, "status");
    walk.fails("Dir::sync_file", file, dir.sync_file("status"));
}

/// Runs in a process other than the one that holds the lock.
pub(super) fn walk_what_is_locked(path: &Path) {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let (mut walk, lock) = (Walk::default(), About::File(path, "LOCK"));
    walk.fails("Dir::lock", lock, dir.lock("LOCK"));
    walk.fails("Dir::lock_shared", lock, dir.lock_shared("LOCK"));
    walk.assert_named();
}

/// Runs in a separate process that cannot open more descriptors.
pub(super) fn walk_without_descriptors(path: &Path) {
    let dir = a_directory(path);
    limit(Resource::Nofile, 0);
    let mut walk = Walk::default();
    walk_openings(&mut walk, path, &*dir);
    walk.fails("Dir::list", About::Directory(path), dir.list());
    walk.assert_named();
}

/// Runs in a separate process in which only descriptor 0 is free, which no file may keep.
#[expect(unsafe_code, reason = "the standard input has no owner to close it")]
pub(super) fn walk_without_duplicates(path: &Path) {
    let dir = a_directory(path);
    // SAFETY: nothing in this process reads the standard input or keeps its number.
    unsafe { rustix::io::close(0) };
    limit(Resource::Nofile, 3);
    let mut walk = Walk::default();
    walk_openings(&mut walk, path, &*dir);
    assert!(dir.list().is_ok(), "the number was left");
    walk.assert_named();
}

/// Runs in a separate process in which no file may exceed 4 KiB and the signal for that is ignored.
pub(super) fn walk_with_small_files(path: &Path) {
    let dir = a_directory(path);
    let log = dir.create_log("big", 8192).unwrap();
    let mut file = dir.create("new").unwrap();
    limit(Resource::Fsize, 4096);
    let (mut walk, here) = (Walk::default(), |name| About::File(path, name));
    walk.fails("WritableFile::append", here("new"), file.append(&[1; 8192]));
    walk.fails(
        "LogRegion::write",
        here("big"),
        log.write(4096, &[b"x"], true),
    );
    let made = dir.create_log("bigger", 8192);
    walk.fails("Dir::create_log", here("bigger"), made);
    walk.assert_named();
}

/// A new directory with a file, a log and a lock.
fn a_directory(path: &Path) -> Arc<dyn Dir> {
    let dir = RealEnv::new().open_dir(path, true).unwrap();
    dir.create("f").unwrap();
    dir.create_log("l", 4096).unwrap();
    drop(dir.lock("LOCK").unwrap());
    dir
}

/// Walks every call that opens something.
fn walk_openings(walk: &mut Walk, path: &Path, dir: &dyn Dir) {
    let here = |name| About::File(path, name);
    let opened = RealEnv::new().open_dir(path, true);
    walk.fails("Env::open_dir", About::Directory(path), opened);
    walk.fails("Dir::create", here("new"), dir.create("new"));
    walk.fails("Dir::create_log", here("new2"), dir.create_log("new2", 9));
    walk.fails("Dir::open_read", here("f"), dir.open_read("f"));
    walk.fails("Dir::open_log", here("l"), dir.open_log("l"));
    walk.fails("Dir::sync_file", here("f"), dir.sync_file("f"));
    walk.fails("Dir::lock", here("LOCK"), dir.lock("LOCK"));
    walk.fails("Dir::lock", here("LOCK2"), dir.lock("LOCK2"));
    walk.fails("Dir::lock_shared", here("LOCK"), dir.lock_shared("LOCK"));
}

fn limit(resource: Resource, value: u64) {
    let maximum = rustix::process::getrlimit(resource).maximum;
    let current = Some(value);
    setrlimit(resource, Rlimit { current, maximum }).unwrap();
}
