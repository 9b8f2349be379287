//! The column families of a RocksDB database, one after the other: each is a keyspace, or has a
//! prefix before its keys.

use std::path::{Path, PathBuf};

use cairndb::KeyspaceOptions;
use cairndb_foreign::{ForeignError, RocksCursor, RocksDb, rocksdb_families};

use super::formats::encoder::check_lengths;
use super::formats::families::{Families, Family};
use super::source::{EntrySource, KeyspaceSpec, Step};
use crate::escape::escaped;
use crate::failure::{Failure, Result};

/// An open database and its families.
#[derive(Debug)]
pub(crate) struct RocksDatabase {
    path: PathBuf,
    families: Vec<Family>,
    database: RocksDb,
    /// Dropped after the database.
    _messages: Messages,
}

/// A directory for RocksDB's messages, removed at the end.
#[derive(Debug)]
struct Messages(PathBuf);

impl Messages {
    fn new() -> Result<Messages> {
        let path = std::env::temp_dir().join(format!("cairn-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::other(format!("{}: {error}", path.display())))?;
        Ok(Messages(path))
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        // What is left are messages in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn failure(path: &Path, error: &ForeignError) -> Failure {
    let message = format!("{}: RocksDB: {error}", path.display());
    if error.0.starts_with("Corruption") {
        Failure::damaged(message)
    } else {
        Failure::other(message)
    }
}

impl RocksDatabase {
    /// Opens the families that were chosen; all of them if there was no choice.
    pub(crate) fn open(path: &Path, chosen: &Families) -> Result<RocksDatabase> {
        let messages = Messages::new()?;
        let failed = |error: ForeignError| failure(path, &error);
        let names = rocksdb_families(path, &messages.0).map_err(failed)?;
        let families: Vec<Family> = if chosen.is_empty() {
            names.iter().map(|name| Family::named(name)).collect()
        } else {
            chosen.chosen().to_vec()
        };
        chosen.check(&path.display().to_string(), "column family", &names)?;
        let opened: Vec<Vec<u8>> = families.iter().map(|family| family.name.clone()).collect();
        let database = RocksDb::open(path, &opened, &messages.0).map_err(failed)?;
        Ok(RocksDatabase {
            path: path.to_owned(),
            families,
            database,
            _messages: messages,
        })
    }

    /// Returns the entries of all families.
    pub(crate) fn source(&self) -> RocksSource<'_> {
        RocksSource {
            of: self,
            next_family: 0,
            cursor: None,
            has_begun: false,
            key: Vec::new(),
            prefix_len: 0,
        }
    }
}

/// Reads the families in turn.
pub(crate) struct RocksSource<'a> {
    of: &'a RocksDatabase,
    next_family: usize,
    cursor: Option<RocksCursor<'a>>,
    /// Whether the current entry of the cursor was taken.
    has_begun: bool,
    /// The prefix of the family and the current key.
    key: Vec<u8>,
    prefix_len: usize,
}

impl RocksSource<'_> {
    /// Begins the next family. Returns its keyspace, or that there is none left.
    fn begin_family(&mut self) -> Result<Step<'static>> {
        let Some(family) = self.of.families.get(self.next_family) else {
            return Ok(Step::End);
        };
        self.has_begun = false;
        self.cursor = self.of.database.cursor(self.next_family);
        self.next_family += 1;
        self.key.clear();
        if family.has_prefix {
            self.key.extend_from_slice(&family.prefix);
        }
        self.prefix_len = self.key.len();
        if let Some(cursor) = &mut self.cursor {
            let sought = cursor.seek_to_first();
            sought.map_err(|error| failure(&self.of.path, &error))?;
        }
        if family.is_default_keyspace() {
            return Ok(Step::Keyspace(None));
        }
        let name = String::from_utf8(family.name.clone()).map_err(|_| {
            let name = escaped(&family.name);
            Failure::other(format!(
                "the column family \"{name}\" cannot be a keyspace, whose name is UTF-8; import it \
                 with a prefix: --family NAME=PREFIX"
            ))
        })?;
        let options = KeyspaceOptions::new();
        Ok(Step::Keyspace(Some(KeyspaceSpec { name, options })))
    }
}

impl EntrySource for RocksSource<'_> {
    fn has_keyspaces(&self) -> bool {
        self.of.families.iter().any(|it| !it.is_default_keyspace())
    }

    fn advance(&mut self) -> Result<Step<'_>> {
        if let Some(cursor) = self.cursor.as_mut().filter(|_| self.has_begun) {
            let moved = cursor.next();
            moved.map_err(|error| failure(&self.of.path, &error))?;
        }
        self.has_begun = true;
        if !self.cursor.as_ref().is_some_and(RocksCursor::valid) {
            return self.begin_family();
        }
        self.key.truncate(self.prefix_len);
        let Some(cursor) = &self.cursor else {
            return Ok(Step::End);
        };
        self.key.extend_from_slice(cursor.key());
        let value = cursor.value();
        Ok(match check_lengths(&self.key, value) {
            Ok(()) => Step::Entry(&self.key, value),
            Err(reason) => Step::Bad(None, reason),
        })
    }
}
