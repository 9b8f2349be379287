//! Failures of a command: the exit code and the message of each.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use cairndb::{Error, ErrorKind};
use cairndb_store::ErrorKind as StoreErrorKind;

use crate::message::notify;

/// The subdirectory in which a conversion keeps LevelDB's files.
pub(crate) const ORIGINAL: &str = "leveldb-original";

/// The exit codes. `cairn --help` and `docs/guide/cairn.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Done = 0,
    KeyNotFound = 1,
    Usage = 2,
    Damaged = 3,
    Locked = 4,
    Other = 5,
    /// What a shell reports of a process that SIGINT ended.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// The store whose files an error is about, which determines what its user can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Cairn,
    LevelDb,
}

fn code_of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Corruption => Code::Damaged,
        ErrorKind::Locked => Code::Locked,
        ErrorKind::Interrupted => Code::Interrupted,
        _ => Code::Other,
    }
}

/// What a command returns.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Why a command did not finish.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    /// A sentence that says what to do; `None` if it was printed, or nobody reads it.
    message: Option<String>,
}

impl Failure {
    fn new(code: Code, message: impl Into<String>) -> Failure {
        let message = Some(message.into());
        Failure { code, message }
    }

    /// Returns the failure for a key that is not in `place`.
    pub(crate) fn key_not_found(key: &str, place: &str) -> Failure {
        let message = format!("the key \"{key}\" is not in {place}");
        Failure::new(Code::KeyNotFound, message)
    }

    /// An argument cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Code::Usage, message)
    }

    /// A file is damaged, or what was kept of a database is not certain to be everything.
    pub(crate) fn damaged(message: impl Into<String>) -> Failure {
        Failure::new(Code::Damaged, message)
    }

    /// Ctrl-C has stopped the command, which has left this.
    pub(crate) fn interrupted(left: &str) -> Failure {
        Failure::new(Code::Interrupted, format!("interrupted; {left}"))
    }

    /// Another process has the database in `directory` open for writing, and it cannot be read
    /// meanwhile.
    pub(crate) fn unreadable(directory: &Path, locked: &str, reason: &Error) -> Failure {
        let message = format!(
            "{}: {locked}, and it cannot be read meanwhile: {reason}\n\
             cairn: close the database in that process, or let it make a checkpoint, and read that",
            directory.display()
        );
        Failure::new(Code::Locked, message)
    }

    /// Anything else.
    pub(crate) fn other(message: impl Into<String>) -> Failure {
        Failure::new(Code::Other, message)
    }

    /// Returns a function that turns an error of the CairnDB database in `directory` into a
    /// failure.
    pub(crate) fn of(directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        Failure::of_files(Store::Cairn, directory)
    }

    /// Returns a function that turns an error of the LevelDB database in `directory` into a
    /// failure.
    pub(crate) fn of_leveldb(directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        Failure::of_files(Store::LevelDb, directory)
    }

    /// Returns a function that turns an error of a store's files in `directory` into a failure.
    pub(crate) fn of_files(store: Store, directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        move |error| {
            let code = code_of(error.kind());
            let path = directory.display();
            let message = match (error.kind(), advice(error.kind(), store, directory)) {
                (ErrorKind::NotFound, Some(advice)) => {
                    format!("{path} holds no database; {advice}")
                }
                (_, Some(advice)) => format!("{path}: {error}\ncairn: {advice}"),
                (_, None) => format!("{path}: {error}"),
            };
            Failure::new(code, message)
        }
    }

    /// Returns the failure for an error of this kind.
    pub(crate) fn of_kind(kind: ErrorKind, message: String) -> Failure {
        Failure::new(code_of(kind), message)
    }

    /// Returns the failure for an error of the store of a URL. `name` shows no secrets.
    pub(crate) fn of_store(name: &str, error: &cairndb_store::Error) -> Failure {
        let code = match error.kind() {
            StoreErrorKind::InvalidArgument => Code::Usage,
            StoreErrorKind::Corruption => Code::Damaged,
            StoreErrorKind::Locked => Code::Locked,
            _ => Code::Other,
        };
        let advice = store_advice(error.kind()).map(|advice| format!("\ncairn: {advice}"));
        Failure::new(
            code,
            format!("{name}: {error}{}", advice.unwrap_or_default()),
        )
    }

    /// Returns the failure of a write to stdout.
    pub(crate) fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::closed(),
            _ => Failure::other(format!(
                "the output cannot be written: {error}; what was printed is incomplete"
            )),
        }
    }

    /// Nobody reads the output any more, which is no error of the reader's.
    pub(crate) fn closed() -> Failure {
        let (code, message) = (Code::Done, None);
        Failure { code, message }
    }

    /// Returns whether nobody reads the output any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.code == Code::Done
    }

    /// Adds the number of a script's line.
    pub(crate) fn at_line(self, line: u64) -> Failure {
        let message = self
            .message
            .map(|message| format!("line {line}: {message}"));
        Failure { message, ..self }
    }

    /// Returns the exit code.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// Prints the message to stderr. Returns the failure without it.
    pub(crate) fn report(self) -> Failure {
        if let Some(message) = self.message {
            notify(&format!("cairn: {message}"));
        }
        let (code, message) = (self.code, None);
        Failure { code, message }
    }

    /// Returns the message.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
}

