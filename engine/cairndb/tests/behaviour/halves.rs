//! `compact_range` with two threads: the state after either half panics.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use cairndb::env::{Background, Dir, Env};
use cairndb::{Append, Comparator, Db, ErrorKind};

use crate::{fails, in_memory, stat};

const KEYS: u32 = 12_000;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// Writes up to three versions of each key, including operands, large values and tombstones.
fn write(db: &Db) {
    for round in 0..3u32 {
        for n in 0..KEYS {
            let n = n.wrapping_mul(7919) % KEYS;
            let value = n.wrapping_add(round).wrapping_mul(2_654_435_761);
            let value = value.to_le_bytes();
            match n % 5 {
                part if part == round => db.delete(&key(n)).unwrap(),
                3 => db.merge(&key(n), &value).unwrap(),
                // Stored in a value file.
                4 if n % 100 == 4 => db.put(&key(n), &value.repeat(2500)).unwrap(),
                _ => db.put(&key(n), &value.repeat(8)).unwrap(),
            }
        }
    }
}

/// Returns the number of tables.
fn tables(dir: &dyn Dir) -> usize {
    let mut names = dir.list().unwrap();
    names.retain(|name| std::path::Path::new(name).extension() == Some("tbl".as_ref()));
    names.len()
}

/// Bytewise order that panics at the key in `at`, if any.
#[derive(Debug, Default)]
struct Panics {
    at: Mutex<Option<Vec<u8>>>,
}

impl Comparator for Panics {
    fn name(&self) -> &'static str {
        "test.panics"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let at = self.at.lock().unwrap().clone();
        let panics = at.is_some_and(|at| a == at || b == at);
        assert!(!panics, "the comparator was set to panic");
        a.cmp(b)
    }
}

#[test]
fn a_panic_in_either_half_is_an_error_and_leaves_no_file() {
    for background in [Background::Stepped, Background::Threads] {
        for n in [1, KEYS - 2] {
            let (env, options) = in_memory(background);
            let options = options.merge_operator(Arc::new(Append));
            let comparator = Arc::new(Panics::default());
            let db = options.comparator(comparator.clone()).open("/db").unwrap();
            write(&db);
            db.wait_idle().unwrap();
            // These keys are not bounds of tables, because the caller's thread compares bounds.
            for n in [0, n, KEYS] {
                db.put(&key(n), b"above").unwrap();
            }
            let dir = env.open_dir("/db".as_ref(), false).unwrap();
            *comparator.at.lock().unwrap() = Some(key(n));
            fails(db.compact_range(..), ErrorKind::InvalidArgument);
            *comparator.at.lock().unwrap() = None;
            // No table of either half is left.
            assert_eq!(tables(&*dir) as u64, stat(&db, "tables"));
            db.compact_range(..).unwrap();
            assert_eq!(db.get(&key(n)).unwrap().as_deref(), Some(&b"above"[..]));
            db.close().unwrap();
        }
    }
}
