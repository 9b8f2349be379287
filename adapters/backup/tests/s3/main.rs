//! Places in a bucket of S3, on a server that `tests/s3.sh` starts, and on servers of the tests
//! that misbehave.
//!
//! `CAIRN_S3` is the endpoint of a server with the bucket `cairn`, whose credentials are in
//! `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`; without it, the tests that need it are skipped.
//! `CAIRN_SEED` sets the seed of the faults, `CAIRN_S3_OPS` the number of operations under them.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests print their seeds, and fail where they panic"
)]

mod backups;
#[expect(dead_code, reason = "shared with another test program")]
#[path = "../backup/model.rs"]
mod contents;
mod contract;
mod faults;
mod http;
mod model;
mod proxy;
mod refusals;

use std::fs::OpenOptions;
use std::io::Write as _;

use cairndb_backup::{Objects, Place};
use cairndb_base::Result;

/// Returns the endpoint of the server, or records that the test is skipped.
#[expect(
    clippy::disallowed_methods,
    reason = "the list of skips is a real file"
)]
fn endpoint() -> Option<String> {
    if let Ok(endpoint) = std::env::var("CAIRN_S3") {
        return Some(endpoint);
    }
    let reason = "S3: run adapters/backup/tests/s3.sh, which starts a server";
    println!("skipped: {reason}");
    if let Ok(path) = std::env::var("CAIRN_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let reported = file.and_then(|mut file| writeln!(file, "{reason}"));
        assert!(reported.is_ok(), "the list of skips: {reported:?}");
    }
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!ci, "CI=true and {reason}");
    None
}

/// Opens a place at `endpoint`, under a prefix that this run of the test has for itself.
fn place(endpoint: &str, prefix: &str) -> Objects {
    let url = format!("s3://cairn/{prefix}-{}", std::process::id());
    let settings = [("AWS_ENDPOINT", endpoint), ("AWS_ALLOW_HTTP", "true")];
    Objects::open_with(&url, &settings).expect("the settings are right")
}

/// Opens a place at an endpoint that asks for no credentials.
fn open_place(endpoint: &str) -> Objects {
    let settings = [
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "ada"),
        ("AWS_SECRET_ACCESS_KEY", "lovelace"),
    ];
    Objects::open_with("s3://cairn/own", &settings).expect("the settings are right")
}

/// Returns content that differs for each seed.
fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut random = cairndb_env::random::Random::new(seed);
    let mut bytes = Vec::with_capacity(len + 7);
    while bytes.len() < len {
        bytes.extend(random.next_u64().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Uploads an object in pieces.
fn upload(place: &dyn Place, name: &str, content: &[u8], piece_bytes: usize) -> Result<()> {
    let mut upload = place.upload(name)?;
    for piece in content.chunks(piece_bytes) {
        upload.write(piece)?;
    }
    upload.finish()
}

/// Downloads an object in pieces.
fn download(place: &dyn Place, name: &str, piece_bytes: usize) -> Result<Vec<u8>> {
    let mut download = place.download(name)?;
    let mut content = Vec::new();
    let mut piece = vec![0; piece_bytes];
    loop {
        let len = download.read(&mut piece)?;
        content.extend_from_slice(&piece[..len]);
        if len < piece_bytes {
            assert_eq!(download.read(&mut piece)?, 0, "the end stays the end");
            return Ok(content);
        }
    }
}

/// Lists the names of a folder.
fn names(place: &dyn Place, folder: &str, after: &str) -> Vec<String> {
    let objects = place.list(folder, after).expect("the folder can be listed");
    objects.into_iter().map(|object| object.name).collect()
}
