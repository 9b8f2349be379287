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
        let whole = self.end.is_none() && self.live.is_none();
        if let Some(memtable) = inputs.lone_memtable().filter(|_| whole) {
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
        while inputs.changes()
            && progress.entries_in < stop
            && !self.is_at_end(inputs)
            && !self.is_ended(inputs.key(), progress)
        {
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
    use std::sync::Arc;

    use cairndb_base::{Comparator, Order};
    use cairndb_env::random::Random;
    use cairndb_format::table::Compression;

    use super::*;
    use crate::jobs::testing::{Entry, directory, memtable, rules, written};
    use crate::state::merge_operator::{Add, Append};

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

    #[test]
    fn the_short_ways_write_what_the_general_one_writes() {
        let dir = directory();
        for seed in 0..600 {
            let mut random = Random::new(seed);
            let keys = 1 + random.below(40);
            let newest = 1 + random.below(300);
            let entry = |seq: SeqNo| {
                // Most keys share their heads with others; some are shorter than a head.
                let key = format!("user{:03}/{:09}", random.below(keys), random.below(3));
                let len = if random.below(4) == 0 { 9 } else { key.len() };
                let kind = match random.below(8) {
                    0 => Kind::Delete,
                    1 if seed % 3 == 0 => Kind::Merge,
                    _ => Kind::Put,
                };
                let value_len = if kind == Kind::Delete {
                    0
                } else {
                    random.index(90)
                };
                let value = vec![seq.to_le_bytes()[0]; value_len];
                (key.as_bytes()[..len].to_vec(), seq, kind, value)
            };
            let entries: Vec<Entry> = (1..=newest).map(entry).collect();
            let snapshots = (0..random.below(3)).map(|_| random.below(newest));
            let mut snapshots: Vec<SeqNo> = snapshots.collect();
            snapshots.push(newest);
            snapshots.sort_unstable();
            let bottom = random.below(2) == 0;
            let at = random.index(entries.len());
            let end = (random.below(4) == 0).then(|| entries[at].0.clone());
            // One hint for all memtables, or different hints, some of which are prefixes of only
            // some keys, or of none.
            let alike = random.below(2);
            let hints = ["user", "user00", "user011/", "", "zero", "user"];
            let hint = random.index(5);
            // Newest first: one memtable, or several with disjoint sequence numbers.
            let parts = 1 + random.index(4);
            let (in_order, step) = (random.below(2) == 0, 1 + random.below(50));
            let written = |order: &Order| {
                // `Append` joins operands; without an operator they are kept.
                let operator = (seed % 2 == 1).then(|| Arc::new(Append) as _);
                let end = end.clone();
                let rules = Rules {
                    end,
                    ..rules(order, operator, &snapshots, bottom)
                };
                let parts = entries.chunks(entries.len().div_ceil(parts)).rev();
                let sources = parts.enumerate().map(|(at, part)| {
                    let hint = hints[if alike == 0 { hint } else { (hint + at) % 6 }];
                    let mut part = part.to_vec();
                    if in_order {
                        part.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                    }
                    memtable(&part, order, hint)
                });
                written(&*dir, rules, sources.collect(), Compression::Adaptive, step)
            };
            let general = written(&Order::Custom(Arc::new(Bytes)));
            assert_eq!(written(&Order::Bytewise), general, "seed {seed}");
        }
    }

    /// Uses more operands than are gathered before they are joined, next to operands of other keys.
    #[test]
    fn a_key_of_thousands_of_operands_becomes_one() {
        let dir = directory();
        let operand = |key: &str, seq: SeqNo| {
            let value = seq.to_le_bytes().to_vec();
            (key.as_bytes().to_vec(), seq, Kind::Merge, value)
        };
        let mut entries: Vec<Entry> = (1..=3000).map(|seq| operand("counter", seq)).collect();
        entries.push(operand("another", 3001));
        entries.push(operand("last", 3002));
        for bottom in [false, true] {
            let rules = rules(&Order::Bytewise, Some(Arc::new(Add)), &[3002], bottom);
            let source = memtable(&entries, &Order::Bytewise, "");
            let sum = (1..=3000).sum::<u64>().to_le_bytes().to_vec();
            let expected = [
                operand("another", 3001),
                (b"counter".to_vec(), 3000, Kind::Merge, sum),
                operand("last", 3002),
            ];
            // Folded operands are values, visible to all readers.
            let expected = expected.map(|(key, seq, kind, value)| {
                let (seq, kind) = if bottom { (0, Kind::Put) } else { (seq, kind) };
                (key, seq, kind, value)
            });
            let found = written(&*dir, rules, vec![source], Compression::Adaptive, 7);
            assert_eq!(found, expected);
        }
    }
}
