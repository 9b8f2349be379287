//! A connection that a snapshot, a transaction or a long scan keeps, in a transaction of the
//! engine.
//!
//! The transaction begins with the first statement, in the same round trip. One statement runs at a
//! time; others wait for it.

use std::sync::Arc;

use cairndb_store::{CallOptions, Entry, Error, ErrorKind, Result, Value};
use tokio::sync::Mutex;

use crate::face::Deadline;
use crate::limits::check_keys;
use crate::paging::Progress;
use crate::postgres::calls::{BEGIN, Call, PostgresShared, enclosed, get, multi_get, value};
use crate::postgres::connection::{Connection, Ready};
use crate::postgres::errors::{Answer, Failure};
use crate::postgres::pool::{Lease, LeaseState};
use crate::postgres::sql::{Rows, Sql};

/// What the transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads one state, and never conflicts.
    Snapshot,
    /// Reads and writes.
    Transaction,
}

impl Purpose {
    const fn begin(self) -> &'static str {
        match self {
            Purpose::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Purpose::Transaction => BEGIN,
        }
    }
}

#[derive(Debug)]
enum Stage {
    /// Nothing was sent.
    New,
    Open(Lease),
    /// The connection was lost, or the engine has rolled back.
    Ended,
}

#[derive(Debug)]
pub(super) struct Held {
    shared: Arc<PostgresShared>,
    purpose: Purpose,
    stage: Mutex<Stage>,
}

impl Held {
    pub(super) fn new(shared: &Arc<PostgresShared>, purpose: Purpose) -> Held {
        Held {
            shared: Arc::clone(shared),
            purpose,
            stage: Mutex::new(Stage::New),
        }
    }

    pub(super) fn shared(&self) -> &Arc<PostgresShared> {
        &self.shared
    }

