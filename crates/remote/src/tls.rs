//! Encrypted connections: which certificates are trusted, and with which the client shows itself.
//!
//! The setting `tls=yes` requires encryption, and that the server's certificate is valid for the
//! host of the URL. `ca` names a file with trusted certificates, instead of those of the system;
//! `cert` and `key` a certificate of the client and its key. The variables `CAIRN_STORE_CA`,
//! `CAIRN_STORE_CERT` and `CAIRN_STORE_KEY` are used where the URL says nothing.

use cairndb_store::{Error, Result};

use crate::url::{Address, Choice};

/// Settings of every networked engine.
pub(crate) const SETTINGS: [&str; 4] = ["tls", "ca", "cert", "key"];

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

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

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
    let file = |name: &str, variable: &str| {
        let path = address.setting(name).map(str::to_owned);
        let path = path.or_else(|| std::env::var(variable).ok());
        path.map(|path| read(name, &path)).transpose()
    };
    let identity = match (
        file("cert", "CAIRN_STORE_CERT")?,
        file("key", "CAIRN_STORE_KEY")?,
    ) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => {
            return Err(Error::invalid(
                "a certificate of the client needs both settings, cert and key",
            ));
        }
    };
    Ok(Some(Tls {
        ca: file("ca", "CAIRN_STORE_CA")?,
        identity,
    }))
}

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
