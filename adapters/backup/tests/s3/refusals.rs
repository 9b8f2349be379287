//! Places that cannot be used: what the error says, and that it shows no secret.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_backup::{Objects, Place, open_place as open};
use cairndb_base::{Error, ErrorKind};

use super::http::{answer, listen_with};
use super::{content, endpoint, open_place};

/// Returns the errors of all operations.
fn errors(place: &dyn Place) -> Vec<Error> {
    let upload = |len: usize| {
        let mut upload = place.upload("notes/a")?;
        upload.write(&content(1, len))?;
        upload.finish()
    };
    vec![
        place.create("notes/a", b"slate").expect_err("create fails"),
        upload(5).expect_err("a short upload fails"),
        upload(9 << 20).expect_err("a long upload fails"),
        place.download("notes/a").err().expect("download fails"),
        place.list("notes/a", "").expect_err("list fails"),
        place.list("notes/a", "b").expect_err("list fails"),
        place.remove("notes/a").expect_err("remove fails"),
    ]
}

fn settings<'a>(endpoint: &'a str, key: &'a str, secret: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", key),
        ("AWS_SECRET_ACCESS_KEY", secret),
    ]
}

#[test]
fn a_missing_bucket_is_an_error() {
    let Some(endpoint) = endpoint() else { return };
    let settings = [
        ("AWS_ENDPOINT", endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
    ];
    let place = Objects::open_with("s3://nowhere/nightly", &settings).unwrap();
    for error in errors(&place) {
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        let wanted = "i/o error: the bucket does not exist; create it first \
                      (file notes/a in s3://nowhere/nightly)";
        assert!(error.to_string().starts_with(wanted), "{error}");
    }
}

#[test]
fn wrong_credentials_are_named_and_not_shown() {
    let Some(endpoint) = endpoint() else { return };
    let key = std::env::var("AWS_ACCESS_KEY_ID").expect("the script sets a key");
    for (key, token) in [
        (key.as_str(), ""),
        ("AKIANOBODY", ""),
        ("AKIANOBODY", "wrong-token"),
    ] {
        let mut settings = settings(&endpoint, key, "wrong-secret").to_vec();
        if !token.is_empty() {
            settings.push(("AWS_SESSION_TOKEN", token));
        }
        let place = Objects::open_with("s3://cairn/nightly", &settings).unwrap();
        for error in errors(&place) {
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            let text = format!("{error} {error:?} {place:?}");
            let wanted = "the place refuses the credentials; set AWS_ACCESS_KEY_ID and";
            assert!(text.contains(wanted), "{text}");
            assert!(!text.contains("wrong"), "{text}");
        }
    }
}

#[test]
fn the_answer_of_a_server_shows_no_token() {
    let port = listen_with(|_| {
        let body = "<Error><Code>ExpiredToken</Code><Message>It expired.</Message>\
                    <Token-0>hidden</Token-0></Error>";
        answer("403 Forbidden", "", body)
    });
    let endpoint = format!("http://ada:hidden@127.0.0.1:{port}");
    let mut settings = settings(&endpoint, "ada", "hidden").to_vec();
    settings.push(("AWS_SESSION_TOKEN", "hidden"));
    let place = Objects::open_with("s3://ada:hidden@cairn/own?token=hidden", &settings).unwrap();
    assert_eq!(place.url(), "s3://cairn/own");
    for error in errors(&place) {
        let text = format!("{error} {error:?} {place:?}");
        assert!(text.contains("ExpiredToken: It expired."), "{text}");
        assert!(!text.contains("hidden"), "{text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let place = open_place(&format!("http://127.0.0.1:{port}"));
    let error = place.create("notes/a", b"slate").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let text = error.to_string();
    for part in [
        "the place did not answer as it should (file notes/a in s3://cairn/own)",
        "refused",
    ] {
        assert!(text.contains(part), "{part} not in {text}");
    }
}

#[test]
fn a_store_without_conditional_puts_is_refused() {
    // One says so, the other replaces.
    let port = listen_with(|_| {
        let body = "<Error><Code>NotImplemented</Code><Message>No such header.</Message></Error>";
        answer("501 Not Implemented", "", body)
    });
    let error = open_place(&format!("http://127.0.0.1:{port}"))
        .create("a/b", b"")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(
        error
            .message()
            .contains("cannot create an object only where there is none"),
        "{error}"
    );

    let port = listen_with(|_| answer("200 OK", "ETag: \"1\"\r\n", ""));
    let place = open_place(&format!("http://127.0.0.1:{port}"));
    for _ in 0..2 {
        let error = place.create("a/b", b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert!(
            error
                .message()
                .contains("ignores the header `If-None-Match`"),
            "{error}"
        );
        assert_eq!(error.file_name(), Some("a/b"));
    }
}

#[test]
fn a_conflict_is_not_taken_for_an_object() {
    // The server is busy with others, whose objects are not there in the end.
    let requests = AtomicUsize::new(0);
    let port = listen_with(move |head| match head.request() {
        put if put.starts_with("PUT /cairn/own/a/b") => {
            match requests.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => answer("409 Conflict", "", "<Error><Code>Conflict</Code></Error>"),
                _ => answer("200 OK", "ETag: \"1\"\r\n", ""),
            }
        }
        head if head.starts_with("HEAD ") => answer("404 Not Found", "", ""),
        _ => answer("412 Precondition Failed", "", ""),
    });
    assert!(
        open_place(&format!("http://127.0.0.1:{port}"))
            .create("a/b", b"")
            .unwrap()
    );
    let port = listen_with(|head| match head.request() {
        put if put.starts_with("PUT /cairn/own/a/b") => answer("409 Conflict", "", ""),
        head if head.starts_with("HEAD ") => answer("404 Not Found", "", ""),
        _ => answer("412 Precondition Failed", "", ""),
    });
    let error = open_place(&format!("http://127.0.0.1:{port}"))
        .create("a/b", b"")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn urls_are_checked() {
    let kind = |url: &str| open(url, true).err().map(|error| error.kind());
    let invalid = Some(ErrorKind::InvalidArgument);
    for url in [
        "s3://",
        "s3:///a",
        "s3://b c/a",
        "s3://b/a//c",
        "s3://b/../c",
        "ftp://b/a",
    ] {
        assert_eq!(kind(url), invalid, "{url}");
    }
    assert_eq!(
        Objects::open("cairn/a").err().map(|error| error.kind()),
        invalid
    );
    for (url, feature) in [("gs://b/a", "gcs"), ("az://b/a", "azure")] {
        let error = open(&url.replace("://", "://ada:hidden@"), true)
            .map(|_| ())
            .err();
        if let Some(error) = error.filter(|error| error.kind() == ErrorKind::NotSupported) {
            assert!(error.message().contains(&format!("`{feature}`")), "{error}");
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }
    // A secret with a slash, which ends the name of the bucket.
    let error = open("s3://ada:hid/den@b/a", true)
        .map(|_| ())
        .expect_err("it has no bucket");
    assert!(!error.to_string().contains("hid/"), "{error}");
    let settings = [("AWS_FLAVOUR", "hidden")];
    let error = Objects::open_with("s3://b/a", &settings).expect_err("there is no such setting");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("AWS_FLAVOUR"), "{error}");
    assert!(!error.to_string().contains("hidden"), "{error}");
    let settings = [("AWS_ACCESS_KEY_ID", "hidden")];
    let error = Objects::open_with("s3://b/a", &settings).err();
    // The environment may have the secret.
    if let Some(error) = error {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}

#[test]
fn names_are_checked() {
    let place = open_place("http://127.0.0.1:9");
    for name in ["a//b", "a/../b", "."] {
        let error = place.create(name, b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

/// Says to this program, started again, which endpoint it uses.
const CHILD: &str = "CAIRN_S3_CHILD";

/// Starts this program again for one test, with other settings in its environment.
fn run_again(test: &str, change: impl FnOnce(&mut Command) -> &mut Command) {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command
        .args(["--exact", test])
        .env("AWS_ALLOW_HTTP", "true");
    let output = change(&mut command)
        .output()
        .expect("this program can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn settings_come_from_the_environment() {
    let Some(endpoint) = endpoint() else { return };
    if std::env::var_os(CHILD).is_some() {
        let place = open("s3://cairn/environment", true).unwrap();
        place.remove("notes/a").unwrap();
        assert!(place.create("notes/a", b"slate").unwrap());
        return;
    }
    run_again("refusals::settings_come_from_the_environment", |command| {
        command.env(CHILD, "1").env("AWS_ENDPOINT", &endpoint)
    });
}

#[test]
fn missing_credentials_are_named() {
    if std::env::var_os(CHILD).is_some() {
        let place = open("s3://cairn/environment", true).unwrap();
        for error in errors(&*place) {
            assert!(
                error.message().contains("there are no credentials"),
                "{error}"
            );
        }
        return;
    }
    let port = listen_with(|_| answer("404 Not Found", "", ""));
    let endpoint = format!("http://127.0.0.1:{port}");
    run_again("refusals::missing_credentials_are_named", |command| {
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            command.env_remove(name);
        }
        command.envs([(CHILD, "1"), ("AWS_METADATA_ENDPOINT", &endpoint)])
    });
}

#[test]
fn an_asynchronous_caller_is_refused() {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let place = open_place("http://127.0.0.1:9");
    let error = runtime.block_on(async move { place.create("a/b", b"").unwrap_err() });
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
