//! Properties: the guide must document exactly their fields.

use std::collections::BTreeSet;

use cairndb::env::Background;

use crate::{appending, field, in_memory, mem_db, stat};

const PAGE: &str = include_str!("../../../../docs/guide/properties.md");

/// Returns the names in a JSON string: the quoted strings before a colon.
fn names(json: &str) -> BTreeSet<&str> {
    let parts: Vec<&str> = json.split('"').collect();
    let quoted = parts.windows(2).skip(1).step_by(2);
    let names = quoted.filter(|pair| pair[1].starts_with(':'));
    names.map(|pair| pair[0]).collect()
}

/// Returns the names in the first column of the guide's section about `property`.
fn documented(property: &str) -> BTreeSet<&'static str> {
    let (_, section) = PAGE.split_once(&format!("## `{property}`")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap_or((section, ""));
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap()).collect()
}

#[test]
fn the_guide_documents_exactly_the_fields() {
    let (db, _) = mem_db();
    db.put(b"a", b"a table, so that there is a run").unwrap();
    db.flush().unwrap();
    for property in ["mapping", "memory", "runs", "space", "stalls", "stats"] {
        let property = format!("cairndb.{property}");
        let json = db.property(&property).unwrap();
        assert_eq!(names(&json), documented(&property), "{property}");
    }
}

#[test]
fn runs_are_listed_from_the_newest_with_their_counts() {
    let (db, _) = mem_db();
    assert_eq!(db.property("cairndb.runs").as_deref(), Some("[]"));
    db.put(b"a", b"one").unwrap();
    db.put(b"z", b"two").unwrap();
    db.flush().unwrap();
    db.put(b"a", b"three").unwrap();
    db.delete(b"z").unwrap();
    db.delete(b"y").unwrap();
    db.flush().unwrap();
    let json = db.property("cairndb.runs").unwrap();
    let runs: Vec<&str> = json.split('{').skip(1).collect();
    assert_eq!(runs.len(), 2, "{json}");
    for (run, versions, deletes) in [(runs[0], 3, 2), (runs[1], 2, 0)] {
        let counts = format!(r#""versions":{versions},"deletes":{deletes},"hidden_versions":0,"#);
        assert!(
            run.contains(r#""tables":1,"#) && run.contains(&counts),
            "{json}"
        );
    }
}

#[test]
fn levels_are_the_upper_runs_and_the_last() {
    let (db, _) = mem_db();
    let files = |level: &str| db.property(&format!("leveldb.num-files-at-level{level}"));
    assert_eq!(files("0").as_deref(), Some("0"));
    // The same keys, so that no table joins another run.
    for _ in 0..3 {
        db.put(b"a", b"one bound").unwrap();
        db.put(b"z", b"another bound").unwrap();
        db.flush().unwrap();
    }
    let counts = ["0", "1", "2", "6"].map(|level| files(level).unwrap());
    assert_eq!(counts, ["2", "1", "0", "0"]);
    assert_eq!((files("7"), files("-1"), files("")), (None, None, None));
    db.compact_range(..).unwrap();
    assert_eq!(files("0").as_deref(), Some("0"));
    assert_eq!(files("1").as_deref(), Some("1"));
}

/// Puts of one key are one entry and as many versions, until a compaction drops the older ones.
#[test]
fn verify_counts_entries_apart_from_versions() {
    let options = appending();
    let verified = || {
        let found = cairndb::verify("/db", &options).unwrap();
        (found.entries, found.versions, found.log_versions)
    };
    let db = options.open("/db").unwrap();
    let snapshot = db.snapshot();
    for round in 0..4u8 {
        db.put(b"four", &[round]).unwrap();
        db.merge(b"operands", b"o").unwrap();
        db.put(b"gone", b"soon").unwrap();
        db.delete(b"gone").unwrap();
        if round % 2 == 1 {
            db.flush().unwrap();
        }
    }
    assert_eq!(db.iter().count(), 2);
    let stored = stat(&db, "versions");
    db.put(b"four", b"one more").unwrap();
    db.delete(b"operands").unwrap();
    drop(snapshot);
    db.close().unwrap();
    // The close has flushed both.
    assert_eq!(verified(), (1, stored + 2, 0));
    let db = options.open("/db").unwrap();
    db.compact_range(..).unwrap();
    assert_eq!(stat(&db, "versions"), 1);
    db.close().unwrap();
    assert_eq!(verified(), (1, 1, 0));
}

/// Tables are opened the other way at the first flush after the memory's size has changed. Cursors
/// keep theirs.
#[test]
fn tables_are_mapped_while_they_fit_in_half_of_the_memory() {
    let (env, options) = in_memory(Background::Stepped);
    let db = options.open("/db").unwrap();
    let keyspace = db
        .create_keyspace("other", &cairndb::KeyspaceOptions::new())
        .unwrap();
    let fill = |from: u32| {
        for number in from..from + 1000 {
            db.put(&number.to_be_bytes(), &[7; 100]).unwrap();
            keyspace.put(&number.to_be_bytes(), &[8; 100]).unwrap();
        }
        db.flush().unwrap();
    };
    let cached = || field(&db, "cairndb.memory", "page_cache");
    let read = || {
        let sum = |values: Vec<u8>| values.into_iter().map(usize::from).sum::<usize>();
        let of_db = db.get(&7u32.to_be_bytes()).unwrap().unwrap();
        let of_keyspace = keyspace.get(&7u32.to_be_bytes()).unwrap().unwrap();
        assert_eq!((sum(of_db.to_vec()), sum(of_keyspace.to_vec())), (700, 800));
    };
    fill(0);
    read();
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    assert_eq!(cached(), 0, "pages of mapped tables are not cached");
    for (memory, from, mapped) in [(1000, 1000, false), (1 << 30, 2000, true)] {
        env.set_memory_bytes(memory);
        fill(from);
        let json = db.property("cairndb.mapping").unwrap();
        assert!(json.contains(&format!("\"mapped\":{mapped}")), "{json}");
        let before = cached();
        read();
        assert_eq!(cached() > before, !mapped, "{json}");
    }
    let mut count = 0;
    while cursor.valid() {
        count += 1;
        cursor.next().unwrap();
    }
    assert_eq!(count, 1000, "the cursor reads the tables that it had");
}
