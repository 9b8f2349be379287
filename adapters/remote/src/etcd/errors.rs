//! What an error of the client means for the call that failed.

use cairndb_store::{Error, ErrorKind};

/// The meaning of an error.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was done: no connection, or the engine has refused it for now. Another member may
    /// accept it.
    NotDone(Error),
    /// The answer is missing. What was sent may have been done, or may be done later.
    Lost(Error),
    /// The engine has refused the token: nothing was done. A new one helps.
    Stale(Error),
    /// The request, or the answer of a read, was too long to be received: nothing was done.
    TooLong(Error),
    /// The engine has refused it for good.
    Refused(Error),
}

impl Failure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Failure::NotDone(error)
            | Failure::Lost(error)
            | Failure::Stale(error)
            | Failure::TooLong(error)
            | Failure::Refused(error) => error,
        }
    }
}

// The numbers of gRPC's status codes.
const INVALID_ARGUMENT: i32 = 3;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const OUT_OF_RANGE: i32 = 11;
const UNIMPLEMENTED: i32 = 12;
const DATA_LOSS: i32 = 15;
const UNAUTHENTICATED: i32 = 16;

impl From<etcd_client::Error> for Failure {
    fn from(error: etcd_client::Error) -> Failure {
        match &error {
            etcd_client::Error::GRpcStatus(status) => {
                let (code, message) = (i32::from(status.code()), status.message().to_owned());
                of_status(code, &message)
            }
            etcd_client::Error::TransportError(_) | etcd_client::Error::IoError(_) => {
                Failure::NotDone(unavailable(&error.to_string()))
            }
            _ => Failure::Refused(Error::new(ErrorKind::Engine, error.to_string())),
        }
    }
}

fn unavailable(message: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("a member of the cluster cannot be reached: {message}"),
    )
}

/// Classifies what the engine says about a user. These errors have several codes, and none in the
/// answers of a watch.
///
/// What a token does not permit was not done. A member checks the token before it proposes a write
/// to the others. It proposes the write with the revision of the users and roles that the token is
/// for; if that is no longer the newest when the write is applied, every member refuses it.
pub(super) fn of_user(message: &str) -> Option<Failure> {
    let says = |part: &str| message.contains(part);
    let denied = |text: &str| Error::new(ErrorKind::Denied, format!("{text}: {message}"));
    if says("invalid auth token") || says("auth store is old") {
        return Some(Failure::Stale(denied("the engine refused the token")));
    }
    let text = if says("user name is empty") {
        "the cluster demands a user: write user:password@ before the hosts of the URL, or set \
         CAIRN_STORE_USER and CAIRN_STORE_PASSWORD"
    } else if says("authentication is not enabled") {
        "the cluster has no users: remove the user from the URL, and unset CAIRN_STORE_USER"
    } else if says("permission denied") || says("authentication failed") {
        "the engine refused the credentials"
    } else {
        return None;
    };
    Some(Failure::Refused(denied(text)))
}

