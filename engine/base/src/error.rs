//! The error type of all crates: few kinds, structured context, one line of text.
//!
//! A missing key is not an error. An error is one pointer wide, so that `Result` stays small on hot
//! paths and success costs nothing.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// `std::result::Result` with the crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure, which determines what a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused an operation; retrying may help once the cause is removed.
    Io,
    /// Bytes on disk differ from what was written, or a file of the database is missing; run
    /// `verify` and restore from a backup.
    Corruption,
    /// The call is invalid: for example, a limit was exceeded, a name is unknown, or the comparator
    /// differs.
    InvalidArgument,
    /// This version or platform does not support the operation.
    NotSupported,
    /// The disk is full; free some space and retry the write without reopening.
    NoSpace,
    /// Another writer changed something that the transaction depends on before it was committed;
    /// run the transaction again.
    Conflict,
    /// Another handle or process has the database open.
    Locked,
    /// The handle was closed.
    Closed,
    /// A sync failed earlier, or background work or a comparator failed. Reads continue; writes
    /// fail until the database is reopened.
    Poisoned,
    /// The handle was inherited across `fork`; open the database again in the child. Every write,
    /// flush, sync and close of such a handle fails and changes nothing.
    Forked,
    /// The files were written by a newer version; nothing was changed.
    FormatTooNew,
    /// The handle was opened read-only.
    ReadOnly,
    /// The path holds no database, and creating one was not requested.
    NotFound,
    /// The caller's watcher stopped a long call; what was done stays consistent.
    Interrupted,
    /// The process that writes has removed files that an old view of a follower needs; take a new
    /// snapshot or cursor.
    Revoked,
}

impl ErrorKind {
    /// Returns the kind as one lower-case phrase.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Io => "i/o error",
            ErrorKind::Corruption => "corruption",
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::NotSupported => "not supported",
            ErrorKind::NoSpace => "no space left",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Locked => "locked",
            ErrorKind::Closed => "closed",
            ErrorKind::Poisoned => "poisoned",
            ErrorKind::Forked => "forked",
            ErrorKind::FormatTooNew => "format too new",
            ErrorKind::ReadOnly => "read-only",
            ErrorKind::NotFound => "not found",
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Revoked => "revoked",
        }
    }
}

/// Maximum number of key bytes that an error shows: enough to recognise the key in a short line.
const KEY_BYTES_SHOWN: usize = 64;

#[derive(Clone, Debug)]
struct ErrorKey {
    bytes: Arc<[u8]>,
    text: String,
}

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    directory: Option<String>,
    file: Option<String>,
    /// Whether `file` is a path instead of a name in a database's directory.
    whole: bool,
    offset: Option<u64>,
    expected: Option<String>,
    found: Option<String>,
    key: Option<ErrorKey>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// An error with its kind, file, offset, and the expected and found values.
