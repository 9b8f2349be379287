//! `Objects`: a place in an object store, such as a bucket of S3, through the crate `object_store`.
//!
//! The trait blocks and the client does not, so each place owns a runtime with one thread, on which
//! the calling threads wait. Memory is bounded: an upload holds at most three parts, a download
//! one.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb_base::{ErrorKind, Result};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode};

use crate::place::{Download, Object, Place, Upload, failed};

mod address;
mod bucket;
mod download;
mod driver;
mod refusal;
mod upload;

use bucket::Bucket;
use download::Received;
use refusal::Doing;
use upload::Sent;

/// Attempts at a `create` that is disturbed by others of the same name.
const CREATE_ATTEMPTS: u32 = 5;

/// Pause between them.
const CREATE_PAUSE: Duration = Duration::from_millis(100);

/// Name of the object that shows whether [`Place::create`] can be relied on.
const PROBE_NAME: &str = "probe/create";

const PROBE: &[u8] = b"This object shows that the store refuses to create an object twice.\n";

const REPLACES: &str = "the place replaces objects where it should refuse to create them twice (it \
                        ignores the header `If-None-Match`), so it cannot hold a backup";

/// An object store as a place.
///
/// Credentials and settings are those of the crate `object_store`, from the environment: for S3,
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, and for a server that is not
/// Amazon's, `AWS_ENDPOINT` and possibly `AWS_ALLOW_HTTP=true`. A request has 30 seconds
/// (`AWS_TIMEOUT`) and is repeated up to five times within 30 seconds, then the call fails.
/// The permission to list the bucket is needed even to read: without it, S3 refuses to say that an
/// object is missing.
///
/// * [`Place::create`] asks the store to refuse if the object exists. If the answer to such a
///   request is lost, it is repeated, and then finds the object of the first: `create` may return
///   `false` although this call made the object. A caller that must know reads it. Before the first
///   object, `create` tries on the object `probe/create`, which stays, whether the store refuses
///   at all: some accept every such request, and then replace.
/// * [`Upload`] sends objects of up to 8 MiB at once and longer ones in parts, of which S3 allows
///   10,000 (78 GiB). A dropped one is aborted, but if the process or the connection ends first,
///   its parts stay, unseen, and are paid for: a rule of the bucket should remove incomplete
///   uploads after some days.
/// * [`Download`] fails if the object is replaced meanwhile.
///
/// Calls block, so inside an asynchronous runtime they fail with `InvalidArgument`.
///
/// ```no_run
/// use cairndb_backup::{Objects, Place};
/// # fn main() -> cairndb_base::Result<()> {
/// let place = Objects::open("s3://quarry/nightly")?;
/// assert!(place.create("notes/first", b"slate")?);
/// # Ok(()) }
/// ```
pub struct Objects {
    bucket: Bucket,
    /// Whether the store was seen to refuse a second object of a name.
    probed: AtomicBool,
}

impl fmt::Debug for Objects {
    /// Shows no setting: some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("url", &self.bucket.url)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. Asks nothing of
    /// the store yet. User, password and query of the URL are ignored.
    ///
    /// # Errors
    /// `InvalidArgument` for another URL, or for settings that the client refuses, such as an
    /// access key without its secret; `NotSupported` if the client of this scheme was not built in;
    /// `Io` if no thread can be started.
    pub fn open(url: &str) -> Result<Objects> {
        Objects::open_with(url, &[])
    }

    /// Opens the same with settings that come before those of the environment and have the same
    /// names.
    ///
    /// # Errors
    /// Those of [`Objects::open`]; `InvalidArgument` for an unknown name.
    ///
    /// ```
    /// # #[cfg(feature = "s3")]
    /// # {
    /// use cairndb_backup::{Objects, Place};
    /// let settings = [("AWS_ACCESS_KEY_ID", "ada"), ("AWS_SECRET_ACCESS_KEY", "lovelace")];
    /// let place = Objects::open_with("s3://ada:lovelace@quarry/nightly/", &settings).unwrap();
    /// assert_eq!(place.url(), "s3://quarry/nightly");
    /// # }
    /// ```
    pub fn open_with(url: &str, settings: &[(&str, &str)]) -> Result<Objects> {
        Ok(Objects {
            bucket: Bucket::open(url, settings)?,
            probed: AtomicBool::new(false),
        })
    }

