//! Snapshots and transactions.
//!
//! The writes of a transaction are kept here and sent with the commit, in one packet: locks are
//! held for one round trip only, and always taken in the order of the keys.

use std::sync::Arc;

use cairndb_store::{CallOptions, ErrorKind, OwnWrites, Result, Scan, Value};
use parking_lot::Mutex;

use crate::face::{AsyncRead, AsyncScan, AsyncSnapshot, AsyncTransaction, Pending};
use crate::postgres::calls::{Call, Effect, PostgresShared};
use crate::postgres::connection::{Connection, Parameter, Ready};
use crate::postgres::errors::Answer;
use crate::postgres::held::{Held, Purpose};
use crate::postgres::pipeline::{Sent, in_order};
use crate::postgres::pool::LeaseState;
use crate::postgres::scan::{PageSource, PostgresScan};
use crate::postgres::sql::Sql;

/// A snapshot: a transaction of the engine that only reads.
#[derive(Debug)]
pub(super) struct PostgresSnapshot(Arc<Held>);

impl PostgresSnapshot {
    pub(super) async fn take(shared: &Arc<PostgresShared>, options: &CallOptions) -> Result<Self> {
        let held = Held::new(shared, Purpose::Snapshot);
        held.begin(options).await?;
        Ok(PostgresSnapshot(Arc::new(held)))
    }
}

impl AsyncRead for PostgresSnapshot {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            self.0.shared().engine.limits.check_key(key)?;
            self.0.get(key, options).await
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(self.0.multi_get(keys, options))
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        let source = PageSource::Held(Arc::clone(&self.0));
        Box::new(PostgresScan::new(source, scan, options))
    }
}

impl AsyncSnapshot for PostgresSnapshot {}

#[derive(Debug)]
pub(super) struct PostgresTransaction {
    held: Arc<Held>,
    own: Arc<Mutex<OwnWrites>>,
    options: CallOptions,
}

impl PostgresTransaction {
    pub(super) fn new(shared: &Arc<PostgresShared>, options: &CallOptions) -> PostgresTransaction {
        PostgresTransaction {
            held: Arc::new(Held::new(shared, Purpose::Transaction)),
            own: Arc::default(),
            options: *options,
        }
    }

    /// Returns the options of a read: those of the transaction, unless it has its own.
    fn of_read(&self, options: &CallOptions) -> CallOptions {
        if options.get_timeout().is_some() {
            *options
        } else {
            self.options
        }
    }

    async fn commit(self, options: &CallOptions) -> Result<()> {
        let shared = Arc::clone(self.held.shared());
        let writes = Writes::of(&self.own.lock());
        shared
            .engine
            .limits
            .check_size(writes.len(), writes.bytes)?;
        let deadline = shared.deadline(options);
        let Some(mut lease) = self.held.take(&deadline).await? else {
            return write(&shared, &writes, options).await;
        };
        let connection = Arc::clone(lease.connection());
        lease.state = LeaseState::Busy;
        let prepare = writes.prepare(&connection, &shared.table);
        let statements = match deadline.wait(prepare).await {
            Some(Ok(statements)) => statements,
            Some(Err(failure)) => return Err(failure.within_view()),
            None => return Err(deadline.exceeded()),
        };
        let answer = deadline
            .wait(writes.send(&connection, &statements, Then::Commit))
            .await;
        match answer {
            Some(Ok(())) => {
                lease.state = LeaseState::Idle;
                Ok(())
            }
            Some(Err(failure)) => {
                // After an error, COMMIT has rolled back.
                if failure.keeps_connection() {
                    lease.state = LeaseState::Idle;
                }
                if writes.len() == 0 {
                    return Err(failure.within_view());
                }
                Err(failure.after_sending())
            }
            None => Err(deadline.exceeded().with_kind(ErrorKind::OutcomeUnknown)),
        }
    }
}

