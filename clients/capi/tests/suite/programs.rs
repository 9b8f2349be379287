//! C programs that must print PASS: ours, and LevelDB's own test, also under `AddressSanitizer`.

use std::path::PathBuf;

use cargo_metadata::MetadataCommand;

use crate::compiler::{
    WARNINGS, compile, compile_alone, has_compiler, here, library, library_folder, run,
};
use crate::random::leveldb;

const SANITIZED: &[&str] = &["-fsanitize=address", "-fno-omit-frame-pointer"];

fn passes(name: &str, flags: &[&str]) {
    if !has_compiler("c") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("program");
    let flags = [WARNINGS, &["-std=gnu11"], flags].concat();
    compile("c", &here("tests/c").join(name), &flags, &program);
    let databases = home.path().join("databases");
    std::fs::create_dir(&databases).expect("a directory");
    let printed = run(&program, &[&databases]);
    assert!(printed.ends_with("PASS\n"), "{printed}");
}

#[test]
fn leveldbs_interface_keeps_its_rules() {
    passes("leveldb.c", &[]);
}

#[test]
fn leveldbs_interface_keeps_its_rules_under_address_sanitizer() {
    passes("leveldb.c", SANITIZED);
}

#[test]
fn cairndbs_interface_keeps_its_rules() {
    passes("cairndb.c", &[]);
}

#[test]
fn cairndbs_interface_keeps_its_rules_under_address_sanitizer() {
    passes("cairndb.c", SANITIZED);
}

#[test]
fn iterators_see_and_deletions_remove_a_part_of_the_keys() {
    passes("bounds.c", SANITIZED);
}

#[test]
fn reports_name_files_and_keys() {
    passes("reports.c", SANITIZED);
}

#[test]
fn long_calls_are_watched_and_stopped() {
    passes("watch.c", SANITIZED);
}

#[test]
fn forks_share_files_and_comparisons_find_what_differs() {
    passes("forks.c", SANITIZED);
}

#[test]
fn changes_are_delivered_and_leases_keep_them() {
    passes("changes.c", SANITIZED);
}

#[test]
fn processes_follow_a_writer_and_either_may_be_killed() {
    passes("follow.c", SANITIZED);
}

/// Returns LevelDB's test of its C interface, from the package that contains it.
fn leveldbs_own_test() -> Option<PathBuf> {
    let metadata = MetadataCommand::new()
        .manifest_path(here("Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .ok()?;
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name == "leveldb-sys")?;
    let folder = package.manifest_path.parent()?.join("deps");
    let versions = folder.read_dir_utf8().ok()?.flatten();
    let found = versions.map(|version| version.path().join("db/c_test.c"));
    found.map(PathBuf::from).find(|path| path.exists())
}

fn leveldbs_own_test_passes(flags: &[&str]) {
    if !has_compiler("c") {
        return;
    }
    let Some(source) = leveldbs_own_test() else {
        bench_core::host::test_skip::skip("LevelDB's c_test.c: cargo fetch");
        return;
    };
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("c_test");
    compile("c", &source, flags, &program);
    let mut command = std::process::Command::new(&program);
    command.env("TEST_TMPDIR", home.path().join("database"));
    let output = command.output().expect("the program runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.ends_with("PASS\n"),
        "{printed}"
    );
}

#[test]
fn leveldbs_own_test_of_its_interface_passes() {
    leveldbs_own_test_passes(&[]);
}

#[test]
fn leveldbs_own_test_of_its_interface_passes_under_address_sanitizer() {
    leveldbs_own_test_passes(SANITIZED);
}

#[test]
fn cairndb_and_leveldb_work_in_one_process() {
    if !has_compiler("c") {
        return;
    }
    let Some(leveldb) = leveldb() else {
        bench_core::host::test_skip::skip("both libraries in a process: install libleveldb1d");
        return;
    };
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("both");
    let flags = [WARNINGS, &["-std=gnu11", "-ldl"]].concat();
    // Loads the libraries itself, so it is linked with neither.
    compile_alone(&here("tests/c/both.c"), &flags, &program);
    let ours = library(&library_folder());
    let printed = run(&program, &[ours.as_path(), leveldb.as_path(), home.path()]);
    assert_eq!(printed, "PASS\n");
}
