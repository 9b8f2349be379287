//! The picker: chooses the runs to compact, as a pure function of the runs' sizes.
//!
//! The policy is lazy levelling. Runs of similar size are compacted `FAN_IN` at a time, so an entry
//! is rewritten once for each factor of `FAN_IN` by which the database grows. Everything is
//! compacted into one run only when the upper runs together have outgrown the last, or when the
//! database is idle.
//!
//! Rejected: levelling with small files, because it rewrites each entry four to eight times on the
//! way down; tiering alone, because it leaves a dozen runs for every read.
//!
//! There are four questions, which `scheduler/policy.rs` asks at different times: what to compact
//! while writes continue (`pick`), because of dead values (`pick_for_values`), in place of a
//! stalled writer (`pick_for_stall`), and once the database is idle (`pick_idle`). `pick` applies
//! its rules in this order: runs of one tier (`alike`), runs that have outgrown the last
//! (`outgrown`), too many runs (`crowded`). The first two swap places when readers have too many
//! runs. A damaged run divides the others: no group extends over it.

/// Number of runs of one tier that are compacted together.
pub(crate) const FAN_IN: usize = 8;
/// Number of runs above which writers stall until a compaction ends, without readers.
pub(crate) const RUNS_STALL: usize = 48;
/// Maximum number of runs that a stalled writer compacts. With eight, it gained so little that the
/// large compaction ended up with too many runs, and all of them stalled the writer.
const STALL_RUNS_MAX: usize = 2 * FAN_IN;
/// Size below which an idle database is compacted to one run.
const IDLE_BYTES_MAX: u64 = 256 << 20;

/// The picker's information about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunSize {
    /// Total size of its tables.
    pub(crate) bytes: u64,
    /// Number of entries, and of tombstones among them.
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    /// Number of entries that newer ones of the same table hide, and whether they take more than a
    /// sixth of its bytes.
    pub(crate) hidden: u64,
    pub(crate) hides_much: bool,
    /// Bytes of value files that its entries point to.
    pub(crate) values: u64,
    /// Whether one of its tables cannot be read. Such a run is left unchanged, and compactions do
    /// not extend over it.
    pub(crate) damaged: bool,
}

/// Maximum ratio of the bytes that a compaction rewrites to the bytes of the runs whose tombstones
/// it removes. Tombstones take a tenth to a fiftieth of the bytes that they delete.
const BURIED_BYTES_RATIO: u64 = 64;

/// Fraction of the values of the last run that newer runs may hide.
const HIDDEN_SHARE: u64 = 4;

/// Adjacent runs by index, newest first: `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Returns the tier of a run: the number of times a flush of `unit` bytes has grown by `FAN_IN`.
fn tier(bytes: u64, unit: u64) -> u32 {
    let mut tier = 0;
    // The output of a compaction is a little smaller than its inputs, hence the half.
    let mut limit = unit.max(1).saturating_mul(FAN_IN as u64) / 2;
    while bytes > limit {
        tier += 1;
        limit = limit.saturating_mul(FAN_IN as u64);
    }
    tier
}

/// Returns the sequences of undamaged runs, with the index of each.
fn stretches(runs: &[RunSize]) -> impl Iterator<Item = (usize, &[RunSize])> {
    let mut from = 0;
    runs.split(|run| run.damaged).map(move |stretch| {
        let first = from;
        from += stretch.len() + 1;
        (first, stretch)
    })
}

impl Group {
    fn moved_by(self, runs: usize) -> Group {
        Group {
            first: self.first + runs,
            last: self.last + runs,
        }
    }
}

/// Returns the runs to compact while writes continue, or `None` if nothing is due. More than
/// `runs_max` runs stall writers.
pub(crate) fn pick(runs: &[RunSize], flush_unit: u64, runs_max: usize) -> Option<Group> {
    let group = |(first, stretch)| {
        let (outgrown, alike) = (outgrown(stretch, flush_unit), alike(stretch, flush_unit));
        // A writer that is faster than compactions always leaves some runs of one tier, and an
        // outgrown last run would wait forever. Therefore the outgrown run is compacted first if
        // readers have too many runs, unless this leaves no room for flushes: then writers would
        // wait for its end.
        let among = if runs_max < RUNS_STALL && runs.len() + FAN_IN <= RUNS_STALL {
            outgrown.or(alike)
        } else {
            alike.or(outgrown)
        };
        Some(among?.moved_by(first))
    };
    stretches(runs)
        .find_map(group)
        .or_else(|| crowded(runs, runs_max))
}

/// Returns all runs if newer ones may hide more than a quarter of the values that the last points
/// to, and `slack`. Large values are not in the tables, so their sizes do not show how much of the
/// value files is dead; only a compaction does. It rewrites fewer bytes than it may free.
pub(crate) fn pick_for_values(runs: &[RunSize], slack: u64) -> Option<Group> {
    let group = |(first, stretch): (usize, &[RunSize])| {
        let (last, upper) = stretch.split_last()?;
        let sum = |part: fn(&RunSize) -> u64, runs: &[RunSize]| {
            runs.iter().map(part).fold(0, u64::saturating_add)
        };
        let tombstones = sum(|run| run.deletes, upper).min(last.entries);
        let deleted =
            u128::from(last.values) * u128::from(tombstones) / u128::from(last.entries.max(1));
        let newer = sum(|run| run.values, upper);
        let hidden = newer.saturating_add(u64::try_from(deleted).unwrap_or(u64::MAX));
        let due = hidden > (last.values / HIDDEN_SHARE).saturating_add(slack);
        let all = Group {
            first: 0,
            last: stretch.len() - 1,
        };
        (due && sum(|run| run.bytes, stretch) <= hidden && !upper.is_empty())
            .then(|| all.moved_by(first))
    };
    stretches(runs).find_map(group)
}

