//! An open SQLite database.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bench_core::engine::{Durability, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::access::Holder;
use crate::connection::{Connection, ConnectionTurn, Users};
use crate::session::SqliteSession;
use crate::sys::Api;
use crate::table;

const FILE: &str = "test.db";
/// Log size in bytes at which it is checkpointed: the 4096 pages of 1024 bytes of the 2011 program,
/// about as much as SQLite's default of 1000 pages of 4 KiB.
const CHECKPOINT_BYTES: u64 = 4 << 20;
/// Time to wait for another process that has the database locked, as it does while the log is
/// recovered.
const PATIENCE_MS: u32 = 10_000;
/// Settings that are read back from the database.
const REPORTED: &[&str] = &[
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
    api: &'e Api,
    file: PathBuf,
    users: Users,
    settings: Settings,
    pub(crate) connection: Connection<'e>,
    /// Whether other connections may currently be open.
    together: Mutex<bool>,
}

/// Sets a mode with a statement that returns the mode then in effect.
fn set_mode(turn: &ConnectionTurn<'_>, name: &str, mode: &str) -> Result<(), Fault> {
    let effective = turn.ask(&format!("PRAGMA {name}={mode}"))?;
    if effective
        .as_deref()
        .is_some_and(|word| word.eq_ignore_ascii_case(mode))
    {
        return Ok(());
    }
    let effective = effective.unwrap_or_default();
    Err(Fault::new(format!(
        "the database rejects {name} {mode}: it uses {effective:?}"
    )))
}

/// Applies the settings and creates the table. The page size comes first: it can be chosen only
/// before anything is written, and setting the log mode writes. Exclusive locking comes last: a log
/// opened under it would have an index that no other connection can ever share.
fn prepare(turn: &ConnectionTurn<'_>, settings: &Settings) -> Result<(), Fault> {
    let page = settings
        .block_bytes
        .unwrap_or_else(|| table::page(settings));
    turn.run(&format!("PRAGMA page_size={page}"))?;
    set_mode(turn, "journal_mode", "WAL")?;
    let page = set_rest(turn, settings, 1)?;
    turn.run(table::create(settings, page))?;
    if settings.shared {
        return Ok(());
    }
    lock(turn, "EXCLUSIVE")
}

/// Applies the settings of one of `connections` connections. Returns the page size of the database.
fn set_rest(
    turn: &ConnectionTurn<'_>,
    settings: &Settings,
    connections: u32,
) -> Result<u64, Fault> {
    let synchronous = match settings.durability {
        Durability::Os => "OFF",
        Durability::Sync => "FULL",
    };
    turn.run(&format!("PRAGMA synchronous={synchronous}"))?;
    // In pages of the database's actual page size.
    let page: u64 = turn
        .ask("PRAGMA page_size")?
        .and_then(|bytes| bytes.parse().ok())
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| Fault::new("the database reports no page size"))?;
    let log = CHECKPOINT_BYTES.div_ceil(page);
    turn.run(&format!("PRAGMA wal_autocheckpoint={log}"))?;
    let pages = settings.memory.total_bytes / page / u64::from(connections);
    turn.run(&format!("PRAGMA cache_size={pages}"))?;
    if settings.shared {
        turn.run(&format!("PRAGMA busy_timeout={PATIENCE_MS}"))?;
    }
    Ok(page)
}

/// Sets the locking mode, which takes effect with the next write transaction.
fn lock(turn: &ConnectionTurn<'_>, mode: &str) -> Result<(), Fault> {
    set_mode(turn, "locking_mode", mode)?;
    turn.run("BEGIN IMMEDIATE; COMMIT")
}

