//! A thread's access to a connection: for one operation, or for a whole batch.

#![expect(
    unsafe_code,
    reason = "a session's own connection is used without a lock"
)]

use std::ops::Deref;

use bench_core::fault::Fault;

use crate::connection::{Connection, ConnectionTurn, Statement};

/// The connection of a session.
#[derive(Debug)]
pub(crate) enum Holder<'s> {
    /// The store's connection, which its sessions use in turn.
    Shared(&'s Connection<'s>),
    /// The session's own connection.
    Own(Connection<'s>),
}

/// A thread's access to a connection.
#[derive(Debug)]
pub(crate) struct Access<'s> {
    /// Held from the first entry of a batch to its commit. Declared before the connection, which it
    /// uses.
    batch: Option<ConnectionTurn<'s>>,
    holder: Holder<'s>,
}

/// The turn of an active batch, or one for a single operation.
pub(crate) enum Use<'u, 's> {
    Batch(&'u ConnectionTurn<'s>),
    Single(ConnectionTurn<'s>),
}

impl<'s> Deref for Use<'_, 's> {
    type Target = ConnectionTurn<'s>;

    #[inline]
    fn deref(&self) -> &ConnectionTurn<'s> {
        match self {
            Self::Batch(turn) => turn,
            Self::Single(turn) => turn,
        }
    }
}

impl<'s> Access<'s> {
    pub(crate) const fn new(holder: Holder<'s>) -> Self {
        Self {
            batch: None,
            holder,
        }
    }

    /// Returns the right to use the connection, which a batch already has.
    #[inline]
    pub(crate) fn turn(&self) -> Use<'_, 's> {
        match &self.batch {
            Some(turn) => Use::Batch(turn),
            None => Use::Single(self.wait()),
        }
    }

    #[inline]
    fn wait(&self) -> ConnectionTurn<'s> {
        match &self.holder {
            Holder::Shared(connection) => connection.turn(),
            // SAFETY: the connection belongs to this access, which no other thread uses and which
            // keeps or lends the turn.
            Holder::Own(connection) => unsafe { connection.own() },
        }
    }

    /// Returns whether a batch is active.
    pub(crate) const fn is_running(&self) -> bool {
        self.batch.is_some()
    }

    /// Begins a batch unless one is active.
    #[inline]
    pub(crate) fn begin(&mut self, begin: Statement) -> Result<(), Fault> {
        if self.batch.is_none() {
            let turn = self.wait();
            turn.execute(begin)?;
            self.batch = Some(turn);
        }
        Ok(())
    }

    /// Commits the active batch, if any.
    pub(crate) fn commit(&mut self, commit: Statement) -> Result<(), Fault> {
        let Some(turn) = self.batch.take() else {
            return Ok(());
        };
        turn.execute(commit).inspect_err(|_| {
            // Rolls back what is left of the transaction. The error of the commit is the one
            // reported.
            let _ = turn.run("ROLLBACK");
        })
    }

    /// Abandons the active batch, if any.
    pub(crate) fn abandon(&mut self) {
        if let Some(turn) = self.batch.take() {
            // A failure can no longer be reported.
            let _ = turn.run("ROLLBACK");
        }
    }
}
