//! One connection, and its prepared statements.
//!
//! Every statement goes through here, so that every error of the server loses the name of the user.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::postgres::errors::{Answer, Failure};
use crate::postgres::sql::Sql;
use crate::url::Secret;

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A connection and its prepared statements.
#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<Sql, Statement>>,
    /// The user of the URL, which no message shows.
    user: Option<Secret>,
}

impl Connection {
    pub(super) fn new(client: Client, user: Option<Secret>) -> Connection {
        Connection {
            client,
            statements: Mutex::default(),
            user,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Returns a prepared statement. The first use on a connection takes a round trip.
    pub(super) async fn prepare(&self, sql: Sql, table: &str) -> Answer<Statement> {
        if let Some(statement) = self.statements.lock().get(&sql) {
            return Ok(statement.clone());
        }
        let text = sql.text(table);
        let prepared = self.client.prepare_typed(&text, sql.types()).await;
        let statement = self.checked(prepared)?;
        self.statements.lock().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Returns the rows of `statement`.
    pub(super) async fn query(
        &self,
        statement: &Statement,
        parameters: &[Parameter<'_>],
    ) -> Answer<Vec<Row>> {
        self.checked(self.client.query(statement, parameters).await)
    }

    /// Returns the row of `statement`, which has at most one.
    pub(super) async fn query_opt(
        &self,
        statement: &Statement,
        parameters: &[Parameter<'_>],
    ) -> Answer<Option<Row>> {
        self.checked(self.client.query_opt(statement, parameters).await)
    }

    /// Executes `statement`, and returns how many rows it changed.
    pub(super) async fn execute(
        &self,
        statement: &Statement,
        parameters: &[Parameter<'_>],
    ) -> Answer<u64> {
        self.checked(self.client.execute(statement, parameters).await)
    }

    /// Executes a text without parameters.
    pub(super) async fn run(&self, text: &str) -> Answer<()> {
        self.checked(self.client.batch_execute(text).await)
    }

    fn checked<T>(&self, result: Result<T, tokio_postgres::Error>) -> Answer<T> {
        result.map_err(|error| Failure::of(error, self.user.as_ref()))
    }
}