/// What the user can do after an error of the store of a URL, unless its message says it.
fn store_advice(kind: StoreErrorKind) -> Option<&'static str> {
    Some(match kind {
        StoreErrorKind::Unavailable => "check the hosts of the URL and whether the servers run",
        StoreErrorKind::DeadlineExceeded => {
            "run the command again, or allow more time with `?timeout=60s` in the URL"
        }
        StoreErrorKind::OutcomeUnknown => {
            "read the keys to see whether they were written; a `copy` continues if it is run again"
        }
        StoreErrorKind::SnapshotExpired => "run the command again; a `copy` continues",
        StoreErrorKind::Denied => {
            "check the user, its password and its rights: CAIRN_STORE_USER and \
             CAIRN_STORE_PASSWORD, or the user in the URL"
        }
        _ => return None,
    })
}

/// What the user can do after an error, unless its message says it.
fn advice(kind: ErrorKind, store: Store, directory: &Path) -> Option<String> {
    let path = directory.display();
    Some(match (kind, store) {
        (ErrorKind::Corruption, Store::Cairn) => {
            let original = directory.join(ORIGINAL);
            let original = if original.is_dir() {
                let original = original.display();
                format!("; {original} still holds what LevelDB had before the conversion")
            } else {
                String::new()
            };
            format!(
                "restore the database from a checkpoint or another copy, or keep what is intact: \
                 `cairn repair --dry-run {path}` reports what that is{original}"
            )
        }
        (ErrorKind::Corruption, Store::LevelDb) => format!(
            "restore the directory from a copy, or keep what is intact, as a CairnDB database: \
             `cairn repair --dry-run {path}` reports what that is"
        ),
        (ErrorKind::Locked, Store::Cairn) => {
            "close the database in that process; commands that only read do not need that"
                .to_owned()
        }
        (ErrorKind::Locked, Store::LevelDb) => "close the database in that process".to_owned(),
        (ErrorKind::NotFound, _) => {
            "check the path, or create a database with `cairn put --create`".to_owned()
        }
        (ErrorKind::NoSpace, _) => "free some space on the file system and try again".to_owned(),
        (ErrorKind::Revoked, _) => {
            "run the command again; `Options::reader_space_max` of the program that writes limits \
             what it keeps for readers"
                .to_owned()
        }
        (ErrorKind::FormatTooNew, _) => {
            "use the version of cairn that wrote it, or a newer one".to_owned()
        }
        _ => return None,
    })
}
