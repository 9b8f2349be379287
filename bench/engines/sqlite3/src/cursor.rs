//! A cursor in key order: a SELECT that is stepped.
//!
//! SQL cannot step backward, so there is a statement for each direction and starting point; a
//! change of direction starts another scan at the current key.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::CStr;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::access::Access;
use crate::connection::{Column, ConnectionTurn, Statement};

/// The direction and starting point of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scan {
    /// Forward from the first key.
    First,
    /// Forward from the first key at or after a given key.
    From,
    /// Forward from the first key after a given key.
    After,
    /// Backward from the last key.
    Last,
    /// Backward from the last key before a given key.
    Before,
}

impl Scan {
    const ALL: [Self; 5] = [
        Self::First,
        Self::From,
        Self::After,
        Self::Last,
        Self::Before,
    ];

    const fn sql(self) -> &'static CStr {
        match self {
            Self::First => c"SELECT key, value FROM test ORDER BY key",
            Self::From => c"SELECT key, value FROM test WHERE key >= ?1 ORDER BY key",
            Self::After => c"SELECT key, value FROM test WHERE key > ?1 ORDER BY key",
            Self::Last => c"SELECT key, value FROM test ORDER BY key DESC",
            Self::Before => c"SELECT key, value FROM test WHERE key < ?1 ORDER BY key DESC",
        }
    }

    const fn is_upward(self) -> bool {
        matches!(self, Self::First | Self::From | Self::After)
    }
}

/// The statements of a session's cursors, prepared when first used.
#[derive(Debug, Default)]
pub(crate) struct Scans {
    prepared: [Option<Statement>; Scan::ALL.len()],
    /// The start key of the active scan: it is bound to the statement and must stay valid.
    bound: Vec<u8>,
}

impl Scans {
    /// Returns the statements that must be finalized.
    pub(crate) fn prepared(&self) -> impl Iterator<Item = Statement> {
        self.prepared.into_iter().flatten()
    }

    fn statement(&mut self, turn: &ConnectionTurn<'_>, scan: Scan) -> Result<Statement, Fault> {
        let place = &mut self.prepared[scan as usize];
        if let Some(statement) = *place {
            return Ok(statement);
        }
        let statement = turn.prepare(scan.sql())?;
        *place = Some(statement);
        Ok(statement)
    }
}

/// A cursor in key order.
#[derive(Debug)]
pub struct SqliteCursor<'c, 's> {
    access: &'c Access<'s>,
    scans: &'c mut Scans,
    running: Option<(Scan, Statement)>,
    valid: bool,
    key: Column,
    value: Column,
}

impl<'c, 's> SqliteCursor<'c, 's> {
    pub(crate) const fn new(access: &'c Access<'s>, scans: &'c mut Scans) -> Self {
        Self {
            access,
            scans,
            running: None,
            valid: false,
            key: Column::EMPTY,
            value: Column::EMPTY,
        }
    }

    /// Ends the active scan.
    fn end(&mut self) {
        self.valid = false;
        if let Some((_, statement)) = self.running.take() {
            self.access.turn().reset(statement);
        }
    }

    /// Begins a scan, at `key` if the scan starts at a key.
    fn begin(&mut self, scan: Scan, key: Option<&[u8]>) -> Result<(), Fault> {
        self.end();
        let turn = self.access.turn();
        let statement = self.scans.statement(&turn, scan)?;
        if let Some(key) = key {
            let bound = &mut self.scans.bound;
            bound.clear();
            bound.extend_from_slice(key);
            // SAFETY: the bytes stay in the session until the next scan begins, and this scan is
            // reset before that.
            unsafe { turn.bind(statement, 1, bound) }?;
        }
        drop(turn);
        self.running = Some((scan, statement));
        self.step(statement)
    }

    /// Continues in the direction of the active scan.
    #[inline]
    fn step(&mut self, statement: Statement) -> Result<(), Fault> {
        self.valid = false;
        let turn = self.access.turn();
        if !turn.step(statement)? {
            return Ok(());
        }
        // Read here: reading a column uses the connection; reading its bytes does not.
        let (key, value) = (turn.column(statement, 0), turn.column(statement, 1));
        drop(turn);
        (self.key, self.value) = (key, value);
        self.valid = true;
        Ok(())
    }

    /// Moves one entry up or down: a step if the active scan has this direction, otherwise another
    /// scan.
    #[inline]
    fn go(&mut self, upward: bool) -> Result<(), Fault> {
        match self.running {
            Some((scan, statement)) if scan.is_upward() == upward => self.step(statement),
            _ => self.turn_round(upward),
        }
    }

    #[cold]
    fn turn_round(&mut self, upward: bool) -> Result<(), Fault> {
        let key = self.key().to_vec();
        let scan = if upward { Scan::After } else { Scan::Before };
        self.begin(scan, Some(&key))
    }
}

impl Drop for SqliteCursor<'_, '_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl Cursor for SqliteCursor<'_, '_> {
    fn first(&mut self) -> Result<(), Fault> {
        self.begin(Scan::First, None)
    }

    fn last(&mut self) -> Result<(), Fault> {
        self.begin(Scan::Last, None)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.begin(Scan::From, Some(key))
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        debug_assert!(self.valid, "a step without an entry");
        self.go(true)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        debug_assert!(self.valid, "a step without an entry");
        self.go(false)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        assert!(self.valid, "a key without an entry");
        // SAFETY: the cursor is valid, so the statement is still at the row that holds the bytes.
        unsafe { self.key.bytes() }
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        assert!(self.valid, "a value without an entry");
        // SAFETY: as above.
        Ok(unsafe { self.value.bytes() })
    }
}