impl<'e> SqliteStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let users = if settings.shared {
            Users::Writer
        } else {
            Users::One
        };
        let file = dir.join(FILE);
        let connection = Connection::open(api, &file, users)?;
        prepare(&connection.turn(), settings)?;
        Ok(Self::of(api, file, users, (connection, settings)))
    }

    /// Opens a database that another process writes.
    pub(crate) fn open_reader(
        api: &'e Api,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let (file, users) = (dir.join(FILE), Users::Reader);
        let connection = Connection::open(api, &file, users)?;
        set_rest(&connection.turn(), settings, 1)?;
        Ok(Self::of(api, file, users, (connection, settings)))
    }

    fn of(
        api: &'e Api,
        file: PathBuf,
        users: Users,
        (connection, settings): (Connection<'e>, &Settings),
    ) -> Self {
        Self {
            api,
            file,
            users,
            settings: *settings,
            connection,
            together: Mutex::new(users != Users::One),
        }
    }

    /// Makes the store's connection allow or exclude other connections.
    fn let_others(&self, wanted: bool) -> Result<(), Fault> {
        if self.users != Users::One {
            return Ok(());
        }
        let mut together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        if *together != wanted {
            let turn = self.connection.turn();
            lock(&turn, if wanted { "NORMAL" } else { "EXCLUSIVE" })?;
            if wanted {
                // The memory share of this connection then belongs to the others.
                turn.run("PRAGMA shrink_memory")?;
            }
            *together = wanted;
        }
        Ok(())
    }

    /// Opens a connection in addition to the store's, one of `connections`.
    fn another(&self, connections: u32) -> Result<Connection<'e>, Fault> {
        let connection = Connection::open(self.api, &self.file, self.users)?;
        let turn = connection.turn();
        set_rest(&turn, &self.settings, connections)?;
        drop(turn);
        Ok(connection)
    }
}

impl Store for SqliteStore<'_> {
    type Session<'s>
        = SqliteSession<'s>
    where
        Self: 's;

    /// The durability is that with which the store was opened.
    fn session(&self, role: Role) -> Result<SqliteSession<'_>, Fault> {
        let own = role.sessions > 1 && !role.changing;
        self.let_others(own)?;
        SqliteSession::new(if own {
            Holder::Own(self.another(role.sessions)?)
        } else {
            Holder::Shared(&self.connection)
        })
    }

    /// Compacts as users of SQLite do: `VACUUM` rewrites the whole database in order and without
    /// gaps, and the log is checkpointed and emptied.
    fn compact(&mut self) -> Result<(), Fault> {
        self.let_others(false)?;
        let turn = self.connection.turn();
        turn.run("VACUUM")?;
        turn.checkpoint()
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.connection.turn().checkpoint()
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
        let turn = self.connection.turn();
        let ask = |name: &str, sql: &str| Some((name.to_owned(), turn.ask(sql).ok()??));
        let mut reported: Vec<(String, String)> = REPORTED
            .iter()
            .filter_map(|name| ask(name, &format!("PRAGMA {name}")))
            .collect();
        reported.extend(ask("table", table::FORM));
        reported.push(("compression".to_owned(), "none".to_owned()));
        reported
    }

    fn close(self) -> Result<(), Fault> {
        self.connection.close()
    }
}

#[cfg(test)]
mod tests {
    use bench_core::engine::{Engine as _, Store as _};
    use bench_core::workload::settings::{Memory, Settings};

    use crate::Sqlite;

    fn settings() -> Settings {
        Settings::plain(Memory::split(4 << 20, false))
    }

    #[test]
    fn options_are_read_when_they_are_asked_for_and_not_by_opening() {
        let Ok(engine) = Sqlite::load(None) else {
            bench_core::host::test_skip::skip("install libsqlite3-0");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let store = (&engine).open(home.path(), &settings()).expect("opens");
        let turn = store.connection.turn();
        turn.run("PRAGMA wal_autocheckpoint=77").expect("set");
        drop(turn);
        let reported = store.options();
        assert!(reported.contains(&("wal_autocheckpoint".to_owned(), "77".to_owned())));
        store.close().expect("closes");
    }
}
