//! Compiles and runs C programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of every compilation: a warning is an error.
pub(crate) const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Returns a path in the crate's folder.
pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the folder of the shared library that this test run has built.
pub(crate) fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let folder = test.parent().expect("a program is in a folder").to_owned();
    assert!(
        library(&folder).exists(),
        "{} has no library",
        folder.display()
    );
    folder
}

/// Returns the shared library in a folder.
pub(crate) fn library(folder: &Path) -> PathBuf {
    folder.join("libcairndb_capi.so")
}

/// Returns the C compiler's name, from `CC` or `CXX` if set.
fn compiler(language: &str) -> String {
    let (variable, default) = match language {
        "c++" => ("CXX", "c++"),
        _ => ("CC", "cc"),
    };
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}

/// Returns whether there is a compiler; notes the skip if not.
pub(crate) fn has_compiler(language: &str) -> bool {
    let found = Command::new(compiler(language)).arg("--version").output();
    if found.is_ok() {
        return true;
    }
    bench_core::host::test_skip::skip("the C library's tests: install a C and a C++ compiler");
    false
}

/// Compiles `source` with these flags into `program`.
pub(crate) fn compile(language: &str, source: &Path, flags: &[&str], program: &Path) {
    let mut command = Command::new(compiler(language));
    command
        .arg("-x")
        .arg(language)
        .arg(source)
        .args(["-x", "none", "-g"]);
    command.args(flags).arg("-I").arg(here("include"));
    let folder = library_folder();
    command
        .arg(library(&folder))
        .arg(format!("-Wl,-rpath,{}", folder.display()));
    // The tests link the file of the build, whose name for the loader is the installed one.
    let named = program.with_file_name("libcairndb.so.0");
    if !named.exists() {
        std::os::unix::fs::symlink(library(&folder), &named).expect("a link");
    }
    command.arg(format!(
        "-Wl,-rpath,{}",
        program.parent().expect("a folder").display()
    ));
    command.args(["-lpthread", "-o"]).arg(program);
    let output = command.output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
}

/// Compiles a C program with our header and another library.
pub(crate) fn compile_with(source: &Path, library: &Path, program: &Path) {
    let mut command = Command::new(compiler("c"));
    command
        .args(["-std=gnu11", "-O1", "-I"])
        .arg(here("include"))
        .arg(source);
    // Its own libraries are found when the program is loaded.
    command
        .arg(library)
        .args(["-Wl,--allow-shlib-undefined", "-o"])
        .arg(program);
    let output = command.output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
}

/// Compiles a C program with our header that is linked with no library of ours.
pub(crate) fn compile_alone(source: &Path, flags: &[&str], program: &Path) {
    let mut command = Command::new(compiler("c"));
    command
        .arg("-I")
        .arg(here("include"))
        .arg(source)
        .args(flags);
    command.args(["-lpthread", "-o"]).arg(program);
    let output = command.output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
}

/// Runs `program` and returns everything that it prints. It must succeed.
pub(crate) fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> String {
    let mut command = Command::new(program);
    command.args(arguments);
    // A leak is a failure, too, under AddressSanitizer.
    command.env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0");
    let output = command.output().expect("the program runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(
        output.status.success(),
        "{}: {}\n{text}",
        program.display(),
        output.status
    );
    text
}
