//! Readers in other processes while a writer runs as fast as it can, and kills of either.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_FOLLOW_SECONDS` | how long readers check a writer, 25 by default |
//! | `CAIRN_FOLLOW_KILLS` | number of kills of writers and of readers, 12 each by default |
//! | `CAIRN_SEED` | seed, 1 by default |

use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cairndb::env::random::Random;
use cairndb::{ErrorKind, Snapshot};
use cairndb_env::testing::setting::setting;

use super::*;
use crate::story::{self, GROUPS, Notes, SPACE};

/// The role of a child, its directory and its seed.
const ROLE: &str = "CAIRN_FOLLOW_ROLE";
const DIR: &str = "CAIRN_FOLLOW_DIR";
const SEED: &str = "CAIRN_FOLLOW_SEED";

/// The word that ends all children, and the one that counts answers.
const STOP: usize = 0;
const ANSWERS: usize = 1;

/// A child, killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(role: &str, dir: &Path, seed: u64) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "processes::child", "--nocapture"]);
        command.env(ROLE, role).env(DIR, dir);
        command.env(SEED, seed.to_string());
        Process(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// Waits for its end, which must be a success.
    #[track_caller]
    fn finish(mut self) {
        assert!(
            self.0.wait().unwrap().success(),
            "the child has found a fault"
        );
    }

    /// Returns whether it has ended by itself, which it must not.
    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

/// Not a test by itself: the body of the processes that the others start.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let dir = std::path::PathBuf::from(std::env::var(DIR).unwrap());
    let seed = setting(SEED).unwrap();
    let notes = Notes::open(&dir);
    let stopped = || notes.word(STOP).load(Ordering::SeqCst) > 0;
    let path = dir.join("db");
    match role.as_str() {
        "writer" => story::write(&options().open(&path).unwrap(), &notes, seed, stopped),
        "reader" => read(&path, &notes, seed, stopped),
        _ => panic!("no such role: {role}"),
    }
}

/// Reads and checks until `until` returns true.
fn read(path: &Path, notes: &Notes, seed: u64, until: impl Fn() -> bool) {
    let mut random = Random::new(seed);
    let db = follow(path);
    let mut answers = 0;
    while !until() {
        let group = random.index(GROUPS);
        let first = notes.first(group);
        match random.index(8) {
            0 => check_snapshot(&db, &db.snapshot(), notes, (group, first)),
            1 => check_scan(&db, notes, (group, first)),
            2..4 => check_multi_get(&db, notes, (group, first)),
            _ => check_get(&db, notes, (group, first)),
        }
        answers += 1;
        if answers % 64 == 0 {
            notes.word(ANSWERS).fetch_add(64, Ordering::Relaxed);
        }
    }
}

