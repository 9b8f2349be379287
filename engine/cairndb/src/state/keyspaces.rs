//! The keyspaces of a database: their names, numbers and options, and how their keys are compared
//! and their operands folded.
//!
//! A keyspace is a record of about 200 bytes. Dropping it ends its number, which is never used
//! again: whatever still has that number is dead, and compactions drop it. The comparator of a
//! dropped keyspace stays known to this handle, because readers may hold the keyspace's view; after
//! the next open its keys compare equal, which suffices to drop them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use cairndb_base::comparator::KEYSPACES_NAME;
use cairndb_base::limits::{
    COMPARED_KEYSPACE_MIN, KEYSPACE_BYTES, KEYSPACE_NAME_BYTES_MAX, KEYSPACES_MAX,
};
use cairndb_base::{ByKeyspace, Error, KeyspaceOrders, Order, Result};
use cairndb_env::sync::RwLock;
use cairndb_files::{TableClass, TableClasses};
use cairndb_format::manifest::KeyspaceRecord;
use cairndb_format::table::Compression as TableCompression;

use crate::state::merge_operator::MergeOperator;
use crate::state::options::{Compression, KeyspaceOptions, Options};
use crate::state::sections::{Section, keyspace_of};

pub(crate) use self::keyspace::KeyspaceState;
use self::keyspace::no_operator;
use self::registered::Registered;

mod keyspace;
pub(crate) mod registered;

/// Keyspaces that were dropped, and the files that may hold entries of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped {
    /// Those that this handle dropped, each with a file number: only files with smaller ones may
    /// hold entries.
    pub(crate) here: BTreeMap<u32, u64>,
    /// The same number for those that earlier handles dropped.
    pub(crate) before: u64,
}

/// What the lock guards.
#[derive(Debug, Default)]
struct Known {
    /// By number, including those that this handle dropped.
    keyspaces: BTreeMap<u32, Arc<KeyspaceState>>,
    /// Numbers of those that exist, by name.
    names: BTreeMap<String, u32>,
    dropped: Dropped,
    /// Largest number that was ever used, without and with a comparator; 0 if none was.
    last: [u32; 2],
}

/// All keyspaces besides the default one.
#[derive(Debug, Default)]
pub(crate) struct Keyspaces {
    known: RwLock<Known>,
    registered: Registered,
    drops: AtomicU64,
}

/// Numbers of the keyspaces that exist.
pub(crate) type LiveKeyspaces = Arc<[u32]>;

/// Checks a keyspace's name.
///
/// # Errors
/// `InvalidArgument` if it is empty or too long.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > KEYSPACE_NAME_BYTES_MAX {
        return Err(
            Error::invalid("the name of a keyspace must have 1 to 255 bytes")
                .found(format_args!("{} bytes", name.len())),
        );
    }
    Ok(())
}

impl Keyspaces {
    pub(crate) fn new(options: &Options) -> Keyspaces {
        Keyspaces {
            known: RwLock::default(),
            registered: options.registered.clone(),
            drops: AtomicU64::new(0),
        }
    }

    /// Adds the keyspaces that a manifest names. `last` are the largest numbers that it has used,
    /// and its files have numbers below `next_file`.
    ///
    /// # Errors
    /// `InvalidArgument`, with both names, if one needs a comparator or merge operator that is not
    /// registered.
    pub(crate) fn restore(
        &self,
        records: Vec<KeyspaceRecord>,
        last: [u32; 2],
        next_file: u64,
    ) -> Result<()> {
        let mut known = self.known.write();
        // An attempt at an open may follow one that failed.
        *known = Known::default();
        known.dropped.before = next_file;
        known.last = last;
        for record in records {
            known.add(self.registered.keyspace(record)?);
        }
        self.drops
            .store(u64::from(known.last != [0; 2]), Atomic::Release);
        Ok(())
    }

    /// Returns the record for a new keyspace, which is then to be made durable and added.
    ///
    /// # Errors
    /// `InvalidArgument` if it exists, if its comparator or merge operator is not registered, or if
    /// there are too many.
    pub(crate) fn record(&self, name: &str, options: &KeyspaceOptions) -> Result<KeyspaceRecord> {
        let known = self.known.read();
        if known.names.contains_key(name) {
            return Err(
                Error::invalid("the keyspace exists; open it with `keyspace`")
                    .found(format_args!("keyspace {name:?}")),
            );
        }
        if known.names.len() >= KEYSPACES_MAX {
            return Err(Error::invalid("there are too many keyspaces; drop some")
                .expected(format_args!("at most {KEYSPACES_MAX}")));
        }
        let compared = options.comparator.is_some();
        let last = known.last[usize::from(compared)];
        let first = if compared { COMPARED_KEYSPACE_MIN } else { 2 };
        let number = if last == 0 {
            Some(first)
        } else {
            last.checked_add(2)
        };
        let number = number.filter(|it| compared || *it < COMPARED_KEYSPACE_MIN);
        let number = number.ok_or_else(|| {
            Error::invalid("all numbers of keyspaces were used; copy the database to a new one")
        })?;
        Ok(KeyspaceRecord {
            number,
            name: name.to_owned(),
            comparator: options.comparator.clone(),
            merge_operator: options.merge_operator.clone(),
            compression: options.compression.map(Compression::number),
            value_bytes: options.value_bytes,
        })
    }

