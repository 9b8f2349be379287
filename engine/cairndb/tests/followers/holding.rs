//! What followers hold, and for how long.

use std::time::{Duration, Instant};

use cairndb::env::random::Random;
use cairndb::{Error, ErrorKind};

use super::*;

/// Writes `count` entries of a generation, each of a kilobyte that does not shrink.
fn fill(db: &Db, count: u32, generation: u32) {
    let mut random = Random::new(u64::from(generation));
    for n in 0..count {
        let words = (0..128).map(|_| random.next_u64().to_le_bytes());
        let value: Vec<u8> = words.flatten().collect();
        db.put(&n.to_be_bytes(), &value).unwrap();
    }
}

fn held_bytes(db: &Db) -> u64 {
    let space = db.property("cairndb.space").unwrap();
    let (_, rest) = space.split_once("\"held_follower_bytes\":").unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

/// Returns the number of tables and value files in a directory.
fn files(path: &Path) -> usize {
    let names = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names
        .filter(|name| [".tbl", ".val"].iter().any(|end| name.ends_with(end)))
        .count()
}

/// Waits up to ten seconds for a condition.
#[track_caller]
fn within_seconds(what: &str, mut done: impl FnMut() -> bool) {
    let (lock, never) = (std::sync::Mutex::new(()), std::sync::Condvar::new());
    let end = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        let guard = lock.lock().unwrap();
        drop(
            never
                .wait_timeout(guard, Duration::from_millis(10))
                .unwrap(),
        );
    }
}

/// Replaces everything, so that only followers need the old files.
fn replace(db: &Db, generation: u32) {
    fill(db, 2_000, generation);
    db.compact_range(..).unwrap();
    db.wait_idle().unwrap();
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

#[test]
fn a_snapshot_keeps_files_that_it_has_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db, 1);
    let expected = entries(&db);
    let (alone, follower) = (files(dir.path()), follow(dir.path()));
    let snapshot = follower.snapshot();
    for generation in 2..5 {
        replace(&db, generation);
        // Moves on, and so holds nothing older than the snapshot but that.
        assert!(follower.get(&0_u32.to_be_bytes()).unwrap().is_some());
    }
    let tables = expected.len() as u64 * 1_000;
    within_seconds("only the snapshot holds something", || {
        held_bytes(&db) < 3 * tables / 2
    });
    let held = held_bytes(&db);
    assert!(held > tables / 2, "{held} bytes held of {tables}");
    let followers = db.property("cairndb.followers").unwrap();
    assert!(
        followers.contains(&format!("\"held_bytes\":{held}")),
        "{followers}"
    );
    assert!(
        followers.contains(&format!("\"process\":{}", std::process::id())),
        "{followers}"
    );
    assert!(entries_at(&snapshot) == expected);
    drop(snapshot);
    within_seconds("the space comes back", || held_bytes(&db) == 0);
    let all = files(dir.path());
    assert!(all < 2 * alone, "{all} files, {alone} before");
}

#[test]
fn cursors_hold_their_view_as_snapshots_do() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db, 1);
    let (expected, follower) = (entries(&db), follow(dir.path()));
    let cursor = follower.iter();
    replace(&db, 2);
    assert!(held_bytes(&db) > 0);
    let found: Entries = cursor.map(|entry| entry.unwrap()).map(owned).collect();
    assert!(found == expected);
    assert!(entries(&follower) == entries(&db));
    within_seconds("the space comes back", || held_bytes(&db) == 0);
}

#[test]
fn beyond_the_limit_the_oldest_view_is_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().reader_space_max(1 << 20).open(&dir).unwrap();
    replace(&db, 1);
    let follower = follow(dir.path());
    let oldest = follower.snapshot();
    let mut cursor = follower.cursor();
    replace(&db, 2);
    let newer = follower.snapshot();
    assert!(newer.get(&1_u32.to_be_bytes()).unwrap().is_some());
    within_seconds("the limit holds", || held_bytes(&db) <= 1 << 20);
    assert_eq!(kind(oldest.get(&1_u32.to_be_bytes())), ErrorKind::Revoked);
    assert_eq!(kind(cursor.seek_to_first()), ErrorKind::Revoked);
    assert!(!cursor.valid());
    // Newer views, and reads without one, are not concerned.
    assert!(newer.get(&2_u32.to_be_bytes()).unwrap().is_some());
    assert!(entries(&follower) == entries(&db));
}

#[test]
fn a_lease_ends() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db, 1);
    let lease = options().follow().reader_lease(Duration::from_millis(1));
    let follower = lease.manual_refresh(true).open(&dir).unwrap();
    follower.refresh().unwrap();
    let snapshot = follower.snapshot();
    replace(&db, 2);
    within_seconds("the lease ends", || held_bytes(&db) == 0);
    assert_eq!(kind(snapshot.get(b"")), ErrorKind::Revoked);
    assert_eq!(kind(follower.get(b"")), ErrorKind::Revoked);
    follower.refresh().unwrap();
    assert!(entries(&follower) == entries(&db));
}

#[test]
fn a_closed_follower_holds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    replace(&db, 1);
    let follower = follow(dir.path());
    assert!(follower.get(&0_u32.to_be_bytes()).unwrap().is_some());
    replace(&db, 2);
    follower.close().unwrap();
    assert_eq!(kind(follower.get(b"")), ErrorKind::Closed);
    drop(follower);
    within_seconds("the space comes back", || held_bytes(&db) == 0);
    assert_eq!(db.property("cairndb.followers").unwrap(), "[]");
}

#[test]
fn a_state_that_no_writer_has_announced_can_be_held() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(dir.path()).unwrap();
    fill(&db, 10, 1);
    db.flush().unwrap();
    db.close().unwrap();
    // As in a copy, or in a database that was last written by an earlier version.
    std::fs::remove_file(dir.path().join("SHARED")).unwrap();
    let follower = follow(dir.path());
    let snapshot = follower.snapshot();
    assert!(snapshot.get(&0_u32.to_be_bytes()).unwrap().is_some());
    assert_eq!(entries_at(&snapshot).len(), 10);
    let db = options().open(dir.path()).unwrap();
    replace(&db, 2);
    replace(&db, 3);
    assert_eq!(entries(&follower), entries(&db));
    assert_eq!(entries_at(&snapshot).len(), 10);
}

#[test]
fn a_checkpoint_and_a_copy_have_no_shared_memory() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(dir.path().join("db")).unwrap();
    fill(&db, 10, 1);
    let follower = follow(&dir.path().join("db"));
    db.checkpoint(dir.path().join("copy")).unwrap();
    assert!(!dir.path().join("copy/SHARED").exists());
    // Followers of each are apart.
    let copy = options().open(dir.path().join("copy")).unwrap();
    copy.put(b"copy", b"").unwrap();
    assert!(follower.get(b"copy").unwrap().is_none());
    assert!(
        follow(&dir.path().join("copy"))
            .get(b"copy")
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_destroyed_database_is_gone_for_its_followers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = options().open(&path).unwrap();
    fill(&db, 10, 1);
    let follower = follow(&path);
    db.close().unwrap();
    drop(db);
    assert!(follower.get(&1_u32.to_be_bytes()).unwrap().is_some());
    cairndb::destroy(&path, &options()).unwrap();
    assert!(!path.exists());
    let db = options().open(&path).unwrap();
    db.put(b"other", b"").unwrap();
    assert_eq!(kind(follower.get(b"other")), ErrorKind::Closed);
    assert!(follow(&path).get(b"other").unwrap().is_some());
}
