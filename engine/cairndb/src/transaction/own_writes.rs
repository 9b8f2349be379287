//! `OwnWrites`: the writes of a transaction, and a lookup of their keys.
//!
//! A transaction that only writes fills a batch. The index of its keys is made when it first reads
//! (a key or with a cursor), and continued at later reads. Each operation knows the previous one on
//! the same key, so a rollback to a savepoint can restore the index.

mod sorted_ops;

use std::cmp;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, Kind, Result};
use cairndb_format::batch::Entry;

use self::sorted_ops::{OpPlace, SortedOps};
use crate::api::access::Space;
use crate::state::batch::{Mark, WriteBatch};
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::sections::{Orders, Section, Sections, StoredKey};

/// Stands for "no operation".
const NONE: u32 = u32::MAX;

/// One write of the batch.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// Offset of its entry in the batch, which is at most 2 GiB long.
    offset: u32,
    /// The previous operation on the same key, once the operation is in the index.
    previous: u32,
}

/// State of a transaction's writes to which [`Transaction::rollback_to`] returns.
///
/// [`Transaction::rollback_to`]: crate::Transaction::rollback_to
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// let transaction = db.transaction();
/// transaction.put(b"kept", b"1")?;
/// let savepoint = transaction.savepoint();
/// transaction.put(b"undone", b"2")?;
/// transaction.rollback_to(&savepoint)?;
/// transaction.commit()?;
/// assert!(db.contains(b"kept")? && !db.contains(b"undone")?);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    ops: u32,
    mark: Mark,
    /// Number of changes before it.
    changes: u64,
    /// Identifies the transaction.
    owner: u64,
}

/// A rollback. It ends the savepoints that were taken before it and had more operations.
#[derive(Clone, Copy, Debug)]
struct Rollback {
    /// Number of changes before and including it.
    changes: u64,
    /// Number of operations that it left.
    ops: u32,
}

/// Last number given to a transaction with savepoints.
static OWNERS: AtomicU64 = AtomicU64::new(0);

/// The writes of a transaction.
#[derive(Debug)]
pub(crate) struct OwnWrites {
    orders: Orders,
    batch: WriteBatch,
    ops: Vec<Op>,
    index: SortedOps,
    /// Number of operations in the index.
    indexed: u32,
    /// Number of changes so far, so that a cursor notices them.
    changes: u64,
    /// Rollbacks, except those that a later one with as many operations or fewer makes
    /// superfluous. So both fields ascend.
    rollbacks: Vec<Rollback>,
    /// Number of the transaction, once it has a savepoint.
    owner: u64,
    /// Deleted ranges. The number of each is that of its operation, plus one.
    ranges: Sections<RangeMap>,
    /// The operation of each deleted range, and the ranges before it.
    ranges_before: Vec<(u32, Sections<RangeMap>)>,
}

/// The newest own write of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnWrite<'a> {
    Put(&'a [u8]),
    Delete,
    /// Operands on top of something else; the argument of [`OwnWrites::operands`].
    Merge(u32),
}

impl OwnWrites {
    pub(crate) fn new(orders: Orders) -> OwnWrites {
        OwnWrites {
            orders,
            batch: WriteBatch::new(),
            ops: Vec::new(),
            index: SortedOps::default(),
            indexed: 0,
            changes: 0,
            rollbacks: Vec::new(),
            owner: 0,
            ranges: Sections::default(),
            ranges_before: Vec::new(),
        }
    }

