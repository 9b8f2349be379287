//! A thread's access to a connection: for one operation, or for a whole batch.

#![expect(
    unsafe_code,
    reason = "a connection of a session's own is used without a lock"
)]

use std::ops::Deref;

use bench_core::fault::Fault;

use crate::connection::{Connection, Statement, Turn};

/// The connection of a session.
#[derive(Debug)]
pub(crate) enum Holder<'s> {
    /// The store's, which its sessions use in turns.
    Shared(&'s Connection<'s>),
    /// Its own.
    Own(Connection<'s>),
}

/// A thread's access to a connection.
#[derive(Debug)]
pub(crate) struct Access<'s> {
    /// Held from the first entry of a batch to its commit. Before the connection, which it uses.
    batch: Option<Turn<'s>>,
    holder: Holder<'s>,
}

/// The turn of a running batch, or one for a single operation.
pub(crate) enum Use<'u, 's> {
    Batch(&'u Turn<'s>),
    Single(Turn<'s>),
}

impl<'s> Deref for Use<'_, 's> {
    type Target = Turn<'s>;

    #[inline]
    fn deref(&self) -> &Turn<'s> {
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

    /// The right to use the connection, which a batch already has.
    #[inline]
    pub(crate) fn turn(&self) -> Use<'_, 's> {
        match &self.batch {
            Some(turn) => Use::Batch(turn),
            None => Use::Single(self.wait()),
        }
    }

    #[inline]
    fn wait(&self) -> Turn<'s> {
        match &self.holder {
            Holder::Shared(connection) => connection.turn(),
            // SAFETY: the connection is this access's, which no other thread uses and which keeps
            // the turn or lends it.
            Holder::Own(connection) => unsafe { connection.own() },
        }
    }

    /// Whether a batch is running.
    pub(crate) const fn is_running(&self) -> bool {
        self.batch.is_some()
    }

    /// Begins a batch unless one is running.
    #[inline]
    pub(crate) fn begin(&mut self, begin: Statement) -> Result<(), Fault> {
        if self.batch.is_none() {
            let turn = self.wait();
            turn.execute(begin)?;
            self.batch = Some(turn);
        }
        Ok(())
    }

    /// Ends the batch that is running, if one is.
    pub(crate) fn commit(&mut self, commit: Statement) -> Result<(), Fault> {
        let Some(turn) = self.batch.take() else {
            return Ok(());
        };
        turn.execute(commit).inspect_err(|_| {
            // Rolls back what is left of the transaction. The commit's own error is the one
            // reported.
            let _ = turn.run("ROLLBACK");
        })
    }

    /// Abandons the running batch, if there is one.
    pub(crate) fn abandon(&mut self) {
        if let Some(turn) = self.batch.take() {
            // A failure has no reader any more.
            let _ = turn.run("ROLLBACK");
        }
    }
}
