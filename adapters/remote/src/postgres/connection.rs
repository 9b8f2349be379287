//! One connection, and its prepared statements.
//!
//! Every statement goes through here, so that every error of the server loses the name of the user.
//!
//! A pooler between client and server may give each transaction of a connection to another session
//! of the server. Statements are then sent with their text, and each with its own transaction:
//! nothing that a session would have to remember.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

use crate::postgres::errors::{Answer, Failure};
use crate::postgres::sql::Sql;
use crate::url::Secret;

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A statement that a connection can run.
#[derive(Clone, Debug)]
pub(super) enum Ready {
    Prepared(Statement),
    Text(String, &'static [Type]),
}

/// What is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// One session of the server.
    Session,
    /// A pooler, perhaps with another session for each transaction.
    Pooler,
}

/// A connection and its prepared statements.
#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    peer: Peer,
    statements: Mutex<HashMap<Sql, Statement>>,
    /// The user of the URL, which no message shows.
    user: Option<Secret>,
}

impl Connection {
    pub(super) fn new(client: Client, peer: Peer, user: Option<Secret>) -> Connection {
        Connection {
            client,
            peer,
            statements: Mutex::default(),
            user,
        }
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Returns a statement. The first use on a connection to a session takes a round trip.
    pub(super) async fn prepare(&self, sql: Sql, table: &str) -> Answer<Ready> {
        if let Some(statement) = self.statements.lock().get(&sql) {
            return Ok(Ready::Prepared(statement.clone()));
        }
        let text = sql.text(table);
        if self.peer == Peer::Pooler {
            return Ok(Ready::Text(text, sql.types()));
        }
        let prepared = self.client.prepare_typed(&text, sql.types()).await;
        let statement = self.checked(prepared)?;
        self.statements.lock().insert(sql, statement.clone());
        Ok(Ready::Prepared(statement))
    }

    /// Returns the rows of `statement`.
    pub(super) async fn query(
        &self,
        statement: &Ready,
        parameters: &[Parameter<'_>],
    ) -> Answer<Vec<Row>> {
        self.checked(match statement {
            Ready::Prepared(statement) => self.client.query(statement, parameters).await,
            Ready::Text(text, types) => {
                let parameters = typed(parameters, types);
                self.client.query_typed(text, &parameters).await
            }
        })
    }

    /// Returns the row of `statement`, which has at most one.
    pub(super) async fn query_opt(
        &self,
        statement: &Ready,
        parameters: &[Parameter<'_>],
    ) -> Answer<Option<Row>> {
        self.checked(match statement {
            Ready::Prepared(statement) => self.client.query_opt(statement, parameters).await,
            Ready::Text(text, types) => {
                let parameters = typed(parameters, types);
                self.client.query_typed_opt(text, &parameters).await
            }
        })
    }

    /// Executes `statement`, and returns how many rows it changed.
    pub(super) async fn execute(
        &self,
        statement: &Ready,
        parameters: &[Parameter<'_>],
    ) -> Answer<u64> {
        self.checked(match statement {
            Ready::Prepared(statement) => self.client.execute(statement, parameters).await,
            Ready::Text(text, types) => {
                let parameters = typed(parameters, types);
                self.client.execute_typed(text, &parameters).await
            }
        })
    }

    /// Executes a text without parameters.
    pub(super) async fn run(&self, text: &str) -> Answer<()> {
        self.checked(self.client.batch_execute(text).await)
    }

    fn checked<T>(&self, result: Result<T, tokio_postgres::Error>) -> Answer<T> {
        result.map_err(|error| Failure::of(error, self.user.as_ref()))
    }
}

fn typed<'a>(parameters: &[Parameter<'a>], types: &[Type]) -> Vec<(Parameter<'a>, Type)> {
    let types = types.iter().cloned();
    parameters.iter().copied().zip(types).collect()
}
