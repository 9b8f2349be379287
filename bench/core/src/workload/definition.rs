//! The definition of a workload: what it does, to which keys, with which values.

use serde::{Deserialize, Serialize};

/// The order in which a row takes its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2, ...
    Sequential,
    /// Keys drawn from all keys, with replacement unless `--shuffle` is set.
    Random,
    /// Every key once, in random order.
    Unique,
}

/// The keys that a reading row reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any key.
    All,
    /// A key that is present in the store. After the rows named 100K, which store a thousandth of
    /// all keys, a key drawn from all keys is rarely present.
    Stored,
    /// One of the first 1% of keys.
    Hot,
    /// A key without its last digit, which is never present.
    Missing,
}

/// An end of the key order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The smallest key.
    First,
    /// The greatest key.
    Last,
}

/// The operation of a row's extra thread while the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Puts.
    Put,
    /// Merges.
    Merge,
}

/// The operations of a mix, such as a YCSB workload, in percent.
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
    /// Deletes of existing keys.
    pub delete: u32,
    /// A hundred times the exponent of Zipf's law by which records are drawn; 0 for YCSB's 0.99.
    pub zipf: u32,
    /// Whether the newest records are read most; otherwise, a few records spread over all.
    pub latest: bool,
    /// Whether records are drawn, and scans as long, as in RocksDB's `mixgraph`.
    pub graph: bool,
}

/// What the turns of a row do, whose entries were written in key order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A turn adds an entry after the last one, and finds and deletes the first.
    Queue,
    /// A turn adds an entry after the last one, and finds and deletes the last, in bursts.
    Stack,
    /// A turn adds an entry after the last one, deletes the oldest, and reads the ten oldest.
    Window,
    /// All entries were deleted in key order. A turn writes one elsewhere and seeks the first.
    All,
    /// The middle half of the entries was deleted key by key. A turn writes an entry elsewhere and
    /// seeks the first key of that half.
    Middle,
}

/// What a process that reads the store of another one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// Nothing after its first read.
    Idle,
    /// Random point reads without pause.
    Flat,
    /// Reads of the entry that the writer has just written.
    Following,
}

/// What a row measures while other processes read the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Their reads while nothing is written.
    Quiet,
    /// Their reads while entries are written at a fixed rate.
    Writing,
    /// The time from a write to the end of a read that sees it.
    Fresh,
    /// The first opening by a reader, after many writes.
    Opening,
    /// The processor time of the process that writes.
    Cost {
        /// Number of reading processes.
        readers: u32,
        /// What they do.
        reading: Reading,
    },
}

