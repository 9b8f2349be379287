//! Compiles build facts (commit, compiler, profile, flags) into the program, so that a report can
//! show them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths of the program's sources, below the project's folder.
#[rustfmt::skip]
const PARTS: [&str; 6] = ["adapters", "bench", "clients", "engine", "Cargo.toml", "Cargo.lock"];

/// Value of a fact that cannot be determined.
const UNKNOWN: &str = "unknown";

fn main() {
    let var = |name: &str| env::var(name).unwrap_or_default();
    let root: PathBuf = Path::new(&var("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_owned)
        .unwrap_or_default();
    let compiler = said(Command::new(var("RUSTC")).arg("--version"));
    let flags = var("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ");
    for (name, value) in [
        ("COMMIT", commit(&root)),
        ("COMPILER", compiler.unwrap_or_else(|| UNKNOWN.to_owned())),
        ("TARGET", var("TARGET")),
        ("PROFILE", profile(&var("OUT_DIR"), &var("PROFILE"))),
        ("OPT_LEVEL", var("OPT_LEVEL")),
        ("FLAGS", flags),
    ] {
        println!("cargo::rustc-env=DB_BENCH_{name}={value}");
    }
    watch(&root);
}

/// Returns Cargo's profile: the name of the folder above the one for build scripts. Cargo's
/// variable names only the profile that it inherits from.
fn profile(out_dir: &str, inherited: &str) -> String {
    let folders = || Path::new(out_dir).ancestors();
    let above = folders().find(|folder| folder.ends_with("build"));
    let name = above.and_then(Path::parent).and_then(Path::file_name);
    name.map_or_else(
        || inherited.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Returns the commit of the project's repository, marked if the sources differ from it.
fn commit(root: &Path) -> String {
    let top = git(root, &["rev-parse", "--show-toplevel"]);
    let same =
        |top: String| Some(Path::new(&top).canonicalize().ok()? == root.canonicalize().ok()?);
    // A copy inside another repository has no commit of its own.
    if top.and_then(same) != Some(true) {
        return UNKNOWN.to_owned();
    }
    let Some(commit) = git(root, &["rev-parse", "HEAD"]) else {
        return UNKNOWN.to_owned();
    };
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(PARTS);
    let clean = git(root, &status).is_some_and(|changes| changes.is_empty());
    let mark = if clean { "" } else { "-dirty" };
    format!("{commit}{mark}")
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    // Reading the state must not write to the repository.
    let mut command = Command::new("git");
    command.env("GIT_OPTIONAL_LOCKS", "0");
    said(command.arg("-C").arg(root).args(words))
}

/// Returns the output of a program that succeeded.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Makes Cargo rerun this script when a source or the commit changes.
fn watch(root: &Path) {
    let parts = PARTS.iter().map(|part| root.join(part));
    let states = ["HEAD", "logs/HEAD"].iter().filter_map(|name| {
        let path = git(root, &["rev-parse", "--git-path", name])?;
        Some(root.join(path))
    });
    for path in parts.chain(states).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
