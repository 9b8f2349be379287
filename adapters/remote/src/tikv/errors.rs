//! What an error of the client means for the call that failed.

use cairndb_store::{Error, ErrorKind};
use tikv_client::{Error as ClientError, ProtoKeyError};

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
        ErrorKind::LimitExceeded => "an answer of the cluster is longer than the client accepts",
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
        ClientError::KeyError(key) => of_key_error(key),
        ClientError::MultipleKeyErrors(errors) | ClientError::ExtractedErrors(errors) => errors
            .iter()
            .map(|error| kind_of(error, sent))
            .find(|kind| *kind == ErrorKind::Conflict)
            .unwrap_or(lost),
        ClientError::PessimisticLockError { inner, .. } => kind_of(inner, sent),
        ClientError::ResolveLockError(_)
        | ClientError::DuplicateKeyInsertion
        | ClientError::TxnNotFound(_) => ErrorKind::Conflict,
        ClientError::KeyspaceNotFound(_) => ErrorKind::NotFound,
        ClientError::Url(_) => ErrorKind::InvalidArgument,
        // After a write it does not say whether that was done.
        ClientError::GrpcAPI(status)
            if sent == Sent::Nothing && is_too_long(i32::from(status.code()), status.message()) =>
        {
            ErrorKind::LimitExceeded
        }
        ClientError::Unimplemented | ClientError::UnsupportedMode => ErrorKind::NotSupported,
        // Also `Grpc`, an error of connecting: the client may have sent the request before, over an
        // earlier connection, and connect to repeat it.
        _ => lost,
    }
}

/// Code of gRPC: the message is longer than the receiver accepts, among other causes.
const OUT_OF_RANGE: i32 = 11;

/// Returns whether an answer was longer than the client accepts.
fn is_too_long(code: i32, message: &str) -> bool {
    code == OUT_OF_RANGE && message.contains("message length too large")
}

/// Returns whether a write that the client sends only once was not done, so that it can be sent
/// again. Anything else may come after the write, such as an answer that the command is stale.
pub(super) fn is_refused(error: &ClientError) -> bool {
    match error {
        // Before it was sent: no connection, or no server that could take it.
        ClientError::Grpc(_)
        | ClientError::LeaderNotFound { .. }
        | ClientError::RegionForKeyNotFound { .. }
        | ClientError::EntryNotFoundInRegionCache => true,
        // A server that did not propose it to the others.
        ClientError::RegionError(region) => {
            region.not_leader.is_some()
                || region.key_not_in_region.is_some()
                || region.epoch_not_match.is_some()
                || region.server_is_busy.is_some()
                || region.store_not_match.is_some()
                || region.proposal_in_merging_mode.is_some()
                || region.mismatch_peer_id.is_some()
        }
        _ => false,
    }
}

/// Classifies an error of a key. The server refused the request, so nothing was written.
fn of_key_error(key: &ProtoKeyError) -> ErrorKind {
    let is_conflict = key.conflict.is_some()
        || key.locked.is_some()
        || key.already_exist.is_some()
        || key.deadlock.is_some()
        // The transaction took too long, and another one removed its locks.
        || key.commit_ts_expired.is_some()
        || key.txn_not_found.is_some()
        || !key.retryable.is_empty();
    if is_conflict {
        ErrorKind::Conflict
    } else if key.abort.contains("GC") {
        ErrorKind::SnapshotExpired
    } else {
        ErrorKind::Engine
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;
    use tikv_client::{
        Error as ClientError, ProtoKeyError, ProtoLockInfo, ProtoRegionError, SecurityManager,
    };

    use super::{Sent, convert, is_refused, is_too_long, of_key_error};

    /// Returns the error of a connection to a port that nobody listens on.
    fn no_connection() -> ClientError {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let manager = SecurityManager::default();
            let connected = manager.connect("127.0.0.1:1", drop).await;
            connected.expect_err("nobody listens")
        })
    }

    #[test]
    fn a_failed_connection_says_nothing_about_a_write_that_the_client_repeats() {
        let error = no_connection();
        assert!(matches!(error, ClientError::Grpc(_)), "{error:?}");
        // A write that is sent only once was not sent.
        assert!(is_refused(&error));
        assert_eq!(
            convert(error, Sent::Write).kind(),
            ErrorKind::OutcomeUnknown
        );
        assert_eq!(
            convert(no_connection(), Sent::Nothing).kind(),
            ErrorKind::Unavailable
        );
    }

    #[test]
    #[expect(
        clippy::default_trait_access,
        reason = "the client does not export the types"
    )]
    fn only_a_write_that_was_not_proposed_is_refused() {
        let region = |error: ProtoRegionError| ClientError::RegionError(Box::new(error));
        let refused = [
            ProtoRegionError {
                not_leader: Some(Default::default()),
                ..ProtoRegionError::default()
            },
            ProtoRegionError {
                epoch_not_match: Some(Default::default()),
                ..ProtoRegionError::default()
            },
            ProtoRegionError {
                server_is_busy: Some(Default::default()),
                ..ProtoRegionError::default()
            },
        ];
        for error in refused.map(region) {
            assert!(is_refused(&error), "{error:?}");
        }
        let stale = ProtoRegionError {
            stale_command: Some(Default::default()),
            ..ProtoRegionError::default()
        };
        let removed = ProtoRegionError {
            region_not_found: Some(Default::default()),
            ..ProtoRegionError::default()
        };
        for error in [stale, removed, ProtoRegionError::default()].map(region) {
            assert!(!is_refused(&error), "{error:?}");
        }
        let lost = ClientError::InternalError {
            message: "stream closed".to_owned(),
        };
        assert!(!is_refused(&lost));
    }

    #[test]
    fn an_answer_that_is_too_long_is_recognised() {
        let message =
            "Error, decoded message length too large: found 42 bytes, the limit is: 32 bytes";
        assert!(is_too_long(11, message));
        assert!(!is_too_long(14, message));
        assert!(!is_too_long(11, "offset out of range"));
    }

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
    #[expect(
        clippy::default_trait_access,
        reason = "the client does not export the type"
    )]
    fn refused_keys_are_conflicts_if_a_retry_helps() {
        let conflict = ProtoKeyError {
            conflict: Some(Default::default()),
            ..ProtoKeyError::default()
        };
        let locked = ProtoKeyError {
            locked: Some(ProtoLockInfo::default()),
            ..ProtoKeyError::default()
        };
        let retry = ProtoKeyError {
            retryable: "try again".to_owned(),
            ..ProtoKeyError::default()
        };
        for error in [&conflict, &locked, &retry] {
            assert_eq!(of_key_error(error), ErrorKind::Conflict, "{error:?}");
        }
        let aborted = |why: &str| ProtoKeyError {
            abort: why.to_owned(),
            ..ProtoKeyError::default()
        };
        let old = aborted("GC life time is shorter than transaction duration");
        assert_eq!(of_key_error(&old), ErrorKind::SnapshotExpired);
        assert_eq!(of_key_error(&aborted("bad")), ErrorKind::Engine);
        // One conflict among several errors of a commit decides: the commit was refused.
        let several = ClientError::MultipleKeyErrors(vec![
            ClientError::KeyError(Box::new(aborted("bad"))),
            ClientError::KeyError(Box::new(conflict)),
        ]);
        assert_eq!(convert(several, Sent::Write).kind(), ErrorKind::Conflict);
    }
}
