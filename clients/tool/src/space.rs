//! One keyspace of an open database: the default one, or the one that `--keyspace` names.

use std::path::Path;

use cairndb::leveldb::Order;
use cairndb::{Cursor, Db, ErrorKind, Keyspace, KeyspaceOptions, WriteBatch};
use cairndb_base::hash64;

use crate::failure::{Failure, Result};
use crate::orders;

/// A keyspace and its database.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) db: Db,
    /// `None` is the default one.
    keyspace: Option<Keyspace>,
}

impl Space {
    /// Returns the keyspace `name` of the database at `path`.
    pub(crate) fn of(db: &Db, path: &Path, name: Option<&str>) -> Result<Space> {
        let keyspace = name.map(|name| db.keyspace(name)).transpose();
        Ok(Space {
            db: db.clone(),
            keyspace: keyspace.map_err(failure(path))?,
        })
    }

    /// Returns all keyspaces, the default one first.
    pub(crate) fn all(db: &Db, path: &Path) -> Result<Vec<Space>> {
        let names = db.keyspaces();
        let names = [None].into_iter().chain(names.iter().map(|it| Some(&**it)));
        names.map(|name| Space::of(db, path, name)).collect()
    }

    /// Returns the keyspace `name`, which is created if there is none.
    pub(crate) fn made(
        db: &Db,
        path: &Path,
        name: &str,
        options: &KeyspaceOptions,
    ) -> Result<Space> {
        if !db.keyspaces().iter().any(|known| known == name) {
            db.create_keyspace(name, options).map_err(failure(path))?;
        }
        Space::of(db, path, Some(name))
    }

    /// Returns the name; `None` of the default keyspace.
    pub(crate) fn name(&self) -> Option<&str> {
        self.keyspace.as_ref().map(Keyspace::name)
    }

    /// Returns the options; `None` of the default keyspace.
    pub(crate) fn options(&self) -> Option<KeyspaceOptions> {
        self.keyspace.as_ref().map(Keyspace::options)
    }

    /// Returns what the hashes of its entries are combined with.
    pub(crate) fn hash(&self) -> u64 {
        self.name().map_or(0, |name| hash64(name.as_bytes()))
    }

    /// Returns the order of its keys, in the database at `path`.
    pub(crate) fn order(&self, path: &Path) -> Order {
        match self.options() {
            None => orders::order_of(path),
            Some(options) => options
                .comparator_name()
                .and_then(orders::find)
                .unwrap_or_default(),
        }
    }

    pub(crate) fn cursor(&self) -> Cursor {
        match &self.keyspace {
            None => self.db.cursor(),
            Some(keyspace) => keyspace.cursor(),
        }
    }

    pub(crate) fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> cairndb::Result<bool> {
        match &self.keyspace {
            None => self.db.get_into(key, out),
            Some(keyspace) => keyspace.get_into(key, out),
        }
    }

    pub(crate) fn put(&self, batch: &mut WriteBatch, key: &[u8], value: &[u8]) {
        match &self.keyspace {
            None => batch.put(key, value),
            Some(keyspace) => batch.put_in(keyspace, key, value),
        }
    }

    pub(crate) fn delete(&self, batch: &mut WriteBatch, key: &[u8]) {
        match &self.keyspace {
            None => batch.delete(key),
            Some(keyspace) => batch.delete_in(keyspace, key),
        }
    }

    pub(crate) fn delete_range(&self, batch: &mut WriteBatch, range: impl cairndb::KeyRange) {
        match &self.keyspace {
            None => batch.delete_range(range),
            Some(keyspace) => batch.delete_range_in(keyspace, range),
        }
    }

    pub(crate) fn compact(&self, range: impl cairndb::KeyRange) -> cairndb::Result<()> {
        match &self.keyspace {
            None => self.db.compact_range(range),
            Some(keyspace) => keyspace.compact_range(range),
        }
    }
}

/// Returns a function that turns an error of a call with the name of a keyspace into a failure: one
/// that does not exist is not a missing database.
pub(crate) fn failure(path: &Path) -> impl Fn(cairndb::Error) -> Failure + '_ {
    move |error| match error.kind() {
        ErrorKind::NotFound => Failure::other(format!("{}: {error}", path.display())),
        _ => Failure::of(path)(error),
    }
}
