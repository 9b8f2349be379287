//! LevelDB's C++ classes over the C library: symbols, programs linked with LevelDB, plyvel.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use bench_core::host::test_skip::skip;

use crate::compiler::{WARNINGS, here, library, library_folder, run};
use crate::random::leveldb;

/// What starts a mangled name of LevelDB's namespace.
const NAMESPACE: [&str; 5] = [
    "_ZN7leveldb",
    "_ZNK7leveldb",
    "_ZTIN7leveldb",
    "_ZTSN7leveldb",
    "_ZTVN7leveldb",
];

/// Private members of `Table` and `TableBuilder`, which no program can name.
const PRIVATE: [&str; 6] = [
    "_ZN7leveldb12TableBuilder10WriteBlock",
    "_ZN7leveldb12TableBuilder13WriteRawBlock",
    "_ZN7leveldb5Table10ReadFilter",
    "_ZN7leveldb5Table11BlockReader",
    "_ZN7leveldb5Table11InternalGet",
    "_ZN7leveldb5Table8ReadMeta",
];

/// Installs the two libraries in a folder of this name, the classes with these flags; returns the
/// prefix. `None` if they cannot be built here, which is noted.
fn install(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let private = prefix.join("lib/cairndb");
    std::fs::create_dir_all(&private).expect("a directory");
    let named = prefix.join("lib/libcairndb.so.0");
    std::fs::copy(library(&library_folder()), &named).expect("a library");
    let mut command = Command::new(here("cpp/build.sh"));
    command.arg(&named).arg(&private).args(flags);
    let output = command.output().expect("bash runs");
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        skip(text.trim_end());
        return None;
    }
    assert!(output.status.success(), "{text}");
    Some(prefix)
}

/// Returns the prefix of an installation without flags, which is made once.
fn installed() -> Option<&'static Path> {
    static PREFIX: OnceLock<Option<PathBuf>> = OnceLock::new();
    PREFIX.get_or_init(|| install("classes", &[])).as_deref()
}

/// Returns the names of LevelDB's namespace that a library exports.
fn exported(library: &Path) -> Option<BTreeSet<String>> {
    let mut command = Command::new("nm");
    command.args(["--dynamic", "--defined-only", "--format=posix"]);
    let output = command.arg(library).output().ok()?;
    let text = String::from_utf8(output.stdout).expect("names are text");
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let starts = |name: &str, all: &[&str]| all.iter().any(|start| name.starts_with(start));
    let ours = names.filter(|name| starts(name, &NAMESPACE) && !starts(name, &PRIVATE));
    Some(ours.map(str::to_owned).collect())
}

fn recorded() -> BTreeSet<String> {
    let text = std::fs::read_to_string(here("cpp/symbols.txt")).expect("the list exists");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_recorded_symbols_are_those_of_leveldb() {
    let Some(exported) = leveldb().and_then(|library| exported(&library)) else {
        skip("the symbols of LevelDB's C++ classes: install libleveldb1d and binutils");
        return;
    };
    if std::env::var("CAIRN_REWRITE").as_deref() == Ok("1") {
        let names: Vec<&str> = exported.iter().map(String::as_str).collect();
        std::fs::write(here("cpp/symbols.txt"), names.join("\n") + "\n").expect("a file");
    }
    assert_eq!(exported, recorded(), "CAIRN_REWRITE=1 records the list");
}

#[test]
fn the_classes_export_what_leveldb_exports() {
    let Some(prefix) = installed() else {
        return;
    };
    let Some(exported) = exported(&prefix.join("lib/cairndb/libleveldb.so.1d")) else {
        skip("the symbols of the C++ classes: install binutils");
        return;
    };
    assert!(exported.len() > 100, "{} symbols", exported.len());
    assert_eq!(exported, recorded());
}

/// Builds C++ sources with LevelDB's headers and its library into `program`.
fn build(sources: &[&str], leveldb: &Path, flags: &[&str], program: &Path) {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    command
        .args(WARNINGS)
        .args(["-std=c++17", "-g", "-O1"])
        .args(flags);
    if let Ok(include) = std::env::var("LEVELDB_INCLUDE") {
        command.arg("-isystem").arg(include);
    }
    command.args(sources.iter().map(|source| here("tests/cpp").join(source)));
    // The libraries that it needs are found when the program is loaded.
    command
        .arg(leveldb)
        .args(["-Wl,--allow-shlib-undefined", "-lpthread", "-o"])
        .arg(program);
    let output = command.output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
}

/// Runs a program over the libraries in this folder, if any, and returns the lines that it prints.
fn lines_over(folder: Option<&Path>, program: &Path, home: &Path) -> Vec<String> {
    let mut command = Command::new(program);
    let databases = tempfile::tempdir_in(home).expect("a directory");
    if let Some(folder) = folder {
        command.env("LD_LIBRARY_PATH", folder);
    }
    let output = command.arg(databases.path()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    let printed = String::from_utf8(output.stdout).expect("text");
    printed.lines().map(str::to_owned).collect()
}

/// The same file runs over both libraries, as an installed program would.
#[test]
fn a_program_linked_with_leveldb_prints_the_same_over_the_classes() {
    let Some(prefix) = installed() else {
        return;
    };
    let Some(leveldb) = leveldb() else {
        skip("the C++ classes beside LevelDB: install libleveldb1d");
        return;
    };
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("classes");
    let sources = [
        "classes/main.cc",
        "classes/plain.cc",
        "classes/environments.cc",
        "classes/databases.cc",
    ];
    build(&sources, &leveldb, &[], &program);
    let expected = lines_over(leveldb.parent(), &program, home.path());
    let found = lines_over(Some(&prefix.join("lib/cairndb")), &program, home.path());
    assert!(expected.len() > 150, "{} lines", expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

fn refusals_pass(prefix: Option<&Path>, flags: &[&str]) {
    let Some(prefix) = prefix else {
        return;
    };
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("refusals");
    let private = prefix.join("lib/cairndb");
    let path = format!("-Wl,-rpath,{}", private.display());
    let flags = [flags, &[path.as_str()]].concat();
    build(
        &["refusals.cc"],
        &private.join("libleveldb.so.1d"),
        &flags,
        &program,
    );
    let databases = tempfile::tempdir().expect("a directory");
    assert_eq!(run(&program, &[databases.path()]), "PASS\n");
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    refusals_pass(installed(), &[]);
}

#[test]
fn what_cannot_be_honoured_is_refused_under_address_sanitizer() {
    let flags = ["-fsanitize=address", "-fno-omit-frame-pointer"];
    refusals_pass(install("classes-sanitized", &flags).as_deref(), &flags);
}

#[test]
fn plyvels_tests_pass_over_the_classes() {
    let Some(prefix) = installed() else {
        return;
    };
    let mut command = Command::new(here("tests/debian/plyvel.sh"));
    let output = command.env("PREFIX", prefix).output().expect("bash runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    match output.status.code() {
        Some(3) => return skip(text.trim_end()),
        // A push must not depend on the network. `make compat` does.
        Some(4) => return eprintln!("{}", text.trim_end()),
        _ => {}
    }
    assert!(output.status.success(), "{text}");
    assert!(text.contains("53 passed"), "{text}");
}
