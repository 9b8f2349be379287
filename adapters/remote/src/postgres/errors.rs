//! What an error of the client means for the call that failed.

use std::fmt;

use cairndb_store::{Error, ErrorKind};
use tokio_postgres::error::{DbError, Severity};

use crate::url::Secret;

/// The meaning of an error.
#[derive(Debug)]
pub(super) enum Failure {
    /// The engine has rolled the statement or transaction back because of another one.
    Conflict(Error),
    /// The connection is gone, or the engine says that it does not know. A statement that was sent
    /// may have been executed.
    Lost(Error),
    /// The server accepts no writes, for example because it is a standby: nothing was done. The
    /// connection is not used again, and other hosts may accept it.
    Standby(Error),
    /// The engine has refused the statement.
    Refused(Error),
}

/// What is said about a statement that changes fewer rows than it should.
const LEFT_OUT: &str = "the engine did not write every row: a trigger of the table prevents it";

/// The result of statements on a connection.
pub(super) type Answer<T> = Result<T, Failure>;

impl Failure {
    /// Returns the error of a read, or of a write that was not sent.
    pub(super) fn into_error(self) -> Error {
        match self {
            Failure::Conflict(error)
            | Failure::Lost(error)
            | Failure::Standby(error)
            | Failure::Refused(error) => error,
        }
    }

    /// Returns the failure of a BEGIN. What was sent with it may have been executed, outside a
    /// transaction, except by a server that accepts no writes.
    pub(super) fn of_begin(self) -> Failure {
        match self {
            Failure::Standby(error) => Failure::Standby(error),
            other => Failure::Lost(other.into_error()),
        }
    }

    /// Returns whether the connection can be used for other statements.
    pub(super) const fn keeps_connection(&self) -> bool {
        matches!(self, Failure::Conflict(_) | Failure::Refused(_))
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

/// Converts an error of a value in a row. The server sends none of these.
impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        without_state(error)
    }
}

impl Failure {
    /// Returns the meaning of an error of a statement. Its text does not show `user`.
    pub(super) fn of(error: tokio_postgres::Error, user: Option<&Secret>) -> Failure {
        let Some(db) = error.as_db_error() else {
            return without_state(error);
        };
        let meaning = of_report(Report {
            ends_connection: ends_connection(db),
            state: db.code().code(),
            routine: db.routine().unwrap_or_default(),
        });
        meaning.because(Reason::of(db, user), "the engine refused the statement")
    }

    /// Returns the meaning of an error of connecting. The severity of the server's errors is then
    /// always that of the end of a connection, and says nothing.
    pub(super) fn of_connecting(error: tokio_postgres::Error, user: Option<&Secret>) -> Failure {
        let Some(db) = error.as_db_error() else {
            return without_state(error);
        };
        let meaning = of_report(Report {
            ends_connection: false,
            state: db.code().code(),
            routine: "",
        });
        meaning.because(Reason::of(db, user), "the engine refused the connection")
    }

    /// Returns the failure of a write whose rows the server has left out.
    pub(super) fn left_out() -> Failure {
        Failure::Refused(Error::new(ErrorKind::Denied, LEFT_OUT))
    }

    /// Returns the failure to connect to a host that does not answer in time.
    pub(super) fn silent() -> Failure {
        Failure::Lost(Error::new(
            ErrorKind::Unavailable,
            "a host of the URL does not answer",
        ))
    }
}

/// The server's message and its SQLSTATE.
///
/// It takes the place of the client's error, whose text is only "db error", and whose sources show
/// the user.
#[derive(Debug)]
struct Reason(String);

impl Reason {
    fn of(error: &DbError, user: Option<&Secret>) -> Reason {
        Reason::new(error.code().code(), error.message(), user)
    }

