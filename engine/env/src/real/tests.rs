#![expect(
    clippy::disallowed_methods,
    reason = "checks the environment against the standard library"
)]

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use cairndb_base::ErrorKind;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::*;
use crate::file::WritableFile;
use crate::testing::conformance;

mod child;
mod naming;

fn temp() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("db");
    (temp, path)
}

fn named(fd: OwnedFd, dir: &Path, name: &str) -> files::NamedFile {
    files::NamedFile {
        fd,
        dir: dir.into(),
        name: name.to_owned(),
    }
}

#[test]
fn behaves_as_every_environment() {
    let (_temp, path) = temp();
    let env = RealEnv::new();
    conformance::check(&*env, &path);
    assert_eq!(env.background(), Background::Threads);
    assert!(env.now_ns() > 0);
    assert_ne!(env.random_u64(), env.random_u64());
    assert!(env.memory_bytes() > 0);
    assert!((16..=4096).contains(&env.open_files_max()));
}

/// The shared-memory file system never maps logs: the plain back end must pass the same checks.
#[test]
#[cfg(target_os = "linux")]
fn behaves_as_every_environment_without_mapped_logs() {
    let Ok(temp) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    conformance::check(&*RealEnv::new(), &temp.path().join("db"));
}

/// A program that another thread is starting holds duplicates of all descriptors until it runs: a
/// file whose region had been dropped was sometimes reported as in use.
#[test]
fn a_duplicate_of_its_descriptor_does_not_keep_a_log_file_in_use() {
    let (_temp, path) = temp();
    fs::create_dir(&path).unwrap();
    let file = path.join("log");
    fs::write(&file, [0; 4096]).unwrap();
    let open = || {
        let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        rustix::fs::open(&file, flags, mode).unwrap()
    };
    let lock = |fd: &OwnedFd| rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive);
    let fd = open();
    lock(&fd).unwrap();
    let duplicate = rustix::io::fcntl_dupfd_cloexec(&fd, 0).unwrap();
    let region = log::RealLogRegion::new(named(fd, &path, "log"), 4096, false);
    assert_eq!(lock(&open()), Err(Errno::WOULDBLOCK));
    drop(region);
    lock(&open()).unwrap();
    drop(duplicate);
}

#[test]
fn what_is_made_is_private_unless_told() {
    let (_temp, path) = temp();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    dir.create("f").unwrap();
    dir.create_log("l", 4096).unwrap();
    let _lock = dir.lock("LOCK").unwrap();
    assert_eq!(mode(&path), 0o700);
    for name in ["f", "l", "LOCK"] {
        assert_eq!(mode(&path.join(name)), 0o600);
    }
    let modes = Modes {
        file: 0o640,
        dir: 0o750,
    };
    let path = path.join("shared");
    let dir = RealEnv::with_modes(modes).open_dir(&path, true).unwrap();
    dir.create("f").unwrap();
    assert_eq!((mode(&path), mode(&path.join("f"))), (0o750, 0o640));
}

#[test]
fn a_directory_that_cannot_be_opened_says_why() {
    let (_temp, path) = temp();
    let env = RealEnv::new();
    let kind = |path: &Path, create| env.open_dir(path, create).unwrap_err().kind();
    assert_eq!(kind(&path, false), ErrorKind::NotFound);
    assert_eq!(kind(&path.join("deeper"), true), ErrorKind::NotFound);
    assert!(!path.exists(), "nothing was created");
    fs::write(&path, b"a file").unwrap();
    assert_eq!(kind(&path, false), ErrorKind::InvalidArgument);
    assert_eq!(kind(&path, true), ErrorKind::InvalidArgument);
    assert_eq!(kind(&path.join("below"), true), ErrorKind::InvalidArgument);
}

