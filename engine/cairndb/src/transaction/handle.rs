//! The public handle of a transaction.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use cairndb_base::{ErrorKind, Kind, Order, Result};

use crate::api::access::{Space, in_space};
use crate::api::db::Db;
use crate::api::keyspace::Keyspace;
use crate::api::snapshot::Snapshot;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::conflicts::Span;
use crate::state::options::WriteOptions;
use crate::state::sections::StoredKey;
use crate::transaction::commit::{Dependencies, commit};
use crate::transaction::folder::Folder;
use crate::transaction::options::{Isolation, TransactionOptions};
use crate::transaction::own_writes::{OwnWrite, OwnWrites, Savepoint};
use crate::transaction::popped::PoppedEnds;
use crate::transaction::read_set::ReadSet;

/// Reads and writes that take effect together or not at all.
///
/// A transaction reads the state of the database at its start, and its own writes. Its writes are
/// kept in memory until [`commit`](Transaction::commit), which writes them as one batch: visible at
/// one moment, and after a crash there completely or not at all. Dropping a transaction discards
/// it.
///
/// **Conflicts.** Transactions are *optimistic*: they take no lock and never wait for each other.
/// If another writer, transaction or not, has changed something that the transaction depends on
/// ([`Isolation`] says what that is), the commit returns `Conflict` with the key and writes
/// nothing. [`Db::transact`] runs a transaction again until it commits.
///
/// **Cost.** Reads cost what those of a [`Snapshot`] cost, and a search of the own writes, if there
/// are any. Writes are copied into the batch. The first read after writes indexes their keys. The
/// commit looks up each key that it depends on in what was written since the start, usually in the
/// mutable memtable only, and steps through the entries of each range scanned there. Memory: the
/// batch, 12 bytes per write, and, with [`Isolation::Serializable`], the keys read. While a
/// transaction lives, compactions keep the versions it sees, as for a snapshot.
///
/// **Threads.** A transaction may be sent to another thread, but is used by one at a time.
///
/// **Lifetime.** A transaction does not keep the database open: once that has been closed, reads
/// and commits return `Closed`.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// db.put(b"stock", b"7")?;
/// let transaction = db.transaction();
/// let stock = transaction.get(b"stock")?;
/// if stock.as_deref() == Some(&b"7"[..]) {
///     transaction.put(b"stock", b"6")?;
///     transaction.put(b"order 1", b"one stone")?;
/// }
/// transaction.commit()?; // fails if somebody else has written "stock"
/// # Ok(()) }
/// ```
#[must_use = "a transaction that is dropped writes nothing"]
pub struct Transaction {
    pub(super) snapshot: Snapshot,
    pub(super) isolation: Isolation,
    pub(super) own: RefCell<OwnWrites>,
    pub(super) reads: RefCell<ReadSet>,
    /// What was popped last at the first end and at the last.
    pub(super) popped: RefCell<PoppedEnds>,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("isolation", &self.isolation)
            .field("writes", &self.own.borrow().batch().len())
            .finish_non_exhaustive()
    }
}

impl Db {
    /// Starts a transaction that sees everything written so far.
    pub fn transaction(&self) -> Transaction {
        self.transaction_with(&TransactionOptions::new())
    }

    /// Like [`Db::transaction`], but with the settings of `options`.
    pub fn transaction_with(&self, options: &TransactionOptions) -> Transaction {
        Transaction::begin(self.snapshot(), options.isolation)
    }
}

impl Transaction {
    fn begin(snapshot: Snapshot, isolation: Isolation) -> Transaction {
        let orders = snapshot.core().base.opener.orders.clone();
        Transaction {
            snapshot,
            isolation,
            own: RefCell::new(OwnWrites::new(orders)),
            reads: RefCell::default(),
            popped: RefCell::default(),
        }
    }

    /// Returns the state of the database when the transaction began.
    pub(crate) fn start(&self) -> &Snapshot {
        &self.snapshot
    }

    fn core(&self) -> &Arc<Core> {
        self.snapshot.core()
    }

    pub(crate) fn order(&self) -> &Order {
        &self.core().base.context.order
    }

