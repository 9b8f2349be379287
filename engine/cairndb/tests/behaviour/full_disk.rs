//! Space on a full disk can be freed through the database itself. Each test mounts its own small
//! file system, if the user is allowed to mount one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cairndb::{Compression, Db, ErrorKind, Options, Result, WriteBatch};

use crate::{keys, real_dir};

const MB: u64 = 1_000_000;
/// Size of each file system.
const DISK_MIB: u64 = 48;

/// A mounted file system, unmounted on drop.
struct Mount {
    dir: tempfile::TempDir,
}

impl Mount {
    /// Mounts a new file system of type `kind`. Returns `None` if this machine does not permit it.
    fn new(kind: &str, mib: u64) -> Option<Mount> {
        let dir = real_dir();
        let at = dir.path().join("mount");
        std::fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        if kind == "tmpfs" {
            mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]);
        } else {
            let image = dir.path().join("image");
            let file = std::fs::File::create(&image).unwrap();
            file.set_len(mib << 20).unwrap();
            let mkfs = Command::new(format!("mkfs.{kind}"))
                .args(["-q", "-F"])
                .arg(&image)
                .output();
            if !mkfs.is_ok_and(|made| made.status.success()) {
                return None;
            }
            mount.args(["-o", "loop"]).arg(image);
        }
        let mounted = mount.arg(&at).output();
        mounted
            .is_ok_and(|mounted| mounted.status.success())
            .then_some(Mount { dir })
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("mount/db")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let at = self.dir.path().join("mount");
        let _ = Command::new("umount").arg("-l").arg(at).output();
    }
}

/// Adds a line to the list of tests that could not run on this machine.
fn skip(what: &str) {
    use std::io::Write;
    eprintln!("skipped: {what}");
    if let Some(list) = std::env::var_os("CAIRN_SKIPS") {
        let mut options = std::fs::OpenOptions::new();
        let list = options.create(true).append(true).open(list);
        writeln!(list.unwrap(), "{what}").unwrap();
    }
}

fn options(budget: usize) -> Options {
    Options::new()
        .create_if_missing(true)
        .compression(Compression::None)
        .memory_budget(budget)
}

fn key(n: u64) -> [u8; 16] {
    let mut key = *b"0000000000000000";
    let digits = format!("{:016}", n.wrapping_mul(7_919) % 10_000_000_019);
    key.copy_from_slice(digits.as_bytes());
    key
}

/// Puts values of `len` bytes until the disk is full. Returns the number of values that fit.
fn fill(db: &Db, len: usize) -> Result<u64> {
    let value = vec![7; len];
    for n in 0.. {
        match db.put(&key(n), &value) {
            Err(error) if error.kind() == ErrorKind::NoSpace => return Ok(n),
            put => put?,
        }
    }
    unreachable!("every disk is finite")
}

fn on_disk(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).unwrap();
    let found = entries.filter_map(|entry| entry.unwrap().metadata().ok());
    found.map(|found| found.len()).sum()
}

/// State of the full database when the deletions start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// Still open in the handle that filled it.
    Open,
    /// Reopened after a close.
    Closed,
    /// Reopened after a kill.
    Killed,
}

/// The way in which all keys are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Deletes,
    /// In reverse order of their puts.
    DeletesBackward,
    Batches,
    DeletesAndCompaction,
}

const CHILD: &str = "CAIRN_FULL_DISK_CHILD";

/// The process that fills the disk and is killed.
#[test]
#[ignore = "started by the other tests of this file"]
fn fill_and_die() {
    let Some(asked) = std::env::var_os(CHILD) else {
        return;
    };
    let asked = asked.into_string().unwrap();
    let mut asked = asked.splitn(3, ' ');
    let mut number = || asked.next().unwrap().parse::<usize>().unwrap();
    let (budget, len) = (number(), number());
    let db = options(budget).open(asked.next().unwrap()).unwrap();
    fill(&db, len).unwrap();
    std::process::abort();
}

fn killed(path: &Path, budget: usize, len: usize) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::fill_and_die", "--ignored"])
        .env(CHILD, format!("{budget} {len} {}", path.display()))
        .output()
        .unwrap();
    let is_killed = !output.status.success();
    assert!(is_killed && path.join("CURRENT").exists(), "{output:?}");
}

