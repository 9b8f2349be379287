//! The installed library: programs built with `pkg-config` and `CMake` against it, and run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use bench_core::host::test_skip::skip;

use crate::compiler::{WARNINGS, has_compiler, here, library_folder, run};
use crate::symbols::declared;

/// Returns the folder in which this test run has installed its library, as `.local`, once.
pub(crate) fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
        // An earlier run may have left another version.
        let _ = std::fs::remove_dir_all(&home);
        let mut command = Command::new(here("install.sh"));
        command
            .env("PREFIX", home.join(".local"))
            .env("DESTDIR", "")
            .env("LIBRARIES", library_folder());
        succeed(&mut command);
        home
    })
}

fn prefix() -> PathBuf {
    home().join(".local")
}

/// Runs `command`, which must succeed, and returns what it prints.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns whether `pkg-config` is installed; notes the skip if not.
pub(crate) fn has_pkg_config() -> bool {
    let found = Command::new("pkg-config").arg("--version").output();
    if found.is_err() {
        skip("the installed C library: install pkg-config");
    }
    found.is_ok()
}

fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let flags = succeed(command.args(arguments).arg("cairndb"));
    flags.split_whitespace().map(str::to_owned).collect()
}

fn example(name: &str) -> PathBuf {
    here("../../examples/c").join(name)
}

/// Builds an example with these flags after its source, and returns what it prints.
fn print_of(name: &str, home: &Path, flags: &[String]) -> String {
    let program = home.join(name).with_extension("program");
    let mut command = Command::new("cc");
    command
        .args(WARNINGS)
        .arg("-std=c11")
        .arg(example(name))
        .args(flags);
    succeed(command.arg("-o").arg(&program));
    run(&program, &[home.join("database")])
}

const VISITS: &str = "about: 1\ncontact: 1\nindex: 3\nmemory below 64 MiB: yes\n";
const STONES: &str = "granite is grey\nslate is blue\n";

#[test]
fn examples_build_with_pkg_config_shared_and_static() {
    if !has_compiler("c") || !has_pkg_config() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let mut shared = pkg_config(&["--cflags", "--libs"]);
    shared.push(format!("-Wl,-rpath,{}", prefix().join("lib").display()));
    // No path for the loader: a program of the archive needs none.
    let archive = pkg_config(&["--static", "--cflags", "--libs"]);
    let alone = [archive.as_slice(), &["-static".to_owned()]].concat();
    for (flags, needs) in [(shared, true), (archive, false), (alone, false)] {
        assert_eq!(print_of("cairndb.c", home.path(), &flags), VISITS);
        assert_eq!(print_of("leveldb.c", home.path(), &flags), STONES);
        let mut command = Command::new("readelf");
        let needed = succeed(command.arg("-d").arg(home.path().join("leveldb.program")));
        assert_eq!(needed.contains("libcairndb"), needs, "{flags:?}\n{needed}");
    }
}

#[test]
fn the_static_library_exports_only_the_interface() {
    let mut command = Command::new("nm");
    command.args(["--extern-only", "--defined-only", "--format=posix"]);
    let names = succeed(command.arg(prefix().join("lib/libcairndb.a")));
    let names = names.lines().filter(|line| line.contains(' '));
    for name in names.filter_map(|line| line.split(' ').next()) {
        assert!(
            name.starts_with("leveldb_") || name.starts_with("cairndb_"),
            "{name}"
        );
    }
}

/// A program that needs `libleveldb.so.1d` runs on the library by the loader's path alone.
#[test]
fn leveldbs_names_reach_the_library() {
    if !has_compiler("c") {
        return;
    }
    let (home, prefix) = (tempfile::tempdir().expect("a directory"), prefix());
    let home = home.path();
    let private = prefix.join("lib/cairndb");
    let stand_in = home.join("stand_in");
    std::fs::create_dir(&stand_in).expect("a directory");
    // A library of that name to link with, as of another installation; its functions do nothing.
    let source = home.join("stand_in.c");
    let functions_of = declared("include/leveldb/c.h", "leveldb_");
    let functions = functions_of
        .iter()
        .map(|name| format!("void {name}(void) {{}}\n"));
    std::fs::write(&source, functions.collect::<Vec<_>>().concat()).expect("a file");
    let named = stand_in.join("libleveldb.so.1d");
    let mut command = Command::new("cc");
    command.args(["-shared", "-Wl,-soname,libleveldb.so.1d"]);
    succeed(command.arg(&source).arg("-o").arg(&named));
    let program = home.join("of_leveldb");
    let mut command = Command::new("cc");
    command
        .arg("-I")
        .arg(prefix.join("include/cairndb"))
        .arg(example("leveldb.c"));
    succeed(command.arg(&named).arg("-o").arg(&program));
    let mut command = Command::new(&program);
    command
        .env("LD_LIBRARY_PATH", &private)
        .arg(home.join("loaded"));
    assert_eq!(succeed(&mut command), STONES);
}

/// `tests/cmake` is also built by every version that `make compat` tries.
#[test]
fn programs_build_with_cmake() {
    if !has_compiler("c") || !has_compiler("c++") {
        return;
    }
    if Command::new("cmake").arg("--version").output().is_err() {
        skip("the CMake package of the C library: install cmake");
        return;
    }
    let build = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(here("tests/cmake/run.sh"));
    command
        .env("PREFIX", prefix())
        .arg("cmake")
        .arg(build.path());
    let printed = succeed(&mut command);
    assert!(printed.ends_with("PASS\n"), "{printed}");
}
