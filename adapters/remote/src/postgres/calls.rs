//! Single calls: a connection, prepared statements, one round trip, and what is done about errors.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{CallOptions, Engine, Error, ErrorKind, Result, Value};
use tokio_postgres::Row;

use crate::face::Deadline;
use crate::postgres::connection::{Connection, Parameter, Peer, Ready};
use crate::postgres::errors::{Answer, Failure};
use crate::postgres::pipeline::{Sent, in_order};
use crate::postgres::pool::{Lease, LeaseState, Pool};
use crate::postgres::sql::Sql;

/// Statements under way on a connection.
pub(super) type Call<'a, T> = Pin<Box<dyn Future<Output = Answer<T>> + Send + 'a>>;

/// What all calls of a store share.
#[derive(Debug)]
pub(super) struct PostgresShared {
    pub(super) pool: Arc<Pool>,
    pub(super) table: String,
    pub(super) engine: Engine,
    pub(super) timeout: Duration,
}

/// Whether a call that was sent may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes nothing: it may.
    Reads,
    /// It may not, unless the engine has refused it.
    Writes,
}

impl PostgresShared {
    pub(super) fn deadline(&self, options: &CallOptions) -> Deadline {
        Deadline::of(options, self.timeout)
    }

    /// Prepares `sql` on a connection of the pool. Nothing is written by that, so it is repeated
    /// after a lost connection.
    pub(super) async fn prepared(
        &self,
        sql: &[Sql],
        deadline: &mut Deadline,
    ) -> Result<(Lease, Vec<Ready>)> {
        loop {
            let mut lease = self.pool.lease(deadline).await?;
            lease.state = LeaseState::Busy;
            let prepare = prepare_all(Arc::clone(lease.connection()), sql, &self.table);
            match deadline.wait(prepare).await {
                None => return Err(deadline.exceeded()),
                Some(Ok(statements)) => {
                    lease.state = LeaseState::Idle;
                    return Ok((lease, statements));
                }
                Some(Err(Failure::Lost(error) | Failure::Conflict(error))) => {
                    drop(lease);
                    deadline.pause(error).await?;
                }
                Some(Err(Failure::Standby(error))) => {
                    drop(lease);
                    self.pool.leave(error, deadline).await?;
                }
                Some(Err(Failure::Refused(error))) => {
                    lease.state = LeaseState::Idle;
                    return Err(error);
                }
            }
        }
    }

    /// Runs `call` with the statements `sql`, in one transaction, again after a conflict, and, if
    /// it only reads, after a lost connection.
    pub(super) async fn run<'a, T: Send>(
        &self,
        effect: Effect,
        sql: &[Sql],
        options: &CallOptions,
        call: impl Fn(Arc<Connection>, Vec<Ready>) -> Call<'a, T>,
    ) -> Result<T> {
        let mut deadline = self.deadline(options);
        loop {
            let (mut lease, statements) = self.prepared(sql, &mut deadline).await?;
            lease.state = LeaseState::Busy;
            let connection = Arc::clone(lease.connection());
            let mut running: Call<'_, T> = call(Arc::clone(&connection), statements);
            // A single statement is a transaction, of the isolation that the session has.
            if sql.len() > 1 || connection.peer() == Peer::Pooler {
                running = Box::pin(enclosed(&connection, BEGIN, running, Some("COMMIT")));
            }
            let Some(answer) = deadline.wait(running).await else {
                return Err(match effect {
                    Effect::Reads => deadline.exceeded(),
                    Effect::Writes => deadline.exceeded().with_kind(ErrorKind::OutcomeUnknown),
                });
            };
            let failure = match answer {
                Ok(value) => {
                    lease.state = LeaseState::Idle;
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            match (failure, effect) {
                (Failure::Conflict(error), _) => {
                    lease.state = LeaseState::Idle;
                    drop(lease);
                    deadline.pause(unavailing(error)).await?;
                }
                (Failure::Lost(error), Effect::Reads) => {
                    drop(lease);
                    deadline.pause(error).await?;
                }
                (failure @ Failure::Lost(_), Effect::Writes) => {
                    return Err(failure.after_sending());
                }
                (Failure::Standby(error), _) => {
                    drop(lease);
                    self.pool.leave(error, &mut deadline).await?;
                }
                (Failure::Refused(error), _) => {
                    lease.state = LeaseState::Idle;
                    return Err(error);
                }
            }
        }
    }
}

/// Begins a transaction that writes.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL SERIALIZABLE";

/// Sends `begin`, the statements of `call` and, if there is one, `end` together. The first error is
/// the one that counts: what follows fails because of it, and an `end` then rolls back.
pub(super) async fn enclosed<T: Send>(
    connection: &Connection,
    begin: &str,
    call: Call<'_, T>,
    end: Option<&str>,
) -> Answer<T> {
    let run = |text| -> Sent<'_, Answer<Option<T>>> {
        Box::pin(async move { connection.run(text).await.map(|()| None) })
    };
    let mut sent = vec![run(begin)];
    sent.push(Box::pin(async move { call.await.map(Some) }));
    sent.extend(end.map(run));
    let mut answers = in_order(sent).await.into_iter();
    if let Some(Err(failure)) = answers.next() {
        return Err(failure.of_begin());
    }
    let mut found = None;
    for answer in answers {
        found = answer?.or(found);
    }
    Ok(found.expect("the call has ended, and without an error"))
}

/// A single statement that conflicts until the deadline: the engine has refused it each time.
fn unavailing(error: Error) -> Error {
    error.with_kind(ErrorKind::Unavailable)
}

async fn prepare_all(connection: Arc<Connection>, sql: &[Sql], table: &str) -> Answer<Vec<Ready>> {
    let mut statements = Vec::with_capacity(sql.len());
    for sql in sql {
        statements.push(connection.prepare(*sql, table).await?);
    }
    Ok(statements)
}

/// Returns the value in the column `index`.
pub(super) fn value(row: &Row, index: usize) -> Answer<Value> {
    let bytes: &[u8] = row.try_get(index)?;
    Ok(Value::from(bytes))
}

/// Queries the values of `keys`, in their order.
pub(super) async fn multi_get(
    connection: &Connection,
    statement: &Ready,
    keys: &[&[u8]],
) -> Answer<Vec<Option<Value>>> {
    let rows = connection.query(statement, &[&keys]).await?;
    let mut found = std::collections::HashMap::with_capacity(rows.len());
    for row in &rows {
        found.insert(row.try_get::<_, &[u8]>(0)?, row);
    }
    let found = keys.iter().map(|key| found.get(*key));
    found
        .map(|row| row.map(|row| value(row, 1)).transpose())
        .collect()
}

/// Queries the value of `key`.
pub(super) async fn get(
    connection: &Connection,
    statement: &Ready,
    key: &[u8],
) -> Answer<Option<Value>> {
    let row = connection.query_opt(statement, &[&key]).await?;
    row.map(|row| value(&row, 0)).transpose()
}

/// The parameters of a statement.
pub(super) type Parameters<'a> = Vec<Parameter<'a>>;
