//! A workaround for a stall in this version of the engine.
//!
//! Flags of a log slot are set without an atomic operation in every version before December 2022
//! (WT-9796, WT-10207). If the log is written at each commit and synced by the threads that drop
//! the LSM tree's old chunks, a commit's flag occasionally overwrites another thread's sync
//! request. That thread then waits for a sync that never comes while it holds the schema lock, and
//! soon all others wait for it. Rows that should take seconds then take minutes, or never end.
//!
//! One explicit sync of the log lets all of them continue. A thread checks the CPU time of the
//! process every [`LOOK`] and requests that sync once it was less than [`STILL_NS`] twice in a row.
//! The wait doubles with each sync and shrinks by a quarter with each check that finds more CPU
//! time. An idle store thus gets few syncs, a store slowed by the engine or the disk gets at most
//! eight unneeded syncs per second, and a store that keeps a third of a core busy gets none.
//! Rejected: counting operations, because each would need an atomic store. Busy readers hide a
//! stalled writer.
//!
//! The checkpoints of a B-tree also sync the log, once per minute; the stall was not observed
//! there.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bench_core::fault::Fault;
use bench_core::host::process;
use bench_core::measure::ticker::Ticker;

use crate::connection::OwnedSession;

/// Interval at which the CPU time is checked.
const LOOK: Duration = Duration::from_millis(20);
/// CPU time per [`LOOK`] below which the engine counts as blocked. Its waiting threads, which poll
/// every one to ten milliseconds, use less.
const STILL_NS: u64 = 6_000_000;
/// Number of consecutive checks without progress before the first sync.
const PATIENCE: u32 = 2;
/// Maximum number of checks between two syncs without effect: one second.
const PATIENCE_MAX: u32 = 50;

/// A session owned by the only thread that uses it.
struct Sent(OwnedSession);

// SAFETY: a session may be used by any thread, one at a time; it is moved, not shared.
unsafe impl Send for Sent {}

impl Sent {
    fn sync_log(&self) {
        // A log fault is reported to the writing thread. If the engine's own log threads had
        // exited, this call would never return, and the row would end by its time limit.
        let _ = self.0.sync_log();
    }
}

/// The watching thread. It must be dropped before the connection is closed, because it holds one of
/// its sessions.
#[derive(Debug)]
pub(crate) struct Rescue {
    syncs: Arc<AtomicU64>,
    _ticker: Ticker,
}

impl Rescue {
    /// Starts watching, with its own session.
    pub(crate) fn start(session: OwnedSession) -> Result<Self, Fault> {
        let syncs = Arc::new(AtomicU64::new(0));
        let (counted, session) = (Arc::clone(&syncs), Sent(session));
        let mut watch = Watch::new(process::cpu_ns());
        let look = move || {
            if watch.stands_still(process::cpu_ns()) {
                session.sync_log();
                // Relaxed: the count is only displayed.
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        let ticker = Ticker::start("rescue", LOOK, look)
            .map_err(|error| Fault::io("starting a thread", &error))?;
        Ok(Self {
            syncs,
            _ticker: ticker,
        })
    }

    /// Returns the number of syncs requested so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

/// Detects that CPU time has stopped growing.
#[derive(Debug)]
struct Watch {
    cpu_ns: u64,
    /// Number of checks without progress since the last sync or the last progress.
    still: u32,
    /// Number of checks to wait for.
    patience: u32,
}

impl Watch {
    fn new(cpu_ns: u64) -> Self {
        Self {
            cpu_ns,
            still: 0,
            patience: PATIENCE,
        }
    }

    /// Performs one check. Returns whether a sync is due.
    fn stands_still(&mut self, cpu_ns: u64) -> bool {
        let used = cpu_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, cpu_ns));
        if used >= STILL_NS {
            self.still = 0;
            // Reduced by a quarter rather than reset: a store that is slow for another reason has
            // busy checks too.
            self.patience = (self.patience * 3 / 4).max(PATIENCE);
            return false;
        }
        self.still += 1;
        if self.still < self.patience {
            return false;
        }
        self.still = 0;
        self.patience = (self.patience * 2).min(PATIENCE_MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the checks at which a sync is requested, given the CPU time used between them.
    fn syncs(used: impl IntoIterator<Item = u64>) -> Vec<usize> {
        let mut watch = Watch::new(0);
        let mut cpu_ns = 0;
        let mut asked = Vec::new();
        for (look, used) in used.into_iter().enumerate() {
            cpu_ns += used;
            if watch.stands_still(cpu_ns) {
                asked.push(look);
            }
        }
        asked
    }

    #[test]
    fn a_busy_store_is_left_alone() {
        assert!(syncs([STILL_NS; 500]).is_empty());
        // One idle check between busy ones is a wait for the disk.
        assert!(syncs([0, STILL_NS].repeat(200)).is_empty());
    }

    #[test]
    fn a_standstill_is_ended_at_the_second_look_and_an_idle_store_asked_ever_more_rarely() {
        let asked = syncs([0; 300]);
        assert_eq!(asked[..4], [1, 5, 13, 29]);
        assert!(
            asked
                .windows(2)
                .all(|pair| pair[1] - pair[0] <= PATIENCE_MAX as usize)
        );
        assert!(asked.len() < 12, "{asked:?}");
    }

    #[test]
    fn progress_brings_the_short_patience_back_step_by_step() {
        // Syncs happen at checks 1, 5, 13 and 29; the next wait is 32 checks, 24 after one busy
        // check, and 2 after ten.
        let after = |busy: usize| {
            let used = [vec![0; 30], vec![STILL_NS; busy], vec![0; 40]].concat();
            let asked = syncs(used);
            asked
                .iter()
                .find(|&&look| look >= 30)
                .map(|look| look - 29 - busy)
        };
        assert_eq!(
            (after(0), after(1), after(10)),
            (Some(32), Some(24), Some(2))
        );
    }

    #[test]
    fn a_store_that_is_slow_for_another_reason_is_asked_every_other_time() {
        assert_eq!(syncs([STILL_NS, 0, 0].repeat(100)).len(), 50);
    }
}
