//! Runs the Python tests over the library that this test run has built.
//!
//! So `cargo test` compiles the store once for all of its tests. `make python` tests the wheels.

use std::path::Path;
use std::process::Command;

use bench_core::host::test_skip::skip;

#[test]
fn python_tests_pass() {
    if Command::new("python3").arg("--version").output().is_err() {
        skip("Python: install python3");
        return;
    }
    let test = std::env::current_exe().expect("the test has a path");
    let folder = test.parent().expect("a program is in a folder");
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("check.py");
    let mut command = Command::new("python3");
    command.arg(checks).arg("test").arg(folder);
    // The environments are in the target folder of this run.
    if let Some(target) = folder.ancestors().nth(2) {
        command.env("CARGO_TARGET_DIR", target);
    }
    let status = command.status().expect("python3 runs");
    assert!(status.success(), "{command:?} fails");
}
