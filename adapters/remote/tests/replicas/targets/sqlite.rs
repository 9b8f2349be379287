//! A SQLite database, through the benchmark's adapter: a change and the state are one transaction
//! over one table.

#![expect(
    clippy::disallowed_methods,
    reason = "the directory of the database is a real one"
)]

use std::path::Path;

use bench_core::engine::{Cursor as _, Durability, Engine as _, Role, Session as _, Store as _};
use bench_core::fault::Fault;
use bench_core::workload::settings::{Memory, Settings};
use engine_sqlite3::{Sqlite, SqliteSession};

use super::STATE;
use crate::replica::{Entries, State, Target, Trouble, Write};

/// The page cache.
const MEMORY_BYTES: u64 = 4 << 20;

struct Session<'s>(SqliteSession<'s>);

/// Returns whether SQLite's library is installed.
pub(crate) fn has_sqlite() -> bool {
    Sqlite::load(None).is_ok()
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Wrong(fault.to_string())
    }
}

/// Opens the database in `dir`, runs `then` and closes it.
pub(super) fn with<T>(
    dir: &Path,
    then: impl FnOnce(&mut dyn Target) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let created = std::fs::create_dir_all(dir);
    created.map_err(|error| Trouble::Wrong(error.to_string()))?;
    let engine = Sqlite::load(None)?;
    let settings = Settings::plain(Memory::split(MEMORY_BYTES, false));
    let store = (&engine).open(dir, &settings)?;
    let session = store.session(Role::single(Durability::Os))?;
    let done = then(&mut Session(session))?;
    store.close()?;
    Ok(done)
}

impl Session<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.0.get(key, <[u8]>::to_vec)
    }

    /// Returns the keys from `from` to before `to`.
    fn keys(&mut self, from: &[u8], to: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut keys = Vec::new();
        let mut cursor = self.0.cursor()?;
        cursor.seek(from)?;
        while cursor.valid() && cursor.key() < to {
            keys.push(cursor.key().to_vec());
            cursor.next()?;
        }
        Ok(keys)
    }
}

impl Target for Session<'_> {
    fn state(&mut self) -> Result<Option<State>, Trouble> {
        let stored = self.get(STATE)?;
        stored.map(|stored| State::parse(&stored)).transpose()
    }

    fn apply(
        &mut self,
        writes: &[Write<'_>],
        before: Option<State>,
        after: State,
    ) -> Result<(), Trouble> {
        // One process has the database open.
        assert_eq!(self.state()?, before);
        // The first write begins the transaction, which what follows reads.
        self.0.batch_put(STATE, after.to_string().as_bytes())?;
        for write in writes {
            match write {
                Write::Put(key, value) => self.0.batch_put(key, value)?,
                Write::Delete(key) => self.0.batch_delete(key)?,
                Write::Append(key, operand) => {
                    let value = self.get(key)?.unwrap_or_default();
                    self.0.batch_put(key, &[&value, *operand].concat())?;
                }
                Write::DeleteRange(from, to) => {
                    for key in self.keys(from, to)? {
                        self.0.batch_delete(&key)?;
                    }
                }
            }
        }
        Ok(self.0.batch_write()?)
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        // A commit is in the log in the system's cache, which a kill leaves alone.
        Ok(())
    }

    fn contents(&mut self) -> Result<Entries, Trouble> {
        let mut found = Vec::new();
        let mut cursor = self.0.cursor()?;
        cursor.first()?;
        while cursor.valid() && cursor.key() < STATE {
            found.push((cursor.key().to_vec(), cursor.value()?.to_vec()));
            cursor.next()?;
        }
        Ok(found)
    }
}