    pub(crate) fn batch(&self) -> &WriteBatch {
        &self.batch
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds a write.
    ///
    /// # Errors
    /// `InvalidArgument` if it exceeds a limit; it is then not added.
    pub(crate) fn add(
        &mut self,
        space: Space<'_>,
        kind: Kind,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let mark = self.batch.mark();
        match (space, kind) {
            (_, Kind::Pointer | Kind::RangeDelete | Kind::TimeMark) => {
                return Err(Error::invalid("not an entry that a user writes"));
            }
            (Some(keyspace), _) => self.batch.add_in(keyspace, kind, key, value),
            (None, Kind::Put) => self.batch.put(key, value),
            (None, Kind::Delete) => self.batch.delete(key),
            (None, Kind::Merge) => self.batch.merge(key, value),
        }
        self.note_added(&mark)
    }

    /// Adds the operation of the entry that was added to the batch after `mark`.
    fn note_added(&mut self, mark: &Mark) -> Result<()> {
        if let Err(error) = self.batch.writer().check() {
            self.batch.truncate(mark);
            return Err(error);
        }
        let offset = u32::try_from(mark.offset()).expect("a batch is at most 2 GiB long");
        self.ops.push(Op {
            offset,
            previous: NONE,
        });
        self.changes += 1;
        Ok(())
    }

    /// Adds the deletion of a range, which is not empty.
    ///
    /// # Errors
    /// `InvalidArgument` if it exceeds a limit; it is then not added.
    pub(crate) fn add_range(&mut self, space: Space<'_>, (from, to): (&[u8], &[u8])) -> Result<()> {
        let (mark, op) = (self.batch.mark(), self.len());
        match space {
            Some(keyspace) => self.batch.add_range_in(keyspace, (from, to), false),
            None => self.batch.add_range(from, to, false),
        }
        self.note_added(&mark)?;
        let entry = self.entry(op);
        let section = Section::of_entry(&entry);
        let range = Deleted::new(entry.key, entry.value, u64::from(op) + 1);
        self.ranges_before.push((op, self.ranges.clone()));
        let map = self.ranges.get_mut(section);
        map.add(&self.orders[section], range);
        Ok(())
    }

    /// Returns the deleted range that `key` is in.
    pub(crate) fn range_of(&self, key: StoredKey<'_>) -> Option<&Deleted> {
        let map = &self.ranges[key.section];
        map.covering(&self.orders[key.section], key.bytes)
    }

    fn len(&self) -> u32 {
        u32::try_from(self.ops.len()).expect("an entry takes at least two bytes of 2 GiB")
    }

    pub(crate) fn savepoint(&mut self) -> Savepoint {
        if self.owner == 0 {
            // Relaxed: only that the numbers differ matters.
            self.owner = OWNERS.fetch_add(1, Ordering::Relaxed) + 1;
        }
        Savepoint {
            ops: self.len(),
            mark: self.batch.mark(),
            changes: self.changes,
            owner: self.owner,
        }
    }

    /// Removes the writes since `savepoint`.
    ///
    /// # Errors
    /// `InvalidArgument` if the savepoint is another transaction's, or was itself undone.
    pub(crate) fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        if savepoint.owner != self.owner {
            return Err(Error::invalid("the savepoint is of another transaction"));
        }
        let later = self
            .rollbacks
            .partition_point(|rollback| rollback.changes <= savepoint.changes);
        // The first of the later ones left the fewest operations.
        let undone = self.rollbacks.get(later);
        if undone.is_some_and(|rollback| rollback.ops < savepoint.ops) {
            return Err(Error::invalid(
                "the savepoint was undone by a rollback to an earlier one",
            ));
        }
        assert!(
            savepoint.ops <= self.len(),
            "only rollbacks remove operations"
        );
        while self.indexed > savepoint.ops {
            self.unindex_last();
        }
        self.ops.truncate(savepoint.ops as usize);
        let undone = |(op, _): &mut (u32, _)| *op >= savepoint.ops;
        while let Some((_, before)) = self.ranges_before.pop_if(undone) {
            self.ranges = before;
        }
        self.batch.truncate(&savepoint.mark);
        self.changes += 1;
        let ops = savepoint.ops;
        while self
            .rollbacks
            .pop_if(|earlier| earlier.ops >= ops)
            .is_some()
        {}
        self.rollbacks.push(Rollback {
            changes: self.changes,
            ops,
        });
        Ok(())
    }

