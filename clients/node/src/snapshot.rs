//! Explicit snapshots, and the moment that a read refers to.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use cairndb::{
    Cursor, Db, Error, ErrorKind, ForkReport, Keyspace, Result, Snapshot, Value as Found,
};

use crate::handle::Handle;
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};

/// A snapshot until it is closed.
type Held = RefCell<Option<Arc<Snapshot>>>;

/// What a read sees: everything written so far, or what a snapshot holds.
#[derive(Clone, Debug)]
pub(crate) struct Moment(Option<Arc<Snapshot>>);

impl Moment {
    /// Reads the moment from an argument: a snapshot, or anything else for now.
    pub(crate) fn from_argument(value: Value<'_>) -> Outcome<Moment> {
        if !value.is_external()? {
            return Ok(Moment(None));
        }
        let held = external::borrow::<Held>(value)?.borrow();
        let snapshot = held.as_ref().map(Arc::clone);
        let closed = || Error::new(ErrorKind::Closed, "the snapshot was closed");
        Ok(Moment(Some(snapshot.ok_or_else(closed)?)))
    }

    pub(crate) fn is_now(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the moment of a read of several steps, which all see the same.
    pub(crate) fn fixed(self, db: &Db) -> Moment {
        Moment(Some(self.0.unwrap_or_else(|| Arc::new(db.snapshot()))))
    }

    #[inline]
    pub(crate) fn get_into(&self, of: &Keyspace, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match &self.0 {
            None => of.get_into(key, out),
            Some(snapshot) => snapshot.get_into_in(of, key, out),
        }
    }

    pub(crate) fn contains(&self, of: &Keyspace, key: &[u8]) -> Result<bool> {
        match &self.0 {
            None => of.contains(key),
            Some(snapshot) => snapshot.contains_in(of, key),
        }
    }

    pub(crate) fn multi_get(&self, of: &Keyspace, keys: &[&[u8]]) -> Result<Vec<Option<Found>>> {
        match &self.0 {
            None => of.multi_get(keys),
            Some(snapshot) => snapshot.multi_get_in(of, keys),
        }
    }

    /// Makes a fork of what a read of `of`, a keyspace of `db`, sees.
    pub(crate) fn fork(&self, db: &Db, of: &Keyspace, path: &Path) -> Result<ForkReport> {
        let Some(snapshot) = &self.0 else {
            return db.fork(path);
        };
        // Fails for a snapshot of another database.
        drop(snapshot.cursor_in(of)?);
        snapshot.fork(path)
    }

    pub(crate) fn cursor(&self, of: &Keyspace) -> Result<Cursor> {
        match &self.0 {
            None => Ok(of.cursor()),
            Some(snapshot) => snapshot.cursor_in(of),
        }
    }
}

/// `snapshotNew(handle)`: takes a snapshot.
pub(crate) fn snapshot_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    handle.check_open()?;
    give_snapshot(call.env, handle.db().snapshot())
}

/// Returns a snapshot for JavaScript.
pub(crate) fn give_snapshot(env: Env<'_>, snapshot: Snapshot) -> Outcome<Value<'_>> {
    external::give(env, Held::new(Some(Arc::new(snapshot))))
}

/// `snapshotClose(snapshot)`: releases it; reads that run keep it until they end.
pub(crate) fn snapshot_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    external::borrow::<Held>(call.argument::<0>())?.take();
    call.env.undefined()
}
