//! Where figures come from: program, machine, directories, libraries, options.

use serde_json::{Value, json};

use crate::common::{machine, page, report, rounds, sheet, with};

fn build(engine: &str, assertions: Option<bool>) -> Value {
    let mut line = json!({
        "type": "build", "engine": engine, "version": "9.8", "library": format!("/lib/lib{engine}.so.9.8"),
        "library_bytes": 123_456, "evidence": "it says so",
    });
    if let Some(assertions) = assertions {
        line["assertions"] = assertions.into();
    }
    line
}

#[test]
fn the_program_the_machine_and_each_directory_are_in_every_form() {
    let directories = json!([
        {"path": "/fast", "file_system": "xfs", "device": "/dev/a", "mount_options": "rw,noatime", "free_bytes": 5 << 20},
        {"path": "/slow", "file_system": "ext4", "device": "/dev/b"},
    ]);
    let reported = with(machine(), "directories", directories);
    let reported = with(reported, "commit", "0123456789abcdef-dirty");
    let mut lines = vec![reported];
    lines.extend(rounds("cairndb", "1A", "readseq", 1e6));
    let json = report(&lines).json().expect("plain data");
    for text in [page(&lines), report(&lines).markdown(), json] {
        for fact in ["0123456789abcdef-dirty", "Some CPU", "/dev/b", "rw,noatime"] {
            assert!(text.contains(fact), "{fact}");
        }
    }
    let facts = sheet(&lines, "Machine and program, start 1");
    assert!(facts.contains(&vec!["assertions".to_owned(), "no".to_owned()]));
    assert!(page(&lines).contains("free bytes: 5.00 MB"));
    assert!(page(&lines).contains("2011-07-27 (1311811199 s)"));
}

#[test]
fn libraries_are_reported_with_their_assertions_and_how_that_is_known() {
    let mut lines = vec![
        build("leveldb", Some(true)),
        build("lmdb", Some(false)),
        build("sqlite3", None),
    ];
    for engine in ["cairndb", "leveldb", "lmdb", "sqlite3"] {
        lines.extend(rounds(engine, "1A", "readseq", 1e6));
    }
    let stores = sheet(&lines, "Stores");
    let of = |title: &str| {
        stores
            .iter()
            .find(|line| line[0] == title)
            .expect("a line")
            .join("|")
    };
    assert_eq!(
        of("LevelDB"),
        "LevelDB|9.8|snappy|/lib/libleveldb.so.9.8 (123,456 bytes)|on|it says so|bench/engines/leveldb"
    );
    assert!(of("LMDB").contains("|off|it says so"));
    assert!(of("SQLite3").contains("|unknown|"));
    assert!(of("CairnDB").starts_with("CairnDB|1.0|snappy|none loaded|unknown|"));
    // A library that changed between two starts has two lines; a repeated line does not.
    lines.push(build("lmdb", Some(false)));
    lines.push(with(build("lmdb", Some(false)), "version", "9.9"));
    let stores = sheet(&lines, "Stores");
    assert_eq!(stores.iter().filter(|line| line[0] == "LMDB").count(), 2);
}

#[test]
fn options_and_variants_are_listed_once() {
    let mut lines = vec![json!({
        "type": "suite", "name": "leveldb-2011", "variants": [{"name": "bloom10", "about": "filters"}],
    })];
    lines.extend(rounds("leveldb", "1A", "readseq", 1e6));
    lines.extend(rounds("leveldb", "1B", "readrandom", 1e6));
    let options = sheet(&lines, "Options");
    assert_eq!(options, [["LevelDB", "1A, 1B", "compression=snappy"]]);
    assert_eq!(sheet(&lines, "Variants"), [["bloom10", "filters"]]);
}
