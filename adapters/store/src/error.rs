//! The error type of all stores: kinds that say what a caller can do, and what a failed write left.
//!
//! A missing key is not an error. An error is one pointer wide, so that `Result` stays small.
//! Messages never contain a URL, a user or a password: adapters build them from the parts that may
//! be shown.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// `std::result::Result` with the crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure, which determines what a caller can do.
///
/// Every kind except [`OutcomeUnknown`](ErrorKind::OutcomeUnknown) means that a failed write has
/// changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call is invalid: a malformed URL, a table with other columns, a range of another store,
    /// a blocking call inside an asynchronous runtime. The program or the URL must be changed.
    InvalidArgument,
    /// A key, value, batch or transaction exceeds a limit of the store ([`Error::limit`] names it).
    /// Nothing was sent.
    LimitExceeded,
    /// Another writer changed something that the transaction depends on; run it again.
    /// [`Error::key_text`] names the key if the engine reports it.
    Conflict,
    /// The engine cannot be reached or has no leader, and the call had no effect. Retrying may
    /// help later; the store has already retried until the deadline where that is safe.
    Unavailable,
    /// The deadline passed. The call had no effect: it was a read, or the write was not sent yet.
    DeadlineExceeded,
    /// A write was sent and no answer came: it was applied completely, or it will be, or it never
    /// will. Read what it would have changed before writing again.
    OutcomeUnknown,
    /// The state that a snapshot, scan or transaction reads is no longer available, because the
    /// engine has removed old versions or closed the connection. Take a new one.
    SnapshotExpired,
    /// The engine refused the credentials or the operation.
    Denied,
    /// The database, table, keyspace or path does not exist, and creating it was not requested.
    NotFound,
    /// The engine is out of space. Free some, then retry.
    Full,
    /// Another handle or process has the database open.
    Locked,
    /// The store was opened read-only.
    ReadOnly,
    /// The store was closed.
    Closed,
    /// Bytes differ from what was written: damage on disk, or a table that another program filled.
    Corruption,
    /// The engine, or this build, does not support the operation.
    NotSupported,
    /// The engine reported something else; the message and the source have its words.
    Engine,
}

impl ErrorKind {
    /// Returns the kind as one lower-case phrase.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::LimitExceeded => "limit exceeded",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::DeadlineExceeded => "deadline exceeded",
            ErrorKind::OutcomeUnknown => "outcome unknown",
            ErrorKind::SnapshotExpired => "snapshot expired",
            ErrorKind::Denied => "denied",
            ErrorKind::NotFound => "not found",
            ErrorKind::Full => "no space left",
            ErrorKind::Locked => "locked",
            ErrorKind::ReadOnly => "read-only",
            ErrorKind::Closed => "closed",
            ErrorKind::Corruption => "corruption",
            ErrorKind::NotSupported => "not supported",
            ErrorKind::Engine => "engine error",
        }
    }
}

/// The limit that a call exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceededLimit {
    /// Name of the field of [`Limits`](crate::Limits), such as `batch_ops`.
    pub name: &'static str,
    /// The largest permitted number.
    pub max: u64,
    /// The number found.
    pub found: u64,
}

/// Maximum number of key bytes that an error shows: enough to recognise the key in a short line.
const KEY_BYTES_SHOWN: usize = 64;

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    key: Option<String>,
    limit: Option<ExceededLimit>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// An error with its kind, and the key or limit that it concerns.
///
/// ```
/// use cairndb_store::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Conflict, "another writer changed the key").key(b"stock");
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// assert_eq!(error.to_string(), r#"conflict: another writer changed the key (key "stock")"#);
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

