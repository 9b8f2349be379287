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
mod findings;
mod house;
mod modules;
mod packages;
mod settings;
mod source;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use house::House;

const USAGE: &str =
    "usage: cargo xtask tidy [ROOT]    check the rules of this repository (xtask/tidy.toml)
       cargo xtask count [ROOT]   count lines of code and tests, and words of documents
in this working tree, or in the tree at ROOT";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let root = arguments.next().map_or_else(root, PathBuf::from);
    let done = match command.as_str() {
        "tidy" => run_tidy(&root),
        "count" => run_count(&root),
        _ => Err(USAGE.to_owned()),
    };
    done.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::from(2)
    })
}

/// Returns the root of the workspace, which is the parent of this package's folder.
fn root() -> PathBuf {
    // Read at run time: clones that share a target directory share a program that one of them
    // built.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_path_buf()
}

fn run_count(root: &Path) -> Result<ExitCode, String> {
    print!("{}", count::table(&House::read(root)?));
    Ok(ExitCode::SUCCESS)
}

fn run_tidy(root: &Path) -> Result<ExitCode, String> {
    let started = Instant::now();
    let house = House::read(root)?;
    if let Err(reason) = &house.commits {
        println!("tidy: commit messages are not checked: {reason}");
    }
    let findings = tidy::check(&house).lines();
    for finding in &findings {
        println!("{finding}");
    }
    let milliseconds = started.elapsed().as_millis();
    if findings.is_empty() {
        println!("tidy: ok ({milliseconds} ms)");
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {} findings ({milliseconds} ms)", findings.len());
    Ok(ExitCode::FAILURE)
}
