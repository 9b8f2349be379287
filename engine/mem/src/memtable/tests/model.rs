//! Model of a memtable: an ordered map with which every result is compared.

use std::cmp::Ordering as Compare;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cairndb_base::{Comparator, Kind, Order, SEQ_MAX, SeqNo, hash64};

use crate::{MemCursor, MemEntry, MemWriter, Memtable};

/// `SplitMix64`: the printed seed determines a whole run of a test.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

#[derive(Debug)]
pub(super) struct Reverse {
    identity: bool,
}

impl Comparator for Reverse {
    fn name(&self) -> &'static str {
        "test.Reverse"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Compare {
        b.cmp(a)
    }

    fn equality_is_identity(&self) -> bool {
        self.identity
    }
}

pub(super) fn reverse(identity: bool) -> Order {
    Order::Custom(Arc::new(Reverse { identity }))
}

/// A key in the model, in the memtable's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) reversed: bool,
    pub(super) key: Vec<u8>,
    pub(super) seq: SeqNo,
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Compare {
        let keys = self.key.cmp(&other.key);
        let keys = if self.reversed { keys.reverse() } else { keys };
        keys.then(other.seq.cmp(&self.seq))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Compare> {
        Some(self.cmp(other))
    }
}

pub(super) type Entries = BTreeMap<Version, (Kind, Vec<u8>)>;

/// A memtable and its model.
pub(super) struct Pair {
    pub(super) table: Arc<Memtable>,
    pub(super) writer: MemWriter,
    model: Entries,
    reversed: bool,
    seed: u64,
}

impl Pair {
    pub(super) fn new(order: Order, hint: &[u8], seed: u64) -> Pair {
        let reversed = !order.is_bytewise();
        let (table, writer) = Memtable::new(order, hint.to_vec(), 64 << 10);
        Pair {
            table,
            writer,
            model: Entries::new(),
            reversed,
            seed,
        }
    }

    pub(super) fn version(&self, key: &[u8], seq: SeqNo) -> Version {
        Version {
            reversed: self.reversed,
            key: key.to_vec(),
            seq,
        }
    }

    pub(super) fn insert(&mut self, seq: SeqNo, kind: Kind, key: &[u8], value: &[u8]) {
        self.writer.insert(seq, kind, key, value);
        self.writer.check_path();
        let version = self.version(key, seq);
        self.model.insert(version, (kind, value.to_vec()));
    }

    pub(super) fn check_get(&self, key: &[u8], snapshot: SeqNo) {
        let found = self.table.get(key, hash64(key), snapshot);
        let from = self.version(key, snapshot);
        let expected = self.model.range(from..).next();
        let expected = expected.filter(|(version, _)| version.key == key);
        let expected = expected.map(|(version, (kind, value))| MemEntry {
            seq: version.seq,
            kind: *kind,
            value,
        });
        assert_eq!(
            found.expect("nothing is damaged"),
            expected,
            "seed {} get {key:?} at {snapshot}",
            self.seed
        );
    }

    pub(super) fn check_seeks(&self, key: &[u8], seq: SeqNo) {
        let mut cursor = self.table.cursor();
        let place = self.version(key, seq);
        cursor.seek(key, seq);
        self.check_at(&cursor, self.model.range(&place..).next());
        if cursor.valid() {
            let here = self.version(cursor.key(), cursor.seq());
            cursor.next();
            let after = (Bound::Excluded(here), Bound::Unbounded);
            self.check_at(&cursor, self.model.range(after).next());
        }
        let visible = self.model.range(&place..).find(|(at, _)| at.seq <= seq);
        let expected = visible.map(|(at, (kind, value))| {
            let (seq, kind) = (at.seq, *kind);
            (&at.key[..], MemEntry { seq, kind, value })
        });
        let found = self.table.seek(key, seq);
        let found = found.map(|at| (at.key(), at.entry().expect("nothing is damaged")));
        assert_eq!(found, expected, "seed {} seek {key:?} at {seq}", self.seed);
        cursor.seek_for_prev(key, seq);
        self.check_at(&cursor, self.model.range(..=&place).next_back());
        if cursor.valid() {
            let here = self.version(cursor.key(), cursor.seq());
            cursor.prev();
            self.check_at(&cursor, self.model.range(..here).next_back());
        }
    }

    pub(super) fn check_at(
        &self,
        cursor: &MemCursor,
        expected: Option<(&Version, &(Kind, Vec<u8>))>,
    ) {
        let seed = self.seed;
        let Some((version, (kind, value))) = expected else {
            assert!(!cursor.valid(), "seed {seed}");
            return;
        };
        assert!(cursor.valid(), "seed {seed}: {version:?} is missing");
        let found = (cursor.key(), cursor.seq(), cursor.kind(), cursor.value());
        let expected = (version.key.as_slice(), version.seq, *kind, value.as_slice());
        assert_eq!(found, expected, "seed {seed}");
    }

    pub(super) fn check_walks(&self) {
        self.table.list().check_tree();
        let mut cursor = self.table.cursor();
        cursor.seek_to_first();
        for entry in &self.model {
            self.check_at(&cursor, Some(entry));
            cursor.next();
        }
        assert!(!cursor.valid());
        cursor.next();
        assert!(!cursor.valid(), "a cursor off the end stays there");
        cursor.seek_to_last();
        for entry in self.model.iter().rev() {
            self.check_at(&cursor, Some(entry));
            cursor.prev();
        }
        assert!(!cursor.valid());
        cursor.prev();
        assert!(!cursor.valid());
    }

    pub(super) fn check_counters(&self) {
        let table = &self.table;
        assert_eq!(table.len(), self.model.len());
        let user_bytes: usize = self
            .model
            .iter()
            .map(|(v, (_, value))| v.key.len() + value.len())
            .sum();
        assert_eq!(table.user_bytes(), user_bytes as u64);
        let seqs = || self.model.keys().map(|version| version.seq);
        assert_eq!(table.seq_min(), seqs().min().unwrap_or(SEQ_MAX));
        assert_eq!(table.seq_max(), seqs().max().unwrap_or(0));
        assert!(table.bytes_used() >= user_bytes);
        assert!(table.allocated_bytes() >= table.bytes_used());
    }
}
