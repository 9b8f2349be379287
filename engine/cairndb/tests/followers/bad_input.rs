//! Directories, systems and processes in which following works, or is refused with the reason.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use cairndb::env::{Env, RealEnv};
use cairndb::{Error, ErrorKind};

use super::*;

/// The directory of a child, and what it does there.
const DIR: &str = "CAIRN_STRANGER_DIR";

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// Not a test by itself: a process that follows, and reads again when it is asked to.
#[test]
fn stranger() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let follower = match options().follow().open(&dir) {
        Ok(follower) => follower,
        Err(error) => return say(&Err(error)),
    };
    let snapshot = follower.snapshot();
    say(&Ok(()));
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "snapshot" => say(&snapshot.get(b"1").map(drop)),
            _ => say(&follower.get(b"1").map(drop)),
        }
    }
}

fn say(result: &Result<(), Error>) {
    let line = match result {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{:?} {error}", error.kind()),
    };
    eprintln!("answer: {line}");
}

/// A stranger, and the lines that it prints.
struct Stranger {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Stranger {
    fn start(mut command: Command, dir: &Path) -> Stranger {
        command.env(DIR, dir).stdin(Stdio::piped());
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Stranger { child, lines }
    }

    /// Returns the next answer; `None` if the process has ended.
    fn answer(&mut self) -> Option<String> {
        let mut lines = self.lines.by_ref().map(|line| line.unwrap());
        lines.find_map(|line| line.strip_prefix("answer: ").map(str::to_owned))
    }

    fn ask(&mut self, what: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        self.answer().unwrap()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this_test() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "bad_input::stranger", "--nocapture"]);
    command
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

fn is_root(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(dir).unwrap().uid() == 0
}

/// Writes an entry, and one that makes the first one's table obsolete.
fn replace(db: &Db) {
    db.put(b"1", b"").unwrap();
    db.flush().unwrap();
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
}

#[test]
fn a_reader_without_rights_to_write_holds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    if !is_root(dir.path()) {
        return;
    }
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let modes = cairndb::env::real::Modes {
        file: 0o644,
        dir: 0o755,
    };
    let path = dir.path().join("db");
    let db = options()
        .env(RealEnv::with_modes(modes))
        .open(&path)
        .unwrap();
    replace(&db);
    let mut command = this_test();
    command.uid(NOBODY).gid(NOBODY);
    let mut stranger = Stranger::start(command, &path);
    assert_eq!(stranger.answer().as_deref(), Some("ok"));
    replace(&db);
    replace(&db);
    let answer = stranger.ask("snapshot");
    assert!(answer.starts_with("Revoked"), "{answer}");
    assert_eq!(stranger.ask("now"), "ok");
    assert_eq!(db.property("cairndb.followers").unwrap(), "[]");
}

#[test]
fn what_root_creates_belongs_to_the_owner_of_the_directory() {
    use std::os::unix::fs::{MetadataExt, chown};
    let dir = tempfile::tempdir().unwrap();
    if !is_root(dir.path()) {
        return;
    }
    let db = options().open(&dir).unwrap();
    replace(&db);
    db.close().unwrap();
    let shared = dir.path().join("SHARED");
    std::fs::remove_file(&shared).unwrap();
    chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    assert!(follow(dir.path()).get(b"1").unwrap().is_some());
    let made = std::fs::metadata(&shared).unwrap();
    assert_eq!(
        (made.uid(), made.gid(), made.mode() & 0o777),
        (NOBODY, NOBODY, 0o600)
    );
}

#[test]
fn a_follower_notices_that_its_memory_was_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db);
    db.close().unwrap();
    drop(db);
    let follower = follow(dir.path());
    std::fs::remove_file(dir.path().join("SHARED")).unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"2", b"").unwrap();
    for result in [follower.refresh(), follower.has_writer().map(drop)] {
        assert_eq!(kind(result), ErrorKind::Closed);
    }
}

#[test]
fn an_interrupted_destruction_leaves_no_memory_that_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db);
    db.close().unwrap();
    drop(db);
    let shared = dir.path().join("SHARED");
    let kept = std::fs::read(&shared).unwrap();
    let mut ended = kept;
    // The session of a destroyed database.
    ended[24..32].fill(0xFF);
    std::fs::write(&shared, ended).unwrap();
    let db = options().open(&dir).unwrap();
    db.put(b"2", b"").unwrap();
    assert!(follow(dir.path()).get(b"2").unwrap().is_some());
}

#[test]
fn a_reader_without_rights_to_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    if !is_root(dir.path()) {
        return;
    }
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = dir.path().join("db");
    let db = options().open(&path).unwrap();
    replace(&db);
    let mut command = this_test();
    command.uid(NOBODY).gid(NOBODY);
    let answer = Stranger::start(command, &path).answer().unwrap();
    assert!(
        answer.starts_with("Io") && answer.contains("db"),
        "{answer}"
    );
}

#[test]
fn a_reader_in_another_process_namespace_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let mut probe = Command::new("unshare");
    let made = probe
        .args(["--pid", "--fork", "true"])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let db = options().open(&dir).unwrap();
    replace(&db);
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork"])
        .arg(std::env::current_exe().unwrap());
    command.args(["--exact", "bad_input::stranger", "--nocapture"]);
    let mut stranger = Stranger::start(command, dir.path());
    assert_eq!(stranger.answer().as_deref(), Some("ok"));
    replace(&db);
    replace(&db);
    // Its number means nothing here, but its lock does.
    assert_ne!(db.property("cairndb.followers").unwrap(), "[]");
    assert_eq!(stranger.ask("snapshot"), "ok");
    assert_eq!(stranger.ask("now"), "ok");
}

