//! Encrypted connections: which certificates are trusted, and with which the client shows itself.
//!
//! The setting `tls=yes` requires encryption, and that the server's certificate is valid for the
//! host of the URL. `ca` names a file with trusted certificates, instead of those of the system;
//! `cert` and `key` a certificate of the client and its key. The variables `CAIRN_STORE_CA`,
//! `CAIRN_STORE_CERT` and `CAIRN_STORE_KEY` are used where the URL says nothing. The client of TiKV
//! has no encryption without all three files, and they switch it on unless the URL has `tls=no`.

use cairndb_store::{Error, Result};

use crate::url::{Address, Choice};

/// Settings of every networked engine.
pub(crate) const SETTINGS: [&str; 4] = ["tls", "ca", "cert", "key"];

#[cfg(any(feature = "etcd", feature = "postgres"))]
/// What an encrypted connection needs, in PEM.
#[cfg_attr(
    not(feature = "tls"),
    expect(dead_code, reason = "only a build with TLS reads it")
)]
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// Trusted certificates, or those of the system.
    pub(crate) ca: Option<Vec<u8>>,
    /// Certificate and key of the client.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

#[cfg(any(feature = "etcd", feature = "postgres"))]
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

#[cfg(any(feature = "etcd", feature = "postgres"))]
/// Returns what the URL says about encryption, or `None` if connections are not encrypted.
///
/// # Errors
/// `NotSupported` in a build without the feature `tls`; `NotFound` if a file cannot be read;
/// `InvalidArgument` if only one of `cert` and `key` is there, or a file without `tls`.
pub(crate) fn of(address: &Address) -> Result<Option<Tls>> {
    if address.choice("tls", Choice::No)? == Choice::No {
        // A certificate in the URL says that the connection is meant to be encrypted.
        let [tls, files @ ..] = SETTINGS;
        let given = files
            .into_iter()
            .find(|name| address.setting(name).is_some());
        return match given {
            Some(name) if address.setting(tls).is_none() => Err(Error::invalid(format!(
                "the setting {name} needs tls=yes: without it, connections are not encrypted"
            ))),
            _ => Ok(None),
        };
    }
    if cfg!(not(feature = "tls")) {
        return Err(Error::new(
            cairndb_store::ErrorKind::NotSupported,
            "this build has no TLS: compile cairndb-remote with the feature `tls`",
        ));
    }
    let file = |name: &str| {
        let path = path(address, name);
        path.map(|path| read(name, &path)).transpose()
    };
    let identity = match (file("cert")?, file("key")?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => {
            return Err(Error::invalid(
                "a certificate of the client needs both settings, cert and key",
            ));
        }
    };
    Ok(Some(Tls {
        ca: file("ca")?,
        identity,
    }))
}

/// Returns the path of the setting `name`, or else of its variable, such as `CAIRN_STORE_CA`.
fn path(address: &Address, name: &str) -> Option<String> {
    let path = address.setting(name).map(str::to_owned);
    let variable = format!("CAIRN_STORE_{}", name.to_ascii_uppercase());
    path.or_else(|| std::env::var(variable).ok())
}

/// Returns the paths of `ca`, `cert` and `key`, for a client that reads them itself and encrypts
/// only with all three, or `None` if connections are not encrypted.
///
/// # Errors
/// `InvalidArgument` if some are missing.
#[cfg(feature = "tikv")]
pub(crate) fn paths(address: &Address) -> Result<Option<[String; 3]>> {
    let files = ["ca", "cert", "key"].map(|name| path(address, name));
    let required = match address.setting("tls") {
        None => None,
        Some(_) => Some(address.choice("tls", Choice::No)?),
    };
    all_or_none(required, files)
}

#[cfg(feature = "tikv")]
fn all_or_none(
    required: Option<Choice>,
    files: [Option<String>; 3],
) -> Result<Option<[String; 3]>> {
    match (required, files) {
        (Some(Choice::No), _) | (None, [None, None, None]) => Ok(None),
        (_, [Some(ca), Some(cert), Some(key)]) => Ok(Some([ca, cert, key])),
        _ => Err(Error::invalid(
            "encryption needs all three settings, ca, cert and key, or their variables \
             CAIRN_STORE_CA, CAIRN_STORE_CERT and CAIRN_STORE_KEY; tls=no does not encrypt",
        )),
    }
}

#[cfg(any(feature = "etcd", feature = "postgres"))]
#[expect(
    clippy::disallowed_methods,
    reason = "certificates are no files of a database, so they are read from the system directly"
)]
fn read(name: &str, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let message = format!("the file {path:?} of the setting {name} cannot be read");
        Error::new(cairndb_store::ErrorKind::NotFound, message).source_error(error)
    })
}

#[cfg(all(feature = "tls", any(feature = "etcd", feature = "postgres")))]
pub(crate) use rustls_config::client_config;

#[cfg(all(feature = "tls", any(feature = "etcd", feature = "postgres")))]
mod rustls_config {
    use std::sync::Arc;

    use cairndb_store::{Error, Result};
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ClientConfig, RootCertStore};

    use super::Tls;

    fn unusable(what: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::invalid(format!("{what} cannot be used")).source_error(error)
    }

    fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
        let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match found {
            Ok(found) if found.is_empty() => {
                Err(Error::invalid(format!("{what} holds no certificate")))
            }
            Ok(found) => Ok(found),
            Err(error) => Err(unusable(what, error)),
        }
    }

    /// Returns the configuration of a client.
    pub(crate) fn client_config(tls: &Tls) -> Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        match &tls.ca {
            Some(pem) => {
                for certificate in certificates("the file of the setting ca", pem)? {
                    roots
                        .add(certificate)
                        .map_err(|error| unusable("a certificate of the setting ca", error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("TLS", error))?
            .with_root_certificates(roots);
        let Some((cert, key)) = &tls.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates("the file of the setting cert", cert)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| unusable("the file of the setting key", error))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| unusable("the certificate of the client", error))
    }
}

#[cfg(all(test, feature = "tikv"))]
mod tests {
    use cairndb_store::ErrorKind;

    use super::{all_or_none, paths};
    use crate::url::{Address, Choice};

    #[test]
    fn a_client_that_needs_three_files_gets_all_or_none() {
        let three = [Some("a"), Some("b"), Some("c")];
        let two = [Some("a"), Some("b"), None];
        let files = |names: [Option<&str>; 3]| names.map(|name| name.map(str::to_owned));
        let of = |required, names| all_or_none(required, files(names));
        for required in [None, Some(Choice::Yes)] {
            let found = of(required, three).expect("all are there");
            assert_eq!(found, Some(["a", "b", "c"].map(str::to_owned)));
            let error = of(required, two).expect_err("one is missing");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
        assert_eq!(of(None, [None; 3]).expect("not encrypted"), None);
        assert!(of(Some(Choice::Yes), [None; 3]).is_err());
        // The variables may be there for another store.
        assert_eq!(of(Some(Choice::No), two).expect("not encrypted"), None);
        let address = Address::parse("tikv://pd/keyspace?ca=a&cert=b&key=c");
        let found = paths(&address.expect("a valid URL")).expect("all are there");
        assert_eq!(found, Some(["a", "b", "c"].map(str::to_owned)));
    }
}
