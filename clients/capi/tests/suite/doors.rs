//! `make install-c`, `install-cairn` and `install`: what each builds and installs, by name.
//!
//! A stand-in for Cargo notes what it is to build, and supplies the libraries of this test run, so
//! that no test builds a release.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{has_compiler, here, library_folder};
use crate::installed::succeed;

const CARGO: &str = r#"#!/bin/sh
case "$1" in build | rustc) ;; *) exit 0 ;; esac
echo "$*" >>"$CARGO_TARGET_DIR/calls"
release=$CARGO_TARGET_DIR/release
mkdir -p "$release"
case "$*" in
*cairndb-capi*) ln -sf "$LIBRARIES_OF_TEST"/libcairndb_capi.* "$release" ;;
*cairndb-tool*) cp "$CARGO_TARGET_DIR/cairn" "$release/cairn" ;;
*db_bench*) touch "$release/db_bench" "$release/cache_bench" ;;
esac
"#;

/// As `cairn`, which `clients/tool/tests` checks, writes a page and prints a completion.
const CAIRN: &str = r#"#!/bin/sh
case "$1" in man) touch "$2/cairn.1" ;; completions) echo "$2" ;; esac
"#;

const LIBRARY: &[&str] = &[
    "include/cairndb.h",
    "include/cairndb/leveldb/c.h",
    "lib/cairndb/cmake/leveldb/leveldb-config-version.cmake",
    "lib/cairndb/cmake/leveldb/leveldb-config.cmake",
    "lib/cairndb/libleveldb.so",
    "lib/cairndb/libleveldb.so.1",
    "lib/cairndb/libleveldb.so.1d",
    "lib/cmake/cairndb/cairndb-config-version.cmake",
    "lib/cmake/cairndb/cairndb-config.cmake",
    "lib/libcairndb.a",
    "lib/libcairndb.so",
    "lib/libcairndb.so.0",
    concat!("lib/libcairndb.so.", env!("CARGO_PKG_VERSION")),
    "lib/pkgconfig/cairndb-shared.pc",
    "lib/pkgconfig/cairndb.pc",
];
const TOOL: &[&str] = &[
    "bin/cairn",
    "share/bash-completion/completions/cairn",
    "share/fish/vendor_completions.d/cairn.fish",
    "share/man/man1/cairn.1",
    "share/zsh/site-functions/_cairn",
];
const BENCH: &[&str] = &["bin/cache_bench", "bin/db_bench"];

const BUILD_LIBRARY: &str =
    "rustc --release --locked --package cairndb-capi --lib --crate-type cdylib,staticlib";
const BUILD_TOOL: &str = "build --release --locked --package cairndb-tool";
const BUILD_BENCH: &str = "build --release --locked --package db_bench --package cache_bench";

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, executable).expect("permissions");
}

/// Collects the names of all files and links under `folder`, relative to `root`.
fn list(root: &Path, folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list(root, &path, names);
        } else {
            let name = path.strip_prefix(root).expect("below the root");
            names.insert(name.display().to_string());
        }
    }
}

/// A copy of the Makefile with what its doors run, and the stand-ins.
struct Clone {
    home: tempfile::TempDir,
}

impl Clone {
    fn new() -> Clone {
        let clone = Clone {
            home: tempfile::tempdir().expect("a directory"),
        };
        // The rest is not touched: `make build` copies programs into its root.
        let root = here("../..");
        for (name, of) in [
            ("adapters", "adapters"),
            ("clients", "clients"),
            ("engine", "engine"),
            ("xtask", "xtask"),
            ("Cargo.toml", "Cargo.toml"),
        ] {
            let link = clone.path(name);
            std::os::unix::fs::symlink(root.join(of), link).expect("a link");
        }
        fs::copy(root.join("Makefile"), clone.path("Makefile")).expect("a copy");
        fs::create_dir(clone.path("target")).expect("a directory");
        write_program(&clone.path("cargo"), CARGO);
        write_program(&clone.path("target/cairn"), CAIRN);
        clone
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn make(&self, door: &str, prefix: &str) -> Command {
        let path = std::env::var("PATH").expect("a path");
        let mut command = Command::new("make");
        command
            .current_dir(self.home.path())
            .args([door, "INSTALL=0", &format!("PREFIX={prefix}")])
            .arg(format!("DESTDIR={}", self.path("stage dir").display()))
            .env("PATH", format!("{}:{path}", self.home.path().display()))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("LIBRARIES_OF_TEST", library_folder())
            // The classes have the names of the links that take their place.
            .env("CXX", "no-compiler")
            .env_remove("LIBRARIES")
            .env_remove("MAKEFLAGS");
        command
    }
}

fn installs(door: &str, files: &[&[&str]], builds: &[&str]) {
    if !has_compiler("c") {
        return;
    }
    let clone = Clone::new();
    let said = succeed(&mut clone.make(door, "/opt/cairn db"));
    let stage = clone.path("stage dir");
    let mut found = BTreeSet::new();
    list(&stage, &stage, &mut found);
    let expected = files.concat().into_iter();
    let expected: BTreeSet<_> = expected
        .map(|name| format!("opt/cairn db/{name}"))
        .collect();
    assert_eq!(found, expected);
    let calls = fs::read_to_string(clone.path("target/calls")).expect("calls");
    let calls: Vec<_> = calls.lines().collect();
    assert_eq!(calls, builds);
    // The folder is not in `PATH`.
    let names_path = said.contains("export PATH=\"/opt/cairn db/bin:$PATH\"");
    assert_eq!(names_path, files.contains(&TOOL), "{said}");
    if files.contains(&LIBRARY) {
        let file = stage.join("opt/cairn db/lib/pkgconfig/cairndb.pc");
        let text = fs::read_to_string(file).expect("a file");
        assert!(text.contains("prefix=/opt/cairn db\n"), "{text}");
    }
}

#[test]
fn make_install_c_builds_and_installs_the_library_alone() {
    installs("install-c", &[LIBRARY], &[BUILD_LIBRARY]);
}

#[test]
fn make_install_cairn_builds_and_installs_the_tool_alone() {
    installs("install-cairn", &[TOOL], &[BUILD_TOOL]);
}

#[test]
fn make_install_is_both_and_the_benchmark() {
    let builds = [BUILD_TOOL, BUILD_LIBRARY, BUILD_BENCH];
    installs("install", &[TOOL, LIBRARY, BENCH], &builds);
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_build() {
    let clone = Clone::new();
    fs::write(clone.path("stage dir"), "a file").expect("a file");
    for door in ["install-c", "install-cairn", "install"] {
        let output = clone.make(door, "/usr").output().expect("make runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{door}");
        assert!(text.contains("cannot write to"), "{text}");
        assert!(!clone.path("target/calls").exists(), "{door}");
    }
}
