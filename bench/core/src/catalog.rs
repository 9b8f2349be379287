//! Every workload by name, as data: what it does, whether it starts from an empty store, how many
//! operations it counts and how large its values are.
//!
//! Where LevelDB's program and the seed's words differ the seed rules: synchronous rows run N/100.

/// Where the keys of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2, ...
    Sequential,
    /// Drawn from all keys, with replacement unless `--shuffle` is set.
    Random,
    /// Every key once, in random order.
    Unique,
}

/// Which keys a reading row asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any key.
    All,
    /// One of the first hundredth.
    Hot,
    /// A key with its last digit cut off, which is never there.
    Missing,
}

/// What the extra thread of a row does while the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// It puts.
    Put,
    /// It merges.
    Merge,
}

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Puts.
    Fill(Order),
    /// Deletes.
    Delete(Order),
    /// One pass with a cursor.
    Scan {
        /// From the last entry to the first.
        backward: bool,
    },
    /// Point reads.
    Get(Target),
    /// Point reads of several keys at once.
    MultiGet,
    /// A new cursor and a seek each.
    Seek,
    /// Seeks forward on one cursor, in small steps.
    SeekOrdered,
    /// Read, then write the same key.
    Update,
    /// Reads and writes in the proportion of `--readwritepercent`.
    ReadWrite,
    /// Merges.
    Merge,
    /// Reads and merges; `--mergereadpercent` of a hundred are merges.
    ReadMerge,
    /// Point reads beside one writer.
    GetBeside(Beside),
    /// Seeks beside one writer.
    SeekBeside(Beside),
    /// Closing and opening.
    Open,
    /// A manual compaction of everything.
    Compact,
    /// Memory moved to its resting place.
    Flush,
    /// Waiting for background work.
    Wait,
    /// Every entry compared with what was written.
    Verify,
    /// Checksums of 4 KiB, without a store.
    Crc32c,
    /// Atomic loads, without a store.
    AcquireLoad,
    /// A codec of the system over one block, without a store.
    Codec {
        /// `snappy`, `lz4` or `zstd`.
        codec: &'static str,
        /// Decoding instead of encoding.
        decode: bool,
    },
    /// A text of the engine.
    Property(&'static str),
    /// A dump of the heap.
    HeapProfile,
    /// The engine's counters set to zero.
    ResetStats,
}

/// Which values a row writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Of `--value_size` bytes.
    Flag,
    /// Of 100,000 bytes.
    Large,
}

/// Bytes of a value of the rows named 100K.
pub const LARGE_VALUE_BYTES: usize = 100_000;

/// Entries of one batch in the rows named batch.
pub const BATCH_ENTRIES: u64 = 1000;

/// One row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The name in `--benchmarks`.
    pub name: &'static str,
    /// What it does.
    pub action: Action,
    /// Whether it starts from an empty store.
    pub fresh: bool,
    /// N divided by this is the number of operations.
    pub divisor: u64,
    /// Entries of each write.
    pub batch: u64,
    /// Whether each write must survive loss of power.
    pub sync: bool,
    /// The values.
    pub values: Values,
    /// What it is, for `--help`.
    pub help: &'static str,
}

impl Workload {
    /// The row of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CATALOG.iter().find(|workload| workload.name == name)
    }

    /// Whether the contents of the store may differ afterwards.
    pub const fn changes(&self) -> bool {
        matches!(
            self.action,
            Action::Fill(_)
                | Action::Delete(_)
                | Action::Update
                | Action::ReadWrite
                | Action::Merge
                | Action::ReadMerge
                | Action::GetBeside(_)
                | Action::SeekBeside(_)
        )
    }

    /// Whether it prints something instead of measuring.
    pub const fn is_text(&self) -> bool {
        matches!(
            self.action,
            Action::Property(_) | Action::HeapProfile | Action::ResetStats
        )
    }

    /// Whether the engine takes no part in it.
    pub const fn is_engineless(&self) -> bool {
        matches!(
            self.action,
            Action::Crc32c | Action::AcquireLoad | Action::Codec { .. }
        )
    }

    const fn new(name: &'static str, action: Action, help: &'static str) -> Self {
        Self {
            name,
            action,
            fresh: false,
            divisor: 1,
            batch: 1,
            sync: false,
            values: Values::Flag,
            help,
        }
    }

    const fn fresh(self) -> Self {
        Self {
            fresh: true,
            ..self
        }
    }

    const fn batch(self) -> Self {
        Self {
            batch: BATCH_ENTRIES,
            ..self
        }
    }

    const fn sync(self) -> Self {
        Self {
            sync: true,
            divisor: 100,
            ..self
        }
    }

    const fn large(self) -> Self {
        Self {
            values: Values::Large,
            divisor: 1000,
            ..self
        }
    }

    const fn divided(self, divisor: u64) -> Self {
        Self { divisor, ..self }
    }
}

