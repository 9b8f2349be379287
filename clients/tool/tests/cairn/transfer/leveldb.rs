//! LevelDB's own library opens what `cairn export` writes, and `cairn` reads what the library
//! writes.

use std::path::Path;

use bench_core::engine::{Cursor as _, Durability, Engine as _, Role, Session as _, Store as _};
use bench_core::host::test_skip::skip;
use bench_core::workload::settings::{Memory, Settings};
use engine_leveldb::{LevelDb, LevelStore};

use super::random::{Random, on_random};
use super::{assert_same, cairn};
use crate::{Entries, read};

const ROLE: Role = Role::single(Durability::Os);

/// Returns the library, or `None` if it is not installed.
fn library() -> Option<LevelDb> {
    let library = LevelDb::load(None).ok();
    if library.is_none() {
        skip("install libleveldb1d");
    }
    library
}

fn settings() -> Settings {
    Settings::plain(Memory::shares(64 << 10, 1 << 20))
}

/// Reads all entries forward, then backward, which must give the same.
fn contents(store: &LevelStore<'_>) -> Entries {
    let mut session = store.session(ROLE).unwrap();
    let mut cursor = session.cursor().unwrap();
    let (mut forward, mut backward) = (Entries::new(), Entries::new());
    cursor.first().unwrap();
    while cursor.valid() {
        forward.insert(cursor.key().to_vec(), cursor.value().unwrap().to_vec());
        cursor.next().unwrap();
    }
    cursor.last().unwrap();
    while cursor.valid() {
        backward.insert(cursor.key().to_vec(), cursor.value().unwrap().to_vec());
        cursor.prev().unwrap();
    }
    cursor.check().unwrap();
    assert_same(&backward, &forward, "LevelDB in both directions");
    forward
}

/// Lets the library change a part of the entries, and change them so in `entries`, too.
fn change(library: &LevelDb, path: &Path, random: &mut Random, entries: &mut Entries) {
    let store = library.open(path, &settings()).unwrap();
    assert_same(&contents(&store), entries, "LevelDB");
    let mut session = store.session(ROLE).unwrap();
    let keys: Vec<Vec<u8>> = entries.keys().cloned().collect();
    for key in keys {
        match random.below(4) {
            0 => {
                session.delete(&key).unwrap();
                entries.remove(&key);
            }
            1 => {
                let value = random.bytes(50);
                session.put(&key, &value).unwrap();
                entries.insert(key, value);
            }
            _ => {}
        }
    }
    drop(session);
    store.close().unwrap();
}

#[test]
fn the_library_opens_exports_and_its_databases_are_imported() {
    let Some(library) = library() else {
        return;
    };
    on_random(
        "LevelDB's library",
        Random::entries,
        |at, random, mut entries| {
            let exported = cairn(at, "export @from @theirs --format=leveldb").hash();
            assert_eq!(cairn(at, "dump @theirs @before").hash(), exported);
            change(&library, &at.join("theirs"), random, &mut entries);
            let imported = cairn(at, "import @to @theirs --format=leveldb").hash();
            assert_eq!(cairn(at, "dump @theirs @after").hash(), imported);
            assert_same(&read(&at.join("to")), &entries, "import");
        },
    );
}
