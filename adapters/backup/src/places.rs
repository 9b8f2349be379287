//! The kinds of places: directories and, with a feature for each kind, object stores.

use cairndb_base::Result;
#[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
use cairndb_base::{Error, ErrorKind};

use crate::place::Place;

mod directory;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
mod objects;

pub use directory::Directory;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub use objects::Objects;

/// Opens the place that a URL or a path names.
///
/// `s3://bucket/prefix`, `gs://`, `az://` need the feature of their kind, and take their settings
/// and secrets from the environment, as the crate `object_store` documents. Anything else is a
/// directory, `file:///path` included.
///
/// # Errors
/// `InvalidArgument`, `NotSupported`; with `create`, those of creating a directory, otherwise
/// `NotFound`.
pub fn open_place(url: &str, create: bool) -> Result<Box<dyn Place>> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(Box::new(Directory::open(
            cairndb_env::RealEnv::new(),
            url.as_ref(),
            create,
        )?));
    };
    if scheme == "file" {
        return open_place(rest, create);
    }
    #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
    return Ok(Box::new(Objects::open(url)?));
    #[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
    {
        let message = "this program was built without clients of object stores; build it with the \
                       feature `s3`";
        Err(Error::new(ErrorKind::NotSupported, message).found(scheme))
    }
}