    /// Fixes the state that is read, if that has not happened.
    pub(super) async fn begin(&self, options: &CallOptions) -> Result<()> {
        let key: &[u8] = b"";
        let call = |connection: Arc<Connection>, statement: Ready| -> Call<'_, ()> {
            Box::pin(async move { get(&connection, &statement, key).await.map(drop) })
        };
        self.run(Sql::Get, options, call).await
    }

    pub(super) async fn get(&self, key: &[u8], options: &CallOptions) -> Result<Option<Value>> {
        let call = |connection: Arc<Connection>, statement: Ready| -> Call<'_, _> {
            Box::pin(async move { get(&connection, &statement, key).await })
        };
        self.run(Sql::Get, options, call).await
    }

    pub(super) async fn multi_get(
        &self,
        keys: &[&[u8]],
        options: &CallOptions,
    ) -> Result<Vec<Option<Value>>> {
        check_keys(keys, &self.shared.engine.limits)?;
        let call = |connection: Arc<Connection>, statement: Ready| -> Call<'_, _> {
            Box::pin(async move { multi_get(&connection, &statement, keys).await })
        };
        self.run(Sql::MultiGet, options, call).await
    }

    /// Reads the next stored entries of a scan: as many as are wanted, or about a megabyte.
    pub(super) async fn page(
        &self,
        progress: &Progress,
        options: &CallOptions,
    ) -> Result<Vec<Entry>> {
        let rest = &progress.rest;
        let sql = Sql::Page(Rows::of(rest.direction, rest.end.is_some()));
        let call = |connection: Arc<Connection>, statement: Ready| -> Call<'_, _> {
            Box::pin(async move { page(&connection, &statement, progress).await })
        };
        self.run(sql, options, call).await
    }

    /// Runs `call` in the transaction, which it begins if necessary.
    async fn run<'a, T: Send>(
        &self,
        sql: Sql,
        options: &CallOptions,
        call: impl Fn(Arc<Connection>, Ready) -> Call<'a, T>,
    ) -> Result<T> {
        let mut deadline = self.shared.deadline(options);
        let Some(mut stage) = deadline.wait(self.stage.lock()).await else {
            return Err(deadline.exceeded());
        };
        if matches!(*stage, Stage::Open(_)) {
            return self.next(&mut stage, &deadline, sql, call).await;
        }
        if matches!(*stage, Stage::Ended) {
            return Err(ended());
        }
        // The first statement. If the connection is lost, the state has not been read yet, so
        // another one will do.
        loop {
            let (mut lease, statements) = self.shared.prepared(&[sql], &mut deadline).await?;
            let Some(statement) = statements.into_iter().next() else {
                return Err(ended());
            };
            lease.state = LeaseState::Busy;
            let connection = Arc::clone(lease.connection());
            let first = call(Arc::clone(&connection), statement);
            let running = enclosed(&connection, self.purpose.begin(), first, None);
            match deadline.wait(running).await {
                Some(Ok(found)) => {
                    lease.state = LeaseState::InTransaction;
                    *stage = Stage::Open(lease);
                    return Ok(found);
                }
                Some(Err(Failure::Lost(error) | Failure::Conflict(error))) => {
                    drop(lease);
                    deadline.pause(error).await?;
                }
                Some(Err(Failure::Standby(error))) => {
                    drop(lease);
                    self.shared.pool.leave(error, &mut deadline).await?;
                }
                Some(Err(Failure::Refused(error))) => return Err(error),
                None => return Err(deadline.exceeded()),
            }
        }
    }

    /// Runs `call` in the transaction that `stage` holds.
    async fn next<'a, T: Send>(
        &self,
        stage: &mut Stage,
        deadline: &Deadline,
        sql: Sql,
        call: impl Fn(Arc<Connection>, Ready) -> Call<'a, T>,
    ) -> Result<T> {
        let Stage::Open(lease) = stage else {
            return Err(ended());
        };
        if lease.is_closed() {
            return Err(Error::closed());
        }
        lease.state = LeaseState::Busy;
        let connection = Arc::clone(lease.connection());
        let table = self.shared.table.as_str();
        let running = async {
            let statement = connection.prepare(sql, table).await?;
            call(Arc::clone(&connection), statement).await
        };
        match deadline.wait(running).await {
            Some(Ok(found)) => {
                lease.state = LeaseState::InTransaction;
                Ok(found)
            }
            Some(Err(failure)) => {
                if failure.keeps_connection() {
                    lease.state = LeaseState::InTransaction;
                }
                *stage = Stage::Ended;
                Err(failure.within_view())
            }
            None => {
                *stage = Stage::Ended;
                Err(deadline.exceeded())
            }
        }
    }

    /// Takes the connection, for the commit. `None` if nothing was read.
    ///
    /// # Errors
    /// `DeadlineExceeded` if a read of another task does not end in time.
    pub(super) async fn take(&self, deadline: &Deadline) -> Result<Option<Lease>> {
        let Some(mut stage) = deadline.wait(self.stage.lock()).await else {
            return Err(deadline.exceeded());
        };
        match std::mem::replace(&mut *stage, Stage::Ended) {
            Stage::New => Ok(None),
            Stage::Open(lease) if lease.is_closed() => Err(Error::closed()),
            Stage::Open(lease) => Ok(Some(lease)),
            Stage::Ended => Err(ended()),
        }
    }
}

fn ended() -> Error {
    let message = "the connection of the snapshot or transaction has ended";
    Error::new(ErrorKind::SnapshotExpired, message)
}

/// Queries one page.
pub(super) async fn page(
    connection: &Connection,
    statement: &Ready,
    progress: &Progress,
) -> Answer<Vec<Entry>> {
    let start = progress.rest.start.as_slice();
    let wanted = i64::try_from(progress.wanted()).unwrap_or(i64::MAX);
    let end = progress.rest.end.as_deref().unwrap_or_default();
    let mut parameters: crate::postgres::calls::Parameters<'_> = vec![&start, &wanted];
    if progress.rest.end.is_some() {
        parameters.push(&end);
    }
    let rows = connection.query(statement, &parameters).await?;
    rows.iter()
        .map(|row| Ok((value(row, 0)?, value(row, 1)?)))
        .collect()
}
