//! The source: its settings, what is written to it, and its contents.

use std::path::Path;
use std::sync::Arc;

use cairndb::{
    Append, Db, Durability, Keyspace, KeyspaceOptions, MergeOperator as _, Options, WriteBatch,
    WriteOptions,
};
use cairndb_env::random::Random;

use crate::replica::{Entries, place_of};

/// Number of keys of a keyspace.
const KEYS: u64 = 200;
/// A keyspace that stays.
const STONES: &str = "stones";
/// A keyspace that is dropped and created again.
const BRIEF: &str = "brief";

/// Opens the source in `dir`, or creates it.
pub(crate) fn open(dir: &Path) -> cairndb::Result<Db> {
    options().open(dir.join("source"))
}

/// Opens the source in `dir` as another process does.
pub(crate) fn follow(dir: &Path) -> cairndb::Result<Db> {
    options().follow().open(dir.join("source"))
}

fn options() -> Options {
    let options = Options::new().create_if_missing(true);
    // Small, so that the log is flushed and its segments are freed often.
    let options = options.memory_budget(1 << 20);
    options.merge_operator(Arc::new(Append))
}

/// Draws the writes of one thread.
pub(crate) struct Writer {
    random: Random,
    /// Whether this thread creates and drops keyspaces: one does.
    leads: bool,
}

impl Writer {
    pub(crate) fn new(seed: u64, leads: bool) -> Writer {
        let random = Random::new(seed ^ u64::from(leads) << 63);
        Writer { random, leads }
    }

    /// Writes a batch and, rarely, does something else.
    pub(crate) fn write(&mut self, db: &Db) -> cairndb::Result<()> {
        let spaces = self.keyspaces(db);
        let mut batch = WriteBatch::new();
        for _ in 0..=self.random.below(4) {
            let choice = self.random.index(spaces.len() + 2);
            let default = db.default_keyspace();
            self.entry(&mut batch, spaces.get(choice).unwrap_or(&default));
        }
        let durability = match self.random.below(24) {
            0 => Durability::Sync,
            _ => Durability::Os,
        };
        db.write_with(&batch, &WriteOptions::new().durability(durability))?;
        if self.leads {
            self.occasionally(db)?;
        }
        Ok(())
    }

    /// Returns the keyspaces that this thread may write to: the other one does not know when one is
    /// dropped.
    fn keyspaces(&self, db: &Db) -> Vec<Keyspace> {
        let names = if self.leads {
            &[STONES, BRIEF][..]
        } else {
            &[]
        };
        names
            .iter()
            .filter_map(|name| db.keyspace(name).ok())
            .collect()
    }

    fn entry(&mut self, batch: &mut WriteBatch, space: &Keyspace) {
        let (key, until) = (self.key(KEYS), self.key(KEYS + 1));
        match self.random.below(40) {
            0..6 => batch.delete_in(space, &key),
            6..14 => {
                let operand = self.bytes(24);
                batch.merge_in(space, &key, &operand);
            }
            14 => batch.delete_range_in(space, &key[..]..&until[..]),
            // Long enough for a value file.
            15 | 16 => {
                let value = self.bytes(20_000);
                batch.put_in(space, &key, &value);
            }
            _ => {
                let value = self.bytes(300);
                batch.put_in(space, &key, &value);
            }
        }
    }

    fn occasionally(&mut self, db: &Db) -> cairndb::Result<()> {
        match self.random.below(1500) {
            0..4 => db.flush(),
            4 => db.compact_range(..),
            5..10 => {
                let options = KeyspaceOptions::new().merge_operator(Append.name());
                match (db.keyspace(STONES), db.keyspace(BRIEF)) {
                    (Err(_), _) => db.create_keyspace(STONES, &options).map(drop),
                    (_, Err(_)) => db.create_keyspace(BRIEF, &options).map(drop),
                    (Ok(_), Ok(brief)) => {
                        drop(brief);
                        db.drop_keyspace(BRIEF)
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn key(&mut self, bound: u64) -> Vec<u8> {
        format!("key{:03}", self.random.below(bound)).into_bytes()
    }

    /// Returns up to `limit` bytes that differ at each call.
    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        let len = self.random.index(limit);
        let words = (0..=len / 8).flat_map(|_| self.random.next_u64().to_le_bytes());
        words.take(len).collect()
    }
}

/// Returns everything in the source, as the replica has it.
pub(crate) fn contents(db: &Db) -> cairndb::Result<Entries> {
    let mut found = Vec::new();
    let names = db.keyspaces();
    for name in std::iter::once(None).chain(names.iter().map(Some)) {
        let space = match name {
            None => db.default_keyspace(),
            Some(name) => db.keyspace(name)?,
        };
        let place = |key: &[u8]| place_of(name.map(String::as_str), key);
        for entry in space.iter() {
            let (key, value) = entry?;
            found.push((place(&key), value.to_vec()));
        }
    }
    found.sort_unstable();
    Ok(found)
}
