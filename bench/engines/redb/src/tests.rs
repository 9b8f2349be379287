use bench_core::engine::{Cursor as _, Role, Session as _, Store as _};
use bench_core::workload::settings::Memory;

use super::*;

fn settings(durability: Durability) -> Settings {
    Settings {
        durability,
        ..Settings::plain(Memory::split(4 << 20, false))
    }
}

fn key(index: u32) -> Vec<u8> {
    format!("{index:08}").into_bytes()
}

/// Returns the number of entries from `from` on, as seen by a cursor of the session.
fn count(session: &mut RedbSession<'_>, from: u32) -> usize {
    let mut cursor = session.cursor().expect("a cursor");
    cursor.seek(&key(from)).expect("sought");
    let mut count = 0;
    while cursor.valid() {
        count += 1;
        cursor.next().expect("stepped");
    }
    count
}

/// A batch larger than the buffer is still one transaction.
#[test]
fn a_batch_is_visible_as_a_whole() {
    let home = tempfile::tempdir().expect("a directory");
    for appending in [false, true] {
        let dir = home.path().join(format!("{appending}"));
        std::fs::create_dir(&dir).expect("created");
        let store = Redb.open(&dir, &settings(Durability::Os)).expect("opens");
        let role = Role {
            appending,
            ..Role::single(Durability::Os)
        };
        let mut writer = store.session(role).expect("a session");
        let mut reader = store.session(role).expect("a session");
        for round in 0..3 {
            for index in 0..2000 {
                let key = key(round * 2000 + index);
                writer.batch_put(&key, &[7; 300]).expect("added");
            }
            assert_eq!(count(&mut reader, 0), round as usize * 2000);
            writer.batch_write().expect("written");
            assert_eq!(count(&mut reader, 0), (round as usize + 1) * 2000);
        }
        assert_eq!(count(&mut reader, 5990), 10);
        drop((reader, writer));
        store.close().expect("closes");
    }
}

#[test]
fn a_batch_that_was_not_written_is_dropped_with_its_session() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Redb
        .open(home.path(), &settings(Durability::Os))
        .expect("opens");
    let mut session = store.session(Role::single(Durability::Os)).expect("one");
    for index in 0..2000 {
        session.batch_put(&key(index), &[7; 300]).expect("added");
    }
    drop(session);
    let mut session = store.session(Role::single(Durability::Os)).expect("one");
    assert_eq!(count(&mut session, 0), 0);
    session.put(&key(1), b"value").expect("not blocked");
    assert_eq!(count(&mut session, 0), 1);
}

#[test]
fn a_flush_keeps_what_a_dead_process_would_lose() {
    let home = tempfile::tempdir().expect("a directory");
    let (dir, after) = (home.path().join("db"), home.path().join("after"));
    for place in [&dir, &after] {
        std::fs::create_dir(place).expect("created");
    }
    let mut store = Redb.open(&dir, &settings(Durability::Os)).expect("opens");
    let copied = || {
        for entry in std::fs::read_dir(&dir).expect("readable").flatten() {
            std::fs::copy(entry.path(), after.join(entry.file_name())).expect("copied");
        }
        let store = Redb.open(&after, &settings(Durability::Os)).expect("opens");
        let mut session = store.session(Role::single(Durability::Os)).expect("one");
        count(&mut session, 0)
    };
    let mut session = store.session(Role::single(Durability::Os)).expect("one");
    session.put(&key(1), b"value").expect("put");
    drop(session);
    assert_eq!(copied(), 0, "else the rows are ranked too low");
    store.flush().expect("flushed");
    assert_eq!(copied(), 1);
}

#[test]
fn settings_that_the_store_has_not_are_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let asked = Settings {
        open_files: Some(77),
        ..settings(Durability::Sync)
    };
    let store = Redb.open(home.path(), &asked).expect("opens");
    let reported = store.options();
    let has = |name: &str, value: &str| reported.contains(&(name.into(), value.into()));
    assert!(has("open_files", "not used (77 was asked for)"));
    assert!(has("cache_size", "4194304") && has("durability", "immediate"));
    assert!(
        store
            .property("leveldb.stats")
            .is_some_and(|text| text.contains("pages"))
    );
}