/// Opens each kind of non-regular file in each way.
#[test]
fn only_regular_files_are_opened() {
    let (temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    let outside = temp.path().join("outside");
    fs::write(&outside, b"secret").unwrap();
    fs::write(path.join("inside"), b"inside").unwrap();
    symlink(&outside, path.join("link-out")).unwrap();
    symlink("inside", path.join("link-in")).unwrap();
    symlink("nowhere", path.join("dangling")).unwrap();
    fs::create_dir(path.join("directory")).unwrap();
    let fifo = path.join("fifo");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    for name in [
        "link-out",
        "link-in",
        "dangling",
        "directory",
        "fifo",
        "socket",
    ] {
        for (way, error) in [
            ("open_read", dir.open_read(name).map(drop).unwrap_err()),
            ("open_log", dir.open_log(name).map(drop).unwrap_err()),
            ("size_of", dir.size_of(name).map(drop).unwrap_err()),
            ("create", dir.create(name).map(drop).unwrap_err()),
            (
                "create_log",
                dir.create_log(name, 10).map(drop).unwrap_err(),
            ),
            ("lock", dir.lock(name).map(drop).unwrap_err()),
        ] {
            assert_eq!(error.kind(), ErrorKind::Io, "{way} of {name}: {error}");
            assert_eq!(error.file_name(), Some(name), "{way}: {error}");
        }
    }
    assert!(!path.join("nowhere").exists());
    assert_eq!(fs::read(&outside).unwrap(), b"secret");
    // A hard link is a regular file like any other.
    fs::hard_link(&outside, path.join("hard")).unwrap();
    assert_eq!(dir.open_read("hard").unwrap().size(), 6);
}

#[test]
fn names_are_single_components() {
    let (_temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    let long = "n".repeat(256);
    for name in ["", ".", "..", "a/b", "../a", "/etc/passwd", "a\0b", &long] {
        for error in [
            dir.open_read(name).map(drop).unwrap_err(),
            dir.create(name).map(drop).unwrap_err(),
            dir.create_log(name, 1).map(drop).unwrap_err(),
            dir.size_of(name).map(drop).unwrap_err(),
            dir.unlink(name).unwrap_err(),
            dir.rename(name, "a").unwrap_err(),
            dir.rename("a", name).unwrap_err(),
            dir.lock(name).map(drop).unwrap_err(),
            dir.link("a", &*dir, name).unwrap_err(),
        ] {
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidArgument,
                "{name:?}: {error}"
            );
        }
    }
}

#[test]
fn replacing_the_path_redirects_nothing() {
    let (temp, path) = temp();
    let env = RealEnv::new();
    let dir = env.open_dir(&path, true).unwrap();
    let moved = temp.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    dir.create("f").unwrap().append(b"here").unwrap();
    assert!(moved.join("f").exists());
    assert!(!path.join("f").exists());
    dir.unlink("f").unwrap();
    let refused = dir.remove().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io);
    assert!(path.exists() && moved.exists());
}

#[test]
fn one_directory_by_two_paths_is_locked_once() {
    let (temp, path) = temp();
    let env = RealEnv::new();
    let dir = env.open_dir(&path, true).unwrap();
    symlink(&path, temp.path().join("alias")).unwrap();
    let alias = env.open_dir(&temp.path().join("alias"), false).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    assert_eq!(alias.lock("LOCK").unwrap_err().kind(), ErrorKind::Locked);
    // A hard link of the lock file is the same lock under another name.
    fs::hard_link(path.join("LOCK"), path.join("LOCK2")).unwrap();
    assert_eq!(dir.lock("LOCK2").unwrap_err().kind(), ErrorKind::Locked);
    drop(lock);
    assert!(path.join("LOCK").exists(), "never removed");
    drop(alias.lock("LOCK").unwrap());
}

#[test]
fn a_log_is_allocated_when_made() {
    let (_temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    dir.create_log("l", 300_000).unwrap();
    let made = fs::metadata(path.join("l")).unwrap();
    assert_eq!(made.len(), 300_000);
    assert!(made.blocks() * 512 >= 300_000, "{} blocks", made.blocks());
    let empty = dir.create_log("empty", 0).unwrap();
    assert_eq!(empty.size(), 0);
    empty.sync().unwrap();
}

#[test]
#[should_panic(expected = "past the end")]
fn a_write_past_the_end_of_a_log_panics() {
    let (_temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    let log = dir.create_log("l", 100).unwrap();
    let _ = log.write(96, &[b"abc", b"de"], false);
}

#[test]
fn a_full_disk_is_told_from_other_failures() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut file = files::RealWritableFile::new(named(full.into(), Path::new("/dev"), "full"));
    assert_eq!(file.append(b"x").unwrap_err().kind(), ErrorKind::NoSpace);
    let again = file.append(b"x").unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Io);
    assert!(again.message().contains("earlier append"));
}

#[test]
#[cfg(target_os = "linux")]
fn only_threads_of_low_priority_run_below_the_rest() {
    let nice = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    for priority in [Priority::Low, Priority::Normal] {
        let sender = sender.clone();
        let body = Box::new(move || sender.send(nice()).unwrap());
        let join = RealEnv::new().spawn("thread", priority, body).unwrap();
        join();
    }
    let ours = nice();
    assert_eq!(receiver.recv().unwrap(), (ours + 10).min(19));
    assert_eq!(receiver.recv().unwrap(), ours);
}
