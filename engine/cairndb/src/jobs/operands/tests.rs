//! Tests of keys with more operands than a job holds: every reader sees the same value before and
//! after.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_base::{Kind, Order, Result, SEQ_MAX, SeqNo};
use cairndb_env::Dir;
use cairndb_env::random::Random;
use cairndb_format::table::Compression;

use crate::jobs::testing::{self, Entry, directory, memtable};
use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::{Append, MergeOperator};

/// Operator that appends with or without joining, refuses results above a length, and records the
/// maximum number of bytes passed to it.
#[derive(Debug)]
struct Noting {
    joins: bool,
    refused_from: usize,
    most: AtomicUsize,
}

impl Noting {
    /// Returns an operator that does not join, and refuses nothing.
    fn plain() -> Arc<Noting> {
        Arc::new(Noting {
            joins: false,
            refused_from: usize::MAX,
            most: AtomicUsize::new(0),
        })
    }

    fn note(&self, operands: &[&[u8]]) {
        let bytes = operands.iter().map(|operand| operand.len()).sum();
        self.most.fetch_max(bytes, Ordering::Relaxed);
    }
}

impl MergeOperator for Noting {
    fn name(&self) -> &'static str {
        "test.Noting"
    }
    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        self.note(operands);
        let value = Append.merge(key, base, operands)?;
        if value.len() >= self.refused_from {
            return Err(cairndb_base::Error::invalid("refused"));
        }
        Ok(value)
    }
    fn combine(&self, _key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.note(operands);
        self.joins.then(|| operands.concat())
    }
}

/// Returns the entries that a job writes.
fn written(
    dir: &dyn Dir,
    operator: &Arc<Noting>,
    limits: FoldLimits,
    (snapshots, bottom): (&[SeqNo], bool),
    entries: &[Entry],
) -> Vec<Entry> {
    let (order, operator) = (Order::Bytewise, Some(Arc::clone(operator) as _));
    let mut rules = testing::rules(&order, operator, snapshots, bottom);
    rules.context.fold_limits = limits;
    let source = memtable(entries, &order, "");
    testing::written(dir, rules, vec![source], Compression::None, 3)
}

/// Returns the value that a reader at `seq` finds for `key` in `entries`, on top of `below` in
/// older runs.
fn seen(entries: &[Entry], key: &[u8], seq: SeqNo, below: Option<&[u8]>) -> Option<Vec<u8>> {
    let versions = entries.iter().filter(|entry| entry.0 == key);
    let mut versions: Vec<&Entry> = versions.filter(|entry| entry.1 <= seq).collect();
    versions.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    let operands = versions.iter().take_while(|entry| entry.2 == Kind::Merge);
    let operands: Vec<&[u8]> = operands.map(|entry| &entry.3[..]).collect();
    let base = match versions.get(operands.len()) {
        Some((_, _, Kind::Put, value)) => Some(value.as_slice()),
        Some(_) => None,
        None => below,
    };
    if operands.is_empty() && base.is_none() {
        return None;
    }
    let operands: Vec<u8> = operands.into_iter().rev().flatten().copied().collect();
    Some([base.unwrap_or_default(), &operands].concat())
}

/// Returns versions of three keys, the middle one mostly with operands. The last version is the
/// newest.
fn versions(random: &mut Random) -> Vec<Entry> {
    let operands = 2 + random.below(30);
    let longest = 1 + random.index(60);
    let count = 1 + random.below(120);
    let entry = |seq: SeqNo| {
        let key = [&b"a"[..], b"k", b"k", b"k", b"z"][random.index(5)];
        let (kind, len) = match random.below(operands) {
            0 => (Kind::Delete, 0),
            1 => (Kind::Put, random.index(longest)),
            _ => (Kind::Merge, random.index(longest)),
        };
        let value = vec![b'a' + seq.to_le_bytes()[0] % 26; len];
        (key.to_vec(), seq, kind, value)
    };
    (1..=count).map(entry).collect()
}