    fn new(state: &str, message: &str, user: Option<&Secret>) -> Reason {
        // Messages about who may connect are about the user.
        if state.starts_with("28") {
            return Reason(format!("SQLSTATE {state}"));
        }
        // A database or table may have the name of the user.
        let shown = match user.map(Secret::reveal) {
            Some(user) if !user.is_empty() => without(message, user),
            _ => message.to_owned(),
        };
        Reason(format!("{shown} ({state})"))
    }
}

/// Returns `message` with `***` in place of `user` wherever that is a whole word, quoted or not. A
/// short name is part of many words, which would be unreadable without it.
fn without(message: &str, user: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || "_-$".contains(c);
    let (mut shown, mut copied) = (String::with_capacity(message.len()), 0);
    for (at, _) in message.match_indices(user) {
        let end = at + user.len();
        let before = message[..at].chars().next_back();
        let after = message[end..].chars().next();
        if !before.is_some_and(in_word) && !after.is_some_and(in_word) {
            shown.push_str(&message[copied..at]);
            shown.push_str("***");
            copied = end;
        }
    }
    shown + &message[copied..]
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

/// What the server says about an error.
#[derive(Clone, Copy, Debug)]
struct Report<'a> {
    /// Whether the server closes the connection because of it.
    ends_connection: bool,
    state: &'a str,
    /// The function of the server that reports it.
    routine: &'a str,
}

