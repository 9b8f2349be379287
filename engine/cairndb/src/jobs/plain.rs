//! Fast paths of a job for entries that need no decision: each is the newest version of its key,
//! visible to all readers, and, with several inputs, the only one. This is true of most entries in
//! most jobs. An operand without another version in the inputs, whose key may have older versions
//! below, is also kept, with its sequence number.
//!
//! The general path ([`Rules::run`]) keeps a copy of the key to recognise its other versions, and
//! reads every field from the inputs, which costs more instructions per entry. One fast path
//! handles any inputs; the other, for a single memtable, is for flushes of sequential loads.

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_files::Output;
use cairndb_format::table::ValueIn;
use cairndb_mem::MemCursor;

use crate::jobs::inputs::Inputs;
use crate::jobs::rules::{Progress, Rules};

impl Rules {
    /// Moves entries from `inputs`, whose current entry has a new key, to `output`, up to the first
    /// that needs [`Rules::run`]: an operand to be folded, a version newer than the oldest
    /// snapshot, or, with several inputs, an entry that may be followed by another version. Returns
    /// whether it moved any.
    #[inline]
    pub(super) fn copy_plain(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        stop: u64,
    ) -> Result<bool> {
        let before = progress.entries_in;
        if let Some(memtable) = inputs.lone_memtable().filter(|_| self.end.is_none()) {
            self.copy_memtable(memtable, output, progress, stop)?;
            if progress.entries_in > before {
                inputs.note_moved();
            }
        } else {
            self.copy_inputs(inputs, output, progress, stop)?;
        }
        Ok(progress.entries_in > before)
    }

    fn copy_memtable(
        &self,
        memtable: &mut MemCursor,
        output: &mut Output<'_>,
        progress: &mut Progress,
        stop: u64,
    ) -> Result<()> {
        let oldest = self.oldest();
        while memtable.valid() && progress.entries_in < stop {
            let (kind, seq) = (memtable.kind(), memtable.seq());
            let may_go_on = memtable.next_head() == Some(memtable.head());
            if seq > oldest || kind == Kind::Merge && (self.bottom || may_go_on) {
                break;
            }
            progress.entries_in += 1;
            if kind != Kind::Delete || !self.bottom {
                memtable.check_value()?;
                let value = ValueIn::Raw(memtable.value());
                output.add(true, memtable.key(), kept_number(kind, seq), kind, &value)?;
            }
            // Different heads belong to different keys; equal heads may belong to different keys.
            if may_go_on {
                progress.settle(memtable.key());
                memtable.next();
                break;
            }
            progress.forget();
            memtable.next();
        }
        Ok(())
    }

    #[inline]
    fn copy_inputs(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        stop: u64,
    ) -> Result<()> {
        let oldest = self.oldest();
        while inputs.changes() && progress.entries_in < stop && !self.is_at_end(inputs) {
            let (kind, seq) = (inputs.kind(), inputs.seq());
            if seq > oldest || kind == Kind::Merge && self.bottom {
                break;
            }
            progress.entries_in += 1;
            if kind != Kind::Delete || !self.bottom {
                // Used by reference, where it was written: loading a complete copy right after its
                // parts were stored would wait for every earlier store.
                match &inputs.entry() {
                    Ok(entry) => {
                        output.add(true, entry.key, kept_number(kind, seq), kind, &entry.value)?;
                    }
                    Err(error) => return Err(error.clone()),
                }
            }
            if kind == Kind::Pointer {
                progress.entries_in += output.take_weight();
            }
            progress.forget();
            inputs.step()?;
        }
        Ok(())
    }
}