/// Returns the runs for a stalled writer to compact: some of the `free` newest runs. The others are
/// being compacted.
pub(crate) fn pick_for_stall(
    runs: &[RunSize],
    free: usize,
    flush_unit: u64,
    runs_max: usize,
) -> Option<Group> {
    if free == runs.len() {
        return crowded(runs, runs_max);
    }
    // Only flushes: compacting them again with the output of the last such compaction would cost
    // more than waiting.
    let flushes = runs[..free]
        .iter()
        .take_while(|run| !run.damaged && tier(run.bytes, flush_unit) == 0)
        .count();
    (flushes >= FAN_IN).then(|| Group {
        first: flushes.saturating_sub(STALL_RUNS_MAX),
        last: flushes - 1,
    })
}

/// Returns the cheapest adjacent runs when there are too many runs and no other rule applies. This
/// starts before `runs_max` is reached, so that runs of different sizes do not stall writers.
fn crowded(runs: &[RunSize], runs_max: usize) -> Option<Group> {
    if runs.len() <= runs_max - runs_max / 6 {
        return None;
    }
    let groups = stretches(runs).flat_map(|(first, stretch)| {
        // Fewer than all runs: otherwise the last run would always be included, however large.
        let width = stretch.len().clamp(2, FAN_IN.min(runs_max - 1));
        let bytes = |group: &[RunSize]| group.iter().map(|run| run.bytes).sum::<u64>();
        stretch.windows(width).enumerate().map(move |(at, group)| {
            let group_bytes = bytes(group);
            (
                group_bytes / (width as u64 - 1),
                Group {
                    first: 0,
                    last: width - 1,
                }
                .moved_by(first + at),
            )
        })
    });
    groups
        .min_by_key(|(bytes_a_run, _)| *bytes_a_run)
        .map(|(_, group)| group)
}

/// Returns the newest runs of one tier, if there are enough to compact.
fn alike(runs: &[RunSize], flush_unit: u64) -> Option<Group> {
    let tiers: Vec<u32> = runs.iter().map(|run| tier(run.bytes, flush_unit)).collect();
    let mut first = 0;
    while first < runs.len() {
        // A smaller run between two larger ones counts towards their tier, because runs stay
        // ordered by age.
        let mut end = first + 1;
        while end < runs.len() && tiers[end] <= tiers[first] {
            end += 1;
        }
        let same = tiers[first..end]
            .iter()
            .filter(|tier| **tier == tiers[first])
            .count();
        if same >= FAN_IN {
            return Some(Group {
                first,
                last: end - 1,
            });
        }
        first = end;
    }
    None
}

/// Returns all runs, once the upper runs together are larger than twice the last: space and reads
/// would grow with every overwrite. This takes many upper runs, or two that are larger than
/// flushes: overwrites in key order leave one run per pass. Without this rule, merge operands piled
/// up above a small last run, because only the last run ends them; but a load without readers took
/// longer with it.
fn outgrown(runs: &[RunSize], flush_unit: u64) -> Option<Group> {
    let (last, upper) = runs.split_last()?;
    let everything = Group {
        first: 0,
        last: runs.len() - 1,
    };
    if buried(last, upper) {
        return Some(everything);
    }
    let grown = |run: &&RunSize| tier(run.bytes, flush_unit) > 0;
    if upper.len() < FAN_IN && upper.iter().filter(grown).count() < 2 {
        return None;
    }
    let upper: u64 = upper.iter().map(|run| run.bytes).sum();
    (upper > last.bytes.saturating_mul(2) && last.bytes > 0).then_some(everything)
}

/// Returns whether several runs have more tombstones than the last run has entries. Compacting all
/// then removes more entries than it rewrites, unless the tombstones delete absent keys. By bytes
/// alone, the tombstones of a queue would reach many times the number of its entries before they
/// were removed, because each takes so few bytes.
fn buried(last: &RunSize, upper: &[RunSize]) -> bool {
    let deletes: u64 = upper.iter().map(|run| run.deletes).sum();
    let bytes: u64 = upper.iter().map(|run| run.bytes).sum();
    upper.len() > 1
        && deletes > last.entries
        && last.bytes <= bytes.saturating_mul(BURIED_BYTES_RATIO)
}

/// Returns the runs that an idle database compacts: all of them, if that is worthwhile.
pub(crate) fn pick_idle(runs: &[RunSize]) -> Option<Group> {
    let group = |(first, stretch): (usize, &[RunSize])| {
        let bottom = first + stretch.len() == runs.len();
        Some(pick_idle_among(stretch, bottom)?.moved_by(first))
    };
    stretches(runs).find_map(group)
}

/// Like [`pick_idle`], but for undamaged runs. Tombstones are dropped only at the `bottom`.
fn pick_idle_among(runs: &[RunSize], bottom: bool) -> Option<Group> {
    let (last, upper) = runs.split_last()?;
    let total: u64 = runs.iter().map(|run| run.bytes).sum();
    let upper: u64 = upper.iter().map(|run| run.bytes).sum();
    let deletes = if bottom { last.deletes } else { 0 };
    let dead = deletes.saturating_add(last.hidden);
    let several = runs.len() > 1;
    let pays = several && (total < IDLE_BYTES_MAX || upper.saturating_mul(10) > total)
        || dead.saturating_mul(10) > last.entries
        || last.hides_much;
    pays.then_some(Group {
        first: 0,
        last: runs.len() - 1,
    })
}

#[cfg(test)]
mod scripts;
