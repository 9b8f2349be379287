//! Failures of a command: the exit code and the message of each.

use std::io;
use std::path::{Path, PathBuf};
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

/// Why a command did not finish.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database has no such key.
    KeyNotFound {
        /// The key as it was typed.
        key: String,
        place: String,
    },
    /// An argument cannot be used.
    Usage(String),
    /// The database in the directory reported an error.
    Database {
        error: Error,
        directory: PathBuf,
        store: Store,
    },
    /// The store of a URL reported an error.
    Store {
        error: cairndb_store::Error,
        /// Its name, without secrets.
        store: String,
    },
    /// A file that is not a database is damaged.
    Damaged(String),
    /// A repair has kept what it could, and that is not certain to be everything.
    Incomplete {
        directory: PathBuf,
        /// The new database; `None` after a dry run.
        target: Option<PathBuf>,
    },
    /// A line of a script has failed.
    Line { line: u64, failure: Box<Failure> },
    /// A failure that has been reported.
    Reported(Code),
    /// Nobody reads the output any more, which is no error of the reader's.
    OutputClosed,
    /// Ctrl-C has stopped the command, which has left this.
    Interrupted(&'static str),
    /// Anything else, as a sentence that says what to do.
    Other(String),
}

impl Failure {
    /// Returns a function that turns an error of the CairnDB database in `directory` into a
    /// failure.
    pub(crate) fn of(directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        Failure::of_store(Store::Cairn, directory)
    }

    /// Returns a function that turns an error of the LevelDB database in `directory` into a
    /// failure.
    pub(crate) fn of_leveldb(directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        Failure::of_store(Store::LevelDb, directory)
    }

    fn of_store(store: Store, directory: &Path) -> impl Fn(Error) -> Failure + '_ {
        move |error| Failure::Database {
            error,
            directory: directory.to_owned(),
            store,
        }
    }

    /// Returns the failure of a write to stdout.
    pub(crate) fn output(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Other(format!(
                "the output cannot be written: {error}; what was printed is incomplete"
            )),
        }
    }

    /// Adds the number of a script's line.
    pub(crate) fn at_line(self, line: u64) -> Failure {
        let failure = Box::new(self);
        Failure::Line { line, failure }
    }

    /// Returns the same failure without its message, which has been printed.
    pub(crate) fn reported(&self) -> Failure {
        Failure::Reported(self.code())
    }

    /// Returns the exit code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Failure::KeyNotFound { .. } => Code::KeyNotFound,
            Failure::Usage(_) => Code::Usage,
            Failure::OutputClosed => Code::Done,
            Failure::Line { failure, .. } => failure.code(),
            Failure::Reported(code) => *code,
            Failure::Damaged(_) | Failure::Incomplete { .. } => Code::Damaged,
            Failure::Interrupted(_) => Code::Interrupted,
            Failure::Other(_) => Code::Other,
            Failure::Store { error, .. } => match error.kind() {
                StoreErrorKind::InvalidArgument => Code::Usage,
                StoreErrorKind::Corruption => Code::Damaged,
                StoreErrorKind::Locked => Code::Locked,
                _ => Code::Other,
            },
            Failure::Database { error, .. } => match error.kind() {
                ErrorKind::Corruption => Code::Damaged,
                ErrorKind::Locked => Code::Locked,
                ErrorKind::Interrupted => Code::Interrupted,
                _ => Code::Other,
            },
        }
    }

    /// Prints the message to stderr.
    pub(crate) fn report(&self) {
        if let Some(message) = self.message() {
            notify(&format!("cairn: {message}"));
        }
    }

    fn message(&self) -> Option<String> {
        Some(match self {
            Failure::OutputClosed | Failure::Reported(_) => return None,
            Failure::Interrupted(left) => format!("interrupted; {left}"),
            Failure::Line { line, failure } => format!("line {line}: {}", failure.message()?),
            Failure::Usage(message) | Failure::Damaged(message) | Failure::Other(message) => {
                message.clone()
            }
            Failure::Incomplete { directory, target } => {
                let path = directory.display();
                let kept = target.as_ref().map_or(String::new(), |target| {
                    format!("; {} holds what was kept", target.display())
                });
                format!("something in {path} is lost or in doubt, as the report says{kept}")
            }
            Failure::KeyNotFound { key, place } => {
                format!("the key \"{key}\" is not in {place}")
            }
            Failure::Store { error, store } => match store_advice(error.kind()) {
                Some(advice) => format!("{store}: {error}\ncairn: {advice}"),
                None => format!("{store}: {error}"),
            },
            Failure::Database {
                error,
                directory,
                store,
            } => {
                let path = directory.display();
                match (error.kind(), advice(error.kind(), *store, directory)) {
                    (ErrorKind::NotFound, Some(advice)) => {
                        format!("{path} holds no database; {advice}")
                    }
                    (_, Some(advice)) => format!("{path}: {error}\ncairn: {advice}"),
                    (_, None) => format!("{path}: {error}"),
                }
            }
        })
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
            "close the database in that process, or read a checkpoint".to_owned()
        }
        (ErrorKind::Locked, Store::LevelDb) => "close the database in that process".to_owned(),
        (ErrorKind::NotFound, _) => {
            "check the path, or create a database with `cairn put --create`".to_owned()
        }
        (ErrorKind::NoSpace, _) => "free some space on the file system and try again".to_owned(),
        (ErrorKind::FormatTooNew, _) => {
            "use the version of cairn that wrote it, or a newer one".to_owned()
        }
        _ => return None,
    })
}