///
/// ```
/// # use cairndb_base as cairndb;
/// use cairndb::{Error, ErrorKind};
/// let error = Error::corruption("page checksum does not match")
///     .file("000007.tbl")
///     .offset(4096)
///     .expected(1)
///     .found(2);
/// assert_eq!(error.kind(), ErrorKind::Corruption);
/// assert_eq!(
///     error.to_string(),
///     "corruption: page checksum does not match \
///      (file 000007.tbl, offset 4096, expected 1, found 2)"
/// );
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
            directory: None,
            file: None,
            whole: false,
            offset: None,
            expected: None,
            found: None,
            key: None,
            source: None,
        }))
    }

    /// Returns an error for corrupt bytes.
    #[cold]
    pub fn corruption(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Corruption, message)
    }

    /// Returns an error for an invalid call.
    #[cold]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// Returns an error for a failure of `operation` that the operating system reported. A full
    /// disk or quota becomes [`ErrorKind::NoSpace`]; everything else is [`ErrorKind::Io`].
    #[cold]
    pub fn io(operation: impl Into<Cow<'static, str>>, cause: std::io::Error) -> Error {
        let kind = match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                ErrorKind::NoSpace
            }
            _ => ErrorKind::Io,
        };
        let mut error = Error::new(kind, operation);
        error.0.source = Some(Arc::new(cause));
        error
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>) -> Error {
        self.0.file = Some(name.into());
        self
    }

    /// Names the file or directory by its path.
    #[must_use]
    pub fn path(mut self, path: &Path) -> Error {
        self.0.whole = true;
        self.file(path.display().to_string())
    }

    /// Adds the directory of the named file, for programs with several databases, unless an inner
    /// layer has already done so. Does nothing if the error names no file or names it by its path.
    #[must_use]
    pub fn directory(mut self, path: &Path) -> Error {
        if self.0.file.is_some() && !self.0.whole {
            let directory = &mut self.0.directory;
            directory.get_or_insert_with(|| path.display().to_string());
        }
        self
    }

    /// Sets the offset, unless an inner layer has already done so.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Error {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Sets the expected value.
    #[must_use]
    pub fn expected(mut self, value: impl fmt::Display) -> Error {
        self.0.expected = Some(value.to_string());
        self
    }

    /// Sets the value found.
    #[must_use]
    pub fn found(mut self, value: impl fmt::Display) -> Error {
        self.0.found = Some(value.to_string());
        self
    }

    /// Sets the key, unless an inner layer has already done so. In the text the key is escaped, and
    /// a long one is cut to its first bytes and its length.
    ///
    /// ```
    /// use cairndb_base::Error;
    /// let error = Error::invalid("operands disagree");
    /// assert_eq!(error.clone().key(b"a\0").key_text(), Some(r#""a\x00""#));
    /// let long = error.key(&[b'k'; 1 << 20]);
    /// assert_eq!(long.key_bytes().map(<[u8]>::len), Some(1 << 20));
    /// let text = long.to_string();
    /// assert!(text.ends_with("kkk\"... of 1048576 bytes)"), "{text}");
    /// assert!(text.len() < 150);
    /// ```
    #[must_use]
    pub fn key(mut self, key: &[u8]) -> Error {
        self.0.key.get_or_insert_with(|| {
            let shown = key.get(..KEY_BYTES_SHOWN).unwrap_or(key).escape_ascii();
            let text = if key.len() > KEY_BYTES_SHOWN {
                format!("\"{shown}\"... of {} bytes", key.len())
            } else {
                format!("\"{shown}\"")
            };
            let bytes = key.into();
            ErrorKey { bytes, text }
        });
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

    /// Returns the kind of the operating system's error that caused this one, if any: for example,
    /// `AlreadyExists` has no [`ErrorKind`].
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        let cause = self.0.source.as_deref()?.downcast_ref::<std::io::Error>()?;
        Some(cause.kind())
    }

    /// Returns the file that the error names: its name in the database's directory, or a path.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Returns the directory of the file that the error names, as its message shows it.
    pub fn directory_name(&self) -> Option<&str> {
        self.0.directory.as_deref()
    }

    /// Returns the key that the error names, as its message shows it: quoted, escaped, and cut if
    /// long.
    pub fn key_text(&self) -> Option<&str> {
        Some(&self.0.key.as_ref()?.text)
    }

    /// Returns the bytes of the key that the error names, all of them.
    pub fn key_bytes(&self) -> Option<&[u8]> {
        Some(&self.0.key.as_ref()?.bytes)
    }

    /// Returns the offset that the error names.
    pub fn file_offset(&self) -> Option<u64> {
        self.0.offset
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
        let context = [
            self.key_text().map(|key| format!("key {key}")),
            inner.file.as_ref().map(|file| match &inner.directory {
                Some(directory) => format!("file {file} in {directory}"),
                None => format!("file {file}"),
            }),
            inner.offset.map(|offset| format!("offset {offset}")),
            inner
                .expected
                .as_ref()
                .map(|expected| format!("expected {expected}")),
            inner.found.as_ref().map(|found| format!("found {found}")),
        ];
        let context: Vec<String> = context.into_iter().flatten().collect();
        if !context.is_empty() {
            write!(f, " ({})", context.join(", "))?;
        }
        if let Some(source) = &inner.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

/// Maps each kind to an `io::ErrorKind` and wraps the error, for functions that return I/O errors.
///
/// ```
/// use std::io;
/// let error = io::Error::from(cairndb_base::Error::corruption("page checksum does not match"));
/// assert_eq!(error.kind(), io::ErrorKind::InvalidData);
/// assert!(error.to_string().contains("page checksum"));
/// ```
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        let kind = match error.kind() {
            ErrorKind::Corruption | ErrorKind::FormatTooNew => std::io::ErrorKind::InvalidData,
            ErrorKind::InvalidArgument => std::io::ErrorKind::InvalidInput,
            ErrorKind::NotSupported => std::io::ErrorKind::Unsupported,
            ErrorKind::NoSpace => std::io::ErrorKind::StorageFull,
            ErrorKind::Locked => std::io::ErrorKind::ResourceBusy,
            ErrorKind::NotFound => std::io::ErrorKind::NotFound,
            ErrorKind::ReadOnly => std::io::ErrorKind::PermissionDenied,
            ErrorKind::Io => error.io_kind().unwrap_or(std::io::ErrorKind::Other),
            ErrorKind::Interrupted => std::io::ErrorKind::Interrupted,
            ErrorKind::Conflict
            | ErrorKind::Closed
            | ErrorKind::Poisoned
            | ErrorKind::Forked
            | ErrorKind::Revoked => std::io::ErrorKind::Other,
        };
        std::io::Error::new(kind, error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}
