//! The installed library: examples built with `pkg-config` and `CMake` against it, and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{WARNINGS, has_compiler, here, library_folder, run};
use crate::symbols::declared;

/// Installs the library of this test run; returns the prefix.
fn install(home: &Path) -> PathBuf {
    let prefix = home.join("prefix");
    let mut command = Command::new(here("install.sh"));
    command
        .env("PREFIX", &prefix)
        .env("DESTDIR", "")
        .env("LIBRARIES", library_folder());
    let output = command.output().expect("bash runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    prefix
}

/// Runs `command`, which must succeed, and returns what it prints.
fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    String::from_utf8(output.stdout).expect("text")
}

fn pkg_config(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
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
    if !has_compiler("c") {
        return;
    }
    if Command::new("pkg-config")
        .arg("--version")
        .output()
        .is_err()
    {
        bench_core::host::test_skip::skip("the installed C library: install pkg-config");
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let prefix = install(home.path());
    let mut shared = pkg_config(&prefix, &["--cflags", "--libs"]);
    shared.push(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    assert_eq!(print_of("cairndb.c", home.path(), &shared), VISITS);
    assert_eq!(print_of("leveldb.c", home.path(), &shared), STONES);

    let mut fixed = pkg_config(&prefix, &["--cflags"]);
    fixed.push(prefix.join("lib/libcairndb.a").display().to_string());
    let private = pkg_config(&prefix, &["--static", "--libs"]);
    fixed.extend(private.into_iter().filter(|flag| flag != "-lcairndb"));
    assert_eq!(print_of("cairndb.c", home.path(), &fixed), VISITS);
    assert_eq!(print_of("leveldb.c", home.path(), &fixed), STONES);
    static_library_exports_only_the_interface(&prefix);
    leveldbs_names_reach_the_library(home.path(), &prefix);
}

fn static_library_exports_only_the_interface(prefix: &Path) {
    let mut command = Command::new("nm");
    command.args(["--extern-only", "--defined-only", "--format=posix"]);
    let names = succeed(command.arg(prefix.join("lib/libcairndb.a")));
    let names = names.lines().filter(|line| line.contains(' '));
    for name in names.filter_map(|line| line.split(' ').next()) {
        assert!(
            name.starts_with("leveldb_") || name.starts_with("cairndb_"),
            "{name}"
        );
    }
}

/// A program that needs `libleveldb.so.1d` runs on the library by the loader's path alone.
fn leveldbs_names_reach_the_library(home: &Path, prefix: &Path) {
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

#[test]
fn examples_build_with_cmake() {
    if !has_compiler("c") {
        return;
    }
    if Command::new("cmake").arg("--version").output().is_err() {
        bench_core::host::test_skip::skip("the CMake package of the C library: install cmake");
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let prefix = install(home.path());
    let project = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(examples C)\n\
         find_package(cairndb {} REQUIRED)\nfind_package(leveldb REQUIRED)\n\
         add_executable(visits {})\ntarget_link_libraries(visits cairndb::cairndb)\n\
         add_executable(stones {})\ntarget_link_libraries(stones leveldb::leveldb)\n\
         add_executable(fixed {})\ntarget_link_libraries(fixed cairndb::cairndb_static)\n",
        env!("CARGO_PKG_VERSION"),
        example("cairndb.c").display(),
        example("leveldb.c").display(),
        example("cairndb.c").display(),
    );
    std::fs::write(home.path().join("CMakeLists.txt"), project).expect("a file");
    let build = home.path().join("build");
    let mut command = Command::new("cmake");
    command.arg("-S").arg(home.path()).arg("-B").arg(&build);
    command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    let leveldb = prefix.join("lib/cairndb/cmake/leveldb");
    succeed(command.arg(format!("-Dleveldb_DIR={}", leveldb.display())));
    succeed(Command::new("cmake").arg("--build").arg(&build));
    for (name, printed) in [("visits", VISITS), ("stones", STONES), ("fixed", VISITS)] {
        assert_eq!(
            run(&build.join(name), &[home.path().join("database")]),
            printed
        );
    }
}
