//! One thread's session in an open SQLite database: its prepared statements and its batch.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::CStr;

use bench_core::engine::Session;
use bench_core::fault::Fault;

use crate::access::{Access, Holder};
use crate::connection::{ConnectionTurn, Statement};
use crate::cursor::{Scans, SqliteCursor};

const PUT: &CStr = c"REPLACE INTO test (key, value) VALUES (?1, ?2)";
const GET: &CStr = c"SELECT value FROM test WHERE key = ?1";
const DELETE: &CStr = c"DELETE FROM test WHERE key = ?1";
const MERGE: &CStr = c"INSERT INTO test (key, value) VALUES (?1, ?2) \
    ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)";
const BEGIN: &CStr = c"BEGIN IMMEDIATE";
/// Begins at the first read and does not block a concurrent writer.
const BEGIN_READ: &CStr = c"BEGIN DEFERRED";
const COMMIT: &CStr = c"COMMIT";

/// The statements that every session has.
#[derive(Clone, Copy, Debug)]
struct Statements {
    put: Statement,
    get: Statement,
    delete: Statement,
    merge: Statement,
    begin: Statement,
    begin_read: Statement,
    commit: Statement,
}

/// One thread's session in an open SQLite database.
#[derive(Debug)]
pub struct SqliteSession<'s> {
    access: Access<'s>,
    statements: Statements,
    scans: Scans,
}

impl<'s> SqliteSession<'s> {
    pub(crate) fn new(holder: Holder<'s>) -> Result<Self, Fault> {
        let access = Access::new(holder);
        let turn = access.turn();
        let statements = Statements {
            put: turn.prepare(PUT)?,
            get: turn.prepare(GET)?,
            delete: turn.prepare(DELETE)?,
            merge: turn.prepare(MERGE)?,
            begin: turn.prepare(BEGIN)?,
            begin_read: turn.prepare(BEGIN_READ)?,
            commit: turn.prepare(COMMIT)?,
        };
        drop(turn);
        Ok(Self {
            access,
            statements,
            scans: Scans::default(),
        })
    }

    /// Runs a statement with a key.
    #[inline]
    fn one(turn: &ConnectionTurn<'_>, statement: Statement, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the statement is reset before this returns.
        unsafe { turn.bind(statement, 1, key) }?;
        turn.execute(statement)
    }

    /// Runs a statement with a key and a value.
    #[inline]
    fn two(
        turn: &ConnectionTurn<'_>,
        statement: Statement,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Fault> {
        // SAFETY: the statement is reset before this returns.
        unsafe { turn.bind(statement, 2, value) }?;
        Self::one(turn, statement, key)
    }
}

impl Drop for SqliteSession<'_> {
    fn drop(&mut self) {
        self.access.abandon();
        let turn = self.access.turn();
        let Statements {
            put,
            get,
            delete,
            merge,
            begin,
            begin_read,
            commit,
        } = self.statements;
        let prepared = [put, get, delete, merge, begin, begin_read, commit];
        for statement in prepared.into_iter().chain(self.scans.prepared()) {
            turn.finalize(statement);
        }
    }
}

impl<'s> Session for SqliteSession<'s> {
    type Cursor<'c>
        = SqliteCursor<'c, 's>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        Self::two(&self.access.turn(), self.statements.put, key, value)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        Self::one(&self.access.turn(), self.statements.delete, key)
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let (turn, get) = (self.access.turn(), self.statements.get);
        // SAFETY: the statement is reset before this returns, by the step if it fails.
        unsafe { turn.bind(get, 1, key) }?;
        let answer = turn.step(get)?.then(|| {
            // SAFETY: the statement is positioned on the row until it is reset below.
            found(unsafe { turn.column(get, 0).bytes() })
        });
        turn.reset(get);
        Ok(answer)
    }

    /// Reads all keys in one transaction, or in that of the active batch.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        let own = !self.access.is_running();
        if own {
            self.access.begin(self.statements.begin_read)?;
        }
        let result = self.get_each(keys, each);
        if own {
            let ended = self.access.commit(self.statements.commit);
            result.and(ended)
        } else {
            result
        }
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.access.begin(self.statements.begin)?;
        self.put(key, value)
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.access.begin(self.statements.begin)?;
        self.delete(key)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        self.access.commit(self.statements.commit)
    }

    #[inline]
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        Self::two(&self.access.turn(), self.statements.merge, key, operand)
    }

    #[inline]
    fn cursor(&mut self) -> Result<SqliteCursor<'_, 's>, Fault> {
        Ok(SqliteCursor::new(&self.access, &mut self.scans))
    }
}

#[cfg(test)]
mod tests {
    use bench_core::engine::{
        Cursor as _, Durability, Engine as _, Role, Session as _, Store as _,
    };
    use bench_core::workload::settings::{Memory, Settings};

    use crate::Sqlite;

    #[test]
    fn threads_that_read_have_connections_of_their_own_and_see_what_was_written() {
        let Ok(engine) = Sqlite::load(None) else {
            bench_core::host::test_skip::skip("SQLite's connections: install libsqlite3-0");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let settings = Settings::plain(Memory::split(4 << 20, false));
        let store = (&engine).open(home.path(), &settings).expect("opens");
        let role = |sessions| Role {
            durability: Durability::Os,
            appending: false,
            empty: false,
            sessions,
            changing: sessions == 1,
        };
        for round in [b"1", b"2"] {
            let mut session = store.session(role(1)).expect("a session");
            session.put(b"key", round).expect("put");
            drop(session);
            let mut sessions = [2, 2].map(|count| store.session(role(count)).expect("a session"));
            // Held, so that any thread that needed it would wait forever.
            let turn = store.connection.turn();
            for session in &mut sessions {
                let found = session.get(b"key", <[u8]>::to_vec).expect("read");
                assert_eq!(found.as_deref(), Some(&round[..]));
                let mut cursor = session.cursor().expect("a cursor");
                cursor.first().expect("placed");
                assert!(cursor.valid() && cursor.key() == b"key");
            }
            drop(turn);
        }
        store.close().expect("closes");
    }

    #[test]
    fn the_keys_of_one_call_are_read_while_nobody_can_write() {
        let Ok(engine) = Sqlite::load(None) else {
            bench_core::host::test_skip::skip(
                "SQLite's reads of several keys: install libsqlite3-0",
            );
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let settings = Settings::plain(Memory::split(4 << 20, false));
        let store = (&engine).open(home.path(), &settings).expect("opens");
        let role = Role::single(Durability::Os);
        let mut session = store.session(role).expect("a session");
        session.put(b"b", b"1").expect("put");
        let mut answers = Vec::new();
        // An absent key is reported after its own lookup.
        let each = |_, value: Option<&[u8]>| {
            answers.push((value.map(<[u8]>::to_vec), store.connection.is_free()));
        };
        session.multi_get(&[b"a", b"b"], each).expect("read");
        assert_eq!(answers, [(None, false), (Some(b"1".to_vec()), false)]);
        assert!(store.connection.is_free());
        // A batch continues after reads and includes its own entries.
        session.batch_put(b"c", b"2").expect("added");
        let mut found = None;
        let each = |_, value: Option<&[u8]>| found = value.map(<[u8]>::to_vec);
        session.multi_get(&[b"c"], each).expect("read");
        assert_eq!(found.as_deref(), Some(&b"2"[..]));
        assert!(!store.connection.is_free());
        session.batch_write().expect("written");
        drop(session);
        store.close().expect("closes");
    }
}