const SEQ: Action = Action::Fill(Order::Sequential);
const RANDOM: Action = Action::Fill(Order::Random);

const fn codec(name: &'static str, codec: &'static str, decode: bool) -> Workload {
    let help = if decode {
        "decode one block until 1 GiB is done"
    } else {
        "encode one block until 1 GiB is done"
    };
    Workload::new(name, Action::Codec { codec, decode }, help)
}

/// Every workload.
pub const CATALOG: &[Workload] = &[
    Workload::new("fillseq", SEQ, "write N values in sequential key order").fresh(),
    Workload::new("fillrandom", RANDOM, "write N values in random key order").fresh(),
    Workload::new(
        "filluniquerandom",
        Action::Fill(Order::Unique),
        "write each of N keys once in random order",
    )
    .fresh(),
    Workload::new(
        "overwrite",
        RANDOM,
        "overwrite N values in random key order",
    ),
    Workload::new(
        "fillsync",
        RANDOM,
        "write N/100 values in random key order in sync mode",
    )
    .fresh()
    .sync(),
    Workload::new("fillrandsync", RANDOM, "the same as fillsync")
        .fresh()
        .sync(),
    Workload::new(
        "fillseqsync",
        SEQ,
        "write N/100 values in sequential key order in sync mode",
    )
    .fresh()
    .sync(),
    Workload::new(
        "fillbatch",
        SEQ,
        "write N values in sequential key order, 1000 in a batch",
    )
    .fresh()
    .batch(),
    Workload::new("fillseqbatch", SEQ, "the same as fillbatch")
        .fresh()
        .batch(),
    Workload::new(
        "fillrandbatch",
        RANDOM,
        "write N values in random key order, 1000 in a batch",
    )
    .fresh()
    .batch(),
    Workload::new(
        "fill100K",
        RANDOM,
        "write N/1000 100K values in random key order",
    )
    .fresh()
    .large(),
    Workload::new("fillrand100K", RANDOM, "the same as fill100K")
        .fresh()
        .large(),
    Workload::new(
        "fillseq100K",
        SEQ,
        "write N/1000 100K values in sequential key order",
    )
    .fresh()
    .large(),
    Workload::new(
        "deleteseq",
        Action::Delete(Order::Sequential),
        "delete N keys in sequential order",
    ),
    Workload::new(
        "deleterandom",
        Action::Delete(Order::Random),
        "delete N keys in random order",
    ),
    Workload::new(
        "readseq",
        Action::Scan { backward: false },
        "read N times sequentially",
    ),
    Workload::new(
        "readreverse",
        Action::Scan { backward: true },
        "read N times in reverse order",
    ),
    Workload::new(
        "readrandom",
        Action::Get(Target::All),
        "read N times in random order",
    ),
    Workload::new(
        "readrandomsmall",
        Action::Get(Target::All),
        "read N/1000 times in random order",
    )
    .divided(1000),
    Workload::new(
        "readmissing",
        Action::Get(Target::Missing),
        "read N missing keys in random order",
    ),
    Workload::new(
        "readhot",
        Action::Get(Target::Hot),
        "read N times in random order from 1% section of DB",
    ),
    Workload::new(
        "readseq100K",
        Action::Scan { backward: false },
        "read N/1000 times sequentially",
    )
    .divided(1000),
    Workload::new(
        "readrand100K",
        Action::Get(Target::All),
        "read N/1000 times in random order",
    )
    .divided(1000),
    Workload::new(
        "multireadrandom",
        Action::MultiGet,
        "read N keys in random order, --batch_size at a time",
    ),
    Workload::new(
        "seekrandom",
        Action::Seek,
        "N random seeks, each with a cursor of its own",
    ),
    Workload::new(
        "seekordered",
        Action::SeekOrdered,
        "N ordered seeks on one cursor",
    ),
    Workload::new(
        "updaterandom",
        Action::Update,
        "read and write back N random keys",
    ),
    Workload::new(
        "readwhilewriting",
        Action::GetBeside(Beside::Put),
        "1 writer, N threads doing random reads",
    ),
    Workload::new(
        "readwhilemerging",
        Action::GetBeside(Beside::Merge),
        "1 merger, N threads doing random reads",
    ),
    Workload::new(
        "seekrandomwhilewriting",
        Action::SeekBeside(Beside::Put),
        "1 writer, N threads doing random seeks",
    ),
    Workload::new(
        "readrandomwriterandom",
        Action::ReadWrite,
        "N threads doing random-read, random-write",
    ),
    Workload::new(
        "mergerandom",
        Action::Merge,
        "merge N random keys (operator: max)",
    ),
    Workload::new(
        "readrandommergerandom",
        Action::ReadMerge,
        "N threads doing random-read, random-merge",
    ),
    Workload::new("open", Action::Open, "cost of opening a DB, N/10000 times").divided(10_000),
    Workload::new("crc32c", Action::Crc32c, "repeated crc32c of 4K of data"),
    Workload::new("acquireload", Action::AcquireLoad, "load N*1000 times"),
    codec("snappycomp", "snappy", false),
    codec("snappyuncomp", "snappy", true),
    codec("lz4comp", "lz4", false),
    codec("lz4uncomp", "lz4", true),
    codec("zstdcomp", "zstd", false),
    codec("zstduncomp", "zstd", true),
    Workload::new("compact", Action::Compact, "compact the entire DB"),
    Workload::new("flush", Action::Flush, "move what is in memory to tables"),
    Workload::new(
        "waitforcompaction",
        Action::Wait,
        "wait until background work has ended",
    ),
    Workload::new(
        "verify",
        Action::Verify,
        "compare every entry with what was written",
    ),
    Workload::new("stats", Action::Property("leveldb.stats"), "print DB stats"),
    Workload::new(
        "sstables",
        Action::Property("leveldb.sstables"),
        "print sstable info",
    ),
    Workload::new(
        "levelstats",
        Action::Property("leveldb.stats"),
        "print DB stats",
    ),
    Workload::new(
        "resetstats",
        Action::ResetStats,
        "set the engine's counters to zero",
    ),
    Workload::new(
        "heapprofile",
        Action::HeapProfile,
        "dump a heap profile (if supported)",
    ),
];

