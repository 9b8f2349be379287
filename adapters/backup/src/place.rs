//! `Place`: where a backup is: objects by name, which are created once and never changed.
//!
//! Names have two parts, a folder and a name in it, of letters, digits, `-` and `.`. Only one
//! operation must be atomic against other processes: [`Place::create`], which fails if the object
//! exists. Everything that orders a backup is created so; every other name is used once.

use std::fmt::Debug;

use cairndb_base::Result;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
use cairndb_base::{Error, ErrorKind};

/// An object of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name within the folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// An object that is being written. It is not there before [`Upload::finish`], and never if that
/// is not called.
pub trait Upload: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes the object durable, under its name. An object with this name is replaced.
    ///
    /// # Errors
    /// `Io`, `NoSpace`. It is then unknown whether the object is there, but if so, it is whole.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An object that is being read, from front to back.
pub trait Download: Send {
    /// Fills `out` with the next bytes, and returns how many there were: fewer than `out` has room
    /// for only at the end.
    ///
    /// # Errors
    /// `Io`.
    fn read(&mut self, out: &mut [u8]) -> Result<usize>;
}

/// Where a backup is.
///
/// Threads: any. Every error names the place and the object.
pub trait Place: Debug + Send + Sync {
    /// The place, as messages show it: without secrets.
    fn url(&self) -> &str;

    /// Creates an object, durably and as a whole. Returns `false` if there is one with this name,
    /// which may be the one that this very call has created: over a network, an answer may be lost
    /// and the request repeated. A caller that must know reads the object.
    ///
    /// # Errors
    /// `Io`, `NoSpace`. It is then unknown whether the object was created. `NotSupported` if the
    /// place cannot refuse.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool>;

    /// Begins an object.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    fn upload(&self, name: &str) -> Result<Box<dyn Upload + '_>>;

    /// Opens an object.
    ///
    /// # Errors
    /// `NotFound`, `Io`.
    fn download(&self, name: &str) -> Result<Box<dyn Download + '_>>;

    /// Lists a folder, in the order of the names, from the one after `after` on.
    ///
    /// # Errors
    /// `Io`.
    fn list(&self, folder: &str, after: &str) -> Result<Vec<Object>>;

    /// Removes an object, or does nothing if there is none.
    ///
    /// # Errors
    /// `Io`.
    fn remove(&self, name: &str) -> Result<()>;
}

/// Returns the error of an object.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(crate) fn failed(kind: ErrorKind, url: &str, name: &str, message: &'static str) -> Error {
    Error::new(kind, message).file(name).directory(url.as_ref())
}

/// Splits a name into folder and name.
pub(crate) fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("", name))
}
