//! The calls of a transaction for any keyspace.

use cairndb_base::{Kind, Result};

use crate::api::keyspace::Keyspace;
use crate::api::value::Value;
use crate::transaction::handle::Transaction;
use crate::transaction::options::Isolation;

impl Transaction {
    /// Like [`Transaction::get`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Snapshot::get_in`](crate::Snapshot::get_in).
    pub fn get_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        let record = self.isolation == Isolation::Serializable;
        self.get_recorded(Some(keyspace), key, record)
    }

    /// Like [`Transaction::get_for_update`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::get_in`].
    pub fn get_for_update_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Value>> {
        self.get_recorded(Some(keyspace), key, true)
    }

    /// Like [`Transaction::multi_get`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::get_in`]; the error names the key.
    pub fn multi_get_in<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        keys: &[K],
    ) -> Result<Vec<Option<Value>>> {
        self.multi_get_recorded(Some(keyspace), keys)
    }

    /// Like [`Transaction::contains`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::get_in`].
    pub fn contains_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<bool> {
        self.contains_recorded(Some(keyspace), key)
    }

    /// Sets `key` to `value` in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::put`]; `InvalidArgument` if the keyspace belongs to another database;
    /// `Closed` if it was dropped.
    pub fn put_in(&self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_in(keyspace, Kind::Put, key, value)
    }

    /// Removes `key` in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::put_in`].
    pub fn delete_in(&self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        self.add_in(keyspace, Kind::Delete, key, b"")
    }

    /// Adds `operand` to `key` in `keyspace`; see [`Transaction::merge`].
    ///
    /// # Errors
    /// Same as [`Transaction::put_in`], and those of [`Keyspace::merge`].
    pub fn merge_in(&self, keyspace: &Keyspace, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add_in(keyspace, Kind::Merge, key, operand)
    }

    fn add_in(&self, keyspace: &Keyspace, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        self.snapshot.check(keyspace)?;
        self.add(keyspace.space(), kind, key, value)
    }
}
