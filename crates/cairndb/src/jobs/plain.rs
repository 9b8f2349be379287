//! The short way of entries about which nothing is to be decided: each a key's newest version, seen by
//! everybody, out of one memtable.
//!
//! What sequential loads are flushed by. The general way ([`Rules::run`]) keeps a copy of the key to
//! tell its older versions by, and asks the merger for every field; it took 200 instructions an entry more, of
//! some 1,900 that flushing one takes.

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_format::table::ValueIn;
use cairndb_mem::MemCursor;

use crate::jobs::output::Output;
use crate::jobs::rules::{Progress, Rules};
use crate::read::merger::Merger;

impl Rules {
    /// Moves entries from `merger`, whose current one has a new key, to `output`, up to the first that it
    /// has to leave to [`Rules::run`]: an operand, a version that a snapshot is older than, or what may be
    /// another version of the last key. Whether it moved any.
    pub(super) fn copy_plain(
        &self,
        merger: &mut Merger,
        output: &mut Output<'_>,
        progress: &mut Progress,
        stop: u64,
    ) -> Result<bool> {
        // In a custom order equal heads tell nothing, and all are equal.
        let bytewise = self.context.order.is_bytewise();
        let Some(memtable) = merger.lone_memtable().filter(|_| bytewise) else {
            return Ok(false);
        };
        let before = progress.entries_in;
        self.copy_from(memtable, output, progress, stop)?;
        if progress.entries_in == before {
            return Ok(false);
        }
        merger.note_moved();
        Ok(true)
    }

    fn copy_from(
        &self,
        memtable: &mut MemCursor,
        output: &mut Output<'_>,
        progress: &mut Progress,
        stop: u64,
    ) -> Result<()> {
        let oldest = self.snapshots.first().copied().unwrap_or(SeqNo::MAX);
        while memtable.valid() && progress.entries_in < stop {
            let kind = memtable.kind();
            if kind == Kind::Merge || memtable.seq() > oldest {
                break;
            }
            progress.entries_in += 1;
            if kind != Kind::Delete || !self.bottom {
                memtable.check_value()?;
                let value = ValueIn::Raw(memtable.value());
                output.add(true, memtable.key(), 0, kind, &value)?;
            }
            // Different heads are never of equal keys; equal ones may be of different keys.
            if memtable.next_head() == memtable.head() {
                progress.settle(memtable.key());
                memtable.next();
                break;
            }
            progress.forget();
            memtable.next();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use cairndb_base::{FileNumber, Order, hash64};
    use cairndb_env::{Background, Dir, Env, MemEnv};
    use cairndb_format::name;
    use cairndb_format::table::{Compression, PageAccess, Table};
    use cairndb_mem::Memtable;

    use super::*;
    use crate::jobs::merge::Job;
    use crate::jobs::output::OutputSettings;
    use crate::read::source::Source;
    use crate::state::context::ReadContext;

    type Entry = (Vec<u8>, SeqNo, Kind, Vec<u8>);

    /// Small numbers from a seed.
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

    fn memtable(entries: &[Entry]) -> Source {
        let (table, mut writer) = Memtable::new(Order::Bytewise, b"user".to_vec(), 1 << 20);
        for (key, seq, kind, value) in entries {
            writer.insert(*seq, *kind, key, value, hash64(key));
        }
        Source::Mem(table.cursor())
    }

    /// What a job over `sources` writes, in steps of `step` entries.
    fn written(dir: &dyn Dir, rules: Rules, sources: Vec<Source>, step: u64) -> Vec<Entry> {
        let settings = OutputSettings {
            order: Order::Bytewise,
            compression: Compression::Adaptive,
            filter_bits_per_key: 10,
            table_bytes: 8 << 10,
            dictionaries: Arc::default(),
            begin_syncs: false,
            relocation: None,
        };
        let next_file = AtomicU64::new(1);
        let merger = Merger::new(sources, Order::Bytewise);
        let mut job = Job::chained(VecDeque::from([merger]), rules, settings);
        while job.step(dir, &next_file, step).unwrap() {}
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
                let (key, value) = (cursor.key().to_vec(), cursor.loaded().to_vec());
                entries.push((key, cursor.seq(), cursor.kind(), value));
                cursor.next().unwrap();
            }
            dir.unlink(&name::table(number)).unwrap();
        }
        entries
    }

    /// A key above all others in a second memtable keeps the job on the general way.
    #[test]
    fn the_short_way_writes_what_the_general_one_writes() {
        let env = MemEnv::new(Background::Stepped);
        let dir = env.open_dir("/plain".as_ref(), true).unwrap();
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let keys = 1 + dice.below(40);
            let mut entries: Vec<Entry> = (1..=1 + dice.below(300))
                .map(|seq| {
                    // Most share their heads with others; some end within.
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
            if dice.below(2) == 0 {
                entries.reverse();
            }
            let newest = entries.len() as u64;
            let mut snapshots: Vec<SeqNo> =
                (0..dice.below(3)).map(|_| dice.below(newest)).collect();
            snapshots.push(newest);
            snapshots.sort_unstable();
            let bottom = dice.below(2) == 0;
            let rules = || Rules {
                snapshots: snapshots.clone(),
                bottom,
                context: ReadContext {
                    order: Order::Bytewise,
                    merge_operator: None,
                },
                values: Arc::default(),
                end: None,
            };
            let last: Entry = (vec![0xff], newest, Kind::Put, Vec::new());
            let step = 1 + dice.below(50);
            let short = written(&*dir, rules(), vec![memtable(&entries)], step);
            let sources = vec![memtable(&entries), memtable(std::slice::from_ref(&last))];
            let mut general = written(&*dir, rules(), sources, step);
            assert_eq!(
                general.pop().map(|last| last.0),
                Some(last.0),
                "seed {seed}"
            );
            assert_eq!(short, general, "seed {seed}");
        }
    }
}
