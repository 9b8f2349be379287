//! Counters of one open database, and the reasons for write stalls.
//!
//! The counters are updated on slow paths only; a put updates none of them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Reason for a write stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallReason {
    /// Immutable memtables fill the write share: flushes do not keep up.
    Memtable = 0,
    /// The live log reached its limit: syncing tables does not keep up.
    Log = 1,
    /// Too many runs: compactions do not keep up.
    Runs = 2,
    /// Too many value files without a live value: syncing the tables that replaced their pointers
    /// does not keep up.
    Space = 3,
}

pub(crate) const STALL_REASONS: [(&str, StallReason); 4] = [
    ("memtable", StallReason::Memtable),
    ("log", StallReason::Log),
    ("runs", StallReason::Runs),
    ("space", StallReason::Space),
];

#[derive(Debug, Default)]
struct Stall {
    count: AtomicU64,
    nanos: AtomicU64,
    nanos_max: AtomicU64,
}

/// Counters of one open database, all totals since it was opened.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    stalls: [Stall; 4],
    pub(crate) log_syncs: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) flush_bytes: AtomicU64,
    pub(crate) compactions: AtomicU64,
    pub(crate) compaction_read_bytes: AtomicU64,
    pub(crate) compaction_bytes: AtomicU64,
    pub(crate) moves: AtomicU64,
    pub(crate) value_bytes: AtomicU64,
    /// Number of bytes of values copied out of value files that were mostly dead.
    pub(crate) moved_value_bytes: AtomicU64,
    pub(crate) manifest_bytes: AtomicU64,
    /// Number of zeros written to new log segments.
    pub(crate) prewritten_bytes: AtomicU64,
    pub(crate) file_syncs: AtomicU64,
    pub(crate) flush_nanos: AtomicU64,
    pub(crate) compaction_nanos: AtomicU64,
}

impl Stats {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        // Relaxed: counters order nothing.
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    pub(crate) fn stalled(&self, reason: StallReason, nanos: u64) {
        let stall = &self.stalls[reason as usize];
        Stats::add(&stall.count, 1);
        Stats::add(&stall.nanos, nanos);
        stall.nanos_max.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Returns the number of bytes written to all files except the log.
    pub(crate) fn written_besides_log(&self) -> u64 {
        [
            &self.flush_bytes,
            &self.compaction_bytes,
            &self.value_bytes,
            &self.moved_value_bytes,
            &self.manifest_bytes,
            &self.prewritten_bytes,
        ]
        .into_iter()
        .map(Stats::get)
        .sum()
    }

    /// Returns `(reason, count, total nanoseconds, longest)` for each reason.
    pub(crate) fn stalls(&self) -> impl Iterator<Item = (&'static str, u64, u64, u64)> + '_ {
        STALL_REASONS.iter().map(|(name, reason)| {
            let stall = &self.stalls[*reason as usize];
            (
                *name,
                Stats::get(&stall.count),
                Stats::get(&stall.nanos),
                Stats::get(&stall.nanos_max),
            )
        })
    }
}
