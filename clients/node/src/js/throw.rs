//! Failures as JavaScript errors.

use cairndb::ErrorKind;

use crate::js::call::napi;
use crate::js::failure::Failure;
use crate::js::scope::{Env, Value};

/// The codes are `classic-level`'s where it has one for the same cause.
fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io => "LEVEL_IO_ERROR",
        ErrorKind::Corruption => "LEVEL_CORRUPTION",
        ErrorKind::InvalidArgument => "LEVEL_INVALID_ARGUMENT",
        ErrorKind::NotSupported => "LEVEL_NOT_SUPPORTED",
        ErrorKind::NoSpace => "LEVEL_NO_SPACE",
        ErrorKind::Locked => "LEVEL_LOCKED",
        ErrorKind::Closed => "LEVEL_DATABASE_NOT_OPEN",
        ErrorKind::Poisoned => "LEVEL_POISONED",
        ErrorKind::Forked => "LEVEL_FORKED",
        ErrorKind::FormatTooNew => "LEVEL_FORMAT_TOO_NEW",
        ErrorKind::ReadOnly => "LEVEL_READ_ONLY",
        ErrorKind::NotFound => "LEVEL_NOT_FOUND",
        ErrorKind::Interrupted => "LEVEL_ABORTED",
        ErrorKind::Revoked => "LEVEL_REVOKED",
        _ => "LEVEL_ERROR",
    }
}

impl Failure {
    /// Returns the JavaScript error, or `None` if one is pending.
    pub(crate) fn error<'s>(&self, env: Env<'s>) -> Option<Value<'s>> {
        match self {
            Failure::Store(error) => {
                let message = error.to_string();
                env.error(code(error.kind()), &message).ok()
            }
            Failure::Argument(message) => env.type_error(message).ok(),
            Failure::Pending => None,
        }
    }
}

impl Env<'_> {
    /// Throws the error of `failure`, unless one is pending already.
    pub(crate) fn throw(self, failure: &Failure) {
        if let Some(error) = failure.error(self) {
            // Fails only if the environment is ending, where nobody could catch the error.
            let _ = napi!(napi_throw(self.raw(), error.raw()));
        }
    }
}
