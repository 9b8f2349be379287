//! An open SQLite database.

use std::path::Path;

use bench_core::engine::{Durability, Quiet, Role, Store};
use bench_core::fault::Fault;
use bench_core::settings::Settings;

use crate::connection::{Connection, Turn};
use crate::session::SqliteSession;
use crate::sys::Api;
use crate::table;

const FILE: &str = "test.db";
/// The page of the 2011 document.
const PAGE_BYTES_DEFAULT: u64 = 1024;
/// Pages in the log after which it is brought into the database, as in the program of 2011: 4 MB,
/// as much as the default of 1000 is with SQLite's own page of 4 KiB.
const CHECKPOINT_PAGES: u64 = 4096;
/// Settings told as the database has them.
const TOLD: &[&str] = &[
    "page_size",
    "cache_size",
    "journal_mode",
    "locking_mode",
    "synchronous",
    "wal_autocheckpoint",
    "mmap_size",
];

/// Counters of a connection, by their numbers in sqlite3.h.
const COUNTERS: &[(&str, i32)] = &[
    ("cache bytes", 1),
    ("cache hits", 7),
    ("cache misses", 8),
    ("pages written", 9),
    ("pages spilled", 12),
    ("statement bytes", 3),
];

/// An open SQLite database.
#[derive(Debug)]
pub struct SqliteStore<'e> {
    pub(crate) connection: Connection<'e>,
    options: Vec<(String, String)>,
}

/// Sets what must be set and makes the table. The page size comes first: it can only be chosen
/// before anything has been written, and the log's mode writes.
fn prepare(turn: &Turn<'_>, settings: &Settings) -> Result<Vec<(String, String)>, Fault> {
    let page = settings.block_bytes.unwrap_or(PAGE_BYTES_DEFAULT);
    turn.run(&format!("PRAGMA page_size={page}"))?;
    turn.run("PRAGMA locking_mode=EXCLUSIVE")?;
    turn.run("PRAGMA journal_mode=WAL")?;
    let synchronous = match settings.durability {
        Durability::Os => "OFF",
        Durability::Sync => "FULL",
    };
    turn.run(&format!("PRAGMA synchronous={synchronous}"))?;
    turn.run(&format!("PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}"))?;
    // In pages, of the size that the database has in truth.
    let page: u64 = turn
        .ask("PRAGMA page_size")?
        .and_then(|bytes| bytes.parse().ok())
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| Fault::new("the database tells no page size"))?;
    let pages = settings.memory.total_bytes / page;
    turn.run(&format!("PRAGMA cache_size={pages}"))?;
    turn.run(table::create(settings, page))?;
    let mut told = Vec::new();
    for &name in TOLD {
        if let Some(value) = turn.ask(&format!("PRAGMA {name}"))? {
            told.push((name.to_owned(), value));
        }
    }
    if let Some(form) = turn.ask(table::FORM)? {
        told.push(("table".to_owned(), form));
    }
    told.push(("compression".to_owned(), "none".to_owned()));
    Ok(told)
}

impl<'e> SqliteStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let connection = Connection::open(api, &dir.join(FILE))?;
        let options = prepare(&connection.turn(), settings)?;
        let is = |name: &str, value: &str| {
            let found = options.iter().find(|(told, _)| told == name);
            found.is_some_and(|(_, told)| told == value)
        };
        if !is("journal_mode", "wal") || !is("locking_mode", "exclusive") {
            return Err(Fault::new(format!(
                "the database refuses its settings: {options:?}"
            )));
        }
        Ok(Self {
            connection,
            options,
        })
    }
}

impl Store for SqliteStore<'_> {
    type Session<'s>
        = SqliteSession<'s>
    where
        Self: 's;

    fn session(&self, _role: Role) -> Result<SqliteSession<'_>, Fault> {
        // The durability is the one the store was opened with.
        SqliteSession::new(&self.connection)
    }

    /// What users of SQLite do: the whole database is written anew, in order and without gaps, and
    /// the log is brought in and emptied.
    fn compact(&mut self) -> Result<(), Fault> {
        let turn = self.connection.turn();
        turn.run("VACUUM")?;
        turn.checkpoint()
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.connection.turn().checkpoint()
    }

    /// A write is finished when it returns: there is no background work.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let turn = self.connection.turn();
        let mut parts = Vec::new();
        for name in ["page_count", "freelist_count"] {
            let count = turn.ask(&format!("PRAGMA {name}")).ok()??;
            parts.push(format!("{} {count}", name.replace('_', " ")));
        }
        for &(name, which) in COUNTERS {
            let count = turn.counter(which)?;
            parts.push(format!("{name} {count}"));
        }
        Some(parts.join(", "))
    }

    fn reset_statistics(&self) -> Result<bool, Fault> {
        let turn = self.connection.turn();
        Ok(COUNTERS.iter().all(|&(_, which)| turn.reset_counter(which)))
    }

    fn options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    fn close(self) -> Result<(), Fault> {
        self.connection.close()
    }
}
