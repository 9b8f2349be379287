//! The table of a store: found, or created if it is missing.

use cairndb_store::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

use crate::postgres::calls::{BEGIN, Call, enclosed};
use crate::postgres::connection::{Connection, Parameter, Peer, Ready};
use crate::postgres::errors::{Answer, Failure};
use crate::postgres::sql::Sql;
use crate::url::Choice;

/// Makes sure that `table`, a quoted name, is there. It is created only if it is missing, because a
/// role may have all rights on a table without that of creating one.
pub(super) async fn ensure(connection: &Connection, table: &str, create: Choice) -> Result<()> {
    match look(connection, table).await {
        Err(Failure::Refused(error))
            if error.kind() == ErrorKind::NotFound && create == Choice::Yes => {}
        found => return found.map_err(Failure::into_error),
    }
    let columns = "(k bytea PRIMARY KEY, v bytea NOT NULL)";
    let text = format!("CREATE TABLE IF NOT EXISTS {table} {columns}");
    let created = connection.run(&text).await;
    // The engine also refuses a table that another client creates at the same time.
    match (look(connection, table).await, created) {
        (Ok(()), _) => Ok(()),
        (Err(_), Err(failure)) => Err(not_created(table, failure.into_error())),
        (Err(failure), Ok(())) => Err(failure.into_error()),
    }
}

/// Reads the type of a value, which fails if the table does not fit.
async fn look(connection: &Connection, table: &str) -> Answer<()> {
    let unfit = |cause: Option<Error>| {
        let message = format!("the table {table} has no columns k and v of type bytea");
        let error = Error::invalid(message);
        Failure::Refused(match cause {
            Some(cause) => error.source_error(cause),
            None => error,
        })
    };
    // Used once, so it is not worth preparing.
    let statement = Ready::Text(Sql::Look.text(table), Sql::Look.types());
    let key: &[u8] = b"";
    let parameters: [Parameter<'_>; 1] = [&key];
    let mut looking: Call<'_, _> = Box::pin(connection.query_opt(&statement, &parameters));
    if connection.peer() == Peer::Pooler {
        // Shows now whether it has transactions.
        looking = Box::pin(enclosed(connection, BEGIN, looking, Some("COMMIT")));
    }
    match looking.await {
        Ok(Some(row)) if row.columns()[0].type_() == &Type::BYTEA => Ok(()),
        Ok(_) => Err(unfit(None)),
        Err(Failure::Refused(error)) if error.kind() == ErrorKind::InvalidArgument => {
            Err(unfit(Some(error)))
        }
        Err(failure) => Err(failure),
    }
}

fn not_created(table: &str, cause: Error) -> Error {
    let message = match cause.kind() {
        ErrorKind::Denied => format!(
            "the table {table} is missing, and the role may not create it: create it beforehand, \
             with the columns k bytea PRIMARY KEY and v bytea NOT NULL, or grant the role CREATE \
             on the schema"
        ),
        _ => format!("the table {table} is missing, and could not be created"),
    };
    Error::new(cause.kind(), message).source_error(cause)
}