    /// Returns the value of `key`: the own write, or else the value at the start of the
    /// transaction.
    ///
    /// # Errors
    /// Same as [`Db::get`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.get_recorded(None, key, self.isolation == Isolation::Serializable)
    }

    /// Like [`Transaction::get`], but makes the commit fail if another writer changes `key`,
    /// whatever the isolation. With [`Isolation::Serializable`] it is the same as `get`.
    ///
    /// The key stays guarded whether the value is an own write or the database's, and after a
    /// [rollback to a savepoint](Transaction::rollback_to).
    ///
    /// # Errors
    /// Same as [`Db::get`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// use cairndb::{ErrorKind, Isolation, TransactionOptions};
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    /// let transaction = db.transaction_with(&options);
    /// transaction.get_for_update(b"rate")?;
    /// db.put(b"rate", b"5")?;
    /// transaction.put(b"interest", b"computed from the rate")?;
    /// assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Conflict);
    /// # Ok(()) }
    /// ```
    pub fn get_for_update(&self, key: &[u8]) -> Result<Option<Value>> {
        self.get_recorded(None, key, true)
    }

    pub(super) fn get_recorded(
        &self,
        keyspace: Option<&Keyspace>,
        key: &[u8],
        record: bool,
    ) -> Result<Option<Value>> {
        let read = || match keyspace {
            None => self.snapshot.get(key),
            Some(keyspace) => self.snapshot.get_in(keyspace, key),
        };
        let space = keyspace.and_then(Keyspace::space);
        if record {
            self.record(space, key);
        }
        if !self.has_written() {
            return read();
        }
        self.find_own(space, key, |own, write, key| match write {
            OwnWrite::Put(value) => Ok(Some(Value::from(value))),
            OwnWrite::Delete => Ok(None),
            OwnWrite::Merge(op) => {
                let folder = self.folder(own, key);
                let base = if folder.needs_base(op) { read()? } else { None };
                let value = folder.fold(op, base.as_deref())?;
                Ok(Some(Value::from(value)))
            }
        })
        .unwrap_or_else(read)
    }

    /// Records that `key` was read.
    fn record(&self, space: Space<'_>, key: &[u8]) {
        let mut reads = self.reads.borrow_mut();
        match space {
            None => reads.add_key(StoredKey::plain(key)),
            Some(keyspace) => {
                reads.add_keyspace(keyspace);
                keyspace.with_stored(key, |key| reads.add_key(key));
            }
        }
    }

    /// Passes the newest own write of `key` and the stored key to `take`, if there is one.
    fn find_own<T>(
        &self,
        space: Space<'_>,
        key: &[u8],
        take: impl FnOnce(&OwnWrites, OwnWrite<'_>, StoredKey<'_>) -> Result<T>,
    ) -> Option<Result<T>> {
        self.own.borrow_mut().prepare();
        let found = in_space(space, key, |key| {
            let own = self.own.borrow();
            let newest = own.newest(key);
            newest.map(|write| take(&own, write, key)).transpose()
        });
        found.transpose()
    }

    /// Returns the values of `keys`, in the order of `keys`, or the first error.
    ///
    /// # Errors
    /// Same as [`Db::get`]; the error names the key.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.multi_get_recorded(None, keys)
    }

    pub(super) fn multi_get_recorded<K: AsRef<[u8]>>(
        &self,
        keyspace: Option<&Keyspace>,
        keys: &[K],
    ) -> Result<Vec<Option<Value>>> {
        let record = self.isolation == Isolation::Serializable;
        let keys = keys.iter().map(AsRef::as_ref);
        if self.has_written() {
            let get = |key| self.get_recorded(keyspace, key, record);
            let values = keys.map(|key| get(key).map_err(|error| error.key(key)));
            return values.collect();
        }
        if record {
            let space = keyspace.and_then(Keyspace::space);
            keys.clone().for_each(|key| self.record(space, key));
        }
        let keys: Vec<&[u8]> = keys.collect();
        match keyspace {
            None => self.snapshot.multi_get(&keys),
            Some(keyspace) => self.snapshot.multi_get_in(keyspace, &keys),
        }
    }

    /// Returns whether `key` has a value. Does not read large values and does not fold merge
    /// operands.
    ///
    /// # Errors
    /// Same as [`Db::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        self.contains_recorded(None, key)
    }

    pub(super) fn contains_recorded(
        &self,
        keyspace: Option<&Keyspace>,
        key: &[u8],
    ) -> Result<bool> {
        let space = keyspace.and_then(Keyspace::space);
        if self.isolation == Isolation::Serializable {
            self.record(space, key);
        }
        if self.has_written() {
            let is_put = |write: OwnWrite<'_>| !matches!(write, OwnWrite::Delete);
            if let Some(found) = self.find_own(space, key, |_, write, _| Ok(is_put(write))) {
                return found;
            }
        }
        match keyspace {
            None => self.snapshot.contains(key),
            Some(keyspace) => self.snapshot.contains_in(keyspace, key),
        }
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// `InvalidArgument` if the key is longer than 64 MiB, the value longer than 1 GiB, or all
    /// writes of the transaction together longer than 2 GiB. The transaction goes on without the
    /// write.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(None, Kind::Put, key, value)
    }

    pub(super) fn add(&self, space: Space<'_>, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        if kind == Kind::Merge {
            match space {
                None => self.core().base.context.check_operand(value)?,
                Some(keyspace) => keyspace.check_operand(value)?,
            }
        }
        if space.is_none() && kind != Kind::Delete {
            self.popped.borrow_mut().forget(key, self.order());
        }
        self.own.borrow_mut().add(space, kind, key, value)
    }

    /// Removes `key`.
    ///
    /// # Errors
    /// Same as [`Transaction::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.add(None, Kind::Delete, key, b"")
    }

    /// Adds `operand` to `key`. An operand by itself never conflicts: it is applied to the value
    /// that the key has when the transaction is committed.
    ///
    /// # Errors
    /// Same as [`Transaction::put`], and the errors of [`Db::merge`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = cairndb::Options::new().create_if_missing(true);
    /// # let db = options.merge_operator(std::sync::Arc::new(cairndb::Add)).open(&dir)?;
    /// let transaction = db.transaction();
    /// transaction.merge(b"visits", &1_u64.to_le_bytes())?;
    /// db.merge(b"visits", &1_u64.to_le_bytes())?;
    /// transaction.commit()?;
    /// assert_eq!(db.get(b"visits")?.as_deref(), Some(&2_u64.to_le_bytes()[..]));
    /// # Ok(()) }
    /// ```
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(None, Kind::Merge, key, operand)
    }

    /// Returns the number of writes so far.
    pub fn len(&self) -> usize {
        self.own.borrow().batch().len()
    }

    /// Returns whether the transaction has written nothing.
    pub fn is_empty(&self) -> bool {
        self.own.borrow().batch().is_empty()
    }

    /// Marks the current state of the writes, for [`Transaction::rollback_to`].
    pub fn savepoint(&self) -> Savepoint {
        self.own.borrow_mut().savepoint()
    }

    /// Undoes the writes since `savepoint`, which may be used again. What was read since then still
    /// counts as read.
    ///
    /// # Errors
    /// `InvalidArgument` if the savepoint was taken of another transaction, or was itself undone by
    /// a rollback to an earlier one.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        *self.popped.borrow_mut() = PoppedEnds::default();
        self.own.borrow_mut().rollback_to(savepoint)
    }

    /// Discards the transaction, as dropping it does.
    pub fn rollback(self) {
        drop(self);
    }

    /// Writes everything atomically, with the durability of the database.
    ///
    /// A transaction without writes always commits: what it has read was all there at its start.
    ///
    /// # Errors
    /// - `Conflict`, with the key, if another writer has changed something that the transaction
    ///   depends on; see [`Isolation`]. Run the whole transaction again: one that begins now sees
    ///   that change, for whose sync, if any, the commit has waited.
    /// - The errors of [`Db::write`].
    ///
    /// After an error nothing is written, with the exceptions of [`Db::put`].
    pub fn commit(self) -> Result<()> {
        self.commit_with(&WriteOptions::new())
    }

    /// Like [`Transaction::commit`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Transaction::commit`].
    pub fn commit_with(self, options: &WriteOptions) -> Result<()> {
        let core = self.snapshot.core();
        let (own, reads) = (self.own.borrow(), self.reads.borrow());
        if own.batch().is_empty() {
            return Ok(());
        }
        let dependencies = Dependencies {
            reads: &reads,
            written: (self.isolation == Isolation::Snapshot).then(|| own.batch()),
        };
        let durability = core.base.settings.durability_of(*options);
        let since = self.snapshot.seq();
        let committed = commit(core, own.batch(), durability, since, dependencies);
        let committed = committed.or_else(|error| {
            if error.kind() == ErrorKind::Conflict {
                // The conflicting write may wait for its sync. A transaction that began now would
                // not see it, and conflict again.
                core.wait_published()?;
            }
            Err(error)
        });
        core.base.context.with_directory(committed)
    }

    #[inline]
    pub(super) fn has_written(&self) -> bool {
        self.own_changes() > 0
    }

    /// Returns the number of changes to the writes so far.
    #[inline]
    pub(crate) fn own_changes(&self) -> u64 {
        self.own.borrow().changes()
    }

    /// Returns a copy of the key of the own write in a keyspace that `seek` finds.
    pub(crate) fn own_key(&self, space: Space<'_>, seek: OwnSeek<'_>) -> Option<Vec<u8>> {
        if !self.has_written() {
            return None;
        }
        let op = self.seek_own(space, seek)?;
        let own = self.own.borrow();
        let key = own.key(op);
        let number = space.map_or(0, |keyspace| keyspace.record.number);
        (key.keyspace() == number).then(|| key.users().to_vec())
    }

    fn seek_own(&self, space: Space<'_>, seek: OwnSeek<'_>) -> Option<u32> {
        let own = &mut *self.own.borrow_mut();
        match (seek, space) {
            (OwnSeek::AtOrAfter(key, beyond), _) => {
                let found = in_space(space, key, |key| Ok(own.at_or_after(key, beyond)));
                found.expect("a search does not fail")
            }
            (OwnSeek::AtOrBefore(key, beyond), _) => {
                let found = in_space(space, key, |key| Ok(own.at_or_before(key, beyond)));
                found.expect("a search does not fail")
            }
            (OwnSeek::First, None) => own.first(),
            (OwnSeek::Last, None) => own.at_or_before(StoredKey::END_OF_DEFAULT, false),
            (OwnSeek::First, Some(keyspace)) => {
                let (section, bytes) = (keyspace.section(), &keyspace.ends().0);
                own.at_or_after(StoredKey { section, bytes }, false)
            }
            (OwnSeek::Last, Some(keyspace)) => {
                let (section, bytes) = (keyspace.section(), &keyspace.ends().1);
                own.at_or_before(StoredKey { section, bytes }, false)
            }
        }
    }

    /// Passes the own write of `key`, of which there is one, to `take`.
    pub(crate) fn own_value<T>(
        &self,
        space: Space<'_>,
        key: &[u8],
        take: impl FnOnce(OwnWrite<'_>, Folder<'_>) -> Result<T>,
    ) -> Result<T> {
        self.find_own(space, key, |own, write, key| {
            take(write, self.folder(own, key))
        })
        .expect("the caller has found the key among the own writes")
    }

    fn folder<'a>(&'a self, own: &'a OwnWrites, key: StoredKey<'a>) -> Folder<'a> {
        let core = self.core();
        Folder { core, own, key }
    }

    /// Records that `span` of a keyspace was read, if reads are recorded, and returns its index.
    pub(crate) fn add_span(&self, space: Space<'_>, span: Span) -> Option<usize> {
        if self.isolation != Isolation::Serializable {
            return None;
        }
        let mut reads = self.reads.borrow_mut();
        if let Some(keyspace) = space {
            reads.add_keyspace(keyspace);
        }
        Some(reads.add_span(stored_span(space, span)))
    }

    /// Records that only `span` was read of the range at `index`.
    pub(crate) fn narrow_span(&self, space: Space<'_>, index: usize, span: Span) {
        let span = stored_span(space, span);
        self.reads.borrow_mut().narrow(index, span);
    }
}

fn stored_span(space: Space<'_>, span: Span) -> Span {
    match space {
        None => span,
        Some(keyspace) => span.stored_in(keyspace),
    }
}

/// Which own write a cursor looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnSeek<'k> {
    /// The nearest at or after a key, or after it if the flag is set.
    AtOrAfter(&'k [u8], bool),
    /// The nearest at or before a key, or before it if the flag is set.
    AtOrBefore(&'k [u8], bool),
    First,
    Last,
}