#[test]
fn whatever_is_held_at_a_time_everybody_sees_what_was_there() {
    let dir = directory();
    let mut spilled = 0;
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let entries = versions(&mut random);
        let newest = entries.len() as u64;
        let snapshots = (0..random.below(4)).map(|_| random.below(newest + 1));
        let mut snapshots: Vec<SeqNo> = snapshots.collect();
        snapshots.push(newest);
        snapshots.sort_unstable();
        let bottom = random.below(2) == 0;
        let operator = Arc::new(Noting {
            joins: random.below(3) == 0,
            refused_from: [usize::MAX, 200][random.index(2)],
            most: AtomicUsize::new(0),
        });
        let job = [1, 100, 400, 2000, 1 << 20][random.index(5)];
        let limits = FoldLimits::new(1 << 20, job);
        let kept = written(&*dir, &operator, limits, (&snapshots, bottom), &entries);
        let whole = kept.iter().filter(|entry| entry.2 == Kind::Merge).count();
        spilled += usize::from(whole > 4 * snapshots.len());
        let below = (!bottom).then_some(&b"below"[..]);
        for key in [b"a", b"k", b"z"] {
            for at in &snapshots {
                let expected = seen(&entries, key, *at, below);
                // A version written with number 0 is visible to all readers.
                let found = seen(&kept, key, *at, below);
                assert_eq!(found, expected, "seed {seed}, at {at}");
            }
        }
        // Entries are in table order: keys ascend, numbers descend.
        let places = kept.iter().map(|entry| (&entry.0, SEQ_MAX - entry.1));
        assert!(places.is_sorted(), "seed {seed}: {kept:?}");
        // Two operands are joined regardless of their length; joined operands grow.
        let (held, most) = (limits.held(bottom), operator.most.load(Ordering::Relaxed));
        let bounded = operator.joins || most <= held + 120;
        assert!(bounded, "seed {seed}: {most} bytes of {held}");
    }
    assert!(spilled > 100, "{spilled} seeds of operands that stay");
}

/// Regression: a compaction folded all operands of a key at once, regardless of their number.
#[test]
fn a_merge_holds_a_bounded_part_of_a_keys_operands() {
    let dir = directory();
    let limits = FoldLimits::new(1 << 20, 1000);
    for bottom in [false, true] {
        let operator = Noting::plain();
        let operand = |seq: SeqNo| (b"k".to_vec(), seq, Kind::Merge, vec![b'o'; 100]);
        let mut entries = vec![(b"k".to_vec(), 1, Kind::Put, b"base".to_vec())];
        entries.extend((2..=500).map(operand));
        entries.push((b"z".to_vec(), 501, Kind::Put, b"last".to_vec()));
        let expected = seen(&entries, b"k", 501, None);
        let mut compactions = 0;
        // Each compaction leaves fewer operands, until there is one value.
        while entries.len() > 2 {
            let before = entries.len();
            entries = written(&*dir, &operator, limits, (&[501], bottom), &entries);
            assert!(entries.len() < before, "none of {before} was folded");
            assert_eq!(seen(&entries, b"k", 501, None), expected);
            assert_eq!(entries.last().map(|last| &last.3[..]), Some(&b"last"[..]));
            compactions += 1;
        }
        assert!(compactions > 10, "{compactions} compactions");
        let most = operator.most.load(Ordering::Relaxed);
        let held = limits.held(bottom);
        assert!(most <= held && most > held / 4, "{most} bytes of {held}");
    }
}

/// Operands that would fold to an overlong value are kept, and the job does not fail for any key.
#[test]
fn operands_that_make_too_long_a_value_stay() {
    let dir = directory();
    let operator = Noting::plain();
    let operand = |seq| (b"k".to_vec(), seq, Kind::Merge, vec![b'o'; 100]);
    let mut entries: Vec<Entry> = (1..=100).map(operand).collect();
    entries.insert(0, (b"a".to_vec(), 101, Kind::Put, b"first".to_vec()));
    let expected = seen(&entries, b"k", 101, None);
    for _ in 0..20 {
        let limits = FoldLimits::new(2000, 300);
        entries = written(&*dir, &operator, limits, (&[101], true), &entries);
        assert_eq!(seen(&entries, b"k", 101, None), expected);
        assert!(entries.iter().all(|entry| entry.3.len() <= 2000));
    }
    let is_put = |entry: &&Entry| entry.2 == Kind::Put && entry.0 == b"k";
    let put = entries.iter().find(is_put);
    assert!(put.is_some_and(|put| put.3.len() > 1200), "{put:?}");
}
