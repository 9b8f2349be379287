//! What a read goes through: the database or a snapshot, and in it a keyspace.

use std::sync::Arc;

use cairndb::{Cursor, Db, Iter, KeyRange, Keyspace, Result, Snapshot, Value};

use crate::oracle::Oracle;

/// The source of a read, with the model that it must match.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) db: &'a Db,
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// `None` for the default keyspace.
    pub(crate) keyspace: Option<&'a Keyspace>,
    pub(crate) oracle: &'a Oracle,
}

/// Calls one of four methods; the last of them may fail.
macro_rules! through {
    ($reader:ident.$call:ident($($arg:expr),*), $call_in:ident $(. $then:ident())?) => {
        match ($reader.snapshot, $reader.keyspace) {
            (None, None) => $reader.db.$call($($arg),*),
            (None, Some(keyspace)) => keyspace.$call($($arg),*),
            (Some(snapshot), None) => snapshot.$call($($arg),*),
            (Some(snapshot), Some(keyspace)) => {
                snapshot.$call_in(keyspace, $($arg),*)$(.$then())?
            }
        }
    };
}

impl Reader<'_> {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        through!(self.get(key), get_in)
    }

    pub(crate) fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match (self.snapshot, self.keyspace) {
            (None, None) => self.db.get_into(key, out),
            (None, Some(keyspace)) => keyspace.get_into(key, out),
            (Some(snapshot), None) => snapshot.get_into(key, out),
            (Some(_), Some(_)) => {
                let found = self.get(key)?;
                out.clear();
                out.extend_from_slice(found.as_deref().unwrap_or_default());
                Ok(found.is_some())
            }
        }
    }

    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        through!(self.contains(key), contains_in)
    }

    pub(crate) fn multi_get(&self, keys: &[Arc<[u8]>]) -> Result<Vec<Option<Value>>> {
        through!(self.multi_get(keys), multi_get_in)
    }

    pub(crate) fn cursor(&self) -> Cursor {
        through!(self.cursor(), cursor_in.unwrap())
    }

    pub(crate) fn range(&self, range: impl KeyRange) -> Iter {
        through!(self.range(range), range_in.unwrap())
    }

    pub(crate) fn prefix(&self, prefix: &[u8]) -> Iter {
        through!(self.prefix(prefix), prefix_in.unwrap())
    }
}
