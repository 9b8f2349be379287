//! The binary interface of both headers, with types: compared with the recorded one by `abidiff`.
//!
//! The library's own debugging information describes Rust's types, so the description is made from
//! a stand-in: a C library that defines every function of the headers, with C's types.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_core::host::test_skip::skip;

use crate::compiler::{compile_alone, has_compiler, here};
use crate::header::generated;

/// What is recorded; x86-64 only, because sizes of types are part of it.
const RECORDED: &str = "abi-x86_64.xml";

/// Returns a definition for every prototype in a header's text. Only prototypes end with `);` at
/// the end of a line, and all of their parameters have names.
fn definitions(text: &str) -> String {
    let text = text.replace(");\n", ") { abort(); }\n");
    format!("#include <stdlib.h>\n{text}")
}

/// Builds the stand-in.
fn stand_in(home: &Path) -> PathBuf {
    let leveldb = std::fs::read_to_string(here("include/leveldb/c.h")).expect("the header exists");
    // Generated, because `CAIRN_REWRITE=1` may be writing the header at this moment.
    let text = definitions(&generated()) + &definitions(&leveldb);
    let source = home.join("stand_in.c");
    std::fs::write(&source, text).expect("a file");
    let library = home.join("libcairndb.so.0");
    let flags = ["-g", "-shared", "-fPIC", "-Wl,-soname,libcairndb.so.0"];
    compile_alone(&source, &flags, &library);
    library
}

#[test]
fn the_binary_interface_is_the_recorded_one() {
    if !cfg!(target_arch = "x86_64") || !has_compiler("c") {
        return;
    }
    if Command::new("abidiff").arg("--version").output().is_err() {
        skip("the binary interface of the C library: install abigail-tools");
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let (library, recorded) = (stand_in(home.path()), here(RECORDED));
    if std::env::var("CAIRN_REWRITE").as_deref() == Ok("1") {
        let mut command = Command::new("abidw");
        command.args(["--no-corpus-path", "--no-show-locs", "--no-comp-dir-path"]);
        command.args(["--type-id-style", "hash", "--out-file"]);
        let written = command.arg(&recorded).arg(&library).status();
        assert!(written.expect("abidw runs").success());
    }
    let mut command = Command::new("abidiff");
    let output = command.arg(&recorded).arg(&library).output();
    let output = output.expect("abidiff runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success(),
        "{text}\nCAIRN_REWRITE=1 records a new interface; before 1.0 it may change"
    );
}

/// `abidiff` reports a function that has changed: the comparison is not empty.
#[test]
fn a_changed_function_is_reported() {
    let recorded = here(RECORDED);
    let installed = Command::new("abidiff").arg("--version").output().is_ok();
    if !cfg!(target_arch = "x86_64") || !has_compiler("c") || !installed {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let library = stand_in(home.path());
    let source = home.path().join("stand_in.c");
    let text = std::fs::read_to_string(&source).expect("the source");
    for (from, to) in [
        ("uint64_t replayed_records;", "uint32_t replayed_records;"),
        (
            "cairndb_error_offset(const cairndb_error *error)",
            "renamed(const cairndb_error *error)",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&source, changed).expect("a file");
        let flags = ["-g", "-shared", "-fPIC", "-Wl,-soname,libcairndb.so.0"];
        compile_alone(&source, &flags, &library);
        let mut command = Command::new("abidiff");
        let output = command.arg(&recorded).arg(&library).output();
        assert!(!output.expect("abidiff runs").status.success(), "{from}");
    }
}