impl AsyncRead for PostgresTransaction {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            self.held.shared().engine.limits.check_key(key)?;
            let own = self.own.lock().get(key).cloned();
            match own {
                Some(own) => Ok(own),
                None => self.held.get(key, &self.of_read(options)).await,
            }
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            let mut found = self.held.multi_get(keys, &self.of_read(options)).await?;
            let own = self.own.lock();
            for (key, value) in keys.iter().zip(&mut found) {
                if let Some(written) = own.get(key) {
                    value.clone_from(written);
                }
            }
            Ok(found)
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        let source = PageSource::Transaction(Arc::clone(&self.held), Arc::clone(&self.own));
        Box::new(PostgresScan::new(source, scan, &self.of_read(options)))
    }
}

impl AsyncTransaction for PostgresTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.held.shared().engine.limits.check_entry(key, value)?;
        self.own.lock().set(key, Some(value));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.held.shared().engine.limits.check_key(key)?;
        self.own.lock().set(key, None);
        Ok(())
    }

    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a,
    {
        Box::pin((*self).commit(options))
    }
}

/// The writes of a batch or transaction, as parameters of two statements.
#[derive(Debug, Default)]
pub(super) struct Writes {
    put_keys: Vec<Vec<u8>>,
    put_values: Vec<Vec<u8>>,
    deleted: Vec<Vec<u8>>,
    pub(super) bytes: usize,
}

/// What follows the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    Commit,
}

impl Writes {
    /// Collects the writes in the order of their keys.
    pub(super) fn of(own: &OwnWrites) -> Writes {
        let mut writes = Writes {
            bytes: own.bytes(),
            ..Writes::default()
        };
        for (key, value) in own.iter() {
            if let Some(value) = value {
                writes.put_keys.push(key.to_vec());
                writes.put_values.push(value.to_vec());
            } else {
                writes.deleted.push(key.to_vec());
            }
        }
        writes
    }

    pub(super) fn len(&self) -> usize {
        self.put_keys.len() + self.deleted.len()
    }

    fn sql(&self) -> Vec<Sql> {
        let mut sql = Vec::new();
        if !self.put_keys.is_empty() {
            sql.push(Sql::PutMany);
        }
        if !self.deleted.is_empty() {
            sql.push(Sql::DeleteMany);
        }
        sql
    }

    async fn prepare(&self, connection: &Connection, table: &str) -> Answer<Vec<Ready>> {
        let mut statements = Vec::new();
        for sql in self.sql() {
            statements.push(connection.prepare(sql, table).await?);
        }
        Ok(statements)
    }

    /// Sends everything in one packet. The first error is the one that counts: the statements after
    /// it fail because of it.
    async fn send(&self, connection: &Connection, statements: &[Ready], then: Then) -> Answer<()> {
        let mut sent: Vec<Sent<'_, Answer<()>>> = Vec::new();
        for (sql, statement) in self.sql().into_iter().zip(statements) {
            sent.push(Box::pin(async move {
                let done = match sql {
                    Sql::PutMany => {
                        let parameters: [Parameter<'_>; 2] = [&self.put_keys, &self.put_values];
                        connection.execute(statement, &parameters).await
                    }
                    _ => connection.execute(statement, &[&self.deleted]).await,
                };
                done.map(drop)
            }));
        }
        if then == Then::Commit {
            sent.push(Box::pin(connection.run("COMMIT")));
        }
        for result in in_order(sent).await {
            result?;
        }
        Ok(())
    }
}

/// Writes a batch in a transaction of its own.
pub(super) async fn write(
    shared: &Arc<PostgresShared>,
    writes: &Writes,
    options: &CallOptions,
) -> Result<()> {
    let sql = writes.sql();
    if sql.is_empty() {
        return shared.pool.check_open();
    }
    let call = |connection: Arc<Connection>, statements: Vec<Ready>| -> Call<'_, ()> {
        Box::pin(async move { writes.send(&connection, &statements, Then::Nothing).await })
    };
    shared.run(Effect::Writes, &sql, options, call).await
}
