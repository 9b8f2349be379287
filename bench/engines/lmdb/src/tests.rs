use std::collections::BTreeMap;
use std::path::Path;

use bench_core::engine::{Cursor as _, Durability, Engine as _, Role, Session, Store as _};
use bench_core::host::page_cache::page_cache_bytes;
use bench_core::workload::settings::{Memory, Settings};

use super::*;

const ROLE: Role = Role::single(Durability::Os);

/// Runs a test over an empty store if the library is installed.
fn with_store(test: impl FnOnce(LmdbStore<'_>, &Path)) {
    let Ok(engine) = Lmdb::load(None) else {
        bench_core::host::test_skip::skip("install liblmdb0");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let settings = Settings {
        compression: false,
        ..Settings::plain(Memory::split(4 << 20, false))
    };
    let engine = &engine;
    let store = engine.open(dir.path(), &settings).expect("open");
    test(store, dir.path());
}

fn key(index: u32) -> Vec<u8> {
    format!("{index:08}").into_bytes()
}

fn fill(session: &mut LmdbSession<'_>, indices: impl Iterator<Item = u32>) {
    for index in indices {
        session.batch_put(&key(index), &[7; 1000]).expect("added");
    }
    session.batch_write().expect("written");
}

/// Returns the keys starting at `from`, as seen by a cursor of the session.
fn walk(session: &mut LmdbSession<'_>, from: u32) -> Vec<Vec<u8>> {
    let mut cursor = session.cursor().expect("a cursor");
    let mut keys = Vec::new();
    cursor.seek(&key(from)).expect("sought");
    while cursor.valid() {
        keys.push(cursor.key().to_vec());
        cursor.next().expect("stepped");
    }
    keys
}

#[test]
fn what_was_compacted_lies_in_the_page_cache_and_nothing_is_left_beside_it() {
    with_store(|mut store, dir| {
        let mut session = store.session(ROLE).expect("a session");
        fill(&mut session, 0..5000);
        drop(session);
        store.compact().expect("compacted");
        assert!(page_cache_bytes(dir).expect("readable") > 5_000_000);
        store.compact().expect("compacted again");
        let mut session = store.session(ROLE).expect("a session");
        assert_eq!(walk(&mut session, 0).len(), 5000);
        let names = std::fs::read_dir(dir).expect("readable");
        let names: Vec<_> = names.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    });
}

#[test]
fn a_session_s_walks_see_what_was_written_between_them() {
    with_store(|store, _| {
        let mut session = store.session(ROLE).expect("a session");
        assert!(walk(&mut session, 0).is_empty());
        for round in 0..20 {
            fill(&mut session, (0..1000).map(|index| index * 20 + round));
            let keys = walk(&mut session, 10_000);
            assert_eq!(keys.len(), 500 * (round as usize + 1));
            assert!(keys.is_sorted());
        }
        // An unwritten batch is not visible and does not disturb the scan.
        session.batch_put(&key(99_999_999), b"").expect("added");
        assert_eq!(walk(&mut session, 10_000).len(), 10_000);
        session.batch_write().expect("written");
        assert_eq!(walk(&mut session, 10_000).len(), 10_001);
    });
}

#[test]
fn several_keys_are_read_from_one_moment_and_each_is_answered() {
    with_store(|store, _| {
        let mut session = store.session(ROLE).expect("a session");
        fill(&mut session, (0..100).step_by(2));
        for _ in 0..2 {
            let keys: Vec<Vec<u8>> = (0..100).rev().map(key).collect();
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut answers = BTreeMap::new();
            let each = |at: usize, value: Option<&[u8]>| {
                answers.insert(at, value.map(<[u8]>::len));
            };
            session.multi_get(&keys, each).expect("read");
            for at in 0..100 {
                let expected = (at % 2 == 1).then_some(1000);
                assert_eq!(answers.get(&at), Some(&expected), "{at}");
            }
            assert_eq!(session.get(&key(2), <[u8]>::len).expect("read"), Some(1000));
        }
    });
}

#[test]
fn every_thread_a_row_may_have_gets_its_session() {
    with_store(|mut store, _| {
        // A compaction reopens the environment.
        store.compact().expect("compacted");
        // A reader slot is bound to its thread, and sessions of one row never share a thread.
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..200)
                .map(|_| {
                    let (ready, go_on) = std::sync::mpsc::channel::<()>();
                    let store = &store;
                    let thread = scope.spawn(move || {
                        let session = store.session(ROLE);
                        // Ends when the sender is dropped: all sessions are open at the same time.
                        let _ = go_on.recv();
                        session.map(|_| ()).map_err(|fault| fault.to_string())
                    });
                    (ready, thread)
                })
                .collect();
            let (senders, threads): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
            let reported = store.options();
            assert!(reported.contains(&("maxreaders".to_owned(), "1200".to_owned())));
            drop(senders);
            for thread in threads {
                assert_eq!(thread.join().expect("ended"), Ok(()));
            }
        });
    });
}

#[test]
fn settings_that_the_store_has_not_are_reported() {
    let Ok(engine) = Lmdb::load(None) else {
        bench_core::host::test_skip::skip("LMDB's settings: install liblmdb0");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let asked = Settings {
        open_files: Some(77),
        ..Settings::plain(Memory::split(4 << 20, false))
    };
    let store = (&engine).open(dir.path(), &asked).expect("open");
    let reported = ("open_files".into(), "not used (77 was asked for)".into());
    assert!(store.options().contains(&reported));
}

#[test]
fn an_environment_just_made_is_read_written_and_opened_again_while_empty() {
    let Ok(engine) = Lmdb::load(None) else {
        bench_core::host::test_skip::skip("LMDB's new environment: install liblmdb0");
        return;
    };
    let engine = &engine;
    for durability in [Durability::Os, Durability::Sync] {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            durability,
            ..Settings::plain(Memory::split(4 << 20, false))
        };
        for _ in 0..3 {
            let store = engine.open(dir.path(), &settings).expect("open");
            let reported = store.property("statistics").expect("reported");
            assert!(reported.ends_with("last transaction 0"), "{reported}");
            let mut session = store.session(ROLE).expect("a session");
            assert_eq!(session.get(&key(1), <[u8]>::len).expect("read"), None);
            assert!(walk(&mut session, 0).is_empty());
        }
        let store = engine.open(dir.path(), &settings).expect("open");
        let mut session = store.session(ROLE).expect("a session");
        fill(&mut session, 0..100);
        assert_eq!(walk(&mut session, 0).len(), 100);
        drop(session);
        store.close().expect("closes");
        let store = engine.open(dir.path(), &settings).expect("open");
        let mut session = store.session(ROLE).expect("a session");
        assert_eq!(walk(&mut session, 0).len(), 100);
    }
}

#[test]
fn more_than_the_machine_s_memory_is_opened_without_read_ahead() {
    let Ok(engine) = Lmdb::load(None) else {
        bench_core::host::test_skip::skip("LMDB's read-ahead: install liblmdb0");
        return;
    };
    for (entries, expected) in [(1, "0"), (1 << 33, "1")] {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            entries,
            // The file contains only the used pages; in the other mode it would be as large as the
            // map.
            durability: Durability::Sync,
            ..Settings::plain(Memory::split(4 << 20, false))
        };
        let store = (&engine).open(dir.path(), &settings).expect("open");
        let reported = store.options();
        assert!(reported.contains(&("nordahead".to_owned(), expected.to_owned())));
    }
}
