//! The store over a table.

use std::sync::Arc;

use cairndb_store::{
    Batch, CallOptions, Engine, ErrorKind, Isolation, Limits, OwnWrites, Result, Scan, Value,
};

use crate::face::{
    AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncTransaction, Deadline, Pending,
};
use crate::postgres::calls::{Call, Effect, Parameters, PostgresShared, get, multi_get};
use crate::postgres::connect::{PostgresTarget, target, unreachable};
use crate::postgres::connection::{Connection, Ready};
use crate::postgres::errors::Failure;
use crate::postgres::pool::Pool;
use crate::postgres::scan::PostgresScan;
use crate::postgres::sql::Sql;
use crate::postgres::table;
use crate::postgres::transaction::{PostgresSnapshot, PostgresTransaction, Writes, write};
use crate::url::Address;

/// Longest key: PostgreSQL's index entries are at most 2,704 bytes long, with their headers.
const KEY_BYTES_MAX: usize = 2600;
/// Longest value. A field may have a gigabyte, but server and client hold several copies.
const VALUE_BYTES_MAX: usize = 64 << 20;
/// Largest batch: a message of the protocol is at most a gigabyte long.
const BATCH_OPS_MAX: usize = 100_000;
const BATCH_BYTES_MAX: usize = 128 << 20;

const LIMITS: Limits = Limits::embedded()
    .entry(KEY_BYTES_MAX, VALUE_BYTES_MAX)
    .batch(BATCH_OPS_MAX, BATCH_BYTES_MAX);

/// A table of a PostgreSQL server, or of a distributed engine that speaks its protocol.
///
/// The URL is `postgres://user@host:port/database/table`, with these settings:
///
/// | setting | meaning | default |
/// |---|---|---|
/// | `timeout` | time limit of a call | `30s` |
/// | `pool` | largest number of connections | 8 |
/// | `create` | `yes`: create the table if it is missing | `yes` |
/// | `pooler` | `yes`: a pooler may give each transaction to another session of the server | found when it connects |
/// | `replicated` | `yes`: the engine keeps copies by consensus | `no` |
/// | `tls` | `yes`: encrypt, and check the server's certificate; needs the feature `tls` | `no` |
/// | `ca`, `cert`, `key` | files: trusted certificates, own one, its key | the system's, none |
///
/// With several hosts (`host:port,host:port`), connections go to the first one that accepts writes,
/// and leave it when it becomes a standby: one host must be writable even for reads. A host that is
/// silent is given up after five seconds, or after its share of `timeout` if that is shorter. A
/// server that is a standby, or set to read-only, fails with `ReadOnly` if it is the only host.
///
/// Each snapshot, open transaction and long scan occupies a connection; a call waits for a free one
/// until its deadline.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    shared: Arc<PostgresShared>,
}

impl PostgresStore {
    /// Connects, and creates the table if it is missing.
    ///
    /// # Errors
    /// `InvalidArgument`: a malformed URL, or a table with other columns. `Unavailable`: no host
    /// answers within the time limit of a call. `Denied`: also a table that is missing, and that
    /// the role may not create. `NotFound`: no such database; with `create=no`, no such table.
    pub async fn connect(address: &Address) -> Result<PostgresStore> {
        let target = target(address)?;
        let pool = Pool::new(&target);
        let deadline = Deadline::of(&CallOptions::new(), target.timeout);
        let ready = match deadline.wait(first(&pool, &target)).await {
            Some(first) => first.map(|first| pool.give(first)),
            None => Err(deadline.exceeded().with_kind(ErrorKind::Unavailable)),
        };
        ready.map_err(unreachable)?;
        let engine = Engine::networked("postgres", LIMITS, Isolation::Serializable);
        Ok(PostgresStore {
            shared: Arc::new(PostgresShared {
                pool,
                table: target.table,
                engine: engine.replicated(target.replicated),
                timeout: target.timeout,
            }),
        })
    }

    /// Runs a statement that writes, and returns how many rows it changed.
    fn execute<'a>(
        &'a self,
        sql: Sql,
        parameters: Parameters<'a>,
        options: &'a CallOptions,
    ) -> Pending<'a, u64> {
        Box::pin(async move {
            let parameters = &parameters;
            let call = |connection: Arc<Connection>, statements: Vec<Ready>| -> Call<'_, u64> {
                Box::pin(async move { connection.execute(&statements[0], parameters).await })
            };
            self.shared.run(Effect::Writes, &[sql], options, call).await
        })
    }
}

