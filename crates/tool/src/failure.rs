//! Failures of a command: the exit code and the message of each.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cairndb::{Error, ErrorKind};

use crate::escape::escaped;
use crate::holder::process_with_lock;

/// The exit codes. `cairn --help` and `docs/guide/cairn.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Done = 0,
    KeyNotFound = 1,
    Usage = 2,
    Damaged = 3,
    Locked = 4,
    Other = 5,
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
    KeyNotFound { key: Vec<u8>, directory: PathBuf },
    /// An argument cannot be used.
    Usage(String),
    /// The database in the directory reported an error.
    Database {
        error: Error,
        directory: PathBuf,
        store: Store,
    },
    /// A file that is not a database is damaged.
    Damaged(String),
    /// Nobody reads the output any more, which is no error of the reader's.
    OutputClosed,
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

    /// Returns the exit code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Failure::KeyNotFound { .. } => Code::KeyNotFound,
            Failure::Usage(_) => Code::Usage,
            Failure::OutputClosed => Code::Done,
            Failure::Damaged(_) => Code::Damaged,
            Failure::Other(_) => Code::Other,
            Failure::Database { error, .. } => match error.kind() {
                ErrorKind::Corruption => Code::Damaged,
                ErrorKind::Locked => Code::Locked,
                _ => Code::Other,
            },
        }
    }

    /// Prints the message to stderr.
    pub(crate) fn report(&self) {
        if let Some(message) = self.message() {
            eprintln!("cairn: {message}");
        }
    }

    fn message(&self) -> Option<String> {
        Some(match self {
            Failure::OutputClosed => return None,
            Failure::Usage(message) | Failure::Damaged(message) | Failure::Other(message) => {
                message.clone()
            }
            Failure::KeyNotFound { key, directory } => {
                let (key, directory) = (escaped(key), directory.display());
                format!("the key \"{key}\" is not in {directory}")
            }
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

/// What the user can do after an error, unless its message says it.
fn advice(kind: ErrorKind, store: Store, directory: &Path) -> Option<String> {
    let path = directory.display();
    Some(match (kind, store) {
        (ErrorKind::Corruption, Store::Cairn) => format!(
            "`cairn verify {path}` checks the whole database; restore a damaged one from a \
             checkpoint or another copy"
        ),
        (ErrorKind::Corruption, Store::LevelDb) => {
            "restore the directory from a copy, or repair it with LevelDB's `RepairDB`".to_owned()
        }
        (ErrorKind::Locked, _) => {
            let process = process_with_lock(directory);
            let opened = process.map_or_else(String::new, |id| format!("opened by process {id}; "));
            let instead = match store {
                Store::Cairn => ", or read a checkpoint",
                Store::LevelDb => "",
            };
            format!("{opened}close the database in that process{instead}")
        }
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
