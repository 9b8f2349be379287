//! Errors of object stores, as ours: their kind, what to do, and no secret.
//!
//! The text of an error of `object_store` contains the whole answer of the server and the URL of
//! the request. S3 repeats in its answer what was signed, session tokens included, and a URL may
//! contain a password. So only the code and the message of an answer are shown, and URLs without
//! secrets.

use std::error::Error as StdError;
use std::fmt;

use cairndb_base::{Error, ErrorKind};

use crate::place::failed;

/// Characters of a cause that are shown.
const SHOWN_CHARS: usize = 600;

const CREDENTIALS: &str = "the place refuses the credentials; set AWS_ACCESS_KEY_ID and \
                           AWS_SECRET_ACCESS_KEY, or what object_store documents for this kind of \
                           place";

const NO_CREDENTIALS: &str = "there are no credentials for the place; set AWS_ACCESS_KEY_ID and \
                              AWS_SECRET_ACCESS_KEY";

const UNCONDITIONAL: &str = "the place cannot create an object only where there is none (the \
                             header `If-None-Match`), so it cannot hold a backup";

/// What an operation was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Creating,
    Other,
}

/// Returns the error of an operation on the object `name`.
pub(super) fn refused(doing: Doing, url: &str, name: &str, error: &object_store::Error) -> Error {
    use object_store::Error as Theirs;
    let cause = Cause::of(error);
    // Some operations hand on the status only in the text.
    let status = |status: &str| cause.0.contains(&format!("status code: {status}"));
    let refuses = matches!(
        error,
        Theirs::PermissionDenied { .. } | Theirs::Unauthenticated { .. }
    );
    let unsupported = matches!(
        error,
        Theirs::NotSupported { .. } | Theirs::NotImplemented { .. }
    ) || status("501");
    let (kind, message) = match error {
        _ if bucket_is_missing(error) => {
            (ErrorKind::Io, "the bucket does not exist; create it first")
        }
        Theirs::NotFound { .. } if doing == Doing::Reading => {
            (ErrorKind::NotFound, "the place has no such object")
        }
        Theirs::Precondition { .. } if doing == Doing::Reading => {
            (ErrorKind::Io, "the object was replaced while it was read")
        }
        // Without credentials, the client of S3 asks the machine for some.
        _ if cause.0.contains("/latest/api/token") || cause.0.contains("/latest/meta-data/") => {
            (ErrorKind::Io, NO_CREDENTIALS)
        }
        _ if refuses || status("401") || status("403") => (ErrorKind::Io, CREDENTIALS),
        _ if unsupported && doing == Doing::Creating => (ErrorKind::NotSupported, UNCONDITIONAL),
        _ if unsupported => (ErrorKind::NotSupported, "the place does not support this"),
        _ => (ErrorKind::Io, "the place did not answer as it should"),
    };
    failed(kind, url, name, message).source_error(cause)
}

/// Returns whether an error says that the bucket or container itself is missing.
pub(super) fn bucket_is_missing(error: &dyn StdError) -> bool {
    let text = error.to_string();
    text.contains("NoSuchBucket") || text.contains("ContainerNotFound")
}

/// The text of an error of `object_store`, without secrets.
#[derive(Debug)]
pub(super) struct Cause(String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Cause {}

impl Cause {
    pub(super) fn of(error: &object_store::Error) -> Cause {
        let mut text = without_answer(&error.to_string());
        if let Some(last) = cause_of_silence(error) {
            text = format!("{text}: {last}");
        }
        let words: Vec<String> = text.split_whitespace().map(without_secret).collect();
        Cause(words.join(" ").chars().take(SHOWN_CHARS).collect())
    }
}

/// Returns the innermost cause of an error, if there was no answer. The text of the error leaves it
/// out.
fn cause_of_silence(error: &object_store::Error) -> Option<String> {
    let mut cause = error as &dyn StdError;
    let mut silent = false;
    while let Some(inner) = cause.source() {
        silent |= inner.is::<object_store::client::HttpError>();
        cause = inner;
    }
    silent.then(|| cause.to_string())
}

/// Replaces the answer of the server in a text by its code and message.
fn without_answer(text: &str) -> String {
    let status = text.find("status code: ").and_then(|at| {
        let end = text[at + "status code: ".len()..].find(':')?;
        Some(at + "status code: ".len() + end)
    });
    let response = || {
        text.find("error response: ")
            .map(|at| at + "error response".len())
    };
    let Some(end) = status.or_else(response) else {
        return text.to_owned();
    };
    let (shown, answer) = text.split_at(end);
    let element = |name: &str| {
        let (_, rest) = answer.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0)
    };
    match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => format!("{shown}: {code}: {message}"),
        (Some(code), None) => format!("{shown}: {code}"),
        _ => shown.to_owned(),
    }
}

/// Takes user, password and query out of a URL; returns other words as they are.
fn without_secret(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.to_owned();
    };
    // A password may contain anything, so the last `@` counts, wherever it is.
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split('?').next().unwrap_or_default();
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &'static str) -> String {
        let error = object_store::Error::PermissionDenied {
            path: "a/b".into(),
            source: text.into(),
        };
        refused(Doing::Other, "s3://quarry/nightly", "a/b", &error).to_string()
    }

    #[test]
    fn errors_show_no_secret() {
        let text = shown(
            "Error performing PUT http://ada:pa/ss?wo@rd@127.0.0.1:5000/quarry/a?uploadId=hidden \
             in 1ms - Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?>\n\
             <Error><Code>SignatureDoesNotMatch</Code><Message>Check your\nkey.</Message>\
             <CanonicalRequest>x-amz-security-token:hidden</CanonicalRequest></Error>",
        );
        for secret in ["ada", "pa/ss", "wo@rd", "hidden", "uploadId"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for part in [
            "i/o error: the place refuses the credentials; set AWS_ACCESS_KEY_ID",
            "(file a/b in s3://quarry/nightly)",
            "PUT http://127.0.0.1:5000/quarry/a in 1ms",
            "403 Forbidden: SignatureDoesNotMatch: Check your key.",
        ] {
            assert!(text.contains(part), "{part} not in {text}");
        }
    }

    #[test]
    fn an_answer_of_another_form_is_not_shown() {
        let text = shown("status code: 401 Unauthorized: {\"token\": \"hidden\"}");
        assert!(text.ends_with("status code: 401 Unauthorized"), "{text}");
        let text = shown("Server returned error response: <a>hidden</a>");
        assert!(text.ends_with("Server returned error response"), "{text}");
    }

    #[test]
    fn a_long_cause_is_cut() {
        let text = shown(Box::leak("e\u{301} ".repeat(1000).into_boxed_str()));
        assert!(text.chars().count() < SHOWN_CHARS + 250, "{text}");
    }
}
