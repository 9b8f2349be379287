//! The chores of the house: `cargo xtask tidy` checks what rustc and clippy cannot.
//!
//! Everything here reads the tree and its history and nothing else: no build, no network. The rules stand in
//! [`tidy`], one file each; what a rule allows by exception stands with its reason in
//! `xtask/tidy.toml`.

#![allow(
    clippy::print_stdout,
    reason = "a command line program answers on standard output"
)]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the names of this repository are written one way"
)]
#![forbid(unsafe_code)]

mod finding;
mod history;
mod house;
mod packages;
mod settings;
mod source;
mod tidy;
mod tree;
mod types;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask tidy [ROOT]    check the rules of the house (xtask/tidy.toml) \
                     in this working tree, or in that at ROOT";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("tidy"), None) => run_tidy(&root()),
        (Some("tidy"), Some(root)) => run_tidy(Path::new(&root)),
        (Some("help" | "--help" | "-h"), None) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The root of the workspace: the parent of this package.
fn root() -> PathBuf {
    // As cargo says now: clones that share a target directory share the program that one of them built.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_path_buf()
}

fn run_tidy(root: &Path) -> ExitCode {
    let started = Instant::now();
    let (findings, notes) = match tidy::check(root) {
        Ok(checked) => checked,
        Err(message) => {
            eprintln!("tidy: {message}");
            return ExitCode::from(2);
        }
    };
    for note in notes {
        println!("tidy: {note}");
    }
    for finding in &findings {
        println!("{finding}");
    }
    let milliseconds = started.elapsed().as_millis();
    if findings.is_empty() {
        println!("tidy: ok ({milliseconds} ms)");
        ExitCode::SUCCESS
    } else {
        println!("tidy: {} findings ({milliseconds} ms)", findings.len());
        ExitCode::FAILURE
    }
}
