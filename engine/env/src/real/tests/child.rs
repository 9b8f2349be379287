//! Tests that need a second process: this test binary, started again with two environment
//! variables.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::random::Random;

const ROLE: &str = "CAIRN_ENV_CHILD_ROLE";
const PATH: &str = "CAIRN_ENV_CHILD_PATH";
/// A log record of the classic workload: header, key and value.
const RECORD_BYTES: usize = 143;
const LOG_BYTES: u64 = 1 << 20;
const RECORDS_MAX: u64 = LOG_BYTES / RECORD_BYTES as u64;

fn start(role: &str, path: &Path) -> Child {
    // Without the signal, which would kill the process, exceeding the file size limit is an error.
    Command::new("sh")
        .args(["-c", "trap '' XFSZ && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "real::tests::child::play", "--ignored"])
        .env(ROLE, role)
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

pub(super) fn run(role: &str, path: &Path) -> bool {
    start(role, path).wait().unwrap().success()
}

/// The second process.
#[test]
#[ignore = "started by the other tests of this file"]
fn play() {
    let (Ok(role), Ok(path)) = (std::env::var(ROLE), std::env::var(PATH)) else {
        return;
    };
    let path = PathBuf::from(path);
    match role.as_str() {
        "write" => write_until_killed(&path),
        "hold-record-lock" => {
            assert!(record_lock_held(&path).is_some_and(|_file| {
                fs::write(path.join("held"), b"").unwrap();
                // Holds the lock until the parent continues.
                std::io::stdin().lines().next().is_none()
            }));
        }
        "record-lock-free" => assert!(record_lock(&path)),
        "record-lock-refused" => assert!(!record_lock(&path)),
        "locked" => {
            let dir = RealEnv::new().open_dir(&path, false).unwrap();
            let error = dir.lock("LOCK").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Locked);
            let parent = std::os::unix::process::parent_id();
            let holder = format!("process {parent} has the database open");
            assert!(error.message().starts_with(&holder), "{error}");
            naming::walk_what_is_locked(&path);
        }
        "no-descriptors" => naming::walk_without_descriptors(&path),
        "no-duplicates" => naming::walk_without_duplicates(&path),
        "small-files" => naming::walk_with_small_files(&path),
        role => panic!("unknown role {role}"),
    }
}

fn record(number: u64) -> [u8; RECORD_BYTES] {
    let mut random = Random::new(number);
    std::array::from_fn(|_| random.next_u64().to_le_bytes()[0])
}

/// Writes numbered records and acknowledges each in a separate file, until killed.
fn write_until_killed(path: &Path) {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let log = dir.open_log("log").unwrap();
    let ack = dir.open_log("ack").unwrap();
    for number in 0..RECORDS_MAX {
        let bytes = record(number);
        let (head, tail) = bytes.split_at(24);
        let through = number % 3 == 0;
        log.write(number * RECORD_BYTES as u64, &[head, tail], through)
            .unwrap();
        // Always the system call: an acknowledgement must not depend on the code under test.
        ack.write(0, &[&(number + 1).to_le_bytes()], true).unwrap();
    }
    loop {
        std::thread::park();
    }
}

fn acknowledged(dir: &dyn Dir) -> u64 {
    let mut bytes = [0; 8];
    dir.open_read("ack")
        .unwrap()
        .read_at(0, &mut bytes)
        .unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn a_killed_process_loses_no_log_write() {
    let seed = 0x5EED;
    let mut random = Random::new(seed);
    for round in 0..20 {
        let (_temp, path) = temp();
        let dir = RealEnv::new().open_dir(&path, true).unwrap();
        dir.create_log("log", LOG_BYTES).unwrap();
        dir.create_log("ack", 4096).unwrap();
        let until = random.below(RECORDS_MAX);
        let mut child = start("write", &path);
        while acknowledged(&*dir) < until {
            assert!(
                child.try_wait().unwrap().is_none(),
                "the writer exited early"
            );
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let count = acknowledged(&*dir);
        assert!(count >= until);
        let file = dir.open_read("log").unwrap();
        for number in 0..count {
            let mut found = [0; RECORD_BYTES];
            let offset = number * RECORD_BYTES as u64;
            file.read_at(offset, &mut found).unwrap();
            assert_eq!(
                found,
                record(number),
                "seed {seed}, round {round}, record {number}"
            );
        }
    }
}

/// Takes the lock that other stores take: a record lock of the process.
fn record_lock(path: &Path) -> bool {
    record_lock_held(path).is_some()
}

fn record_lock_held(path: &Path) -> Option<fs::File> {
    let file = fs::OpenOptions::new()
        .write(true)
        .open(path.join("LOCK"))
        .unwrap();
    let operation = FlockOperation::NonBlockingLockExclusive;
    rustix::fs::fcntl_lock(&file, operation).ok().map(|()| file)
}

#[test]
fn a_lock_another_store_holds_is_respected() {
    let (_temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    drop(dir.lock("LOCK").unwrap());
    let mut child = start("hold-record-lock", &path);
    while !path.join("held").exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the holder exited early"
        );
        std::thread::yield_now();
    }
    for refused in [dir.lock("LOCK").err(), dir.lock_shared("LOCK").err()] {
        let error = refused.unwrap();
        assert_eq!(error.kind(), ErrorKind::Locked);
        let holder = format!("process {} has the database open", child.id());
        assert!(error.message().starts_with(&holder), "{error}");
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    drop(dir.lock("LOCK").unwrap());
}

#[test]
fn the_lock_keeps_other_processes_out_until_dropped() {
    let (_temp, path) = temp();
    let dir = RealEnv::new().open_dir(&path, true).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    assert!(run("record-lock-refused", &path));
    assert!(run("locked", &path));
    // Another descriptor of the lock file, opened and closed, and a second attempt of our own.
    drop(fs::File::open(path.join("LOCK")).unwrap());
    assert!(dir.lock("LOCK").is_err());
    assert!(run("record-lock-refused", &path));
    drop(lock);
    assert!(run("record-lock-free", &path));
    assert!(dir.lock("LOCK").is_ok());
}
