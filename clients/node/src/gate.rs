//! Whether reads run on the environment's thread, or on the thread pool.
//!
//! A get that finds everything in memory takes about a microsecond, a tenth of what the way to
//! the pool and back costs. One that waits for a disk must not hold up the event loop. The store
//! cannot tell beforehand which of them a get will be, so the gate goes by what came before:
//!
//! * A database that existed when it was opened starts *cold*: reads run on the pool, and each
//!   reports whether it has read from a disk. After [`CLEAN_FIRST`] in a row that have not, the
//!   gate is *warm*.
//! * While it is warm, reads run on the environment's thread. One that takes longer than
//!   [`SLOW_NS`] makes the gate cold if it has read from a disk, or needs [`TOO_SLOW_NS`] for a
//!   large value. Each time, the number of reads that it takes to become warm again doubles, up to
//!   [`CLEAN_MAX`], so that a database larger than memory stays on the pool.
//! * A read that takes longer than [`TOO_SLOW_NS`] without either has most likely lost the
//!   processor to another program, which is no reason to become cold: on a busy machine it happens
//!   all the time, and most of the reads would run on the pool. But it may have waited for a file
//!   system that counts no disk reads, as those over a network do. So the next [`WATCHED`] reads
//!   are watched, and one that is as slow and has slept makes the gate cold.
//!
//! Thus one slow read after many fast ones holds up the event loop, for the time of one access to
//! the disk; never two in a row, or three where disk reads are not counted.

use std::cell::Cell;

use crate::usage::{Waits, now_ns};

/// Reads on the pool without access to a disk after which the gate becomes warm at first.
const CLEAN_FIRST: u32 = 16;
/// Upper limit of that number.
const CLEAN_MAX: u32 = 4096;
/// Duration of a read on the environment's thread from which it is looked at: a hundred times that
/// of a read in memory, and below that of most disks.
const SLOW_NS: u64 = 150_000;
/// Duration of one of many reads in memory, generously.
const USUAL_NS: u64 = 2_000;
/// Duration that may make the gate cold even without an access to a disk.
const TOO_SLOW_NS: u64 = 1_000_000;
/// Bytes that explain such a duration.
const LARGE_BYTES: usize = 256 << 10;
/// Reads that are watched after one whose duration nothing explains. Watching one takes longer than
/// a read.
const WATCHED: u32 = 64;
/// Reads in memory after which earlier accesses to the disk are forgotten.
const FORGET_AFTER: u32 = 100_000;

/// The gate of one handle.
#[derive(Debug)]
pub(crate) struct Gate {
    warm: Cell<bool>,
    /// Reads on the pool without access to a disk since the last with one.
    clean: Cell<u32>,
    /// Value of `clean` that makes the gate warm.
    clean_wanted: Cell<u32>,
    /// Reads on the environment's thread since the gate became warm.
    reads: Cell<u32>,
    /// The thread's waits as last read.
    waits: Cell<Waits>,
    /// Reads that will be watched.
    watched: Cell<u32>,
}

/// A read on the environment's thread that is being measured.
#[derive(Clone, Copy, Debug)]
#[must_use = "a measurement counts when it is finished"]
pub(crate) struct Measured {
    begun: u64,
    watched: bool,
}

impl Measured {
    /// Returns for how long the read has run.
    #[inline]
    pub(crate) fn elapsed_ns(self) -> u64 {
        now_ns().saturating_sub(self.begun)
    }
}

impl Gate {
    /// Makes a gate; a database that was just created has nothing on the disk.
    pub(crate) fn new(warm: bool) -> Gate {
        Gate {
            warm: Cell::new(warm),
            clean: Cell::new(0),
            clean_wanted: Cell::new(CLEAN_FIRST),
            reads: Cell::new(0),
            waits: Cell::new(Waits::so_far()),
            watched: Cell::new(0),
        }
    }

    /// Returns whether reads run on the pool.
    pub(crate) fn is_cold(&self) -> bool {
        !self.warm.get()
    }

    /// Begins a read on this thread, if the gate is warm.
    #[inline]
    pub(crate) fn begin(&self) -> Option<Measured> {
        if !self.warm.get() {
            return None;
        }
        let watched = self.watched.get() > 0;
        if watched {
            self.begin_watched();
        }
        Some(Measured {
            begun: now_ns(),
            watched,
        })
    }

    #[cold]
    fn begin_watched(&self) {
        self.watched.set(self.watched.get() - 1);
        self.waits.set(Waits::so_far());
    }

    /// Counts a finished read on this thread, which has found `bytes`.
    #[inline]
    pub(crate) fn finish(&self, read: Measured, bytes: usize) {
        self.finish_many(read, 1, bytes);
    }

    /// Counts a finished read of many entries on this thread, which may take longer than one.
    #[inline]
    pub(crate) fn finish_many(&self, read: Measured, entries: usize, bytes: usize) {
        let usual = u64::try_from(entries)
            .unwrap_or(u64::MAX)
            .saturating_mul(USUAL_NS);
        let elapsed = read.elapsed_ns().saturating_sub(usual);
        if elapsed >= SLOW_NS {
            self.look_at(read, elapsed, bytes);
        }
        let reads = self.reads.get().saturating_add(1);
        self.reads.set(reads);
        if reads == FORGET_AFTER {
            self.clean_wanted.set(CLEAN_FIRST);
        }
    }

    /// Decides whether a slow read makes the gate cold.
    #[cold]
    fn look_at(&self, read: Measured, elapsed: u64, bytes: usize) {
        let before = self.waits.replace(Waits::so_far());
        let now = self.waits.get();
        if now.disk_reads != before.disk_reads {
            return self.become_cold();
        }
        if elapsed < TOO_SLOW_NS {
            return;
        }
        // The sleeps before a read that is not watched were those of the event loop.
        if bytes >= LARGE_BYTES || (read.watched && now.sleeps != before.sleeps) {
            return self.become_cold();
        }
        self.watched.set(WATCHED);
    }

    fn become_cold(&self) {
        self.warm.set(false);
        self.watched.set(0);
        self.clean.set(0);
        self.reads.set(0);
        let wanted = self.clean_wanted.get().saturating_mul(2);
        self.clean_wanted.set(wanted.min(CLEAN_MAX));
    }

    /// Counts `reads` finished reads on the pool, which may have read from a disk.
    pub(crate) fn note_pooled(&self, reads: u32, from_disk: bool) {
        if from_disk {
            self.clean.set(0);
            return;
        }
        let clean = self.clean.get().saturating_add(reads);
        self.clean.set(clean);
        if clean >= self.clean_wanted.get() && !self.warm.get() {
            self.warm.set(true);
            self.reads.set(0);
            self.waits.set(Waits::so_far());
        }
    }
}

/// Runs `read` on a thread of the pool and reports whether it has read from a disk.
pub(crate) fn watched<T>(read: impl FnOnce() -> T) -> (T, bool) {
    let before = Waits::so_far();
    let result = read();
    (result, Waits::so_far().disk_reads != before.disk_reads)
}
