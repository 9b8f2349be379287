//! Random calls: valid ones beside LevelDB, wrong ones under `AddressSanitizer`, and cycles of a
//! whole life. `CAIRN_SEED` sets the first seed, `CAIRN_CAPI_CALLS` the number of calls.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compiler::{WARNINGS, compile, compile_with, has_compiler, here, run};

/// Calls of a push; two million by hand.
const CALLS: u64 = 60_000;
const CYCLES: u64 = 2_000;

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn calls() -> u64 {
    number("CAIRN_CAPI_CALLS", CALLS)
}

fn seed() -> u64 {
    let seed = number("CAIRN_SEED", 49);
    eprintln!("seed {seed}: CAIRN_SEED={seed} replays");
    seed
}

/// Builds one of the programs with these flags besides ours.
fn build(home: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = home.join(name);
    let flags = [WARNINGS, &["-std=gnu11", "-O1"], flags].concat();
    compile(
        "c",
        &here("tests/c").join(name).with_extension("c"),
        &flags,
        &program,
    );
    program
}

/// A new folder for databases, in memory if there is such a file system.
fn databases() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.unwrap_or_else(|_| tempfile::tempdir().expect("a directory"))
}

/// Returns the installed LevelDB: where the loader looks first, then in the usual folders.
pub(crate) fn leveldb() -> Option<PathBuf> {
    let path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let folders = path
        .split(':')
        .filter(|folder| !folder.is_empty())
        .chain(usual);
    let mut places = folders.flat_map(|folder| {
        let names = ["libleveldb.so.1d", "libleveldb.so.1"];
        names.map(|name| Path::new(folder).join(name))
    });
    places.find(|place| place.exists())
}

/// Runs the model in a process and returns the lines that it prints.
fn lines_of(program: &Path, seed: u64, calls: u64) -> Vec<String> {
    let home = databases();
    let mut command = Command::new(program);
    command
        .arg(home.path())
        .arg(seed.to_string())
        .arg(calls.to_string());
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .expect("the program runs");
    assert!(
        output.status.success(),
        "{}: {}",
        program.display(),
        output.status
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn random_calls_return_what_leveldb_returns() {
    if !has_compiler("c") {
        return;
    }
    let Some(leveldb) = leveldb() else {
        bench_core::host::test_skip::skip("the C library beside LevelDB: install libleveldb1d");
        return;
    };
    let home = tempfile::tempdir().expect("a directory");
    let ours = build(home.path(), "model", &[]);
    let theirs = home.path().join("theirs");
    compile_with(&here("tests/c/model.c"), &leveldb, &theirs);
    let (first, all) = (seed(), calls());
    // Each seed has its own options: write buffer, comparator, filter, compression.
    let seeds = 4;
    for seed in first..first + seeds {
        let (ours, theirs) = (
            lines_of(&ours, seed, all / seeds),
            lines_of(&theirs, seed, all / seeds),
        );
        for (found, expected) in ours.iter().zip(&theirs) {
            assert_eq!(found, expected, "CAIRN_SEED={seed}");
        }
        assert_eq!(ours.len(), theirs.len(), "CAIRN_SEED={seed}");
    }
}

#[test]
fn wrong_handles_are_errors_under_address_sanitizer() {
    if !has_compiler("c") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let program = build(home.path(), "misuse", &["-fsanitize=address"]);
    let databases = databases();
    let arguments = [
        databases.path().display().to_string(),
        seed().to_string(),
        calls().to_string(),
    ];
    let printed = run(&program, &arguments);
    assert!(printed.ends_with("PASS\n"), "{printed}");
}

#[test]
fn memory_and_descriptors_stay_the_same_over_many_lives() {
    if !has_compiler("c") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let program = build(home.path(), "cycles", &[]);
    let databases = databases();
    let cycles = number("CAIRN_CAPI_CYCLES", CYCLES);
    let printed = run(
        &program,
        &[databases.path().display().to_string(), cycles.to_string()],
    );
    eprintln!("{printed}");
    assert!(printed.ends_with("PASS\n"), "{printed}");
}
