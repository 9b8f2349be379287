//! What a call can end with instead of a value: an error of the store, a wrong argument, or a
//! JavaScript exception that is already pending.

use cairndb::Error;
use napi_sys::{Status, napi_status};

/// The result of a call.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// A reason why a call has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the store, which becomes an `Error` with a `code`.
    Store(Error),
    /// A wrong argument, which becomes a `TypeError`.
    Argument(&'static str),
    /// A JavaScript exception is pending, or the environment is ending and runs no more JavaScript.
    Pending,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Store(error)
    }
}

/// Turns a status into a result.
#[inline]
pub(crate) fn check(status: napi_status) -> Outcome<()> {
    if status == Status::napi_ok {
        Ok(())
    } else {
        Err(Failure::Pending)
    }
}
