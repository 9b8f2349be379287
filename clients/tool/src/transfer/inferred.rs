//! The format of an export or import that names none: what its file ends in, or what a directory
//! holds.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cairndb::env::{Env, RealEnv};
use cairndb_format::evidence::{OtherStore, other_store_in};

use crate::arguments::transfer::FormatName;
use crate::failure::{Failure, Result};

/// The ends of names, and their formats.
const ENDINGS: [(&str, FormatName); 5] = [
    ("csv", FormatName::Csv),
    ("tsv", FormatName::Tsv),
    ("jsonl", FormatName::Jsonl),
    ("ndjson", FormatName::Jsonl),
    ("dump", FormatName::Dump),
];

/// What the dumps of other stores begin with. Their files end in `.dump`, too.
const TEXT_DUMP: [u8; 8] = *b"VERSION=";

/// Returns the format in which to write `path`; `None` is stdout.
pub(crate) fn of_export(path: Option<&Path>) -> Result<FormatName> {
    match path {
        Some(path) if path.is_dir() || ends_in_slash(path) => Ok(FormatName::Leveldb),
        path => of_name(path, "stdout"),
    }
}

/// Returns the format in which to read `path`; `None` is stdin.
pub(crate) fn of_import(path: Option<&Path>) -> Result<FormatName> {
    if let Some(path) = path.filter(|path| path.is_dir()) {
        let dir = RealEnv::new().open_dir(path, false);
        return match dir.and_then(|dir| other_store_in(&*dir)) {
            Ok(Some(OtherStore::LevelDb)) => Ok(FormatName::Leveldb),
            Ok(Some(OtherStore::RocksDb)) => Ok(FormatName::Rocksdb),
            _ => {
                let path = path.display();
                Err(Failure::other(format!(
                    "{path} is a directory that holds no database of LevelDB or RocksDB; `cairn \
                     copy` copies one of CairnDB"
                )))
            }
        };
    }
    match (of_name(path, "stdin")?, path) {
        (FormatName::Dump, Some(path)) if is_text_dump(path) => Ok(FormatName::MdbDump),
        (format, _) => Ok(format),
    }
}

fn of_name(path: Option<&Path>, stream: &str) -> Result<FormatName> {
    let Some(path) = path else {
        let message = format!("{stream} has no name to infer a format from; pass --format");
        return Err(Failure::usage(message));
    };
    let ending = path.extension().unwrap_or_default();
    let found = ENDINGS.iter().find(|(known, _)| ending == *known);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let path = path.display();
        Failure::usage(format!(
            "the name {path} does not end in .csv, .tsv, .jsonl, .ndjson or .dump, which would \
             imply a format; pass --format"
        ))
    })
}

/// Returns whether the last character of a path names a directory.
fn ends_in_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Returns whether a regular file is a dump of another store. Errors are met again, and reported,
/// when it is read. A pipe is not looked into: what was read is gone.
fn is_text_dump(path: &Path) -> bool {
    let mut head = [0; TEXT_DUMP.len()];
    let read = |mut file: File| file.read_exact(&mut head);
    path.is_file() && File::open(path).and_then(read).is_ok() && head == TEXT_DUMP
}
