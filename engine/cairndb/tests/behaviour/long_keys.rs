//! Long keys: what the manifest, tables and memory hold of them, and tables between keys that begin
//! alike.

use std::collections::BTreeMap;

use cairndb::env::{Background, Env, MemEnv};
use cairndb::{Db, verify};

use crate::{all, field, in_memory, stat};

/// Returns the total length of the files whose names begin or end with `part`.
fn bytes_of(env: &MemEnv, part: &str) -> u64 {
    let dir = env.open_dir("/db".as_ref(), false).unwrap();
    let names = dir.list().unwrap().into_iter();
    let chosen = names.filter(|name| name.starts_with(part) || name.ends_with(part));
    let sizes = chosen.map(|name| dir.size_of(&name).unwrap());
    sizes.flatten().sum()
}

/// A table's bounds were whole keys, which the manifest, the meta block and the open table held.
#[test]
fn tables_hold_little_of_their_keys() {
    const KEY_BYTES: usize = 3 << 20;
    let (env, options) = in_memory(Background::Stepped);
    let options = options.memory_budget(64 << 20);
    let db = options.open("/db").unwrap();
    let key = |n: u8| [&[n][..], &vec![b'k'; KEY_BYTES]].concat();
    for n in 0..12 {
        db.put(&key(n * 20), b"value").unwrap();
        db.flush().unwrap();
    }
    let check = |db: &Db| {
        for n in 0..12 {
            assert_eq!(db.get(&key(n * 20)).unwrap().unwrap(), b"value");
            assert_eq!(db.get(&key(n * 20 + 1)).unwrap(), None);
        }
        let (tables, manifest) = (bytes_of(&env, ".tbl"), bytes_of(&env, "MANIFEST"));
        let most = 12 * (KEY_BYTES as u64 + (64 << 10));
        assert!(tables < most, "{tables} bytes of tables");
        assert!(manifest < 64 << 10, "{manifest} bytes of manifest");
        let held = field(db, "cairndb.memory", "tables");
        assert!(held < 64 << 10, "{held} bytes of memory");
    };
    check(&db);
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    check(&db);
    db.compact_range(..).unwrap();
    check(&db);
    db.close().unwrap();
}

/// Keys in groups that share more bytes than a bound has, or only just fewer.
fn grouped(number: u32) -> Vec<u8> {
    let group = number / 40;
    let len = [300, 511, 512, 513, 700][group as usize % 5];
    let mut key = group.to_be_bytes().to_vec();
    key.extend(vec![[b'k', 0xff][group as usize / 5 % 2]; len]);
    key.extend((number % 40).to_be_bytes());
    key
}

#[test]
fn tables_divide_groups_of_long_keys() {
    for background in [Background::Stepped, Background::Threads] {
        let (_, options) = in_memory(background);
        let db = options.open("/db").unwrap();
        let mut model = BTreeMap::new();
        for round in 0..3_u32 {
            for n in 0..8_000_u32 {
                let n = n.wrapping_mul(7919) % 8_000;
                let key = grouped(n);
                if n % 3 == round {
                    db.delete(&key).unwrap();
                    model.remove(&key);
                } else {
                    let value = [n, round].map(u32::to_le_bytes).concat().repeat(60);
                    db.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
            }
            // A part of a run is compacted between tables that stay, then two halves are.
            let (from, to) = (grouped(900), grouped(2_500));
            db.compact_range(&from[..]..&to[..]).unwrap();
            let model: Vec<_> = model.clone().into_iter().collect();
            assert!(all(&db) == model, "round {round}");
            db.compact_range(..).unwrap();
            assert!(all(&db) == model, "round {round}");
            let tables = stat(&db, "tables");
            assert!(tables > 6, "{tables} tables");
        }
        db.close().unwrap();
        let db = options.open("/db").unwrap();
        assert!(all(&db) == model.into_iter().collect::<Vec<_>>());
        db.close().unwrap();
        verify("/db", &options).unwrap();
    }
}