/// One entry of `--benchmarks`: a workload and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name without its suffix.
    pub name: String,
    /// Measured runs.
    pub repeats: u32,
    /// Runs before them that are not reported.
    pub warmups: u32,
}

impl Step {
    /// Reads `name`, `name[X5]`, `name[W2]` or `name[X5-W2]`.
    ///
    /// # Errors
    /// A sentence about the suffix.
    pub fn parse(text: &str) -> Result<Self, String> {
        let plain = |name: &str| Self {
            name: name.to_owned(),
            repeats: 1,
            warmups: 0,
        };
        let Some((name, suffix)) = text.split_once('[') else {
            return Ok(plain(text));
        };
        let refuse = || format!("{text}: a suffix is [X5], [W2] or [X5-W2]");
        let mut step = plain(name);
        for part in suffix.strip_suffix(']').ok_or_else(refuse)?.split('-') {
            let count = |digits: &str| {
                digits
                    .parse()
                    .ok()
                    .filter(|count| (1..=1000).contains(count))
            };
            if let Some(digits) = part.strip_prefix(['X', 'x']) {
                step.repeats = count(digits).ok_or_else(refuse)?;
            } else if let Some(digits) = part.strip_prefix(['W', 'w']) {
                step.warmups = count(digits).ok_or_else(refuse)?;
            } else {
                return Err(refuse());
            }
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (index, workload) in CATALOG.iter().enumerate() {
            assert!(
                CATALOG[..index]
                    .iter()
                    .all(|other| other.name != workload.name),
                "{}",
                workload.name
            );
        }
    }

    #[test]
    fn counts_are_the_seeds() {
        let divisor = |name| Workload::named(name).expect("in the catalogue").divisor;
        assert_eq!(divisor("fillsync"), 100);
        assert_eq!(divisor("fill100K"), 1000);
        assert_eq!(divisor("open"), 10_000);
        assert_eq!(divisor("fillseq"), 1);
    }

    #[test]
    fn suffixes_are_read_and_others_refused() {
        let step = |text| Step::parse(text).map(|step| (step.name, step.repeats, step.warmups));
        assert_eq!(step("fillseq"), Ok(("fillseq".into(), 1, 0)));
        assert_eq!(step("readseq[X5]"), Ok(("readseq".into(), 5, 0)));
        assert_eq!(step("readseq[W2]"), Ok(("readseq".into(), 1, 2)));
        assert_eq!(step("readseq[X5-W2]"), Ok(("readseq".into(), 5, 2)));
        for bad in [
            "readseq[]",
            "readseq[X0]",
            "readseq[Y2]",
            "readseq[X2",
            "readseq[X2-]",
            "a[X-1]",
        ] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }
}
