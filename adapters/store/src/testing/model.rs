//! Random operations on a store, compared with a sorted map.
//!
//! Keys are few and short, so that operations meet. A seed determines everything; the first
//! difference ends the run with the seed and the number of the operation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use cairndb_env::random::Random;

use crate::batch::Batch;
use crate::entries::Entry;
use crate::error::{Error, ErrorKind, Result};
use crate::read::{Read, Snapshot};
use crate::scan::{Direction, Scan};
use crate::store::Store;
use crate::transaction::Transaction;

/// How long a run is, and what its entries look like.
///
/// ```
/// use cairndb_store::{MemoryStore, testing::{ModelSize, run_model}};
/// let size = ModelSize::new(7, 1000).keys(50);
/// run_model(&MemoryStore::new(), size);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ModelSize {
    seed: u64,
    operations: u64,
    keys: u64,
    value_bytes: u64,
}

impl ModelSize {
    /// Returns a run of `operations` from `seed`, over 200 keys, with values below 100 bytes.
    pub const fn new(seed: u64, operations: u64) -> ModelSize {
        ModelSize {
            seed,
            operations,
            keys: 200,
            value_bytes: 100,
        }
    }

    /// Sets the number of different keys.
    #[must_use]
    pub const fn keys(mut self, keys: u64) -> ModelSize {
        self.keys = keys;
        self
    }
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Run<'a> {
    store: &'a dyn Store,
    size: ModelSize,
    random: Random,
    expected: Map,
    /// At most three: on PostgreSQL each occupies a connection.
    snapshots: Vec<(Box<dyn Snapshot>, Map)>,
    conflicts: u64,
    /// Writes whose answer was lost.
    unknown: u64,
}

/// Operations for each one whose outcome may be unknown: a loaded server may time out at times.
const OPERATIONS_FOR_ONE_UNKNOWN: u64 = 1000;

/// Performs random operations on `store`, which must be empty, and compares every answer with a
/// model. Returns how many transactions conflicted, as some must.
///
/// # Panics
/// At the first difference or error.
pub fn run_model(store: &dyn Store, mut size: ModelSize) -> u64 {
    // A transaction may read all keys, and some that are not there.
    let reads = u64::try_from(store.engine().limits.transaction_reads).unwrap_or(u64::MAX);
    size.keys = size.keys.min(reads / 2).max(1);
    let mut run = Run {
        store,
        size,
        random: Random::new(size.seed),
        expected: Map::new(),
        snapshots: Vec::new(),
        conflicts: 0,
        unknown: 0,
    };
    for number in 0..size.operations {
        match run.step() {
            Ok(()) => {}
            Err(error) if run.may_be_unknown(&error) => run.start_again(),
            Err(error) => panic!("seed {}, operation {number}: {error}", size.seed),
        }
    }
    compare(&run.all(), &run.expected, &Scan::all(), size.seed);
    run.conflicts
}

fn compare(found: &[Entry], expected: &Map, scan: &Scan, seed: u64) {
    let (lower, upper) = scan.bounds();
    let limit = usize::try_from(scan.get_limit()).unwrap_or(usize::MAX);
    let wanted: Vec<(&[u8], &[u8])> = if scan.is_empty() {
        Vec::new()
    } else {
        let range = expected.range::<[u8], _>((lower, upper));
        let bytes = range.map(|(key, value)| (key.as_slice(), value.as_slice()));
        match scan.direction() {
            Direction::Ascending => bytes.take(limit).collect(),
            Direction::Descending => bytes.rev().take(limit).collect(),
        }
    };
    let found: Vec<(&[u8], &[u8])> = found
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    assert_eq!(found, wanted, "seed {seed}: {scan:?}");
}