impl Error {
    /// Returns an error of `kind` with `message`, one lower-case sentence.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            key: None,
            limit: None,
            source: None,
        }))
    }

    /// Returns an error for an invalid call.
    #[cold]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// Returns an error for a number `found` that exceeds the limit `name`, which is `max`.
    #[cold]
    pub fn limit_exceeded(name: &'static str, max: u64, found: u64) -> Error {
        let message = format!("{name} is at most {max} in this store, found {found}");
        let mut error = Error::new(ErrorKind::LimitExceeded, message);
        error.0.limit = Some(ExceededLimit { name, max, found });
        error
    }

    /// Returns an error for a call on a closed store.
    #[cold]
    pub fn closed() -> Error {
        Error::new(ErrorKind::Closed, "the store was closed")
    }

    /// Sets the key, unless an inner layer has already done so. The key is escaped; a long key is
    /// cut to its first bytes and its length.
    #[must_use]
    pub fn key(mut self, key: &[u8]) -> Error {
        self.0.key.get_or_insert_with(|| {
            let shown = key.get(..KEY_BYTES_SHOWN).unwrap_or(key).escape_ascii();
            if key.len() > KEY_BYTES_SHOWN {
                format!("\"{shown}\"... of {} bytes", key.len())
            } else {
                format!("\"{shown}\"")
            }
        });
        self
    }

    /// Sets the key to a text that an inner layer has already escaped.
    pub(crate) fn key_shown(mut self, text: Option<&str>) -> Error {
        self.0.key = text.map(str::to_owned);
        self
    }

    /// Attaches the error that caused this one.
    #[must_use]
    pub fn source_error(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Returns the same error with another kind, for a layer that knows its meaning better.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without its context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the key that the error names, as its message shows it: quoted, escaped, and cut if
    /// long.
    pub fn key_text(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// Returns the limit that was exceeded, for [`ErrorKind::LimitExceeded`].
    pub fn limit(&self) -> Option<ExceededLimit> {
        self.0.limit
    }
}

/// Same as `Display`, because a `main` that returns the error prints its `Debug` form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{}: {}", inner.kind.as_str(), inner.message)?;
        if let Some(key) = &inner.key {
            write!(f, " (key {key})")?;
        }
        if let Some(source) = &inner.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_ref()?;
        Some(&**source)
    }
}

/// Keeps the message, the key and the cause. `NoSpace` becomes `Full`, and `Revoked`
/// `SnapshotExpired`; `Io`, `Poisoned`, `Forked` and `FormatTooNew` become `Engine`. After a write,
/// `Poisoned` is an unknown outcome instead, which only the store over a database knows.
impl From<cairndb::Error> for Error {
    #[cold]
    fn from(error: cairndb::Error) -> Error {
        let kind = match error.kind() {
            cairndb::ErrorKind::Corruption => ErrorKind::Corruption,
            cairndb::ErrorKind::InvalidArgument => ErrorKind::InvalidArgument,
            cairndb::ErrorKind::NotSupported => ErrorKind::NotSupported,
            cairndb::ErrorKind::NoSpace => ErrorKind::Full,
            cairndb::ErrorKind::Conflict => ErrorKind::Conflict,
            cairndb::ErrorKind::Locked => ErrorKind::Locked,
            cairndb::ErrorKind::Closed => ErrorKind::Closed,
            cairndb::ErrorKind::ReadOnly => ErrorKind::ReadOnly,
            cairndb::ErrorKind::NotFound => ErrorKind::NotFound,
            cairndb::ErrorKind::Revoked => ErrorKind::SnapshotExpired,
            _ => ErrorKind::Engine,
        };
        let message = error.message().to_owned();
        let key = error.key_text().map(str::to_owned);
        Error::new(kind, message)
            .key_shown(key.as_deref())
            .source_error(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, ErrorKind};

    #[test]
    fn a_limit_is_named_with_its_numbers() {
        let error = Error::limit_exceeded("batch_ops", 128, 300);
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let limit = error.limit().expect("the error has a limit");
        assert_eq!(
            (limit.name, limit.max, limit.found),
            ("batch_ops", 128, 300)
        );
        assert_eq!(
            error.to_string(),
            "limit exceeded: batch_ops is at most 128 in this store, found 300"
        );
    }

    #[test]
    fn an_error_of_the_database_keeps_kind_key_and_cause() {
        let inner =
            cairndb::Error::new(cairndb::ErrorKind::Conflict, "changed meanwhile").key(b"a\0");
        let error = Error::from(inner);
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(error.key_text(), Some(r#""a\x00""#));
        assert!(std::error::Error::source(&error).is_some());
        let lost = Error::from(cairndb::Error::new(cairndb::ErrorKind::Poisoned, "failed"));
        assert_eq!(lost.kind(), ErrorKind::Engine);
    }

    #[test]
    fn a_long_key_is_cut() {
        let text = Error::invalid("bad").key(&[b'k'; 1000]).to_string();
        assert!(text.ends_with("\"... of 1000 bytes)"), "{text}");
        assert!(text.len() < 150);
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