fn delete_all(db: &Db, keys: &[Vec<u8>], by: By) -> Result<()> {
    match by {
        By::Deletes | By::DeletesAndCompaction => {
            keys.iter().try_for_each(|key| db.delete(key))?;
        }
        By::DeletesBackward => keys.iter().rev().try_for_each(|key| db.delete(key))?,
        By::Batches => {
            for keys in keys.chunks(1000) {
                let mut batch = WriteBatch::new();
                for key in keys {
                    batch.delete(key);
                }
                db.write(&batch)?;
            }
        }
    }
    if by == By::DeletesAndCompaction {
        db.compact_range(..)?;
    }
    // Background work may fail for lack of room at first, but it frees some.
    let begun = Instant::now();
    while let Err(error) = db.wait_idle() {
        if error.kind() != ErrorKind::NoSpace || begun.elapsed().as_secs() > 60 {
            return Err(error);
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Fills `path`, deletes everything, and checks the remaining size.
fn empty(path: &Path, budget: usize, len: usize, met: Met, by: By) {
    let what = format!("{}: {len} bytes, {met:?}, {by:?}", path.display());
    let options = options(budget);
    let done = |name: &str, result: Result<()>| {
        result.unwrap_or_else(|error| panic!("{what}: {name}: {error}"));
    };
    let open = || {
        options
            .open(path)
            .unwrap_or_else(|error| panic!("{what}: opening: {error}"))
    };
    let db = if met == Met::Killed {
        killed(path, budget, len);
        open()
    } else {
        let db = open();
        fill(&db, len).unwrap();
        if met == Met::Closed {
            done("closing", db.close());
            open()
        } else {
            db
        }
    };
    let keys = keys(db.iter());
    let count = keys.len() as u64;
    assert!(
        count * (16 + len as u64) > DISK_MIB * MB / 4,
        "{what}: {count}"
    );
    done("deleting", delete_all(&db, &keys, by));
    assert!(db.iter().next().is_none(), "{what}");
    let left = on_disk(path);
    // The bound of an idle database plus the reserve for a nearly full disk.
    let bound = 8 * MB + (DISK_MIB << 20) / 8;
    let stats = db.property("cairndb.stats").unwrap();
    assert!(left <= bound, "{what}: {left} bytes left, {stats}");
    // The database accepts data again.
    for n in 0..count / 4 {
        done("putting again", db.put(&key(n), &vec![9; len]));
    }
    done("closing at last", db.close());
    cairndb::verify(path, &options).unwrap();
}

/// Lengths of values in value files.
const LARGE: [usize; 2] = [30_000, 300_000];
/// Maximum number of attempts. On a loaded machine, about one fill in twenty has no room to close,
/// because the writer fills the disk before the reserve is allocated (issue 44). Several such
/// failures in a row would be a different defect.
const ATTEMPTS: u32 = 3;
const WAYS: [(Met, By); 4] = [
    (Met::Open, By::Deletes),
    (Met::Closed, By::DeletesBackward),
    (Met::Killed, By::Batches),
    (Met::Open, By::DeletesAndCompaction),
];

/// Regression: all deletes were accepted, but nothing was freed, because no flush found room for
/// its first block, and reopening for writing failed.
fn a_full_disk_is_emptied(kind: &str, lengths: [usize; 2], after_a_kill: bool) {
    for (at, len) in lengths.into_iter().enumerate() {
        for (way, (met, by)) in WAYS.into_iter().enumerate() {
            if (met == Met::Killed) != after_a_kill {
                continue;
            }
            let budget = [1 << 20, 4 << 20][(at + way) % 2];
            for attempt in 1.. {
                let Some(mount) = Mount::new(kind, DISK_MIB) else {
                    return skip(&format!("full disks: no {kind} can be mounted here"));
                };
                let filled = || empty(&mount.database(), budget, len, met, by);
                match std::panic::catch_unwind(filled) {
                    Ok(()) => break,
                    Err(failure) if attempt == ATTEMPTS => std::panic::resume_unwind(failure),
                    Err(_) => eprintln!("attempt {attempt} on {kind} failed"),
                }
            }
        }
    }
}

/// Values are in tables. In about one of seventy runs, freeing space needs more room than is
/// available, so the push checks skip this test (issue 44).
#[test]
#[ignore = "fails in a few of a hundred runs, unable to free space"]
fn full_disks_of_short_values_are_emptied_from_inside() {
    for kind in ["ext4", "ext2", "tmpfs"] {
        a_full_disk_is_emptied(kind, [10, 3_000], false);
        a_full_disk_is_emptied(kind, [10, 3_000], true);
    }
}

/// Like the next tests, but after a kill. On a loaded machine, a few of a hundred runs have too
/// little room to continue, so the push checks skip this test (issue 44).
#[test]
#[ignore = "fails in a few of a hundred runs on a loaded machine"]
fn full_disks_are_emptied_after_a_kill() {
    for kind in ["ext4", "ext2", "tmpfs"] {
        a_full_disk_is_emptied(kind, LARGE, true);
    }
}

#[test]
fn a_full_ext4_is_emptied_from_inside() {
    a_full_disk_is_emptied("ext4", LARGE, false);
}

#[test]
fn a_full_ext2_is_emptied_from_inside() {
    a_full_disk_is_emptied("ext2", LARGE, false);
}

#[test]
fn a_full_tmpfs_is_emptied_from_inside() {
    a_full_disk_is_emptied("tmpfs", LARGE, false);
}

/// A batch that met the end of the disk between two of its parts keeps no later deletion from
/// freeing space.
#[test]
fn a_disk_that_a_long_batch_fills_is_emptied_from_inside() {
    const KEYS: u64 = 6_000;
    let Some(mount) = Mount::new("tmpfs", DISK_MIB) else {
        return skip("full disks: run as root, with mkfs.ext4 and mkfs.ext2");
    };
    let db = options(2 << 20).open(mount.database()).unwrap();
    let value = |n: u64| {
        let mut value = vec![7; 1_000];
        value[..8].copy_from_slice(&n.to_le_bytes());
        value
    };
    let mut batches = 0;
    loop {
        let mut batch = WriteBatch::new();
        for n in batches * KEYS..(batches + 1) * KEYS {
            batch.put(&key(n), &value(n));
        }
        match db.write(&batch) {
            Err(error) if error.kind() == ErrorKind::NoSpace => break,
            written => written.unwrap(),
        }
        batches += 1;
    }
    assert!(batches > 0, "the disk has room for a batch");
    for n in 0..batches * KEYS {
        db.delete(&key(n)).unwrap();
    }
    assert_eq!(db.iter().count(), 0);
    db.compact_range(..).unwrap();
    db.put(b"after", &value(0)).unwrap();
    db.close().unwrap();
    assert!(on_disk(&mount.database()) < 8 * MB, "the space was freed");
}
