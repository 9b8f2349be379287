//! An open CairnDB store and one thread's session.

use std::path::Path;
use std::sync::Arc;

use bench_core::engine::{Durability, End, Quiet, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use cairndb::{Compression, Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteBatch};

use crate::cursor::CairnCursor;
use crate::error::fault;
use crate::max_merge::Greater;

/// The meaning of the default of a setting that the adapter leaves unchanged.
const MAPPED: &str = "default (on local file systems, below half of the memory)";
const VERIFY_ALWAYS: &str =
    "false (a mapped page or large value once an open, what is read by pread each time)";
/// The way gets are called, which is not a setting.
const GETS: &str = "into one buffer; in place (get) after a value of 64 KiB or more";

/// An open CairnDB store.
#[derive(Debug)]
pub struct CairnStore {
    db: Db,
    keyspaces: Vec<Keyspace>,
    asked: Settings,
}

/// Opens a keyspace, or creates it.
fn keyspace(db: &Db, name: &str, options: &KeyspaceOptions) -> Result<Keyspace, Fault> {
    let opened = match db.keyspace(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => db.create_keyspace(name, options),
        opened => opened,
    };
    opened.map_err(|error| fault(&error))
}

const fn compression(settings: &Settings) -> Compression {
    if settings.compression {
        Compression::Fast
    } else {
        Compression::None
    }
}

const fn durability(settings: &Settings) -> cairndb::Durability {
    match settings.durability {
        Durability::Os => cairndb::Durability::Os,
        Durability::Sync => cairndb::Durability::Sync,
    }
}

impl CairnStore {
    pub(crate) fn open(
        dir: &Path,
        settings: &Settings,
        how: impl FnOnce(Options) -> Options,
    ) -> Result<Self, Fault> {
        let budget = settings.memory.total_bytes;
        let bytes =
            usize::try_from(budget).map_err(|_| Fault::new("more memory than can be addressed"))?;
        let mut options = Options::new()
            .memory_budget(bytes)
            .compression(compression(settings))
            .durability(durability(settings))
            .merge_operator(Arc::new(Greater));
        if let Some(bits) = settings.bloom_bits {
            options = options.filter_bits_per_key(bits);
        }
        let db = how(options).open(dir).map_err(|error| fault(&error))?;
        let kept = KeyspaceOptions::new().compression(compression(settings));
        let names = settings.keyspace_names();
        let keyspaces = names.map(|name| keyspace(&db, &name, &kept));
        Ok(Self {
            keyspaces: keyspaces.collect::<Result<_, _>>()?,
            db,
            asked: *settings,
        })
    }

    /// Returns a number from a property that is flat JSON.
    fn number(&self, property: &str, name: &str) -> Option<u64> {
        let text = self.db.property(property)?;
        let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    }
}

impl Store for CairnStore {
    type Session<'s> = CairnSession<'s>;

    fn session(&self, _role: Role) -> Result<CairnSession<'_>, Fault> {
        // The durability is that with which the store was opened.
        Ok(CairnSession {
            db: &self.db,
            keyspaces: &self.keyspaces,
            keyspace: None,
            value: Vec::new(),
            large: false,
            batch: WriteBatch::new(),
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.db.compact_range(..).map_err(|error| fault(&error))
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let keyspace = &self.keyspaces[index as usize];
        let dropped = self.db.drop_keyspace(keyspace.name());
        dropped.map_err(|error| fault(&error))
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.db.flush().map_err(|error| fault(&error))
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        self.db.wait_idle().map_err(|error| fault(&error))?;
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        if name != "statistics" {
            return self.db.property(name);
        }
        let parts = ["cairndb.stats", "cairndb.memory", "cairndb.stalls"];
        let lines: Vec<String> = parts
            .iter()
            .filter_map(|part| Some(format!("{part}: {}", self.db.property(part)?)))
            .collect();
        Some(lines.join("\n"))
    }

    fn bytes_written(&self) -> Option<u64> {
        self.number("cairndb.stats", "written_bytes")
    }

    fn passed_entries(&self) -> Option<u64> {
        self.number("cairndb.stats", "dead_entries_passed")
    }

    /// Returns the budget as reported by the store. The other settings cannot be read back: they
    /// are the requested values or the library's defaults.
    fn options(&self) -> Vec<(String, String)> {
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let bits = self.asked.bloom_bits;
        let bits = bits.unwrap_or(cairndb::FILTER_BITS_DEFAULT);
        let reported = [
            ("compression", word(&compression(&self.asked))),
            ("durability", word(&durability(&self.asked))),
            ("filter_bits", bits.to_string()),
            ("mapped", MAPPED.to_owned()),
            ("verify_always", VERIFY_ALWAYS.to_owned()),
            ("gets", GETS.to_owned()),
        ];
        let budget = self.number("cairndb.memory", "budget");
        let budget = budget.map(|bytes| ("memory_budget", bytes.to_string()));
        let all = budget.into_iter().chain(reported);
        let all = all.map(|(name, value)| (name.to_owned(), value));
        all.chain(self.asked.unused()).collect()
    }

    fn close(self) -> Result<(), Fault> {
        self.db.close().map_err(|error| fault(&error))
    }
}

/// One thread's session in an open CairnDB.
#[derive(Debug)]
pub struct CairnSession<'s> {
    db: &'s Db,
    keyspaces: &'s [Keyspace],
    /// The keyspace of the next call, if it has a name.
    keyspace: Option<&'s Keyspace>,
    value: Vec<u8>,
    /// Whether the last value read into `value` was large.
    large: bool,
    batch: WriteBatch,
}

/// Size in bytes from which a value is large: the next one is read in place, not copied to a
/// buffer. The library returns values from this size without a copy.
const LARGE_BYTES: usize = 64 << 10;

impl CairnSession<'_> {
    #[inline(never)]
    fn get_in_place<R>(
        &mut self,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        let value = match self.keyspace {
            Some(keyspace) => keyspace.get(key),
            None => self.db.get(key),
        };
        let value = value.map_err(|error| fault(&error))?;
        self.large = value
            .as_ref()
            .is_none_or(|value| value.len() >= LARGE_BYTES);
        Ok(value.map(|value| found(&value)))
    }
}

