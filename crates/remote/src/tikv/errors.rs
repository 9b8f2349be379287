//! What an error of the client means for the call that failed.

use cairndb_store::{Error, ErrorKind};
use tikv_client::Error as ClientError;

/// Whether the failed call may have written something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// A read, or a write that the client kept in memory.
    Nothing,
    /// A write.
    Write,
}

/// Converts an error. What is not known to be refused is `OutcomeUnknown` after a write.
pub(super) fn convert(error: ClientError, sent: Sent) -> Error {
    let kind = kind_of(&error, sent);
    Error::new(kind, message_of(kind)).source_error(error)
}

const fn message_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Conflict => "another writer changed a key that the transaction writes",
        ErrorKind::OutcomeUnknown => "the answer to a write was lost",
        ErrorKind::Unavailable => "the cluster cannot be reached",
        ErrorKind::SnapshotExpired => "the cluster has removed the versions of the snapshot",
        ErrorKind::NotFound => "the cluster has no such keyspace",
        _ => "the cluster reported an error",
    }
}

fn kind_of(error: &ClientError, sent: Sent) -> ErrorKind {
    let lost = match sent {
        Sent::Nothing => ErrorKind::Unavailable,
        Sent::Write => ErrorKind::OutcomeUnknown,
    };
    match error {
        ClientError::UndeterminedError(_) => ErrorKind::OutcomeUnknown,
        ClientError::KeyError(key) => of_key_error(&format!("{key:?}")),
        ClientError::MultipleKeyErrors(errors) | ClientError::ExtractedErrors(errors) => errors
            .iter()
            .map(|error| kind_of(error, sent))
            .find(|kind| *kind == ErrorKind::Conflict)
            .unwrap_or(lost),
        ClientError::PessimisticLockError { inner, .. } => kind_of(inner, sent),
        ClientError::ResolveLockError(_) | ClientError::DuplicateKeyInsertion => {
            ErrorKind::Conflict
        }
        ClientError::KeyspaceNotFound(_) => ErrorKind::NotFound,
        ClientError::Url(_) => ErrorKind::InvalidArgument,
        ClientError::Unimplemented | ClientError::UnsupportedMode => ErrorKind::NotSupported,
        // A connection that was never there: nothing was sent.
        ClientError::Grpc(_) => ErrorKind::Unavailable,
        _ => lost,
    }
}

/// Classifies an error of a key. The fields of the protocol's message are optional and not public
/// as names, so their presence is read from its text.
fn of_key_error(shown: &str) -> ErrorKind {
    let has = |field: &str| {
        shown.contains(&format!("{field}: Some("))
            || shown.contains(&format!("{field}: \"")) && !shown.contains(&format!("{field}: \"\""))
    };
    if has("conflict") || has("locked") || has("retryable") || has("already_exist") {
        ErrorKind::Conflict
    } else if has("commit_ts_expired") || shown.contains("GC") || has("txn_not_found") {
        ErrorKind::SnapshotExpired
    } else {
        ErrorKind::Engine
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;
    use tikv_client::Error as ClientError;

    use super::{Sent, convert, of_key_error};

    #[test]
    fn a_lost_answer_is_unknown_for_writes_only() {
        let lost = || ClientError::InternalError {
            message: "stream closed".to_owned(),
        };
        assert_eq!(
            convert(lost(), Sent::Nothing).kind(),
            ErrorKind::Unavailable
        );
        assert_eq!(
            convert(lost(), Sent::Write).kind(),
            ErrorKind::OutcomeUnknown
        );
        let undetermined = ClientError::UndeterminedError(Box::new(lost()));
        assert_eq!(
            convert(undetermined, Sent::Nothing).kind(),
            ErrorKind::OutcomeUnknown
        );
        let missing = ClientError::KeyspaceNotFound("stones".to_owned());
        assert_eq!(convert(missing, Sent::Nothing).kind(), ErrorKind::NotFound);
    }

    #[test]
    fn key_errors_are_read_by_field() {
        let conflict = concat!(
            r#"KeyError { locked: None, retryable: "", abort: "", "#,
            "conflict: Some(WriteConflict { .. }) }"
        );
        assert_eq!(of_key_error(conflict), ErrorKind::Conflict);
        let retry = r#"KeyError { locked: None, retryable: "try again", abort: "" }"#;
        assert_eq!(of_key_error(retry), ErrorKind::Conflict);
        let other = r#"KeyError { locked: None, retryable: "", abort: "bad", conflict: None }"#;
        assert_eq!(of_key_error(other), ErrorKind::Engine);
    }
}
