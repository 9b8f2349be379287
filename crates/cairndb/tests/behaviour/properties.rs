//! Properties: the guide must document exactly their fields.

use std::collections::BTreeSet;

use crate::mem_db;

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
    for property in [
        "cairndb.memory",
        "cairndb.space",
        "cairndb.stalls",
        "cairndb.stats",
    ] {
        let json = db.property(property).unwrap();
        assert_eq!(names(&json), documented(property), "{property}");
    }
}

#[test]
fn levels_are_the_upper_runs_and_the_last() {
    let (db, _) = mem_db();
    let files = |level: &str| db.property(&format!("leveldb.num-files-at-level{level}"));
    assert_eq!(files("0").as_deref(), Some("0"));
    for _ in 0..3 {
        db.put(b"a", b"the same keys, so that no table joins another run")
            .unwrap();
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