    /// Returns the entry of `op`.
    pub(crate) fn entry(&self, op: u32) -> Entry<'_> {
        let offset = self.ops[op as usize].offset as usize;
        let mut entries = self.batch.writer().entries_from(offset);
        entries.next().expect("an operation has an entry")
    }

    /// Returns the stored key of `op`.
    pub(crate) fn key(&self, op: u32) -> StoredKey<'_> {
        StoredKey::of_entry(&self.entry(op))
    }

    fn compare(&self, op: u32, key: StoredKey<'_>) -> cmp::Ordering {
        self.orders.compare(self.key(op), key)
    }

    /// Adds all operations to the index.
    fn catch_up(&mut self) {
        while self.indexed < self.len() {
            let op = self.indexed;
            let place = self.lower_bound(self.key(op));
            let same = self.index.get(place);
            let same = same.filter(|other| self.compare(*other, self.key(op)).is_eq());
            if same.is_some() {
                self.ops[op as usize].previous = self.index.replace(place, op);
            } else {
                self.index.insert(place, op);
            }
            self.indexed += 1;
        }
    }

    fn unindex_last(&mut self) {
        let op = self.indexed - 1;
        let place = self.lower_bound(self.key(op));
        assert_eq!(
            self.index.get(place),
            Some(op),
            "the last operation in the index is the newest of its key"
        );
        match self.ops[op as usize].previous {
            NONE => self.index.remove(place),
            previous => {
                self.index.replace(place, previous);
            }
        }
        self.indexed = op;
    }

    fn lower_bound(&self, key: StoredKey<'_>) -> OpPlace {
        self.index.lower_bound(|op| self.compare(op, key))
    }

    /// Adds all operations to the index, which [`OwnWrites::newest`] needs.
    pub(crate) fn prepare(&mut self) {
        self.catch_up();
    }

    /// Returns the newest own write of `key`.
    pub(crate) fn newest(&self, key: StoredKey<'_>) -> Option<OwnWrite<'_>> {
        let op = self.index.get(self.lower_bound(key));
        let op = op.filter(|op| self.compare(*op, key).is_eq());
        let deleted = self.range_of(key).map(|range| range.seq);
        match op {
            Some(op) if deleted.is_none_or(|deleted| deleted <= u64::from(op) + 1) => {
                Some(self.write(op))
            }
            _ => deleted.map(|_| OwnWrite::Delete),
        }
    }

    /// Returns the newest operation on the nearest key at or after `key`, or after it if `beyond`.
    pub(crate) fn at_or_after(&mut self, key: StoredKey<'_>, beyond: bool) -> Option<u32> {
        self.catch_up();
        let place = self.lower_bound(key);
        let op = self.index.get(place)?;
        if beyond && self.compare(op, key).is_eq() {
            return self.index.get_after(place);
        }
        Some(op)
    }

    /// Returns the newest operation on the nearest key at or before `key`, or before it if
    /// `beyond`.
    pub(crate) fn at_or_before(&mut self, key: StoredKey<'_>, beyond: bool) -> Option<u32> {
        self.catch_up();
        let place = self.lower_bound(key);
        let at = self
            .index
            .get(place)
            .filter(|op| !beyond && self.compare(*op, key).is_eq());
        at.or_else(|| self.index.get_before(place))
    }

    /// Returns the newest operation on the first key.
    pub(crate) fn first(&mut self) -> Option<u32> {
        self.catch_up();
        self.index
            .get(self.index.lower_bound(|_| cmp::Ordering::Equal))
    }

    /// Returns what `op`, the newest operation on its key, does.
    fn write(&self, op: u32) -> OwnWrite<'_> {
        let entry = self.entry(op);
        match entry.kind {
            Kind::Delete | Kind::RangeDelete | Kind::TimeMark => OwnWrite::Delete,
            Kind::Merge => OwnWrite::Merge(op),
            Kind::Put | Kind::Pointer => OwnWrite::Put(entry.value),
        }
    }

    /// Returns the operands that `op` and the previous operations on its key add, newest first, and
    /// the own write below them, if there is one.
    pub(crate) fn operands(&self, op: u32) -> (Vec<&[u8]>, Option<OwnWrite<'_>>) {
        debug_assert!(op < self.indexed, "operations are linked in the index");
        let deleted = self.range_of(self.key(op)).map_or(0, |range| range.seq);
        let (mut operands, mut op) = (Vec::new(), op);
        while op != NONE && u64::from(op) + 1 > deleted {
            match self.write(op) {
                OwnWrite::Merge(_) => operands.push(self.entry(op).value),
                base => return (operands, Some(base)),
            }
            op = self.ops[op as usize].previous;
        }
        (operands, (deleted > 0).then_some(OwnWrite::Delete))
    }
}