impl AsyncRead for PostgresStore {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            LIMITS.check_key(key)?;
            let call = |connection: Arc<Connection>, statements: Vec<Ready>| -> Call<'_, _> {
                Box::pin(async move { get(&connection, &statements[0], key).await })
            };
            self.shared
                .run(Effect::Reads, &[Sql::Get], options, call)
                .await
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            crate::limits::check_keys(keys, &LIMITS)?;
            let call = |connection: Arc<Connection>, statements: Vec<Ready>| -> Call<'_, _> {
                Box::pin(async move { multi_get(&connection, &statements[0], keys).await })
            };
            self.shared
                .run(Effect::Reads, &[Sql::MultiGet], options, call)
                .await
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(PostgresScan::of_store(&self.shared, scan, options))
    }
}

impl AsyncStore for PostgresStore {
    fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    fn put_with<'a>(
        &'a self,
        key: &'a [u8],
        value: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_entry(key, value)?;
            match self.execute(Sql::Put, vec![&key, &value], options).await? {
                0 => Err(Failure::left_out().into_error().key(key)),
                _ => Ok(()),
            }
        })
    }

    fn delete_with<'a>(&'a self, key: &'a [u8], options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_key(key)?;
            self.execute(Sql::Delete, vec![&key], options).await?;
            Ok(())
        })
    }

    fn delete_range_with<'a>(
        &'a self,
        scan: &'a Scan,
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_range(scan)?;
            let (start, end) = scan.window();
            match &end {
                Some(end) => {
                    let parameters: Parameters<'_> = vec![&start, end];
                    self.execute(Sql::DeleteUpTo, parameters, options).await?
                }
                None => self.execute(Sql::DeleteUp, vec![&start], options).await?,
            };
            Ok(())
        })
    }

    fn write_with<'a>(&'a self, batch: &'a Batch, options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            let own = own_writes(batch)?;
            write(&self.shared, &Writes::of(&own), options).await
        })
    }

    fn compare_and_set_with<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<&'a [u8]>,
        new: Option<&'a [u8]>,
        options: &'a CallOptions,
    ) -> Pending<'a, bool> {
        Box::pin(async move {
            LIMITS.check_entry(key, new.unwrap_or_default())?;
            let changed = match (&expected, &new) {
                (None, None) => return Ok(self.get_with(key, options).await?.is_none()),
                (None, Some(new)) => {
                    let parameters: Parameters<'_> = vec![&key, new];
                    self.execute(Sql::InsertIfAbsent, parameters, options).await
                }
                (Some(expected), Some(new)) => {
                    let parameters: Parameters<'_> = vec![&key, expected, new];
                    self.execute(Sql::ReplaceIfEqual, parameters, options).await
                }
                (Some(expected), None) => {
                    let parameters: Parameters<'_> = vec![&key, expected];
                    self.execute(Sql::DeleteIfEqual, parameters, options).await
                }
            }?;
            Ok(changed > 0)
        })
    }

    fn snapshot_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncSnapshot>> {
        Box::pin(async move {
            let snapshot = PostgresSnapshot::take(&self.shared, options).await?;
            Ok(Box::new(snapshot) as Box<dyn AsyncSnapshot>)
        })
    }

    fn begin_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncTransaction>> {
        Box::pin(async move {
            self.shared.pool.check_open()?;
            let transaction = PostgresTransaction::new(&self.shared, options);
            Ok(Box::new(transaction) as Box<dyn AsyncTransaction>)
        })
    }

    fn sync(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.shared.pool.check_open() })
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.shared.pool.close();
            Ok(())
        })
    }

    fn pause(&self, attempt: u32) -> Pending<'_, ()> {
        crate::face::pause(attempt)
    }
}

/// Opens the first connection, and makes sure that the table is there.
async fn first(pool: &Arc<Pool>, target: &PostgresTarget) -> Result<Arc<Connection>> {
    let first = pool.open().await.map_err(Failure::into_error)?;
    table::ensure(&first, &target.table, target.create).await?;
    Ok(first)
}

/// Returns the last write of each key, after checking all limits.
fn own_writes(batch: &Batch) -> Result<OwnWrites> {
    crate::limits::last_writes(batch, &LIMITS)
}
