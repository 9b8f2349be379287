//! What an error of the client means for the call that failed.

use cairndb_store::{Error, ErrorKind};
use tokio_postgres::error::SqlState;

/// The meaning of an error.
#[derive(Debug)]
pub(super) enum Failure {
    /// The engine has rolled the statement or transaction back because of another one.
    Conflict(Error),
    /// The connection is gone, or the engine says that it does not know. A statement that was sent
    /// may have been executed.
    Lost(Error),
    /// The engine has refused the statement.
    Refused(Error),
}

impl Failure {
    /// Returns the error of a read, or of a write that was not sent.
    pub(super) fn into_error(self) -> Error {
        match self {
            Failure::Conflict(error) | Failure::Lost(error) | Failure::Refused(error) => error,
        }
    }

    /// Returns the error of a write that was sent.
    pub(super) fn after_sending(self) -> Error {
        match self {
            Failure::Lost(error) => error.with_kind(ErrorKind::OutcomeUnknown),
            other => other.into_error(),
        }
    }

    /// Returns the error of a read in a snapshot or transaction, which ends with its connection.
    pub(super) fn within_view(self) -> Error {
        match self {
            Failure::Lost(error) => error.with_kind(ErrorKind::SnapshotExpired),
            other => other.into_error(),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        let Some(state) = error.code() else {
            return without_state(error);
        };
        let class = state.code().get(..2).unwrap_or_default();
        let kind = match state.code() {
            "40001" | "40P01" => {
                let message = "the engine rolled back, because of a concurrent transaction";
                return Failure::Conflict(caused(ErrorKind::Conflict, message, error));
            }
            // Shutting down, crashed, starting; or, of CockroachDB, an ambiguous result.
            "57P01" | "57P02" | "57P03" | "40003" => return lost(error),
            _ if class == "08" => return lost(error),
            "53100" => ErrorKind::Full,
            "53300" => ErrorKind::Unavailable,
            "25006" => ErrorKind::ReadOnly,
            "42501" => ErrorKind::Denied,
            _ if class == "28" => ErrorKind::Denied,
            "3D000" | "3F000" | "42P01" => ErrorKind::NotFound,
            "42703" | "42804" | "42883" => ErrorKind::Corruption,
            _ => ErrorKind::Engine,
        };
        Failure::Refused(caused(kind, "the engine refused the statement", error))
    }
}

fn caused(kind: ErrorKind, message: &'static str, error: tokio_postgres::Error) -> Error {
    Error::new(kind, message).source_error(error)
}

fn lost(error: tokio_postgres::Error) -> Failure {
    let message = "the connection to the engine was lost";
    Failure::Lost(caused(ErrorKind::Unavailable, message, error))
}

/// Errors that the server did not send. The client does not make their kinds public, so only what
/// is certain is refused; everything else counts as a lost connection.
fn without_state(error: tokio_postgres::Error) -> Failure {
    let text = error.to_string();
    if text.contains("authentication") || text.contains("password missing") {
        return Failure::Refused(caused(
            ErrorKind::Denied,
            "the engine refused the credentials",
            error,
        ));
    }
    let about_values = [
        "serializing parameter",
        "deserializing column",
        "invalid configuration",
    ];
    if about_values.iter().any(|start| text.contains(start)) {
        let message = "the statement does not fit the table";
        return Failure::Refused(caused(ErrorKind::Engine, message, error));
    }
    lost(error)
}

/// Returns whether the engine refused a table because another client created it just now.
pub(super) fn created_meanwhile(error: &tokio_postgres::Error) -> bool {
    let codes = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}
