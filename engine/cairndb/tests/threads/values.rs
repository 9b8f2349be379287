//! Readers of large values, concurrent with a writer that appends them. The file is remapped as it
//! grows, while it is read, and values past the mapping are read through the descriptor.

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb::Options;
use cairndb::env::random::Random;

use crate::json;

const VALUES: u64 = 2000;
/// Value length, large enough for a value file. No two values are equal.
const VALUE_BYTES: u64 = 12 << 10;
const READERS: u64 = 3;

fn value(n: u64) -> Vec<u8> {
    let mut random = Random::new(n);
    let words = 0..VALUE_BYTES / 8;
    words
        .flat_map(|_| random.next_u64().to_be_bytes())
        .collect()
}

#[test]
fn values_are_read_from_a_file_while_it_is_appended_to() {
    let dir = tempfile::tempdir().expect("a temporary directory can be created");
    let options = Options::new().create_if_missing(true).mapped(true);
    let db = options.memory_budget(1 << 20).open(dir.path()).unwrap();
    let written = AtomicU64::new(0);
    let read = |reader: u64| {
        let mut random = Random::new(reader);
        loop {
            let count = written.load(Ordering::Acquire);
            if count == 0 {
                std::thread::yield_now();
                continue;
            }
            // Prefer the last values, which may be past the mapping.
            let far = random.below(2) == 0;
            let back = random.below(if far { count } else { 8 });
            let n = (count - 1).saturating_sub(back);
            let found = db.get(&n.to_be_bytes()).unwrap();
            assert!(found.as_deref() == Some(&value(n)[..]), "value {n}");
            if count == VALUES {
                return;
            }
        }
    };
    let write = || {
        (0..VALUES).try_for_each(|n| {
            db.put(&n.to_be_bytes(), &value(n))?;
            written.store(n + 1, Ordering::Release);
            Ok::<_, cairndb::Error>(())
        })
    };
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let read = &read;
            scope.spawn(move || read(reader));
        }
        let result = write();
        // Lets the readers finish, even if the writer failed.
        written.store(VALUES, Ordering::Release);
        result.unwrap();
    });
    for n in 0..VALUES {
        let found = db.get(&n.to_be_bytes()).unwrap();
        assert!(found.as_deref() == Some(&value(n)[..]), "value {n}");
    }
    let memory = json::numbers(&db.property("cairndb.memory").unwrap());
    let mapped = memory["mapped_values"];
    assert!(mapped >= VALUES * VALUE_BYTES / 2, "{mapped} bytes mapped");
    db.close().unwrap();
}