/// The action of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Puts.
    Fill(Order),
    /// Puts of keys in ascending order after all that exist.
    Append,
    /// Deletes.
    Delete(Order),
    /// Takes the entry at one end, again and again.
    Pop(End),
    /// A scan of the middle third that deletes every second entry.
    Extract,
    /// Puts, then the time of the longest one after them, each in a batch of its own.
    Stall,
    /// Puts, then the time of one sync of all of them.
    SyncBurst,
    /// Puts, then turns in which cursors step over what was deleted.
    Turns {
        /// What a turn does.
        pattern: Pattern,
        /// Whether a cursor opened before the first deletion is held until the end.
        held: bool,
        /// Whether a turn deletes all that is gone by now as one range.
        ranges: bool,
    },
    /// One pass with a cursor.
    Scan {
        /// From the last entry to the first.
        backward: bool,
    },
    /// One pass with the store's iteration, if that is not by a cursor.
    Iterate,
    /// Point reads.
    Get(Target),
    /// Point reads of several keys at once.
    MultiGet,
    /// A new cursor for each seek.
    Seek,
    /// Seeks forward on one cursor, in small steps.
    SeekOrdered,
    /// Read, then write the same key.
    Update,
    /// Reads and writes in the proportion of `--readwritepercent`.
    ReadWrite,
    /// Merges.
    Merge,
    /// Reads and merges; `--mergereadpercent` percent are merges.
    ReadMerge,
    /// Point reads with one concurrent writer.
    GetBeside(Beside),
    /// Seeks with one concurrent writer.
    SeekBeside(Beside),
    /// A workload of the Yahoo! Cloud Serving Benchmark.
    Ycsb(Mix),
    /// Closing and reopening the store.
    Open,
    /// Drops of all keyspaces.
    DropKeyspaces,
    /// Deletions of ranges that have half of the keys, each with one call.
    DeleteRanges,
    /// Reads by other processes.
    Readers(Readers),
    /// A manual compaction of the whole store.
    Compact,
    /// A flush of memory to tables or pages.
    Flush,
    /// Waiting for background work.
    Wait,
    /// A comparison of every entry with what was written.
    Verify,
    /// Checksums of 4 KiB, without a store.
    Crc32c,
    /// Random reads of the device, without a store.
    Depth,
    /// So many loads that depend on each other, without a store.
    Chase(u32),
    /// Each entry appended to so many files, without a store.
    Amp(u32),
    /// Atomic loads, without a store.
    AcquireLoad,
    /// A compression codec over one block, without a store.
    Codec {
        /// `snappy`, `lz4` or `zstd`.
        codec: &'static str,
        /// Whether to decode instead of encode.
        decode: bool,
    },
    /// A property printed by the engine.
    Property(&'static str),
    /// A heap profile.
    HeapProfile,
    /// A reset of the engine's counters.
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

/// Value size in bytes of the rows named 100K.
pub const LARGE_VALUE_BYTES: usize = 100_000;

/// Number of entries per batch in the rows named batch.
pub const BATCH_ENTRIES: u64 = 1000;

/// One row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The name in `--benchmarks`.
    pub name: &'static str,
    /// The action.
    pub action: Action,
    /// Whether the row starts from an empty store.
    pub fresh: bool,
    /// The divisor that turns N into the number of operations.
    pub divisor: u64,
    /// Number of entries per write.
    pub batch: u64,
    /// Whether each write must survive a power loss.
    pub sync: bool,
    /// The values that the row writes.
    pub values: Values,
    /// The description for `--help`.
    pub help: &'static str,
}

impl Workload {
    /// Returns whether the operations of the row can begin at fixed times: each is one call.
    pub const fn has_schedule(&self) -> bool {
        matches!(
            self.action,
            Action::Fill(_)
                | Action::Delete(_)
                | Action::Get(_)
                | Action::GetBeside(_)
                | Action::MultiGet
                | Action::Seek
                | Action::SeekBeside(_)
                | Action::Update
                | Action::ReadWrite
                | Action::Merge
                | Action::ReadMerge
                | Action::Ycsb(_)
        )
    }

    /// Returns whether the row may change the contents of the store.
    pub const fn changes(&self) -> bool {
        matches!(
            self.action,
            Action::Fill(_)
                | Action::Append
                | Action::Delete(_)
                | Action::Pop(_)
                | Action::Extract
                | Action::Stall
                | Action::SyncBurst
                | Action::Turns { .. }
                | Action::Update
                | Action::ReadWrite
                | Action::Merge
                | Action::ReadMerge
                | Action::GetBeside(_)
                | Action::SeekBeside(_)
                | Action::Ycsb(_)
                | Action::DropKeyspaces
                | Action::DeleteRanges
        ) || matches!(self.action, Action::Readers(readers) if !matches!(readers, Readers::Quiet))
    }

    /// Returns whether other processes read the store in the row.
    pub const fn has_readers(&self) -> bool {
        matches!(self.action, Action::Readers(_))
    }

    /// Returns whether the row is one of those that run over keyspaces too.
    pub const fn spans_keyspaces(&self) -> bool {
        match self.action {
            Action::Fill(_) | Action::Delete(_) => self.batch == 1,
            Action::Get(target) => !matches!(target, Target::Missing),
            Action::Stall | Action::SyncBurst | Action::DeleteRanges | Action::Readers(_) => false,
            _ => self.is_event() || self.is_engineless(),
        }
    }

