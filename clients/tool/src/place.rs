//! Where a command works: a directory, or the store of `--store`, which stands for it.
//!
//! On the command line, the directory comes before the key. With `--store`, the first word is the
//! key, so the words move up by one.

use std::ffi::OsStr;
use std::path::Path;

use crate::arguments::{Delete, Get, KeyspaceArguments, Put, Scan, StoreArguments};
use crate::failure::{Failure, Result};

/// Where a command works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StorePlace<'a> {
    /// A database, and one of its keyspaces.
    Directory(&'a Path, Option<&'a str>),
    Url(&'a str),
}

/// Returns where a command works, and its other words.
fn split<'a>(
    store: &'a StoreArguments,
    keyspace: &'a KeyspaceArguments,
    words: impl IntoIterator<Item = &'a OsStr>,
) -> Result<(StorePlace<'a>, Vec<&'a OsStr>)> {
    let mut words = words.into_iter();
    let place = match (&store.store, keyspace.name()) {
        (Some(url), None) => StorePlace::Url(url),
        (Some(_), Some(_)) => {
            return Err(Failure::usage("the store of a URL has no keyspaces"));
        }
        (None, name) => StorePlace::Directory(Path::new(words.next().unwrap_or_default()), name),
    };
    Ok((place, words.collect()))
}

impl Get {
    /// Returns place and key.
    pub(crate) fn place(&self) -> Result<(StorePlace<'_>, &OsStr)> {
        let words = [self.directory.as_os_str()].into_iter();
        let words = words.chain(self.key.as_deref());
        let (place, words) = split(&self.store, &self.keyspace, words)?;
        match *words {
            [key] => Ok((place, key)),
            [] => Err(needed("a key")),
            _ => Err(no_directory()),
        }
    }
}

impl Put {
    /// Returns place, key and value, unless the value comes from a file.
    pub(crate) fn place(&self) -> Result<(StorePlace<'_>, &OsStr, Option<&OsStr>)> {
        let words = [self.directory.as_os_str()].into_iter();
        let words = words
            .chain(self.key.as_deref())
            .chain(self.value.as_deref());
        let (place, words) = split(&self.store, &self.keyspace, words)?;
        match (&*words, &self.file) {
            (&[key], Some(_)) => Ok((place, key, None)),
            (&[key, value], None) => Ok((place, key, Some(value))),
            ([], _) => Err(needed("a key")),
            ([_], None) => Err(needed("a value")),
            ([_, _], Some(_)) => Err(Failure::usage(
                "the value and --file cannot be used together",
            )),
            _ => Err(no_directory()),
        }
    }
}

impl Delete {
    /// Returns place and keys.
    pub(crate) fn place(&self) -> Result<(StorePlace<'_>, Vec<&OsStr>)> {
        let words = [self.directory.as_os_str()].into_iter();
        let words = words.chain(self.keys.iter().map(|key| &**key));
        split(&self.store, &self.keyspace, words)
    }
}

impl Scan {
    /// Returns the place.
    pub(crate) fn place(&self) -> Result<StorePlace<'_>> {
        let words = self.directory.iter().map(|path| path.as_os_str());
        split(&self.store, &self.keyspace, words).map(|(place, _)| place)
    }
}

fn no_directory() -> Failure {
    Failure::usage("--store stands for the directory; leave the directory out")
}

fn needed(what: &str) -> Failure {
    Failure::usage(format!("{what} is needed"))
}
