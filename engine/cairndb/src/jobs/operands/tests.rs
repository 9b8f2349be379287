//! Tests of keys with more operands than a job holds: every reader sees the same value before and
//! after.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cairndb_base::{FileNumber, Kind, Order, Result, SEQ_MAX, SeqNo, hash64};
use cairndb_env::{Background, Dir, Env, MemEnv};
use cairndb_files::OutputSettings;
use cairndb_format::name;
use cairndb_format::table::{Compression, PageAccess, Table};
use cairndb_mem::Memtable;

use crate::jobs::inputs::Inputs;
use crate::jobs::job::Job;
use crate::jobs::rules::Rules;
use crate::read::source::MergeSource;
use crate::state::context::ReadContext;
use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::{Append, MergeOperator};

type Entry = (Vec<u8>, SeqNo, Kind, Vec<u8>);

/// Generator of small random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }

    fn len(&mut self, bound: u64) -> usize {
        usize::try_from(self.below(bound)).expect("small")
    }
}

/// Operator that appends with or without joining, refuses results above a length, and records the
/// maximum number of bytes passed to it.
#[derive(Debug)]
struct Noting {
    joins: bool,
    refused_from: usize,
    most: AtomicUsize,
}

impl Noting {
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

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir("/operands".as_ref(), true).unwrap()
}

fn source(entries: &[Entry]) -> MergeSource {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 1 << 20);
    for (key, seq, kind, value) in entries {
        writer.insert(*seq, *kind, key, value, hash64(key));
    }
    MergeSource::Mem(table.cursor())
}

fn rules(operator: &Arc<Noting>, limits: FoldLimits, snapshots: Vec<SeqNo>, bottom: bool) -> Rules {
    Rules {
        snapshots,
        bottom,
        context: ReadContext {
            path: Path::new("db").into(),
            order: Order::Bytewise,
            merge_operator: Some(Arc::clone(operator) as _),
            fold_limits: limits,
        },
        values: Arc::default(),
        end: None,
    }
}

/// Returns the entries that a job writes, in the order of its tables.
fn written(dir: &dyn Dir, rules: Rules, entries: &[Entry]) -> Vec<Entry> {
    let settings = OutputSettings {
        order: Order::Bytewise,
        compression: Compression::None,
        filter_bits_per_key: 0,
        table_bytes: 8 << 10,
        dictionaries: Arc::default(),
        begin_syncs: false,
        relocation: None,
    };
    let next_file = AtomicU64::new(1);
    let inputs = Inputs::new(vec![source(entries)], Order::Bytewise);
    let mut job = Job::chained(VecDeque::from([inputs]), rules, settings);
    while job.step(dir, &next_file, 3).unwrap() {}
    let mut entries = Vec::new();
    for table in job.finish(dir, &next_file).unwrap().tables {
        let number = FileNumber(table.record.file);
        let file = dir.open_read(&name::table(number)).unwrap();
        let (access, checksum) = (PageAccess::Mapped(None), table.record.checksum);
        let table = Table::open(file, number, &Order::Bytewise, access, checksum).unwrap();
        let mut cursor = Arc::new(table).cursor();
        cursor.first().unwrap();
        while cursor.valid() {
            cursor.load_value().unwrap();
            let value = cursor.loaded().to_vec();
            entries.push((cursor.key().to_vec(), cursor.seq(), cursor.kind(), value));
            cursor.next().unwrap();
        }
        dir.unlink(&name::table(number)).unwrap();
    }
    entries
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
fn versions(dice: &mut Dice) -> Vec<Entry> {
    let operands = 2 + dice.below(30);
    let longest = 1 + dice.below(60);
    (1..=1 + dice.below(120))
        .map(|seq| {
            let key = [&b"a"[..], b"k", b"k", b"k", b"z"][dice.len(5)];
            let kind = match dice.below(operands) {
                0 => Kind::Delete,
                1 => Kind::Put,
                _ => Kind::Merge,
            };
            let len = if kind == Kind::Delete {
                0
            } else {
                dice.len(longest)
            };
            let value = [b'a' + seq.to_le_bytes()[0] % 26].repeat(len);
            (key.to_vec(), seq, kind, value)
        })
        .collect()
}

#[test]
fn whatever_is_held_at_a_time_everybody_sees_what_was_there() {
    let dir = directory();
    let mut spilled = 0;
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let entries = versions(&mut dice);
        let newest = entries.len() as u64;
        let mut snapshots: Vec<SeqNo> =
            (0..dice.below(4)).map(|_| dice.below(newest + 1)).collect();
        snapshots.push(newest);
        snapshots.sort_unstable();
        let bottom = dice.below(2) == 0;
        let operator = Arc::new(Noting {
            joins: dice.below(3) == 0,
            refused_from: [usize::MAX, 200][dice.len(2)],
            most: AtomicUsize::new(0),
        });
        let job = [1, 100, 400, 2000, 1 << 20][dice.len(5)];
        let limits = FoldLimits::new(1 << 20, job);
        let rules = rules(&operator, limits, snapshots.clone(), bottom);
        let kept = written(&*dir, rules, &entries);
        let whole = kept.iter().filter(|entry| entry.2 == Kind::Merge).count();
        spilled += usize::from(whole > 4 * snapshots.len());
        let below = (!bottom).then_some(&b"below"[..]);
        for key in [b"a", b"k", b"z"] {
            for at in &snapshots {
                let expected = seen(&entries, key, *at, below);
                // A version written with number 0 is visible to all readers.
                assert_eq!(
                    seen(&kept, key, *at, below),
                    expected,
                    "seed {seed}, at {at}"
                );
            }
        }
        // Entries are in table order: keys ascend, numbers descend.
        let places = kept.iter().map(|entry| (&entry.0, SEQ_MAX - entry.1));
        assert!(places.is_sorted(), "seed {seed}: {kept:?}");
        // Two operands are joined regardless of their length; joined operands grow.
        let (held, most) = (limits.held(bottom), operator.most.load(Ordering::Relaxed));
        assert!(
            operator.joins || most <= held + 120,
            "seed {seed}: {most} bytes of {held}"
        );
    }
    assert!(spilled > 100, "{spilled} seeds of operands that stay");
}

