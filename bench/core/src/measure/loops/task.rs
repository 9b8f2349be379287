//! What the threads of a row share, and the numbers that follow from the flags and the row.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use crate::engine::{Capabilities, Session};
use crate::fault::Fault;
use crate::measure::meter::MeterMode;
use crate::workload::definition::{Action, LARGE_VALUE_BYTES, Order, Readers, Values, Workload};
use crate::workload::model::{Model, Words};
use crate::workload::plan::{Distribution, Plan};
use crate::workload::pool::{Pool, ValueSet};

/// Operations per second and thread for which space for new keys is reserved in rows with
/// `--duration`.
const TIMED_OPS_PER_SECOND: u64 = 500_000;

/// The state shared by the threads of one row.
#[derive(Debug)]
pub struct Task<'a> {
    /// The flags.
    pub plan: &'a Plan,
    /// The row.
    pub workload: &'a Workload,
    /// Operations per second at which those of the row begin; `None` for a closed loop.
    pub rate: Option<f64>,
    /// The capabilities of the engine.
    pub capabilities: Capabilities,
    /// The pool that values are cut from.
    pub pool: &'a Pool,
    /// The model of the store.
    pub model: &'a Model,
    /// The values this row writes.
    pub values: &'a ValueSet,
    /// Their words.
    pub words: Words,
    /// Number of keys that exist, or may exist, when the row starts.
    pub records: u64,
    /// The next key to be added.
    pub next_record: AtomicU64,
    /// Whether answers are compared with the model.
    pub judged: bool,
    /// Whether some thread writes while another reads or writes.
    pub contended: bool,
    /// Number of readers that have not ended yet.
    pub running: AtomicU32,
    /// The barrier of the threads.
    pub barrier: Barrier,
}

impl Task<'_> {
    /// Selects the keyspace of a key.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a remainder is below its divisor"
    )]
    pub(super) fn enter(&self, session: &mut impl Session, index: u64) -> Result<(), Fault> {
        match u64::from(self.plan.keyspaces) {
            0 => Ok(()),
            keyspaces => session.enter((index % keyspaces) as u32),
        }
    }

    /// Returns the number of threads of the row, including an extra writer.
    pub const fn threads(plan: &Plan, workload: &Workload) -> u32 {
        match workload.action {
            Action::GetBeside(_) | Action::SeekBeside(_) => plan.threads + 1,
            _ => Self::counted_threads(plan, workload),
        }
    }

    /// Returns the number of threads of the row, without an extra writer.
    pub const fn counted_threads(plan: &Plan, workload: &Workload) -> u32 {
        if workload.is_of_one_thread() {
            1
        } else {
            plan.threads
        }
    }

    /// Returns the size in bytes of the values that a row writes.
    pub const fn value_bytes(plan: &Plan, workload: &Workload) -> usize {
        match workload.values {
            Values::Flag => plan.value_size,
            Values::Large => LARGE_VALUE_BYTES,
        }
    }

    /// Returns the number of entries per write.
    pub const fn batch(plan: &Plan, workload: &Workload) -> u64 {
        match workload.action {
            Action::Fill(_) if workload.batch == 1 && plan.batch_size > 1 => plan.batch_size,
            _ => workload.batch,
        }
    }

    /// Returns the maximum number of keys that a row may add.
    pub fn additions(plan: &Plan, workload: &Workload) -> u64 {
        let mix = match workload.action {
            Action::Ycsb(mix) => mix,
            Action::Append => return Self::ops(plan, workload),
            Action::Turns { .. } => {
                return (Self::ops(plan, workload) + 2).saturating_mul(u64::from(plan.threads));
            }
            _ => return 0,
        };
        let ops = if plan.duration == 0 {
            Self::ops(plan, workload)
        } else {
            plan.duration.saturating_mul(TIMED_OPS_PER_SECOND)
        };
        if mix.insert == 0 {
            return 0;
        }
        // Twice the expected number; if a row needs more, it overwrites the last key.
        (ops / 100 * u64::from(mix.insert) * 2 + 1000).saturating_mul(u64::from(plan.threads))
    }

    /// Returns the number of operations per thread, which LevelDB calls N in messages.
    pub const fn ops(plan: &Plan, workload: &Workload) -> u64 {
        let count = match workload.action {
            Action::Stall | Action::SyncBurst => return 1,
            Action::Fill(_)
            | Action::Append
            | Action::Merge
            | Action::Update
            | Action::Readers(Readers::Opening | Readers::Cost { .. }) => plan.writes,
            Action::Delete(_) | Action::Pop(_) | Action::Extract | Action::Turns { .. } => {
                plan.deletes
            }
            Action::ReadWrite | Action::ReadMerge | Action::Ycsb(_) => {
                if plan.reads > plan.writes {
                    plan.reads
                } else {
                    plan.writes
                }
            }
            Action::AcquireLoad | Action::Open => plan.num,
            Action::DropKeyspaces => plan.keyspaces as u64,
            Action::DeleteRanges => plan.ranges as u64,
            _ => plan.reads,
        };
        let divided = count / workload.divisor;
        match workload.action {
            Action::Open if divided == 0 => 1,
            _ => divided,
        }
    }

    /// Returns whether `--duration` replaces the count of a row.
    pub(super) const fn timed(&self) -> bool {
        !matches!(
            self.workload.action,
            Action::Fill(Order::Sequential | Order::Unique)
                | Action::Delete(Order::Sequential | Order::Unique)
                | Action::Append
                | Action::Pop(_)
                | Action::Extract
                | Action::Scan { .. }
                | Action::Iterate
        ) && !self.workload.fresh
    }

    pub(super) fn mode(&self, thread: u32) -> MeterMode {
        // The concurrent writer, which is the first thread.
        let writers = u32::from(self.is_writer(0));
        MeterMode {
            ops: Self::ops(self.plan, self.workload),
            duration: if self.timed() {
                Duration::from_secs(self.plan.duration)
            } else {
                Duration::ZERO
            },
            histogram: self.plan.histogram,
            rate: self.rate.filter(|_| !self.is_writer(thread)),
            place: thread.saturating_sub(writers),
            places: Self::threads(self.plan, self.workload) - writers,
            progress: self.plan.progress,
            every: self.plan.every,
            thread,
        }
    }

    /// Returns whether thread `index` is the concurrent writer.
    pub(super) const fn is_writer(&self, index: u32) -> bool {
        index == 0
            && matches!(
                self.workload.action,
                Action::GetBeside(_) | Action::SeekBeside(_)
            )
    }

    /// Returns the key distribution of a row, which `--distribution` overrides.
    pub(super) const fn distribution(&self) -> Distribution {
        match self.plan.distribution {
            Some(distribution) => distribution,
            None => match self.workload.action {
                Action::Ycsb(mix) if mix.latest => Distribution::Latest,
                Action::Ycsb(_) => Distribution::Zipfian,
                _ => Distribution::Uniform,
            },
        }
    }
}

/// Returns a key index as a position in the model.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "key indexes are below --num, which fits memory"
)]
pub(crate) const fn position(index: u64) -> usize {
    index as usize
}
