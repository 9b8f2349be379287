//! An open WiredTiger directory.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bench_core::engine::{Durability, Quiet, Role, Store, Variant};
use bench_core::fault::Fault;
use bench_core::settings::Settings;

use crate::chosen::{Chosen, describe, told};
use crate::connection::{Connection, OwnedSession};
use crate::kind::Kind;
use crate::rescue::Rescue;
use crate::session::TigerSession;
use crate::statistics::Statistics;
use crate::sys::Api;

/// An open WiredTiger directory with its one table.
#[derive(Debug)]
pub struct TigerStore<'e> {
    /// Before the connection, whose session it uses.
    rescue: Option<Rescue>,
    connection: Connection<'e>,
    /// Whether sequential fills may use a bulk cursor.
    bulk: bool,
    /// Whether keys and values are texts that end with zero.
    zero_ended: bool,
    options: Vec<(String, String)>,
}

/// What is told among the settings of [`Rescue`].
const STANDSTILL: &str = "log synced after 40 ms of little processor time (WT-10207)";

fn c_text(text: impl Into<Vec<u8>>) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::new("the directory's name has a zero byte"))
}

impl<'e> TigerStore<'e> {
    pub(crate) fn open(
        api: &'e Api,
        kind: Kind,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let chosen = Chosen::new(kind, settings, api.snappy());
        let asked = chosen.connection.clone();
        let home = c_text(dir.as_os_str().as_bytes())?;
        let connection = Connection::open(api, &home, &c_text(chosen.connection)?)?;
        let session = connection.open_session()?;
        let table = create(&connection, &session, &c_text(chosen.table)?)?;
        let mut options = effective(&session, &table, kind);
        drop(session);
        // An LSM tree alone drops chunks, and only a log written at each commit sets the flag.
        let rescue = if kind == Kind::Lsm
            && settings.variant == Variant::Fair
            && settings.durability == Durability::Os
        {
            options.push(("standstill".into(), STANDSTILL.into()));
            Some(Rescue::start(connection.open_session()?)?)
        } else {
            None
        };
        if settings.compression && !chosen.compressed {
            let missing = "none (libwiredtiger_snappy.so was not found)";
            options.push(("compression".into(), missing.into()));
        }
        options.push(("variant".into(), settings.variant.word().into()));
        // Nothing reads this back; the engine refuses what it does not understand.
        options.push(("connection".into(), asked));
        Ok(Self {
            rescue,
            connection,
            bulk: chosen.bulk,
            // A table made by an earlier run keeps its shape, whatever is asked for now.
            zero_ended: told(&table, "key_format") == Some("S"),
            options,
        })
    }

    /// The counters as they are now.
    fn counters<T>(&self, ask: impl FnOnce(&Statistics) -> Option<T>) -> Result<Option<T>, Fault> {
        let session = self.connection.open_session()?;
        Ok(Statistics::open(&session).and_then(|counters| ask(&counters)))
    }
}

/// Makes the table if there is none; gives the engine's own description of it.
fn create(
    connection: &Connection<'_>,
    session: &OwnedSession,
    config: &CStr,
) -> Result<String, Fault> {
    connection.check(session.create(config))?;
    session
        .description()
        .ok_or_else(|| Fault::new("WiredTiger does not list the table it has just made"))
}

/// The settings in effect.
fn effective(session: &OwnedSession, table: &str, kind: Kind) -> Vec<(String, String)> {
    let cache = Statistics::open(session).and_then(|counters| counters.cache_bytes());
    let cache = cache.map(|bytes| ("cache_size".to_owned(), bytes.to_string()));
    let compressor = told(table, "block_compressor").filter(|name| !name.is_empty());
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
        let bulk = self.bulk && role.appending;
        TigerSession::new(&self.connection, self.zero_ended, bulk)
    }

    fn compact(&mut self) -> Result<(), Fault> {
        let compacted = self.connection.open_session()?.compact();
        self.connection.check(compacted)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let written = self.connection.open_session()?.checkpoint();
        self.connection.check(written)
    }

    /// Its threads stir several times a second even when idle; its counters do not.
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
                "log: syncs asked for while little processor time was used: {}",
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
        self.options.clone()
    }

    fn close(mut self) -> Result<(), Fault> {
        drop(self.rescue.take());
        self.connection.shut()
    }
}