/// Regression: a compaction folded all operands of a key at once, regardless of their number.
#[test]
fn a_merge_holds_a_bounded_part_of_a_keys_operands() {
    let dir = directory();
    let limits = FoldLimits::new(1 << 20, 1000);
    for bottom in [false, true] {
        let operator = Arc::new(Noting {
            joins: false,
            refused_from: usize::MAX,
            most: AtomicUsize::new(0),
        });
        let operand = |seq: SeqNo| (b"k".to_vec(), seq, Kind::Merge, vec![b'o'; 100]);
        let mut entries = vec![(b"k".to_vec(), 1, Kind::Put, b"base".to_vec())];
        entries.extend((2..=500).map(operand));
        entries.push((b"z".to_vec(), 501, Kind::Put, b"last".to_vec()));
        let expected = seen(&entries, b"k", 501, None);
        let mut compactions = 0;
        // Each compaction leaves fewer operands, until there is one value.
        while entries.len() > 2 {
            let before = entries.len();
            let rules = rules(&operator, limits, vec![501], bottom);
            entries = written(&*dir, rules, &entries);
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
    let operator = Arc::new(Noting {
        joins: false,
        refused_from: usize::MAX,
        most: AtomicUsize::new(0),
    });
    let mut entries: Vec<Entry> = (1..=100)
        .map(|seq| (b"k".to_vec(), seq, Kind::Merge, vec![b'o'; 100]))
        .collect();
    entries.insert(0, (b"a".to_vec(), 101, Kind::Put, b"first".to_vec()));
    let expected = seen(&entries, b"k", 101, None);
    for _ in 0..20 {
        let limits = FoldLimits::new(2000, 300);
        let rules = rules(&operator, limits, vec![101], true);
        entries = written(&*dir, rules, &entries);
        assert_eq!(seen(&entries, b"k", 101, None), expected);
        assert!(entries.iter().all(|entry| entry.3.len() <= 2000));
    }
    let put = entries
        .iter()
        .find(|entry| entry.2 == Kind::Put && entry.0 == b"k");
    assert!(put.is_some_and(|put| put.3.len() > 1200), "{put:?}");
}
