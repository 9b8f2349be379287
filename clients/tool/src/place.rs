//! Where a command works: a directory, or the store of `--store`, which stands for it.
//!
//! On the command line, the directory comes before the key. With `--store`, the first word is the
//! key, so the words move up by one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::arguments::{Delete, Get, Put, Scan};
use crate::failure::Failure;

/// Where a command works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StorePlace<'a> {
    Directory(&'a Path),
    Url(&'a str),
}

/// What `put` writes, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) place: StorePlace<'a>,
    pub(crate) key: &'a OsStr,
    /// The value, unless it comes from a file.
    pub(crate) value: Option<&'a OsStr>,
}

impl Get {
    /// Returns place and key. With `--store`, the first word is the key.
    pub(crate) fn place(&self) -> Result<(StorePlace<'_>, &OsStr), Failure> {
        match (&self.store.store, &self.key) {
            (None, Some(key)) => Ok((StorePlace::Directory(&self.directory), key)),
            (Some(url), None) => Ok((StorePlace::Url(url), self.directory.as_os_str())),
            (Some(_), Some(_)) => Err(no_directory()),
            (None, None) => Err(needed("a key")),
        }
    }
}

impl Put {
    /// Returns what is written and where. With `--store`, the first word is the key.
    pub(crate) fn written(&self) -> Result<Written<'_>, Failure> {
        let (place, key, value, rest) = match &self.store.store {
            None => {
                let key = self.key.as_deref().ok_or_else(|| needed("a key"))?;
                let place = StorePlace::Directory(&self.directory);
                (place, key, self.value.as_deref(), None)
            }
            Some(url) => {
                let key = self.directory.as_os_str();
                let value = self.key.as_deref();
                (StorePlace::Url(url), key, value, self.value.as_deref())
            }
        };
        match (value, &self.file, rest) {
            (_, _, Some(_)) => Err(no_directory()),
            (None, None, _) => Err(needed("a value")),
            (Some(_), Some(_), _) => Err(Failure::Usage(
                "the value and --file cannot be used together".to_owned(),
            )),
            _ => Ok(Written { place, key, value }),
        }
    }
}

impl Delete {
    /// Returns place and keys. With `--store`, the first word is a key.
    pub(crate) fn place(&self) -> (StorePlace<'_>, Vec<&OsStr>) {
        let keys = self.keys.iter().map(OsString::as_os_str);
        match &self.store.store {
            None => (StorePlace::Directory(&self.directory), keys.collect()),
            Some(url) => {
                let first = self.directory.as_os_str();
                (
                    StorePlace::Url(url),
                    std::iter::once(first).chain(keys).collect(),
                )
            }
        }
    }
}

impl Scan {
    /// Returns the place.
    pub(crate) fn place(&self) -> Result<StorePlace<'_>, Failure> {
        match (&self.store.store, &self.directory) {
            (None, Some(directory)) => Ok(StorePlace::Directory(directory)),
            (Some(url), None) => Ok(StorePlace::Url(url)),
            (Some(_), Some(_)) => Err(no_directory()),
            (None, None) => Err(needed("a directory")),
        }
    }
}

fn no_directory() -> Failure {
    Failure::Usage("--store stands for the directory; leave the directory out".to_owned())
}

fn needed(what: &str) -> Failure {
    Failure::Usage(format!("{what} is needed"))
}