#[test]
fn file_systems_that_cannot_share_memory_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (magic, name) in [
        (0x6969, "NFS"),
        (0x6573_5546, "FUSE"),
        (0x9123_683E, "Btrfs"),
    ] {
        let env = RealEnv::pretending(magic);
        let db = options().env(env.clone()).open(&dir).unwrap();
        db.put(b"1", name.as_bytes()).unwrap();
        let error = options().env(env).follow().open(&dir).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{name}: {error}");
        assert!(error.to_string().contains("file system"), "{error}");
        assert_eq!(error.file_name(), Some("SHARED"));
    }
}

#[test]
fn a_writer_of_an_older_version_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db);
    db.close().unwrap();
    let follower = follow(dir.path());
    // Its lock covers the whole file, however long.
    let script = "import fcntl, sys\n\
                  file = open(sys.argv[1], 'r+')\n\
                  fcntl.lockf(file, fcntl.LOCK_EX)\n\
                  print('answer: ok', file=sys.stderr, flush=True)\n\
                  sys.stdin.read()";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(dir.path().join("LOCK"));
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let mut older = Stranger::start(command, dir.path());
    assert_eq!(older.answer().as_deref(), Some("ok"));
    for result in [
        options().follow().open(&dir).map(drop),
        follower.refresh(),
        follower.has_writer().map(drop),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        assert!(error.to_string().contains("older version"), "{error}");
    }
}

#[test]
fn whatever_is_in_place_of_the_shared_memory_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("SHARED");
    let db = options().open(&dir).unwrap();
    replace(&db);
    db.close().unwrap();
    drop(db);
    let refuse = |expected| {
        let error = options().follow().open(&dir).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        assert_eq!(error.file_name(), Some("SHARED"), "{error}");
    };
    std::fs::write(&shared, vec![7; 32 << 10]).unwrap();
    refuse(ErrorKind::FormatTooNew);
    // A writer makes another.
    let db = options().open(&dir).unwrap();
    db.put(b"2", b"").unwrap();
    assert!(follow(dir.path()).get(b"2").unwrap().is_some());
    db.close().unwrap();
    drop(db);
    std::fs::remove_file(&shared).unwrap();
    std::fs::create_dir(&shared).unwrap();
    refuse(ErrorKind::Io);
    std::fs::remove_dir(&shared).unwrap();
    std::os::unix::fs::symlink("elsewhere", &shared).unwrap();
    refuse(ErrorKind::Io);
    std::fs::remove_file(&shared).unwrap();
    // Empty, as a process that died at once leaves it, or cut off.
    for len in [0, 100] {
        std::fs::write(&shared, vec![0; len]).unwrap();
        assert!(follow(dir.path()).get(b"2").unwrap().is_some());
    }
    // Whatever an earlier writer left is not believed without one.
    let mut words = std::fs::read(&shared).unwrap();
    for word in words.chunks_exact_mut(8).skip(2) {
        word.copy_from_slice(&6_u64.to_le_bytes());
    }
    std::fs::write(&shared, words).unwrap();
    let follower = follow(dir.path());
    assert!(follower.get(b"2").unwrap().is_some());
    let db = options().open(&dir).unwrap();
    db.put(b"3", b"").unwrap();
    assert!(follower.get(b"3").unwrap().is_some());
}

#[test]
fn what_is_no_database_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let missing = options().follow().open(dir.path().join("missing"));
    assert_eq!(kind(missing), ErrorKind::NotFound);
    assert_eq!(kind(options().follow().open(&dir)), ErrorKind::NotFound);
    std::fs::write(dir.path().join("file"), b"").unwrap();
    assert_eq!(
        kind(options().follow().open(&dir)),
        ErrorKind::InvalidArgument
    );
    assert!(!dir.path().join("SHARED").exists());
    let db = options().open(dir.path().join("db")).unwrap();
    assert_eq!(kind(db.refresh()), ErrorKind::InvalidArgument);
    assert_eq!(kind(db.has_writer()), ErrorKind::InvalidArgument);
}

#[test]
fn a_follower_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db);
    let follower = follow(dir.path());
    assert_eq!(kind(follower.put(b"1", b"")), ErrorKind::ReadOnly);
    assert_eq!(kind(follower.delete_range(..)), ErrorKind::ReadOnly);
    assert_eq!(kind(follower.flush()), ErrorKind::ReadOnly);
    assert_eq!(kind(follower.sync()), ErrorKind::ReadOnly);
    assert_eq!(kind(follower.compact_range(..)), ErrorKind::ReadOnly);
    let options = cairndb::KeyspaceOptions::new();
    assert_eq!(
        kind(follower.create_keyspace("k", &options)),
        ErrorKind::ReadOnly
    );
    assert_eq!(
        kind(follower.checkpoint(dir.path().join("copy"))),
        ErrorKind::ReadOnly
    );
    let transaction = follower.transaction();
    assert!(transaction.get(b"1").unwrap().is_some());
    transaction.put(b"1", b"").unwrap();
    assert_eq!(kind(transaction.commit()), ErrorKind::ReadOnly);
    let _ = RealEnv::new().open_dir(dir.path(), false).unwrap();
}
