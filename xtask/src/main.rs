//! Repository maintenance: `cargo xtask tidy` checks what rustc and clippy cannot, `cargo xtask
//! count` counts lines of code, tests and words.
//!
//! Both read only the tree and its history: they need no build and no network. The rules are in
//! [`tidy`], one file each. The exceptions to the rules, with their reasons, are in
//! `xtask/tidy.toml`.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to standard output"
)]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "file extensions in this repository are in lower case"
)]
#![forbid(unsafe_code)]

mod count;
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

const USAGE: &str =
    "usage: cargo xtask tidy [ROOT]    check the rules of this repository (xtask/tidy.toml)
       cargo xtask count [ROOT]   count lines of code and tests, and words of documents
in this working tree, or in the tree at ROOT";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (command, argument) = (arguments.next(), arguments.next());
    match (command.as_deref(), argument.as_deref()) {
        (Some("tidy"), None) => run_tidy(&root()),
        (Some("tidy"), Some(root)) => run_tidy(Path::new(root)),
        (Some("count"), None) => run_count(&root()),
        (Some("count"), Some(root)) => run_count(Path::new(root)),
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

/// Returns the root of the workspace, which is the parent of this package's folder.
fn root() -> PathBuf {
    // Read at run time: clones that share a target directory share a program that one of them
    // built.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_path_buf()
}

fn run_count(root: &Path) -> ExitCode {
    match house::House::read(root) {
        Ok(house) => {
            print!("{}", count::table(&house));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("count: {message}");
            ExitCode::from(2)
        }
    }
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
