//! `compact_range` with two threads: the state after either half panics.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use cairndb::env::{Background, Dir, Env, MemEnv};
use cairndb::{Append, Comparator, Db, ErrorKind, Options};

use crate::stat;

const KEYS: u32 = 12_000;

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// Writes up to three versions of each key, including operands, large values and tombstones.
fn write(db: &Db) {
    for round in 0..3u32 {
        for n in 0..KEYS {
            let n = n.wrapping_mul(7919) % KEYS;
            let value = n
                .wrapping_add(round)
                .wrapping_mul(2_654_435_761)
                .to_le_bytes();
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

fn options(background: Background) -> (Arc<MemEnv>, Options) {
    let env = MemEnv::new(background);
    let options = Options::new().create_if_missing(true).env(env.clone());
    let options = options.merge_operator(Arc::new(Append));
    (env, options.memory_budget(256 << 10))
}

fn tables(dir: &dyn Dir) -> Vec<String> {
    let mut names = dir.list().unwrap();
    names.retain(|name| std::path::Path::new(name).extension() == Some("tbl".as_ref()));
    names.sort();
    names
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
        assert!(
            at.is_none_or(|at| a != at && b != at),
            "the comparator was set to panic"
        );
        a.cmp(b)
    }
}

#[test]
fn a_panic_in_either_half_is_an_error_and_leaves_no_file() {
    for background in [Background::Stepped, Background::Threads] {
        for n in [1, KEYS - 2] {
            let (env, options) = options(background);
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
            let error = db.compact_range(..).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            *comparator.at.lock().unwrap() = None;
            assert_eq!(
                tables(&*dir).len() as u64,
                stat(&db, "tables"),
                "no table of either half must be left"
            );
            db.compact_range(..).unwrap();
            assert_eq!(db.get(&key(n)).unwrap().as_deref(), Some(&b"above"[..]));
            db.close().unwrap();
        }
    }
}
