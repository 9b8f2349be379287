//! A file system that is really full: the message names it, nothing is left half done, and the same
//! command succeeds once there is room. Each test mounts its own small file system, if the user may
//! mount one.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_core::host::test_skip::unable;

use super::random::Random;
use super::{assert_same, cairn};
use crate::{Entries, files, home, names, read, write};

/// Room for a third of what the tests write, and for all of it.
const SMALL_KIB: u32 = 3 << 10;
const LARGE_KIB: u32 = 64 << 10;

/// A mounted file system, unmounted on drop.
struct Mount {
    at: PathBuf,
}

impl Mount {
    /// Mounts a small file system below `parent`. `None` if this machine does not permit it.
    fn new(parent: &Path) -> Option<Mount> {
        let at = parent.join("disk");
        std::fs::create_dir(&at).unwrap();
        let size = format!("size={SMALL_KIB}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        if !is_mounted {
            unable("a full disk: no file system can be mounted; run as root");
            return None;
        }
        Some(Mount { at })
    }

    fn resize(&self, kib: u32) {
        let size = format!("remount,size={kib}k");
        let mut mount = Command::new("mount");
        let output = mount.args(["-o", &size]).arg(&self.at).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}

/// Returns 8 MB of entries that no codec shrinks.
fn entries() -> Entries {
    let mut random = Random::new(1);
    let mut value = || (0..100).flat_map(|_| random.next().to_le_bytes()).collect();
    let entries = (0..10_000u32).map(|n| (format!("{n:08}").into_bytes(), value()));
    entries.collect()
}

#[test]
fn an_import_continues_when_there_is_room() {
    let at = &*home();
    let Some(mount) = Mount::new(at) else {
        return;
    };
    let entries = entries();
    write(&at.join("from"), &entries);
    let dumped = cairn(at, "dump @from @dumped").hash();
    cairn(at, "export @from @leveldb --format=leveldb").done();
    for line in [
        "load @disk/to @dumped",
        "import @disk/to @leveldb --format=leveldb",
    ] {
        mount.resize(SMALL_KIB);
        let line = format!("{line} --save-every 500000");
        for _ in 0..2 {
            cairn(at, &line).failed(5, &["disk/to", "No space left", "free some space"]);
        }
        mount.resize(LARGE_KIB);
        assert_eq!(cairn(at, &line).hash(), dumped, "{line}");
        assert_same(&read(&at.join("disk/to")), &entries, &line);
        std::fs::remove_dir_all(at.join("disk/to")).unwrap();
        assert!(names(&mount.at).is_empty(), "{:?}", names(&mount.at));
    }
}

#[test]
fn an_export_continues_when_there_is_room() {
    let at = &*home();
    write(&at.join("from"), &entries());
    for line in [
        "dump @from @disk/file",
        "export @from @disk/file --format=csv",
        "export @from @disk/file --format=leveldb",
    ] {
        let Some(mount) = Mount::new(at) else {
            return;
        };
        let line = format!("{line} --save-every 500000");
        cairn(at, &line).failed(5, &["disk/file", "No space left"]);
        assert!(!at.join("disk/file").exists());
        mount.resize(LARGE_KIB);
        cairn(at, &line).done();
        assert!(names(&mount.at) == ["file"], "{:?}", names(&mount.at));
        drop(mount);
        std::fs::remove_dir(at.join("disk")).unwrap();
    }
}

#[test]
fn an_upgrade_leaves_the_directory_to_leveldb() {
    let at = &*home();
    let Some(mount) = Mount::new(at) else {
        return;
    };
    mount.resize(LARGE_KIB);
    let entries = entries();
    write(&at.join("from"), &entries);
    let hash = cairn(at, "export @from @disk/db --format=leveldb").hash();
    let before = files(&at.join("disk/db"));
    // Another file takes the rest.
    let filler = at.join("disk/filler");
    let filler_bytes = (LARGE_KIB as usize - (12 << 10)) << 10;
    std::fs::write(&filler, vec![1; filler_bytes]).unwrap();
    cairn(at, "upgrade @disk/db").failed(5, &["disk/db", "space"]);
    assert!(files(&at.join("disk/db")) == before, "nothing has changed");
    std::fs::remove_file(filler).unwrap();
    cairn(at, "upgrade @disk/db").done();
    assert_same(&read(&at.join("disk/db")), &entries, "upgrade");
    assert_eq!(cairn(at, "dump @disk/db @after").hash(), hash);
}

#[test]
fn a_repair_leaves_nothing() {
    let at = &*home();
    let Some(mount) = Mount::new(at) else {
        return;
    };
    let entries = entries();
    write(&at.join("from"), &entries);
    std::fs::remove_file(at.join("from/CURRENT")).unwrap();
    let before = files(&at.join("from"));
    let full = cairn(at, "repair @from @disk/new");
    full.failed(5, &["disk/new", "No space left", "free some space"]);
    assert!(names(&mount.at).is_empty(), "{:?}", names(&mount.at));
    assert!(files(&at.join("from")) == before, "the source is unchanged");
    mount.resize(LARGE_KIB);
    let repaired = cairn(at, "repair @from @disk/new");
    assert!(matches!(repaired.code, 0 | 3), "{repaired:?}");
    assert_same(&read(&at.join("disk/new")), &entries, "repair");
}