/// Returns the sequence number with which a version visible to all readers is written: 0, except
/// that operands keep theirs, since several may be combined.
#[inline]
fn kept_number(kind: Kind, seq: SeqNo) -> SeqNo {
    if kind == Kind::Merge { seq } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use cairndb_base::{Comparator, FileNumber, Order, hash64};
    use cairndb_env::{Background, Dir, Env, MemEnv};
    use cairndb_format::name;
    use cairndb_format::table::{Compression, PageAccess, Table};
    use cairndb_mem::Memtable;

    use super::*;
    use crate::jobs::job::Job;
    use crate::read::source::MergeSource;
    use crate::state::context::ReadContext;
    use crate::state::fold_limits::FoldLimits;
    use crate::state::merge_operator::{Add, Append};
    use cairndb_files::OutputSettings;

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
    }

    /// Bytewise order disguised as a custom one: heads are meaningless, so that all entries take
    /// the general path.
    #[derive(Debug)]
    struct Bytes;

    impl Comparator for Bytes {
        fn name(&self) -> &'static str {
            "test.Bytes"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.cmp(b)
        }

        fn equality_is_identity(&self) -> bool {
            true
        }
    }

    fn memtable(entries: &[Entry], order: &Order, hint: &str) -> MergeSource {
        let hint = hint.as_bytes().to_vec();
        let (table, mut writer) = Memtable::new(order.clone(), hint, 1 << 20);
        for (key, seq, kind, value) in entries {
            writer.insert(*seq, *kind, key, value, hash64(key));
        }
        MergeSource::Mem(table.cursor())
    }

    /// Returns the entries that a job over `sources` writes, in steps of `step` entries.
    fn written(dir: &dyn Dir, rules: Rules, sources: Vec<MergeSource>, step: u64) -> Vec<Entry> {
        let order = rules.context.order.clone();
        let settings = OutputSettings {
            order: order.clone(),
            compression: Compression::Adaptive,
            filter_bits_per_key: 10,
            table_bytes: 8 << 10,
            dictionaries: Arc::default(),
            begin_syncs: false,
            relocation: None,
        };
        let next_file = AtomicU64::new(1);
        let inputs = Inputs::new(sources, order.clone());
        let mut job = Job::chained(VecDeque::from([inputs]), rules, settings);
        while job.step(dir, &next_file, step).unwrap() {}
        let mut entries = Vec::new();
        for table in job.finish(dir, &next_file).unwrap().tables {
            let number = FileNumber(table.record.file);
            let file = dir.open_read(&name::table(number)).unwrap();
            let (access, checksum) = (PageAccess::Mapped(None), table.record.checksum);
            let table = Table::open(file, number, &order, access, checksum).unwrap();
            let mut cursor = Arc::new(table).cursor();
            cursor.first().unwrap();
            while cursor.valid() {
                cursor.load_value().unwrap();
                let (key, value) = (cursor.key().to_vec(), cursor.loaded().to_vec());
                entries.push((key, cursor.seq(), cursor.kind(), value));
                cursor.next().unwrap();
            }
            dir.unlink(&name::table(number)).unwrap();
        }
        entries
    }

    #[test]
    fn the_short_ways_write_what_the_general_one_writes() {
        let env = MemEnv::new(Background::Stepped);
        let dir = env.open_dir("/plain".as_ref(), true).unwrap();
        for seed in 0..600 {
            let mut dice = Dice(seed);
            let keys = 1 + dice.below(40);
            let entries: Vec<Entry> = (1..=1 + dice.below(300))
                .map(|seq| {
                    // Most keys share their heads with others; some are shorter than a head.
                    let key = format!("user{:03}/{:09}", dice.below(keys), dice.below(3));
                    let len = if dice.below(4) == 0 { 9 } else { key.len() };
                    let kind = match dice.below(8) {
                        0 => Kind::Delete,
                        1 if seed % 3 == 0 => Kind::Merge,
                        _ => Kind::Put,
                    };
                    let value = match kind {
                        Kind::Delete => Vec::new(),
                        _ => {
                            [seq.to_le_bytes()[0]].repeat(usize::try_from(dice.below(90)).unwrap())
                        }
                    };
                    (key.as_bytes()[..len].to_vec(), seq, kind, value)
                })
                .collect();
            let newest = entries.len() as u64;
            let mut snapshots: Vec<SeqNo> =
                (0..dice.below(3)).map(|_| dice.below(newest)).collect();
            snapshots.push(newest);
            snapshots.sort_unstable();
            let bottom = dice.below(2) == 0;
            let at = usize::try_from(dice.below(newest)).unwrap();
            let end = (dice.below(4) == 0).then(|| entries[at].0.clone());
            // One hint for all memtables, or different hints, some of which are prefixes of only
            // some keys, or of none.
            let alike = dice.below(2);
            let hints = ["user", "user00", "user011/", "", "zero", "user"];
            let hint = usize::try_from(dice.below(5)).unwrap();
            let rules = |order: &Order| Rules {
                snapshots: snapshots.clone(),
                bottom,
                context: ReadContext {
                    path: Path::new("db").into(),
                    order: order.clone(),
                    // `Append` joins operands; without an operator they are kept.
                    merge_operator: (seed % 2 == 1).then(|| Arc::new(Append) as _),
                    fold_limits: FoldLimits::default(),
                },
                values: Arc::default(),
                end: end.clone(),
            };
            // Newest first: one memtable, or several with disjoint sequence numbers.
            let parts = 1 + usize::try_from(dice.below(4)).unwrap();
            let (in_order, step) = (dice.below(2) == 0, 1 + dice.below(50));
            let written = |order: &Order| {
                let parts = entries.chunks(entries.len().div_ceil(parts)).rev();
                let sources = parts.enumerate().map(|(at, part)| {
                    let hint = hints[if alike == 0 { hint } else { (hint + at) % 6 }];
                    let mut part = part.to_vec();
                    if in_order {
                        part.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                    }
                    memtable(&part, order, hint)
                });
                written(&*dir, rules(order), sources.collect(), step)
            };
            let general = written(&Order::Custom(Arc::new(Bytes)));
            assert_eq!(written(&Order::Bytewise), general, "seed {seed}");
        }
    }

    /// Uses more operands than are gathered before they are joined, next to operands of other keys.
    #[test]
    fn a_key_of_thousands_of_operands_becomes_one() {
        let env = MemEnv::new(Background::Stepped);
        let dir = env.open_dir("/many".as_ref(), true).unwrap();
        let operand = |key: &str, seq: SeqNo| {
            let value = seq.to_le_bytes().to_vec();
            (key.as_bytes().to_vec(), seq, Kind::Merge, value)
        };
        let mut entries: Vec<Entry> = (1..=3000).map(|seq| operand("counter", seq)).collect();
        entries.push(operand("another", 3001));
        entries.push(operand("last", 3002));
        for bottom in [false, true] {
            let rules = Rules {
                snapshots: vec![3002],
                bottom,
                context: ReadContext {
                    path: Path::new("db").into(),
                    order: Order::Bytewise,
                    merge_operator: Some(Arc::new(Add)),
                    fold_limits: FoldLimits::default(),
                },
                values: Arc::default(),
                end: None,
            };
            let source = memtable(&entries, &Order::Bytewise, "");
            let sum = (1..=3000).sum::<u64>().to_le_bytes().to_vec();
            let expected = [
                operand("another", 3001),
                (b"counter".to_vec(), 3000, Kind::Merge, sum),
                operand("last", 3002),
            ];
            // Folded operands are values, visible to all readers.
            let expected = expected.map(|(key, seq, kind, value)| {
                if bottom {
                    (key, 0, Kind::Put, value)
                } else {
                    (key, seq, kind, value)
                }
            });
            assert_eq!(written(&*dir, rules, vec![source], 7), expected);
        }
    }
}