    /// Returns the keyspace that `record` describes, not yet added.
    ///
    /// # Errors
    /// `InvalidArgument` if its comparator or merge operator is not registered.
    pub(crate) fn prepare(&self, record: KeyspaceRecord) -> Result<Arc<KeyspaceState>> {
        self.registered.keyspace(record)
    }

    /// Adds a keyspace that is durable.
    pub(crate) fn add(&self, keyspace: Arc<KeyspaceState>) {
        self.known.write().add(keyspace);
    }

    /// Removes the name of a keyspace whose drop is durable. Jobs that begin from now on write no
    /// entry of it; their files have numbers from `below` on.
    pub(crate) fn remove(&self, keyspace: &KeyspaceState, below: u64) {
        let (mut known, number) = (self.known.write(), keyspace.record.number);
        let removed = known.names.remove(&keyspace.record.name);
        assert!(removed == Some(number), "a keyspace is dropped once");
        known.dropped.here.insert(number, below);
        keyspace.set_dropped();
        self.drops.fetch_add(1, Atomic::Release);
    }

    /// Adds and removes keyspaces, in a follower, until they are those of a manifest. `last` are
    /// the largest numbers that it has used.
    ///
    /// # Errors
    /// `InvalidArgument` if one needs a comparator or merge operator that is not registered.
    pub(crate) fn follow(
        &self,
        records: &BTreeMap<u32, KeyspaceRecord>,
        last: [u32; 2],
    ) -> Result<()> {
        let exists = |keyspace: &KeyspaceState| {
            let record = records.get(&keyspace.record.number);
            record == Some(&keyspace.record)
        };
        let known = self.known.read();
        let live = known.keyspaces.values().filter(|it| !it.is_dropped());
        let dropped: Vec<_> = live.filter(|it| !exists(it)).cloned().collect();
        let new = records
            .iter()
            .filter(|(number, _)| !known.keyspaces.contains_key(*number));
        let new: Vec<_> = new.map(|(_, record)| record.clone()).collect();
        drop(known);
        for keyspace in dropped {
            self.remove(&keyspace, 0);
        }
        for record in new {
            self.add(self.prepare(record)?);
        }
        let mut known = self.known.write();
        known.last = [0, 1].map(|at| known.last[at].max(last[at]));
        Ok(())
    }

    /// Returns the keyspaces that were dropped.
    pub(crate) fn dropped(&self) -> Dropped {
        self.known.read().dropped.clone()
    }

    /// Forgets dropped keyspaces that nobody uses any more, if there were `drops` drops: no table
    /// and no memtable holds one of their entries.
    pub(crate) fn forget_dropped(&self, drops: u64) {
        let mut known = self.known.write();
        if self.drops() != drops {
            return;
        }
        known.dropped.here.clear();
        let used = |it: &Arc<KeyspaceState>| !it.is_dropped() || Arc::strong_count(it) > 1;
        known.keyspaces.retain(|_, keyspace| used(keyspace));
    }

    /// Records that a job which began before a drop has written tables: files numbered below
    /// `below` may hold entries of keyspaces that this handle dropped.
    pub(crate) fn note_late_tables(&self, below: u64) {
        for file in self.known.write().dropped.here.values_mut() {
            *file = below;
        }
        self.drops.fetch_add(1, Atomic::Release);
    }

    /// Returns the number of drops that may have left entries in tables. Those of earlier handles
    /// count as one.
    pub(crate) fn drops(&self) -> u64 {
        self.drops.load(Atomic::Acquire)
    }

