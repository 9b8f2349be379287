//! The exported symbols, which are the binary interface: compared with the recorded list.

use std::collections::BTreeSet;
use std::process::Command;

use crate::compiler::{here, library, library_folder};

/// Returns the functions that the shared library exports, sorted.
fn exported() -> Option<BTreeSet<String>> {
    let mut command = Command::new("nm");
    command.args(["--dynamic", "--defined-only", "--format=posix"]);
    let output = command.arg(library(&library_folder())).output().ok()?;
    let text = String::from_utf8(output.stdout).expect("names are text");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    Some(names.map(str::to_owned).collect())
}

/// Returns the functions that a header declares.
pub(crate) fn declared(header: &str, prefix: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(here(header)).expect("the header exists");
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(prefix) {
        let name = text[at..]
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next();
        let name = name.unwrap_or_default();
        if text[at + name.len()..].starts_with('(') {
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn the_library_exports_what_the_headers_declare_and_nothing_else() {
    let Some(exported) = exported() else {
        bench_core::host::test_skip::skip("the list of symbols: install binutils");
        return;
    };
    let leveldb = declared("include/leveldb/c.h", "leveldb_");
    assert_eq!(leveldb.len(), 68, "LevelDB 1.23 has 68 functions");
    let cairndb = declared("include/cairndb.h", "cairndb_");
    assert_eq!(exported, leveldb.union(&cairndb).cloned().collect());
}

#[test]
fn the_exported_symbols_are_the_recorded_ones() {
    let Some(exported) = exported() else {
        return;
    };
    let names: Vec<&str> = exported.iter().map(String::as_str).collect();
    let list = names.join("\n") + "\n";
    let recorded = here("symbols.txt");
    if std::env::var("CAIRN_REWRITE").as_deref() == Ok("1") {
        std::fs::write(&recorded, &list).expect("the list can be written");
    }
    let recorded = std::fs::read_to_string(recorded).expect("the list exists");
    assert_eq!(list, recorded, "CAIRN_REWRITE=1 records the new interface");
}
