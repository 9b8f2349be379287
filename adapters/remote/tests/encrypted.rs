//! Encrypted connections: servers that accept nothing else, with an authority of their own.
//!
//! Only a build with the feature `tls` has them: `cargo test -p cairndb-remote --features tls`.

#![cfg(feature = "tls")]

mod support;

use cairndb_remote::testing::{Certificates, EtcdCluster, Medium, PostgresServer};
use cairndb_store::{Error, ErrorKind};

/// Writes and reads through `url`.
fn works(url: &str) -> Result<(), Error> {
    let store = cairndb_remote::open(url)?;
    store.put(b"stone", b"slate")?;
    assert_eq!(store.get(b"stone")?.as_deref(), Some(&b"slate"[..]));
    store.close()
}

fn refused(url: &str) -> Error {
    works(url).expect_err("the server or the client refuses the connection")
}

/// Checks what is accepted and what is not, for a server that requires encryption.
fn check(url: &str, files: &Certificates) {
    let (ca, cert, key) = (files.ca(), files.cert(), files.key());
    let (ca, cert, key) = (ca.display(), cert.display(), key.display());
    let trusted = format!("{url}?timeout=10s&tls=yes&ca={ca}");
    works(&format!("{trusted}&cert={cert}&key={key}")).expect("both sides are known");

    // The authority is not one of the system's.
    let error = refused(&format!("{url}?timeout=2s&tls=yes&cert={cert}&key={key}"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // The certificate is for the address, not for the name.
    let named = url.replace("127.0.0.1", "localhost");
    let own = format!("tls=yes&ca={ca}&cert={cert}&key={key}");
    let error = refused(&format!("{named}?timeout=2s&{own}"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // The client shows no certificate, or does not encrypt at all.
    let _ = refused(&format!("{url}?timeout=2s&tls=yes&ca={ca}"));
    let _ = refused(&format!("{url}?timeout=2s"));

    let half = refused(&format!("{trusted}&cert={cert}"));
    assert_eq!(half.kind(), ErrorKind::InvalidArgument, "{half}");
    let missing = refused(&format!("{url}?tls=yes&ca=/nonexistent.pem"));
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    assert!(missing.to_string().contains("nonexistent.pem"), "{missing}");
    // A file that is no certificate.
    let wrong = refused(&format!("{url}?timeout=2s&tls=yes&ca={key}"));
    assert_eq!(wrong.kind(), ErrorKind::InvalidArgument, "{wrong}");
}

#[test]
fn postgres_encrypts() {
    let Some(files) = Certificates::new() else {
        return support::skip("encryption: install openssl");
    };
    let Some(server) = PostgresServer::start_encrypted(Medium::Memory, &files) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    check(&server.url("encrypted"), &files);
}

#[test]
fn etcd_encrypts() {
    let Some(files) = Certificates::new() else {
        return support::skip("encryption: install openssl");
    };
    let Some(cluster) = EtcdCluster::start_encrypted(Medium::Memory, &files) else {
        return support::skip("etcd: install etcd-server");
    };
    check(&cluster.url("encrypted"), &files);
}

#[test]
fn a_server_without_encryption_is_refused() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let url = format!("{}?timeout=2s&tls=yes", server.url("plain"));
    let error = refused(&url);
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}
