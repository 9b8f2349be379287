//! Properties: the guide must document exactly their fields.

use std::collections::BTreeSet;

use crate::{appending, mem_db, stat};

const PAGE: &str = include_str!("../../../../docs/guide/properties.md");

/// Returns the names in a JSON string. All values are numbers, so the names are the quoted strings.
fn names(json: &str) -> BTreeSet<&str> {
    json.split('"').skip(1).step_by(2).collect()
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
    for property in ["memory", "runs", "space", "stalls", "stats"] {
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
