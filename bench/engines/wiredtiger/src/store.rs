//! An open WiredTiger directory.

use std::ffi::CString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use bench_core::engine::{Durability, Quiet, Role, Store, Variant};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::connection::Connection;
use crate::kind::TreeKind;
use crate::options::{Chosen, describe, reported};
use crate::session::TigerSession;
use crate::statistics::Statistics;
use crate::sys::Api;
use crate::unblock::Rescue;

/// An open WiredTiger directory with its one table.
#[derive(Debug)]
pub struct TigerStore<'e> {
    /// Declared before the connection, whose session it uses.
    rescue: Option<Rescue>,
    connection: Connection<'e>,
    /// Whether sequential fills may use a bulk cursor.
    bulk: bool,
    kind: TreeKind,
    asked: Settings,
    /// The configuration with which the directory was opened.
    configuration: String,
    /// Whether a requested compression is not available.
    uncompressed: bool,
    /// The engine's own description of the table, read on demand: an open does not need it.
    table: OnceLock<String>,
}

/// The description of [`Rescue`] in the settings.
const STANDSTILL: &str = "log synced after 40 ms of little CPU time (WT-10207)";

fn c_text(text: impl Into<Vec<u8>>) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::new("the directory's name contains a NUL byte"))
}

impl<'e> TigerStore<'e> {
    pub(crate) fn open(
        api: &'e Api,
        kind: TreeKind,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let chosen = Chosen::new(kind, settings, api.snappy());
        let configuration = chosen.connection.clone();
        let home = c_text(dir.as_os_str().as_bytes())?;
        let connection = Connection::open(api, &home, &c_text(chosen.connection)?)?;
        let session = connection.open_session()?;
        connection.check(session.create(&c_text(chosen.table)?))?;
        drop(session);
        // Only an LSM tree drops chunks, and only a log written at each commit sets the flag.
        let rescue = if kind == TreeKind::Lsm
            && settings.variant == Variant::Fair
            && settings.durability == Durability::Os
        {
            Some(Rescue::start(connection.open_session()?)?)
        } else {
            None
        };
        Ok(Self {
            rescue,
            connection,
            bulk: chosen.bulk,
            kind,
            asked: *settings,
            configuration,
            uncompressed: settings.compression && !chosen.compressed,
            table: OnceLock::new(),
        })
    }

    /// Returns the engine's record of how the table was created.
    fn table(&self) -> Result<&str, Fault> {
        if let Some(known) = self.table.get() {
            return Ok(known);
        }
        let description = self.connection.open_session()?.description();
        let description = description
            .ok_or_else(|| Fault::new("WiredTiger does not list the table it has just created"))?;
        // Two sessions that start at the same time read the same description.
        Ok(self.table.get_or_init(|| description))
    }

    /// Returns the current counters.
    fn counters<T>(&self, ask: impl FnOnce(&Statistics) -> Option<T>) -> Result<Option<T>, Fault> {
        let session = self.connection.open_session()?;
        Ok(Statistics::open(&session).and_then(|counters| ask(&counters)))
    }
}

/// Returns the settings in effect, with the cache size as reported by the counters.
fn effective(cache: Option<u64>, table: &str, kind: TreeKind) -> Vec<(String, String)> {
    let cache = cache.map(|bytes| ("cache_size".to_owned(), bytes.to_string()));
    let compressor = reported(table, "block_compressor").filter(|name| !name.is_empty());
    let compressor = (
        "block_compressor".to_owned(),
        compressor.unwrap_or("none").to_owned(),
    );
    cache
        .into_iter()
        .chain([compressor])
        .chain(describe(table, kind))
        .collect()
}

impl Store for TigerStore<'_> {
    type Session<'s>
        = TigerSession<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<TigerSession<'_>, Fault> {
        let bulk = self.bulk && role.appending && role.empty;
        // A table created by an earlier run keeps its format, whatever is requested now.
        let zero_ended = reported(self.table()?, "key_format") == Some("S");
        TigerSession::new(&self.connection, zero_ended, bulk)
    }

    fn compact(&mut self) -> Result<(), Fault> {
        let compacted = self.connection.open_session()?.compact();
        self.connection.check(compacted)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let written = self.connection.open_session()?.checkpoint();
        self.connection.check(written)
    }

    /// Reports progress by counters: the engine's threads wake up several times per second even
    /// when idle, but its counters do not change.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        let progress = self.counters(Statistics::progress)?;
        Ok(progress.map_or(Quiet::Watch, Quiet::Progress))
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let mut text = self.counters(|counters| Some(counters.text())).ok()??;
        if let Some(rescue) = &self.rescue {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "log: syncs requested while little CPU time was used: {}",
                rescue.syncs()
            );
        }
        Some(text)
    }

    fn reset_statistics(&self) -> Result<bool, Fault> {
        Ok(Statistics::clear(&self.connection.open_session()?))
    }

    fn bytes_written(&self) -> Option<u64> {
        self.counters(Statistics::bytes_written).ok()?
    }

    fn options(&self) -> Vec<(String, String)> {
        let cache = self.counters(Statistics::cache_bytes).ok().flatten();
        let mut options = effective(cache, self.table().unwrap_or_default(), self.kind);
        let mut show = |name: &str, value: &str| options.push((name.to_owned(), value.to_owned()));
        if self.rescue.is_some() {
            show("standstill", STANDSTILL);
        }
        if self.uncompressed {
            show(
                "compression",
                "none (libwiredtiger_snappy.so was not found)",
            );
        }
        show("variant", self.asked.variant.word());
        // This is not read back; the engine rejects what it does not understand.
        show("connection", &self.configuration);
        options
    }

    fn close(mut self) -> Result<(), Fault> {
        drop(self.rescue.take());
        self.connection.shut()
    }
}

#[cfg(test)]
mod tests {
    use bench_core::engine::{Engine as _, Store as _};
    use bench_core::workload::settings::{Memory, Settings};

    use crate::WiredTiger;
    use crate::kind::TreeKind;

    fn settings() -> Settings {
        Settings::plain(Memory::split(4 << 20, false))
    }

    #[test]
    fn opening_reads_neither_description_nor_counters() {
        let Ok(engine) = WiredTiger::load(None, TreeKind::Btree) else {
            bench_core::host::test_skip::skip("install libwiredtiger");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let store = (&engine).open(home.path(), &settings()).expect("opens");
        assert!(store.table.get().is_none());
        assert!(!store.options().is_empty());
        assert!(store.table.get().is_some());
        store.close().expect("closes");
    }
}