fn ends_connection(error: &DbError) -> bool {
    match error.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        // An engine that sends only the word, which may be translated.
        None => matches!(error.severity(), "FATAL" | "PANIC"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Conflict,
    Lost,
    Standby,
    LeftOut,
    OtherSession,
    Refused(ErrorKind),
}

impl Meaning {
    /// Returns the failure with this meaning. `refusal` is the message of a refused call.
    fn because(self, reason: Reason, refusal: &'static str) -> Failure {
        match self {
            Meaning::Conflict => {
                let message = "the engine rolled back, because of a concurrent transaction";
                Failure::Conflict(caused(ErrorKind::Conflict, message, reason))
            }
            Meaning::Lost => lost(reason),
            Meaning::Standby => {
                let message = "the server accepts no writes: it is a standby, or set to read-only";
                Failure::Standby(caused(ErrorKind::ReadOnly, message, reason))
            }
            Meaning::LeftOut => Failure::Refused(caused(ErrorKind::Denied, LEFT_OUT, reason)),
            Meaning::OtherSession => {
                let message = "a pooler gives each transaction to another session of the server: \
                               add pooler=yes to the URL";
                Failure::Refused(caused(ErrorKind::InvalidArgument, message, reason))
            }
            Meaning::Refused(kind) => Failure::Refused(caused(kind, refusal, reason)),
        }
    }
}

fn of_report(report: Report<'_>) -> Meaning {
    let class = report.state.get(..2).unwrap_or_default();
    let kind = match report.state {
        // Shutting down, crashed, starting; or, of CockroachDB, an ambiguous result.
        "57P01" | "57P02" | "57P03" | "40003" => return Meaning::Lost,
        _ if class == "08" => return Meaning::Lost,
        "53300" => ErrorKind::Unavailable,
        _ if class == "28" => ErrorKind::Denied,
        _ if class == "3D" => ErrorKind::NotFound,
        // Whatever the cause is, the connection is gone, and a commit may have been executed.
        _ if report.ends_connection => return Meaning::Lost,
        "40001" | "40P01" => return Meaning::Conflict,
        "25006" => return Meaning::Standby,
        // A standby does not have our isolation level, and says so before it comes to the write.
        "0A000" if report.routine == "GetSerializableTransactionSnapshot" => {
            return Meaning::Standby;
        }
        // A division by zero, which the statements of a write have for this.
        "22012" => return Meaning::LeftOut,
        // A statement that this session has not prepared, or that another connection has.
        "26000" | "42P05" => return Meaning::OtherSession,
        "53100" => ErrorKind::Full,
        "42501" => ErrorKind::Denied,
        "3F000" | "42P01" => ErrorKind::NotFound,
        // The table of another program: no such column, one of another type, or one without a key.
        "42703" | "42804" | "42883" | "42P10" => ErrorKind::InvalidArgument,
        _ => ErrorKind::Engine,
    };
    Meaning::Refused(kind)
}

fn caused<E>(kind: ErrorKind, message: &'static str, cause: E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    Error::new(kind, message).source_error(cause)
}

fn lost(cause: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let message = "the connection to the engine was lost";
    Failure::Lost(caused(ErrorKind::Unavailable, message, cause))
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
    if text.contains("unexpected number of rows") {
        let message = "the table has several rows with one key: its column k is no primary key";
        return Failure::Refused(caused(ErrorKind::Corruption, message, error));
    }
    lost(error)
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;

    use super::{Meaning, Reason, Report, of_report, without};
    use crate::url::Secret;

    fn meaning(state: &str, ends_connection: bool) -> Meaning {
        of_report(Report {
            ends_connection,
            state,
            routine: "",
        })
    }

    #[test]
    fn an_error_that_ends_the_connection_is_a_lost_one() {
        // Idle too long in a transaction; a conflict with recovery; an internal error; no memory.
        for state in ["25P03", "40001", "XX000", "53200", "42501"] {
            assert_eq!(meaning(state, true), Meaning::Lost, "{state}");
            assert_ne!(meaning(state, false), Meaning::Lost, "{state}");
        }
        for state in ["57P01", "57P02", "57P03", "08006", "40003"] {
            for ends in [false, true] {
                assert_eq!(meaning(state, ends), Meaning::Lost, "{state}");
            }
        }
    }

    #[test]
    fn a_server_that_admits_nobody_has_done_nothing() {
        let refused = [
            ("28P01", ErrorKind::Denied),
            ("28000", ErrorKind::Denied),
            ("3D000", ErrorKind::NotFound),
            ("53300", ErrorKind::Unavailable),
        ];
        for (state, kind) in refused {
            for ends in [false, true] {
                assert_eq!(meaning(state, ends), Meaning::Refused(kind), "{state}");
            }
        }
    }

    #[test]
    fn a_standby_is_left() {
        assert_eq!(meaning("25006", false), Meaning::Standby);
        let report = Report {
            ends_connection: false,
            state: "0A000",
            routine: "GetSerializableTransactionSnapshot",
        };
        assert_eq!(of_report(report), Meaning::Standby);
        let unsupported = Meaning::Refused(ErrorKind::Engine);
        assert_eq!(meaning("0A000", false), unsupported);
    }

    #[test]
    fn a_reason_does_not_show_the_user() {
        let user = Secret::new("ada");
        let shown = |state, message, user| Reason::new(state, message, user).to_string();
        let missing = "database \"ada\" does not exist";
        let cases = [
            ("3D000", missing, "database \"***\" does not exist (3D000)"),
            ("28P01", "no password for \"Ada\"", "SQLSTATE 28P01"),
            ("42501", "permission denied", "permission denied (42501)"),
        ];
        for (state, message, expected) in cases {
            assert_eq!(shown(state, message, Some(&user)), expected);
        }
        let unnamed = shown("3D000", missing, None);
        assert_eq!(unnamed, "database \"ada\" does not exist (3D000)");
    }

    #[test]
    fn only_whole_words_are_removed() {
        let read_only = "cannot execute INSERT in a read-only transaction";
        let cases = [
            ("r", read_only, read_only),
            ("read", read_only, read_only),
            ("ada", "user ada has no right", "user *** has no right"),
            (
                "ada",
                "\"ada\", \"ada_2\", ada2: ada",
                "\"***\", \"ada_2\", ada2: ***",
            ),
            ("é", "été «é»", "été «***»"),
        ];
        for (user, message, expected) in cases {
            assert_eq!(without(message, user), expected);
        }
    }
}