fn number_of(marker: Option<&[u8]>) -> u64 {
    marker.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Checks that a read that began after the acknowledgement of write `first` found a possible write.
#[track_caller]
fn check_number(notes: &Notes, (group, first): (usize, u64), found: u64) {
    let last = notes.last(group);
    assert!(
        (first..=last).contains(&found),
        "group {group}: write {found} was read, when {first} was acknowledged and {last} begun"
    );
}

fn check_get(db: &Db, notes: &Notes, (group, first): (usize, u64)) {
    let found = db.get(&story::marker(group)).unwrap();
    check_number(notes, (group, first), number_of(found.as_deref()));
}

fn check_multi_get(db: &Db, notes: &Notes, (group, first): (usize, u64)) {
    let members = (0..24).map(|member| story::member(group, member));
    let keys: Vec<Vec<u8>> = std::iter::once(story::marker(group))
        .chain(members)
        .collect();
    let values = db.multi_get(&keys).unwrap();
    let number = number_of(values[0].as_deref());
    check_number(notes, (group, first), number);
    for (member, value) in (0..).zip(&values[1..]) {
        let expected = member < story::members(number) && number > 0;
        let expected = expected.then(|| story::value(group, number, member));
        assert!(
            value.as_deref() == expected.as_deref(),
            "group {group}, write {number}"
        );
    }
}

/// Checks the members of a group that a scan has found.
#[track_caller]
fn check_members(group: usize, number: u64, found: &[(Vec<u8>, Vec<u8>)]) {
    let count = if number == 0 {
        0
    } else {
        story::members(number)
    };
    let expected = (0..count).map(|member| {
        let value = story::value(group, number, member);
        (story::member(group, member), value)
    });
    let expected: Vec<_> = expected.collect();
    let keys = |entries: &[(Vec<u8>, Vec<u8>)]| entries.iter().map(|it| it.0.clone()).collect();
    let (keys_found, keys_expected): (Vec<_>, Vec<_>) = (keys(found), keys(&expected));
    assert_eq!(keys_found, keys_expected, "group {group}, write {number}");
    assert!(*found == *expected, "group {group}, write {number}");
}

fn check_scan(db: &Db, notes: &Notes, (group, first): (usize, u64)) {
    let range = story::marker(group)..story::end(group);
    let entries = db.range(range).map(|entry| entry.unwrap());
    let mut entries: Vec<_> = entries.map(owned).collect();
    let number = match entries.first() {
        Some((key, value)) if *key == story::marker(group) => {
            let number = number_of(Some(value));
            entries.remove(0);
            number
        }
        _ => 0,
    };
    check_number(notes, (group, first), number);
    check_members(group, number, &entries);
}

/// Checks that a snapshot shows one moment, in both keyspaces, and keeps showing it.
fn check_snapshot(db: &Db, snapshot: &Snapshot, notes: &Notes, (group, first): (usize, u64)) {
    let space = match db.keyspace(SPACE) {
        Ok(space) => space,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => panic!("{error}"),
    };
    let mut before = None;
    for _ in 0..3 {
        let found = snapshot.get(&story::marker(group)).unwrap();
        let number = number_of(found.as_deref());
        assert!(
            before.is_none_or(|before| before == number),
            "a snapshot changed"
        );
        before = Some(number);
        check_number(notes, (group, first), number);
        let range = story::marker(group)..story::end(group);
        let members = snapshot
            .range_in(&space, range)
            .unwrap()
            .map(|entry| entry.unwrap());
        let members = members.map(owned).collect::<Vec<_>>();
        check_members(group, number, &members);
    }
}

/// Creates a database and returns its directory and the notes.
fn begin() -> (tempfile::TempDir, Notes) {
    let dir = tempfile::tempdir().unwrap();
    options()
        .open(dir.path().join("db"))
        .unwrap()
        .close()
        .unwrap();
    let notes = Notes::open(dir.path());
    (dir, notes)
}

#[test]
fn three_readers_check_a_writer_that_runs_flat_out() {
    let seed = setting("CAIRN_SEED").unwrap_or(1);
    let seconds = setting("CAIRN_FOLLOW_SECONDS").unwrap_or(25);
    println!("CAIRN_SEED={seed} CAIRN_FOLLOW_SECONDS={seconds}");
    let (dir, notes) = begin();
    let writer = Process::start("writer", dir.path(), seed);
    let readers = [1, 2, 3].map(|n| Process::start("reader", dir.path(), seed ^ n << 32));
    let mut children: Vec<_> = std::iter::once(writer).chain(readers).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    wait_until(end, || children.iter_mut().any(Process::has_ended));
    notes.word(STOP).store(1, Ordering::SeqCst);
    children.into_iter().for_each(Process::finish);
    let written: u64 = (0..GROUPS).map(|group| notes.last(group)).sum();
    let answers = notes.word(ANSWERS).load(Ordering::SeqCst);
    println!("{written} writes, {answers} answers");
    assert!(written > 50 * seconds && answers > 50 * seconds);
}

/// Waits for a condition, at most until `end`.
fn wait_until(end: Instant, mut done: impl FnMut() -> bool) -> bool {
    let (lock, never) = (std::sync::Mutex::new(()), std::sync::Condvar::new());
    while Instant::now() < end {
        if done() {
            return true;
        }
        let guard = lock.lock().unwrap();
        drop(never.wait_timeout(guard, Duration::from_millis(5)).unwrap());
    }
    done()
}

#[test]
fn readers_survive_the_writers_death_and_the_writer_theirs() {
    let seed = setting("CAIRN_SEED").unwrap_or(1);
    let kills = setting("CAIRN_FOLLOW_KILLS").unwrap_or(12);
    println!("CAIRN_SEED={seed} CAIRN_FOLLOW_KILLS={kills}");
    let (dir, notes) = begin();
    let mut random = Random::new(seed);
    let mut writer = Process::start("writer", dir.path(), seed);
    let mut steady = Process::start("reader", dir.path(), seed + 1);
    let mut reader = Process::start("reader", dir.path(), seed + 2);
    for kill in 0..2 * kills {
        let life = Duration::from_millis(random.below(260));
        let ended = wait_until(Instant::now() + life, || {
            [&mut writer, &mut steady, &mut reader]
                .into_iter()
                .any(Process::has_ended)
        });
        assert!(
            !ended,
            "a child has found a fault, kill {kill}, seed {seed}"
        );
        let seed = random.next_u64();
        if kill % 2 == 0 {
            drop(writer);
            writer = Process::start("writer", dir.path(), seed);
        } else {
            drop(reader);
            reader = Process::start("reader", dir.path(), seed);
        }
    }
    notes.word(STOP).store(1, Ordering::SeqCst);
    [writer, steady, reader]
        .into_iter()
        .for_each(Process::finish);
    // The dead hold nothing: a new writer removes what nobody needs.
    let db = options().open(dir.path().join("db")).unwrap();
    db.put(b"last", b"").unwrap();
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
    assert_eq!(db.property("cairndb.followers").unwrap(), "[]");
}
