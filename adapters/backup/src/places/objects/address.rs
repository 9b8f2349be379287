//! `Address`: the URL of a place in an object store, and the client for it.
//!
//! The URL is taken apart here because it may contain a secret that no message may show.

use std::str::FromStr;
use std::time::Duration;

use cairndb_base::{Error, Result};
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use super::refusal::Cause;

/// Repetitions of a request, and the time after which no more begin: `object_store` would go on for
/// minutes, in which a user waits without a word.
const RETRIES: usize = 5;
const RETRY_TIME: Duration = Duration::from_secs(30);

/// A parsed URL.
#[derive(Debug)]
pub(super) struct Address {
    /// The URL without user, password and query.
    pub url: String,
    pub prefix: Path,
    scheme: Scheme,
    bucket: String,
}

#[derive(Clone, Copy, Debug)]
enum Scheme {
    S3,
    Gcs,
    Azure,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Address> {
        let (name, rest) = url.split_once("://").ok_or_else(|| {
            Error::invalid("the URL of an object store has the form s3://bucket/prefix")
        })?;
        let scheme = match name {
            "s3" => Scheme::S3,
            "gs" => Scheme::Gcs,
            "az" => Scheme::Azure,
            _ => {
                let message = "no object store has this scheme; s3, gs and az are known";
                return Err(Error::invalid(message).found(name));
            }
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket = authority.rsplit('@').next().unwrap_or_default();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(allowed) {
            // What stands there may be a secret with a slash in it.
            let message = "the URL of the object store names no bucket; the form is \
                           s3://bucket/prefix, and credentials come from the environment";
            return Err(Error::invalid(message));
        }
        let prefix = Path::from_url_path(prefix).map_err(|_| {
            Error::invalid("the path in the URL of the object store has an empty or relative part")
        })?;
        let slash = if prefix.is_root() { "" } else { "/" };
        Ok(Address {
            url: format!("{name}://{bucket}{slash}{prefix}"),
            prefix,
            scheme,
            bucket: bucket.to_owned(),
        })
    }

    /// Builds the client; `settings` come before those of the environment.
    pub(super) fn connect(&self, settings: &[(&str, &str)]) -> Result<Box<dyn ObjectStore>> {
        let built = match self.scheme {
            Scheme::S3 => self.s3(settings),
            Scheme::Gcs => self.gcs(settings),
            Scheme::Azure => self.azure(settings),
        }?;
        built.map_err(|error| {
            let message = "the settings of the object store are not usable";
            Error::invalid(message)
                .found(&self.url)
                .source_error(Cause::of(&error))
        })
    }

    #[cfg(feature = "s3")]
    fn s3(&self, settings: &[(&str, &str)]) -> Result<Built> {
        let mut builder = object_store::aws::AmazonS3Builder::from_env();
        for (name, value) in settings {
            builder = builder.with_config(key(name)?, *value);
        }
        // Not all servers know the request that removes several objects.
        let builder = builder.with_disable_bulk_delete(true);
        Ok(boxed(
            builder
                .with_bucket_name(&self.bucket)
                .with_retry(retry())
                .build(),
        ))
    }

    #[cfg(not(feature = "s3"))]
    fn s3(&self, _: &[(&str, &str)]) -> Result<Built> {
        self.not_built("built without the client of S3; build it with the feature `s3`")
    }

    #[cfg(feature = "gcs")]
    fn gcs(&self, settings: &[(&str, &str)]) -> Result<Built> {
        let mut builder = object_store::gcp::GoogleCloudStorageBuilder::from_env();
        for (name, value) in settings {
            builder = builder.with_config(key(name)?, *value);
        }
        Ok(boxed(
            builder
                .with_bucket_name(&self.bucket)
                .with_retry(retry())
                .build(),
        ))
    }

    #[cfg(not(feature = "gcs"))]
    fn gcs(&self, _: &[(&str, &str)]) -> Result<Built> {
        self.not_built(
            "built without the client of Google Cloud Storage; build it with the feature `gcs`",
        )
    }

    #[cfg(feature = "azure")]
    fn azure(&self, settings: &[(&str, &str)]) -> Result<Built> {
        let mut builder = object_store::azure::MicrosoftAzureBuilder::from_env();
        for (name, value) in settings {
            builder = builder.with_config(key(name)?, *value);
        }
        Ok(boxed(
            builder
                .with_container_name(&self.bucket)
                .with_retry(retry())
                .build(),
        ))
    }

    #[cfg(not(feature = "azure"))]
    fn azure(&self, _: &[(&str, &str)]) -> Result<Built> {
        self.not_built("built without the client of Azure; build it with the feature `azure`")
    }

    #[cfg(not(all(feature = "s3", feature = "gcs", feature = "azure")))]
    fn not_built(&self, message: &'static str) -> Result<Built> {
        let message = format!("this program was {message}");
        Err(Error::new(cairndb_base::ErrorKind::NotSupported, message).found(&self.url))
    }
}

type Built = object_store::Result<Box<dyn ObjectStore>>;

fn boxed<S: ObjectStore>(store: object_store::Result<S>) -> Built {
    store.map(|store| Box::new(store) as Box<dyn ObjectStore>)
}

/// Returns the key of a setting that is named as in the environment.
fn key<K: FromStr>(name: &str) -> Result<K> {
    let key = name.to_ascii_lowercase().parse();
    key.map_err(|_| Error::invalid("the object store has no such setting").found(name))
}

/// The limits of a single request, 5 seconds to connect and 30 in all, are `object_store`'s own.
fn retry() -> RetryConfig {
    RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_TIME,
        ..RetryConfig::default()
    }
}