    /// Returns the keyspace `name`.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<KeyspaceState>> {
        let known = self.known.read();
        let number = known.names.get(name)?;
        known.keyspaces.get(number).cloned()
    }

    /// Returns keyspace `number`, also if this handle has dropped it.
    pub(crate) fn get(&self, number: u32) -> Option<Arc<KeyspaceState>> {
        self.known.read().keyspaces.get(&number).cloned()
    }

    /// Returns the names of the keyspaces, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.known.read().names.keys().cloned().collect()
    }

    /// Returns the records of the keyspaces that exist, by number.
    pub(crate) fn records(&self) -> Vec<KeyspaceRecord> {
        let known = self.known.read();
        let live = known.keyspaces.values().filter(|it| !it.is_dropped());
        live.map(|it| it.record.clone()).collect()
    }

    /// Returns the numbers of the keyspaces that exist, ascending.
    pub(crate) fn live(&self) -> LiveKeyspaces {
        let known = self.known.read();
        let live = known.keyspaces.iter().filter(|(_, it)| !it.is_dropped());
        live.map(|(number, _)| *number).collect()
    }

    /// Returns the largest numbers that were used and whose keyspaces do not exist, for a manifest
    /// that would otherwise give them out again.
    pub(crate) fn last_numbers(&self) -> Vec<u32> {
        let known = self.known.read();
        let is_live = |number: &u32| {
            known
                .keyspaces
                .get(number)
                .is_some_and(|it| !it.is_dropped())
        };
        let used = known.last.into_iter().filter(|number| *number > 0);
        used.filter(|number| !is_live(number)).collect()
    }

    /// Returns whether there ever was a keyspace.
    pub(crate) fn were_used(&self) -> bool {
        self.known.read().last != [0; 2]
    }

    /// Returns whether keyspace `number` was ever created.
    fn was_used(&self, number: u32) -> bool {
        let compared = number >= COMPARED_KEYSPACE_MIN;
        number <= self.known.read().last[usize::from(compared)]
    }

    /// Returns whether an entry of the log belongs to a keyspace that exists. If not, the keyspace
    /// was dropped after the entry was written.
    ///
    /// # Errors
    /// `Corruption` if there never was such a keyspace.
    pub(crate) fn keeps_logged(&self, number: u32, live: &LiveKeyspaces) -> Result<bool> {
        if number == 0 || live.binary_search(&number).is_ok() {
            return Ok(true);
        }
        if self.was_used(number) {
            return Ok(false);
        }
        Err(
            Error::corruption("the log has an entry of a keyspace that the manifest does not name")
                .found(format_args!("keyspace {number}")),
        )
    }
}

impl Known {
    fn use_number(&mut self, number: u32) {
        let last = &mut self.last[usize::from(number >= COMPARED_KEYSPACE_MIN)];
        *last = number.max(*last);
    }

    fn add(&mut self, keyspace: Arc<KeyspaceState>) {
        let KeyspaceRecord { number, name, .. } = &keyspace.record;
        self.use_number(*number);
        self.names.insert(name.clone(), *number);
        let before = self.keyspaces.insert(*number, keyspace);
        assert!(before.is_none(), "a number is used once");
    }
}

/// The keys of an unknown keyspace, which was dropped, compare equal.
impl KeyspaceOrders for Keyspaces {
    fn compare_in(&self, number: u32, a: &[u8], b: &[u8]) -> Ordering {
        let keyspace = self.get(number);
        keyspace.map_or(Ordering::Equal, |keyspace| keyspace.order.compare(a, b))
    }
}

/// The operators of all keyspaces, chosen by the number in the key.
#[derive(Clone)]
struct Operators(Arc<Keyspaces>);

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Operators").finish()
    }
}

impl Operators {
    fn of(&self, key: &[u8]) -> Result<Arc<dyn MergeOperator>> {
        let keyspace = self.0.get(keyspace_of(key));
        let operator = keyspace.and_then(|keyspace| keyspace.operator.clone());
        operator.ok_or_else(no_operator)
    }
}

impl MergeOperator for Operators {
    fn name(&self) -> &str {
        KEYSPACES_NAME
    }

    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let operator = self.of(key)?;
        operator.merge(&key[KEYSPACE_BYTES..], base, operands)
    }

    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let operator = self.of(key).ok()?;
        operator.combine(&key[KEYSPACE_BYTES..], operands)
    }
}

/// Returns the order of `section` in which the keyspaces are compared.
pub(crate) fn order_of(keyspaces: &Arc<Keyspaces>, section: Section, default: &Order) -> Order {
    match section {
        Section::Default => default.clone(),
        Section::Bytewise => Order::Bytewise,
        Section::Compared => Order::Custom(Arc::new(ByKeyspace(Arc::clone(keyspaces) as _))),
    }
}

/// Returns the merge operator of all sections but the default one.
pub(crate) fn operator_of(keyspaces: &Arc<Keyspaces>) -> Arc<dyn MergeOperator> {
    Arc::new(Operators(Arc::clone(keyspaces)))
}

impl TableClasses for Keyspaces {
    fn class_of(&self, stored: &[u8], usual: TableCompression) -> TableClass {
        let keyspace = self.get(keyspace_of(stored));
        TableClass::of(keyspace.as_ref().map(|keyspace| &keyspace.record), usual)
    }
}