impl Session for CairnSession<'_> {
    type Cursor<'c>
        = CairnCursor
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.keyspace = self.keyspaces.get(keyspace as usize);
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let put = match self.keyspace {
            Some(keyspace) => keyspace.put(key, value),
            None => self.db.put(key, value),
        };
        put.map_err(|error| fault(&error))
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let deleted = match self.keyspace {
            Some(keyspace) => keyspace.delete(key),
            None => self.db.delete(key),
        };
        deleted.map_err(|error| fault(&error))
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let deleted = self.db.delete_range(from..to);
        deleted.map_err(|error| fault(&error))
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        if self.large {
            return self.get_in_place(key, found);
        }
        let is_there = match self.keyspace {
            Some(keyspace) => keyspace.get_into(key, &mut self.value),
            None => self.db.get_into(key, &mut self.value),
        };
        let is_there = is_there.map_err(|error| fault(&error))?;
        self.large = self.value.len() >= LARGE_BYTES;
        Ok(is_there.then(|| found(&self.value)))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.batch.put(key, value);
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.batch.delete(key);
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let written = self.db.write(&self.batch).map_err(|error| fault(&error));
        self.batch.clear();
        written
    }

    #[inline]
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        self.db.merge(key, operand).map_err(|error| fault(&error))
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.db.sync().map_err(|error| fault(&error))
    }

    #[inline]
    fn pop<R>(
        &mut self,
        end: End,
        popped: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        let entry = match end {
            End::First => self.db.pop_first(),
            End::Last => self.db.pop_last(),
        };
        let entry = entry.map_err(|error| fault(&error))?;
        Ok(entry.map(|(key, value)| popped(&key, &value)))
    }

    /// Extracts in a transaction: [`Db::retain`] would commit a thousand removals at a time.
    fn extract(
        &mut self,
        (from, to): (&[u8], &[u8]),
        mut wanted: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Fault> {
        let transaction = self.db.transaction();
        transaction
            .retain(from..to, |key, value| !wanted(key, value))
            .and_then(|_| transaction.commit())
            .map_err(|error| fault(&error))
    }

    fn iterate(&mut self, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        for entry in self.db.iter() {
            let (key, value) = entry.map_err(|error| fault(&error))?;
            if !each(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        let values = self.db.multi_get(keys).map_err(|error| fault(&error))?;
        for (index, value) in values.iter().enumerate() {
            each(index, value.as_deref());
        }
        Ok(())
    }

    #[inline]
    fn cursor(&mut self) -> Result<CairnCursor, Fault> {
        // Each arm builds its cursor in place: a move would cost 3 % of a short seek.
        match self.keyspace {
            Some(keyspace) => Ok(CairnCursor::new(keyspace.cursor())),
            None => Ok(CairnCursor::new(self.db.cursor())),
        }
    }
}

#[cfg(test)]
mod tests {
    use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
    use bench_core::workload::settings::{Memory, Settings};

    use crate::Cairn;

    fn settings() -> Settings {
        Settings::plain(Memory::split(4 << 20, false))
    }

    #[test]
    fn the_budget_is_the_store_s_own_word() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("db");
        let store = Cairn.open(&dir, &settings()).expect("opens");
        let reported = store.options();
        let reported = |name: &str| {
            let found = reported.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(reported("memory_budget"), Some("4194304"));
        assert_eq!(reported("compression"), Some("fast"));
        assert_eq!(reported("filter_bits"), Some("10"));
        assert!(reported("mapped").is_some() && reported("verify_always").is_some());
        assert!(reported("block_size").is_none());
        store.close().expect("closes");
    }

    #[test]
    fn settings_that_the_store_has_not_are_reported() {
        let home = tempfile::tempdir().expect("a directory");
        let asked = Settings {
            block_bytes: Some(8192),
            ..settings()
        };
        let store = Cairn.open(&home.path().join("db"), &asked).expect("opens");
        let reported = ("block_size".into(), "not used (8192 was asked for)".into());
        assert!(store.options().contains(&reported));
        store.close().expect("closes");
    }

    /// As documented in the guide and in the report's chapter on biases.
    #[test]
    fn a_small_store_that_is_idle_is_one_run() {
        const ENTRIES: u32 = 60_000;
        let home = tempfile::tempdir().expect("a directory");
        let store = Cairn
            .open(&home.path().join("db"), &settings())
            .expect("opens");
        let role = Role::single(Durability::Os);
        let mut session = store.session(role).expect("a session");
        for index in 0..ENTRIES {
            let key = format!("{:016}", index * 7919 % ENTRIES);
            session.put(key.as_bytes(), &[7; 100]).expect("put");
        }
        drop(session);
        store.quiesce().expect("quiet");
        let number = |name| store.number("cairndb.stats", name).expect("reported");
        assert!(number("flushes") > 1, "else there was nothing to merge");
        assert_eq!(number("runs"), 1);
        assert!(
            number("versions") < ENTRIES.into(),
            "the newest stay in memory"
        );
        store.close().expect("closes");
    }
}