/// Classifies by code and message, because etcd uses few codes for many causes.
fn of_status(code: i32, message: &str) -> Failure {
    if let Some(failure) = of_user(message) {
        return failure;
    }
    let says = |part: &str| message.contains(part);
    let refused = |kind: ErrorKind, text: &str| {
        Failure::Refused(Error::new(kind, format!("{text}: {message}")))
    };
    match code {
        OUT_OF_RANGE if says("compacted") => refused(
            ErrorKind::SnapshotExpired,
            "the engine has removed old revisions",
        ),
        _ if says("message length too large") => Failure::TooLong(Error::new(
            ErrorKind::Engine,
            format!("the answer is too long: {message}"),
        )),
        // Before the member has decoded it.
        RESOURCE_EXHAUSTED if says("received message larger than max") => {
            let text = "the request is longer than the cluster accepts (--max-request-bytes)";
            Failure::TooLong(Error::new(
                ErrorKind::LimitExceeded,
                format!("{text}: {message}"),
            ))
        }
        RESOURCE_EXHAUSTED if says("space exceeded") => refused(
            ErrorKind::Full,
            "the cluster has reached its quota (compact and defragment it, then disarm the alarm)",
        ),
        INVALID_ARGUMENT if says("too large") || says("too many operations") => refused(
            ErrorKind::LimitExceeded,
            "the cluster is configured with lower limits than the defaults",
        ),
        PERMISSION_DENIED | UNAUTHENTICATED => {
            refused(ErrorKind::Denied, "the engine refused the credentials")
        }
        INVALID_ARGUMENT | UNIMPLEMENTED => {
            refused(ErrorKind::Engine, "the engine refused the request")
        }
        DATA_LOSS => refused(ErrorKind::Corruption, "the engine reports lost data"),
        // The member has refused it before proposing it to the others.
        _ if says("too many requests")
            || says("raft proposal dropped")
            || says("tcp connect error")
            || says("dns error") =>
        {
            Failure::NotDone(unavailable(message))
        }
        _ => Failure::Lost(unavailable(message)),
    }
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;

    use super::{Failure, of_status};

    #[test]
    fn what_may_have_been_done_is_never_taken_for_refused() {
        let unknown = [
            (14, "etcdserver: request timed out"),
            (14, "etcdserver: leader changed"),
            (14, "error trying to connect: reset"),
            (
                14,
                "etcdserver: request timed out, possibly due to previous leader failure",
            ),
            (1, "cancelled"),
            (2, "h2 protocol error"),
            (13, "stream closed"),
            (4, "deadline"),
            (11, "mvcc: required revision is a future revision"),
        ];
        for (code, message) in unknown {
            let failure = of_status(code, message);
            assert!(
                matches!(failure, Failure::Lost(_)),
                "{message}: {failure:?}"
            );
        }
    }

    #[test]
    fn a_request_that_no_member_received_is_too_long() {
        let message = "grpc: received message larger than max (2400512 vs. 2097152)";
        match of_status(8, message) {
            Failure::TooLong(error) => {
                assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
                assert!(error.to_string().contains("2097152"), "{error}");
            }
            other => panic!("{other:?}"),
        }
        let answer =
            "Error, decoded message length too large: found 42 bytes, the limit is: 32 bytes";
        assert!(matches!(of_status(11, answer), Failure::TooLong(_)));
    }

    #[test]
    fn refusals_have_their_kinds() {
        let refused = [
            (
                11,
                "mvcc: required revision has been compacted",
                ErrorKind::SnapshotExpired,
            ),
            (
                8,
                "etcdserver: mvcc: database space exceeded",
                ErrorKind::Full,
            ),
            (
                3,
                "etcdserver: request is too large",
                ErrorKind::LimitExceeded,
            ),
            (
                3,
                "too many operations in txn request",
                ErrorKind::LimitExceeded,
            ),
            (7, "permission denied", ErrorKind::Denied),
            (16, "some other server", ErrorKind::Denied),
            (3, "etcdserver: authentication failed", ErrorKind::Denied),
            (3, "etcdserver: user name is empty", ErrorKind::Denied),
            (
                9,
                "etcdserver: authentication is not enabled",
                ErrorKind::Denied,
            ),
        ];
        for (code, message, kind) in refused {
            match of_status(code, message) {
                Failure::Refused(error) => assert_eq!(error.kind(), kind, "{message}"),
                other => panic!("{message}: {other:?}"),
            }
        }
        for message in [
            "etcdserver: invalid auth token",
            "etcdserver: revision of auth store is old",
        ] {
            let failure = of_status(3, message);
            assert!(matches!(failure, Failure::Stale(_)), "{failure:?}");
        }
        let not_done = [
            (14, "tcp connect error"),
            (8, "etcdserver: too many requests"),
        ];
        for (code, message) in not_done {
            assert!(
                matches!(of_status(code, message), Failure::NotDone(_)),
                "{message}"
            );
        }
    }
}
