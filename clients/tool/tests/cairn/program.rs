//! Each command on a directory.

mod backup;
mod changes;
mod coding;
mod failures;
mod forks;
mod generate;
mod inspect;
mod interrupt;
mod live;
mod output;
mod reading;
mod repair;
mod shell;
mod whole;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Ran, fed};

const NONE: &[&str] = &[];

fn command<A: AsRef<OsStr>>(name: &str, directory: &Path, arguments: &[A]) -> Command {
    let mut program = crate::command(Path::new("."), &[name]);
    program.arg(directory).args(arguments);
    program
}

/// Runs a command on a directory.
fn cairn<A: AsRef<OsStr>>(name: &str, directory: &Path, arguments: &[A]) -> Ran {
    command(name, directory, arguments).output().unwrap().into()
}

/// Runs a command with bytes on its stdin.
fn cairn_with(name: &str, directory: &Path, arguments: &[&str], stdin: &[u8]) -> Ran {
    fed(command(name, directory, arguments), stdin)
}

/// Entries whose values do not compress.
fn numbers(count: u32) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..count).map(|n| {
        let noise = n.wrapping_mul(2_654_435_761);
        (format!("{n:05}"), format!("value {noise}").into_bytes())
    })
}

fn overwrite(path: &Path, offset: usize, bytes: &[u8]) {
    let mut contents = std::fs::read(path).unwrap();
    contents[offset..offset + bytes.len()].copy_from_slice(bytes);
    std::fs::write(path, contents).unwrap();
}

/// Runs a command that prints JSON.
fn json(name: &str, path: &Path) -> Value {
    serde_json::from_str(&cairn(name, path, &["--json"]).done()).unwrap()
}