    /// Creates the object at `path`, unless there is one.
    async fn put_new(&self, path: &Path, bytes: &[u8]) -> object_store::Result<bool> {
        let mut attempt = 1;
        loop {
            let payload = bytes.to_vec().into();
            match self
                .bucket
                .store
                .put_opts(path, payload, PutMode::Create.into())
                .await
            {
                Ok(_) => return Ok(true),
                Err(object_store::Error::AlreadyExists { source, .. })
                    if source.is::<object_store::Error>() =>
                {
                    // The condition of the request failed.
                    return Ok(false);
                }
                Err(error @ object_store::Error::AlreadyExists { .. }) => {
                    // A store answers 409, too, while others write or remove the object, which may
                    // then be absent.
                    match self.bucket.store.head(path).await {
                        Ok(_) => return Ok(false),
                        Err(object_store::Error::NotFound { .. }) => {}
                        Err(error) => return Err(error),
                    }
                    if attempt == CREATE_ATTEMPTS {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            attempt += 1;
            tokio::time::sleep(CREATE_PAUSE).await;
        }
    }

    /// Returns whether the store refuses to create an object twice.
    async fn refuses(&self, probe: &Path) -> object_store::Result<bool> {
        Ok(!self.put_new(probe, PROBE).await? || !self.put_new(probe, PROBE).await?)
    }
}

impl Place for Objects {
    fn url(&self) -> &str {
        &self.bucket.url
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.bucket.path(name)?;
        if !self.probed.load(Ordering::Relaxed) {
            let probe = self.bucket.path(PROBE_NAME)?;
            if !self
                .bucket
                .wait(Doing::Creating, name, self.refuses(&probe))?
            {
                return Err(failed(
                    ErrorKind::NotSupported,
                    &self.bucket.url,
                    name,
                    REPLACES,
                ));
            }
            self.probed.store(true, Ordering::Relaxed);
        }
        self.bucket
            .wait(Doing::Creating, name, self.put_new(&path, bytes))
    }

    fn upload(&self, name: &str) -> Result<Box<dyn Upload + '_>> {
        Ok(Box::new(Sent::new(&self.bucket, name)?))
    }

    fn download(&self, name: &str) -> Result<Box<dyn Download + '_>> {
        Ok(Box::new(Received::open(&self.bucket, name)?))
    }

    fn list(&self, folder: &str, after: &str) -> Result<Vec<Object>> {
        let path = self.bucket.path(folder)?;
        let mut objects = match after {
            "" => self.bucket.store.list(Some(&path)),
            after => {
                let after = self.bucket.path(&format!("{folder}/{after}"))?;
                self.bucket.store.list_with_offset(Some(&path), &after)
            }
        };
        let mut found = Vec::new();
        self.bucket.wait(Doing::Other, folder, async {
            while let Some(object) =
                std::future::poll_fn(|context| objects.as_mut().poll_next(context)).await
            {
                let object = object?;
                let name = object.location.as_ref().strip_prefix(path.as_ref());
                let name = name.map_or("", |name| name.trim_start_matches('/'));
                // Objects in folders of the folder are not of this place.
                if !name.is_empty() && !name.contains('/') {
                    found.push(Object {
                        name: name.to_owned(),
                        bytes: object.size,
                    });
                }
            }
            Ok(())
        })?;
        found.retain(|object| object.name.as_str() > after);
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.bucket.path(name)?;
        self.bucket.wait(Doing::Other, name, async {
            match self.bucket.store.delete(&path).await {
                Err(object_store::Error::NotFound { source, .. })
                    if !refusal::bucket_is_missing(&*source) =>
                {
                    Ok(())
                }
                removed => removed,
            }
        })
    }
}