impl Run<'_> {
    fn all(&self) -> Vec<Entry> {
        let read = self.store.scan(&Scan::all()).and_then(Iterator::collect);
        read.unwrap_or_else(|error| panic!("seed {}: a scan failed: {error}", self.size.seed))
    }

    /// Takes what the store holds for what it should hold.
    fn start_again(&mut self) {
        let all = self.all();
        let owned = all
            .iter()
            .map(|(key, value)| (key.to_vec(), value.to_vec()));
        self.expected = owned.collect();
    }

    /// Returns whether the answer to a write was lost, and that is rare: the run then goes on from
    /// what the store holds. Tests that cut connections check what became of each write.
    fn may_be_unknown(&mut self, error: &Error) -> bool {
        self.unknown += 1;
        error.kind() == ErrorKind::OutcomeUnknown
            && self.unknown <= self.size.operations / OPERATIONS_FOR_ONE_UNKNOWN
    }

    fn step(&mut self) -> Result<()> {
        match self.random.below(100) {
            0..30 => self.read(None)?,
            30..35 => self.read_snapshot()?,
            35..55 => {
                let (key, value) = (self.key(), self.value());
                self.store.put(&key, &value)?;
                self.expected.insert(key, value);
            }
            55..62 => {
                let key = self.key();
                self.store.delete(&key)?;
                self.expected.remove(&key);
            }
            62 => self.delete_range()?,
            63..73 => self.batch()?,
            73..82 => self.compare_and_set()?,
            82..86 => self.keep_snapshot()?,
            _ => self.transaction()?,
        }
        Ok(())
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.random.below(self.size.keys);
        match number {
            0 => Vec::new(),
            1 => vec![u8::MAX; 3],
            2 => vec![0],
            // Different lengths, with common prefixes.
            number if number % 3 == 0 => format!("k{}", number / 3).into_bytes(),
            number => format!("key/{number:04}").into_bytes(),
        }
    }

    fn value(&mut self) -> Vec<u8> {
        let len = self.random.below(self.size.value_bytes);
        let mut value = self.random.next_u64().to_le_bytes().to_vec();
        value.resize(usize::try_from(len).unwrap_or(0), b'v');
        value
    }

    fn scan(&mut self) -> Scan {
        let (a, b) = (self.key(), self.key());
        let scan = match self.random.below(5) {
            0 => Scan::all(),
            1 => Scan::prefix(&a[..a.len().min(4)]),
            2 => Scan::range((Bound::Included(a), Bound::Excluded(b))),
            3 => Scan::range((Bound::Excluded(a), Bound::<Vec<u8>>::Unbounded)),
            _ => Scan::range((Bound::Unbounded, Bound::Included(b))),
        };
        let scan = if self.random.below(2) == 0 {
            scan
        } else {
            scan.reverse()
        };
        match self.random.below(3) {
            0 => scan,
            _ => scan.limit(self.random.below(12)),
        }
    }

    /// Compares one read with the model, or with `view`.
    fn read(&mut self, view: Option<(&dyn Read, &Map)>) -> Result<()> {
        let (kind, scan) = (self.random.below(4), self.scan());
        let keys: Vec<Vec<u8>> = (0..=self.random.below(6)).map(|_| self.key()).collect();
        let seed = self.size.seed;
        let store: &dyn Read = self.store;
        let (reader, expected) = view.unwrap_or((store, &self.expected));
        match kind {
            0 => {
                let found: Result<Vec<Entry>> = reader.scan(&scan)?.collect();
                compare(&found?, expected, &scan, seed);
            }
            1 => {
                let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let found = reader.multi_get(&asked)?;
                for (key, value) in keys.iter().zip(&found) {
                    assert_eq!(value.as_deref(), expected.get(key).map(Vec::as_slice));
                }
            }
            _ => {
                let found = reader.get(&keys[0])?;
                let wanted = expected.get(&keys[0]).map(Vec::as_slice);
                assert_eq!(found.as_deref(), wanted, "seed {seed}: {:?}", keys[0]);
            }
        }
        Ok(())
    }

    fn keep_snapshot(&mut self) -> Result<()> {
        if self.snapshots.len() == 3 {
            let index = self.random.index(3);
            drop(self.snapshots.swap_remove(index));
        }
        let snapshot = self.store.snapshot()?;
        self.snapshots.push((snapshot, self.expected.clone()));
        Ok(())
    }

    fn read_snapshot(&mut self) -> Result<()> {
        if self.snapshots.is_empty() {
            return self.keep_snapshot();
        }
        let index = self.random.index(self.snapshots.len());
        let (snapshot, expected) = self.snapshots.swap_remove(index);
        let reader: &dyn Snapshot = &*snapshot;
        self.read(Some((reader, &expected)))?;
        self.snapshots.push((snapshot, expected));
        Ok(())
    }

    fn delete_range(&mut self) -> Result<()> {
        let scan = self.scan();
        match self.store.delete_range(&scan) {
            Ok(()) => self.expected.retain(|key, _| !scan.contains(key)),
            Err(error) if error.kind() == ErrorKind::NotSupported => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<()> {
        let mut batch = Batch::new();
        for _ in 0..self.random.below(8) {
            let key = self.key();
            if self.random.below(3) == 0 {
                batch.delete(&key);
                self.expected.remove(&key);
            } else {
                let value = self.value();
                batch.put(&key, &value);
                self.expected.insert(key, value);
            }
        }
        self.store.write(&batch)
    }

    fn compare_and_set(&mut self) -> Result<()> {
        let key = self.key();
        let current = self.expected.get(&key).cloned();
        let expected = match self.random.below(4) {
            0 => Some(self.value()),
            1 => None,
            _ => current.clone(),
        };
        let new = (self.random.below(4) > 0).then(|| self.value());
        let done = self
            .store
            .compare_and_set(&key, expected.as_deref(), new.as_deref())?;
        assert_eq!(
            done,
            expected == current,
            "seed {}: {key:?}",
            self.size.seed
        );
        if done {
            match new {
                Some(value) => self.expected.insert(key, value),
                None => self.expected.remove(&key),
            };
        }
        Ok(())
    }

    /// Runs a transaction over its own copy of the model. In some, another writer comes in between,
    /// and changes a key that the transaction has read and writes.
    fn transaction(&mut self) -> Result<()> {
        let transaction = self.store.begin()?;
        let mut own = self.expected.clone();
        let mut written = BTreeSet::new();
        for _ in 0..=self.random.below(6) {
            if self.random.below(2) == 0 {
                let reader: &dyn Transaction = &*transaction;
                self.read(Some((reader, &own)))?;
            } else {
                written.insert(self.write_own(&*transaction, &mut own)?);
            }
        }
        match self.random.below(8) {
            0 => transaction.rollback(),
            1 => {
                let (key, value) = (self.key(), self.value());
                let found = transaction.get(&key)?;
                assert_eq!(found.as_deref(), own.get(&key).map(Vec::as_slice));
                self.store.put(&key, &value)?;
                self.expected.insert(key.clone(), value);
                transaction.put(&key, b"own")?;
                let result = transaction.commit();
                self.conflicts += u64::from(result.is_err());
                match result {
                    Err(error) if error.kind() == ErrorKind::Conflict => {}
                    Err(error) => return Err(error),
                    Ok(()) => {
                        // A get that returns an own write does not read the store.
                        assert!(written.contains(&key), "a lost update of {key:?}");
                        self.take_whole()?;
                    }
                }
            }
            _ => match transaction.commit() {
                Ok(()) => self.expected = own,
                // Needless, but permitted.
                Err(error) if error.kind() == ErrorKind::Conflict => self.conflicts += 1,
                Err(error) => return Err(error),
            },
        }
        Ok(())
    }

    /// Puts or deletes a key in `transaction`, and returns it.
    fn write_own(&mut self, transaction: &dyn Transaction, own: &mut Map) -> Result<Vec<u8>> {
        let key = self.key();
        if self.random.below(3) == 0 {
            transaction.delete(&key)?;
            own.remove(&key);
        } else {
            let value = self.value();
            transaction.put(&key, &value)?;
            own.insert(key.clone(), value);
        }
        Ok(key)
    }

    /// Replaces the model by the contents of the store.
    fn take_whole(&mut self) -> Result<()> {
        self.expected.clear();
        for entry in self.store.scan(&Scan::all())? {
            let (key, value) = entry?;
            self.expected.insert(key.into_vec(), value.into_vec());
        }
        Ok(())
    }
}
