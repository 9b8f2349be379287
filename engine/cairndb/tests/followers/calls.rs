//! Calls of a follower that are no reads of keys.

use std::time::Duration;

use cairndb::{ErrorKind, KeyspaceOptions};

use super::*;

#[test]
fn a_new_keyspace_is_found_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let (follower, other) = (follow(dir.path()), follow(dir.path()));
    let space = db.create_keyspace("space", &KeyspaceOptions::new());
    space.unwrap().put(b"granite", b"grey").unwrap();
    let found = follower.keyspace("space").unwrap().get(b"granite").unwrap();
    assert_eq!(found.as_deref(), Some(&b"grey"[..]));
    assert_eq!(other.keyspaces(), ["space"]);
    db.drop_keyspace("space").unwrap();
    let gone = follower.keyspace("space").unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert!(other.keyspaces().is_empty());
}

#[test]
fn estimates_are_of_the_newest_state() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let follower = follow(dir.path());
    for n in 0..1_000_u32 {
        db.put(format!("{n:04}").as_bytes(), b"value").unwrap();
    }
    assert_eq!(follower.estimate_count(..).unwrap(), 1_000);
    db.flush().unwrap();
    let size = follower.approximate_size(..).unwrap();
    assert!(size > 0);
    assert_eq!(size, db.approximate_size(..).unwrap());
}

#[test]
fn a_close_ends_a_wait() {
    let dir = tempfile::tempdir().unwrap();
    let db = options().open(&dir).unwrap();
    let follower = follow(dir.path());
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            follower
                .wait_for(u64::MAX, Duration::MAX)
                .map_err(|error| error.kind())
        });
        db.put(b"granite", b"grey").unwrap();
        follower.close().unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(waited, Err(ErrorKind::Closed));
    assert_eq!(follower.refresh().unwrap_err().kind(), ErrorKind::Closed);
}