    /// Returns whether the row may change the store for later rows: its contents, or their layout.
    pub const fn touches(&self) -> bool {
        self.changes() || matches!(self.action, Action::Compact | Action::Flush)
    }

    /// Returns whether the row only reads stored entries.
    pub const fn only_reads(&self) -> bool {
        !self.changes() && !self.is_event() && !self.is_text() && !self.is_engineless()
    }

    /// Returns whether the row adds keys beyond `--num`.
    pub const fn inserts(&self) -> bool {
        match self.action {
            Action::Ycsb(mix) => mix.insert > 0,
            Action::Append | Action::Turns { .. } => true,
            _ => false,
        }
    }

    /// Returns whether the row has one thread, however many are asked for, because its operations
    /// depend on each other.
    pub const fn is_of_one_thread(&self) -> bool {
        matches!(
            self.action,
            Action::Append
                | Action::Pop(_)
                | Action::Extract
                | Action::Stall
                | Action::SyncBurst
                | Action::Iterate
                | Action::Readers(Readers::Fresh | Readers::Opening | Readers::Cost { .. })
        )
    }

    /// Returns RocksDB's name for one operation, as used in the title of a histogram.
    pub const fn operation(&self) -> &'static str {
        match self.action {
            Action::Fill(_) | Action::Append => "write",
            Action::Scan { .. }
            | Action::Iterate
            | Action::Get(_)
            | Action::MultiGet
            | Action::GetBeside(_)
            | Action::Readers(Readers::Quiet | Readers::Writing) => "read",
            Action::Delete(_) | Action::Pop(_) | Action::Extract => "delete",
            Action::Seek | Action::SeekOrdered | Action::SeekBeside(_) => "seek",
            Action::Update => "update",
            Action::Merge => "merge",
            Action::Crc32c => "crc",
            Action::Codec { decode: false, .. } => "compress",
            Action::Codec { decode: true, .. } => "uncompress",
            _ => "op",
        }
    }

    /// Returns whether the row is a single event, reported as a time, rather than many operations.
    pub const fn is_event(&self) -> bool {
        matches!(
            self.action,
            Action::Open
                | Action::DropKeyspaces
                | Action::DeleteRanges
                | Action::Compact
                | Action::Flush
                | Action::Wait
                | Action::Verify
                | Action::Stall
                | Action::SyncBurst
                | Action::Readers(Readers::Fresh | Readers::Opening | Readers::Cost { .. })
        )
    }

    /// Returns whether the row prints something instead of measuring.
    pub const fn is_text(&self) -> bool {
        matches!(
            self.action,
            Action::Property(_) | Action::HeapProfile | Action::ResetStats
        )
    }

    /// Returns whether the row does not involve the engine.
    pub const fn is_engineless(&self) -> bool {
        matches!(
            self.action,
            Action::Crc32c
                | Action::Depth
                | Action::Chase(_)
                | Action::Amp(_)
                | Action::AcquireLoad
                | Action::Codec { .. }
        )
    }

    /// Makes the row start from an empty store.
    pub(crate) const fn fresh(self) -> Self {
        Self {
            fresh: true,
            ..self
        }
    }

    /// Makes each write a batch of a thousand entries.
    pub(crate) const fn batch(self) -> Self {
        Self {
            batch: BATCH_ENTRIES,
            ..self
        }
    }

    /// Makes the row N/100 writes that survive a power loss.
    pub(crate) const fn sync(self) -> Self {
        Self {
            sync: true,
            divisor: 100,
            ..self
        }
    }

    /// Makes the row write N/1000 values of 100,000 bytes.
    pub(crate) const fn large(self) -> Self {
        Self {
            values: Values::Large,
            divisor: 1000,
            ..self
        }
    }

    /// Divides the number of operations.
    pub(crate) const fn divided(self, divisor: u64) -> Self {
        Self { divisor, ..self }
    }
}
