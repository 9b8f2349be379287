//! The definition of a workload: what it does, to which keys, with which values.

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

/// The keys that a reading row reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any key.
    All,
    /// A key that the store holds. After the rows named 100K, which store a thousandth of all keys,
    /// a key drawn from all is hardly ever present.
    Stored,
    /// One of the first hundredth.
    Hot,
    /// A key without its last digit, which never exists.
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

/// The operations of a YCSB workload in hundredths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Point reads.
    pub read: u32,
    /// New values for existing keys.
    pub update: u32,
    /// New keys.
    pub insert: u32,
    /// Scans of 1 to 100 entries.
    pub scan: u32,
    /// Reads followed by a write of the same key.
    pub modify: u32,
    /// Whether the newest records are read most; else a few of all.
    pub latest: bool,
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
    /// Point reads with one concurrent writer.
    GetBeside(Beside),
    /// Seeks with one concurrent writer.
    SeekBeside(Beside),
    /// A workload of the Yahoo! Cloud Serving Benchmark.
    Ycsb(Mix),
    /// Closing and opening.
    Open,
    /// A manual compaction of everything.
    Compact,
    /// The contents of memory moved to tables or pages.
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

/// The values that a row writes.
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
                | Action::Ycsb(_)
        )
    }

    /// Whether later rows may find another store than this one found: other contents, or the same
    /// contents laid out anew.
    pub const fn touches(&self) -> bool {
        self.changes() || matches!(self.action, Action::Compact | Action::Flush)
    }

    /// Whether it only looks for stored entries.
    pub const fn only_reads(&self) -> bool {
        !self.changes() && !self.is_event() && !self.is_text() && !self.is_engineless()
    }

    /// Whether it adds keys beyond `--num`.
    pub const fn inserts(&self) -> bool {
        matches!(self.action, Action::Ycsb(mix) if mix.insert > 0)
    }

    /// What RocksDB's program calls one operation, in the title of a histogram.
    pub const fn operation(&self) -> &'static str {
        match self.action {
            Action::Fill(_) => "write",
            Action::Scan { .. } | Action::Get(_) | Action::MultiGet | Action::GetBeside(_) => {
                "read"
            }
            Action::Delete(_) => "delete",
            Action::Seek | Action::SeekOrdered | Action::SeekBeside(_) => "seek",
            Action::Update => "update",
            Action::Merge => "merge",
            Action::Crc32c => "crc",
            Action::Codec { decode: false, .. } => "compress",
            Action::Codec { decode: true, .. } => "uncompress",
            _ => "op",
        }
    }

    /// Whether it is a single event, reported as a time, and not many operations.
    pub const fn is_event(&self) -> bool {
        matches!(
            self.action,
            Action::Open | Action::Compact | Action::Flush | Action::Wait | Action::Verify
        )
    }

    /// Whether it prints something instead of measuring.
    pub const fn is_text(&self) -> bool {
        matches!(
            self.action,
            Action::Property(_) | Action::HeapProfile | Action::ResetStats
        )
    }

    /// Whether it does not involve the engine.
    pub const fn is_engineless(&self) -> bool {
        matches!(
            self.action,
            Action::Crc32c | Action::AcquireLoad | Action::Codec { .. }
        )
    }

    /// A row of N operations over the existing contents.
    pub(crate) const fn new(name: &'static str, action: Action, help: &'static str) -> Self {
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

    /// The same from an empty store.
    pub(crate) const fn fresh(self) -> Self {
        Self {
            fresh: true,
            ..self
        }
    }

    /// The same, a thousand entries in each write.
    pub(crate) const fn batch(self) -> Self {
        Self {
            batch: BATCH_ENTRIES,
            ..self
        }
    }

    /// The same, N/100 writes that survive loss of power.
    pub(crate) const fn sync(self) -> Self {
        Self {
            sync: true,
            divisor: 100,
            ..self
        }
    }

    /// The same, N/1000 values of 100,000 bytes.
    pub(crate) const fn large(self) -> Self {
        Self {
            values: Values::Large,
            divisor: 1000,
            ..self
        }
    }

    /// The same with fewer operations.
    pub(crate) const fn divided(self, divisor: u64) -> Self {
        Self { divisor, ..self }
    }
}
