//! `Bucket`: the client of an object store, with where its objects are and the runtime it needs.

use cairndb_base::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::path::Path;

use super::address::Address;
use super::driver::Driver;
use super::refusal::{Doing, refused};
use crate::place::failed;

/// Length of the parts in which objects travel: at least the 5 MiB that S3 wants, and short enough
/// that one passes through a slow line before the time limit of a request.
pub(super) const PART_BYTES: usize = 8 << 20;

/// A bucket and a prefix in it.
pub(super) struct Bucket {
    pub url: String,
    prefix: Path,
    // Dropped before the runtime that it uses.
    pub store: Box<dyn ObjectStore>,
    pub driver: Driver,
}

impl Bucket {
    pub(super) fn open(url: &str, settings: &[(&str, &str)]) -> Result<Bucket> {
        let address = Address::parse(url)?;
        Ok(Bucket {
            store: address.connect(settings)?,
            url: address.url,
            prefix: address.prefix,
            driver: Driver::start()?,
        })
    }

    /// Waits for an operation on the object `name`, and gives its error its meaning.
    pub(super) fn wait<T>(
        &self,
        doing: Doing,
        name: &str,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        let result = self.driver.wait(call)?;
        result.map_err(|error| self.refused(doing, name, &error))
    }

    pub(super) fn refused(&self, doing: Doing, name: &str, error: &object_store::Error) -> Error {
        refused(doing, &self.url, name, error)
    }

    /// Returns the path of an object of the place.
    pub(super) fn path(&self, name: &str) -> Result<Path> {
        let parsed =
            Path::parse(name).map(|name| self.prefix.parts().chain(name.parts()).collect::<Path>());
        parsed.map_err(|_| {
            let message = "the name of the object has an empty or relative part";
            failed(ErrorKind::InvalidArgument, &self.url, name, message)
        })
    }
}
