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
//! Rules, in order: runs that have outgrown the last, or runs of one tier (`outgrown`, `alike`);
//! too many runs (`crowded`); idle compaction (`pick_idle`).

/// Number of runs of one tier that are compacted together.
pub(crate) const FAN_IN: usize = 8;
/// Number of runs above which writers stall until a compaction ends, without readers.
pub(crate) const RUNS_STALL: usize = 48;
/// Maximum number of runs that a stalled writer compacts. With eight, it made room so slowly that
/// the large compaction ended up with too many runs, and all of them stalled the writer.
const ROOM_RUNS_MAX: usize = 2 * FAN_IN;
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
    /// Whether one of its tables cannot be read. Such a run is left unchanged, and compactions do
    /// not extend over it.
    pub(crate) damaged: bool,
}

/// Maximum ratio of the bytes that a compaction rewrites to the bytes of the runs whose tombstones
/// it removes. Tombstones take a tenth to a fiftieth of the bytes that they delete.
const BURIED_BYTES_RATIO: u64 = 64;

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

/// Returns the runs for a stalled writer to compact: some of the `free` newest runs. The others are
/// being compacted.
pub(crate) fn pick_for_room(
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
        first: flushes.saturating_sub(ROOM_RUNS_MAX),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bytes: u64) -> RunSize {
        RunSize {
            bytes,
            entries: bytes / 60,
            deletes: 0,
            hidden: 0,
            hides_much: false,
            damaged: false,
        }
    }

    #[test]
    fn runs_that_no_rule_wants_are_merged_before_they_hold_up_writers() {
        // Every tier repeatedly lacks one run, above a run that outweighs them all.
        let mut runs = Vec::new();
        for _ in 0..6 {
            runs.push(run(100 << 10));
            runs.extend(vec![run(4 << 10); 7]);
        }
        runs.push(run(360 << 20));
        assert!(runs.len() > RUNS_STALL);
        let group = pick(&runs, 18 << 10, RUNS_STALL).unwrap();
        let bytes: u64 = runs[group.first..=group.last]
            .iter()
            .map(|run| run.bytes)
            .sum();
        assert!(
            group.last - group.first == FAN_IN - 1 && bytes < 200 << 10,
            "{group:?}"
        );
    }

    #[test]
    fn a_large_last_run_is_not_merged_for_readers() {
        for runs_max in [6, 10] {
            for newer in runs_max..runs_max + 3 {
                let mut runs = vec![run(4 << 20); newer];
                runs.push(run(10 << 30));
                // Another rule takes runs of one tier if there are enough for a compaction.
                let unit = 16 << 20;
                let groups = [
                    pick(&runs, unit, runs_max),
                    pick_for_room(&runs, runs.len(), unit, runs_max),
                ];
                for group in groups {
                    let group = group.expect("there are too many");
                    assert!(group.last < newer && group.first < group.last, "{group:?}");
                }
            }
        }
    }

    #[test]
    fn a_writer_merges_flushes_above_a_merge_and_never_what_it_made_of_them() {
        let mut runs = vec![run(100); 20];
        runs.push(run(2000));
        runs.extend(vec![run(50_000); 12]);
        let free = 21;
        let group = pick_for_room(&runs, free, 100, RUNS_STALL).unwrap();
        assert_eq!(
            (group.first, group.last),
            (4, 19),
            "the oldest of the flushes"
        );
        assert_eq!(
            pick_for_room(&runs[13..], free - 13, 100, RUNS_STALL),
            None,
            "seven runs are too few"
        );
        assert_eq!(
            pick_for_room(&runs, runs.len(), 100, RUNS_STALL),
            None,
            "nothing is due"
        );
        runs[15].damaged = true;
        let group = pick_for_room(&runs, free, 100, RUNS_STALL).unwrap();
        assert_eq!((group.first, group.last), (0, 14), "up to the damaged run");
    }

    #[test]
    fn a_lower_bound_merges_unlike_runs_sooner() {
        let mut runs = vec![run(4 << 10); 7];
        runs.push(run(100 << 10));
        runs.extend(vec![run(30 << 10); 7]);
        runs.push(run(360 << 20));
        let cheapest = Group { first: 0, last: 7 };
        assert_eq!(pick(&runs, 18 << 10, RUNS_STALL), None);
        assert_eq!(pick(&runs, 18 << 10, 20), None);
        assert_eq!(pick(&runs, 18 << 10, 16), Some(cheapest));
    }

    #[test]
    fn a_damaged_run_is_left_alone_and_divides_the_others() {
        let mut runs = vec![run(100); 20];
        runs[8].damaged = true;
        assert_eq!(
            pick(&runs, 100, RUNS_STALL),
            Some(Group { first: 0, last: 7 })
        );
        assert_eq!(
            pick(&runs[1..], 100, RUNS_STALL),
            Some(Group { first: 8, last: 18 })
        );
        assert_eq!(pick_idle(&runs), Some(Group { first: 0, last: 7 }));
        runs.truncate(9);
        runs.drain(..7);
        assert_eq!(
            (pick(&runs, 100, RUNS_STALL), pick_idle(&runs)),
            (None, None)
        );
    }

    /// Tombstones above a damaged run stay, regardless of how often the runs above it are
    /// compacted.
    #[test]
    fn tombstones_above_a_damaged_run_are_no_reason_to_merge_a_run_alone() {
        let mut runs = vec![run(100), run(6000), run(100)];
        runs[1].damaged = true;
        for dead in [0, 2] {
            let mut runs = runs.clone();
            runs[dead].deletes = runs[dead].entries;
            let below = (dead == 2).then_some(Group { first: 2, last: 2 });
            assert_eq!(pick_idle(&runs), below);
        }
    }

    #[test]
    fn eight_of_a_tier_are_merged_and_seven_are_not() {
        let seven = vec![run(100); 7];
        assert_eq!(pick(&seven, 100, RUNS_STALL), None);
        let eight = vec![run(100); 8];
        assert_eq!(
            pick(&eight, 100, RUNS_STALL),
            Some(Group { first: 0, last: 7 })
        );
        let mut mixed = vec![run(100); 3];
        mixed.extend(vec![run(700); 8]);
        mixed.push(run(100_000));
        assert_eq!(
            pick(&mixed, 100, RUNS_STALL),
            Some(Group { first: 3, last: 10 })
        );
    }

    #[test]
    fn a_load_rewrites_each_entry_once_per_factor_of_eight() {
        let mut runs: Vec<RunSize> = Vec::new();
        let (mut written, mut flushed) = (0u64, 0u64);
        for _ in 0..4096 {
            runs.insert(0, run(1000));
            flushed += 1000;
            while let Some(group) = pick(&runs, 1000, RUNS_STALL) {
                let bytes: u64 = runs[group.first..=group.last]
                    .iter()
                    .map(|run| run.bytes)
                    .sum();
                written += bytes;
                runs.splice(group.first..=group.last, [run(bytes)]);
            }
            assert!(runs.len() <= 4 * FAN_IN, "{} runs", runs.len());
        }
        assert!(
            written <= 6 * flushed,
            "write amplification {}",
            written / flushed
        );
    }

    #[test]
    fn passes_of_overwrites_in_order_are_merged_before_they_outweigh_the_rest() {
        // A pass is one run, regardless of its size.
        let pass = run(100_000);
        assert_eq!(pick(&[pass, pass], 1000, RUNS_STALL), None);
        assert_eq!(pick(&[run(900), pass, pass], 1000, RUNS_STALL), None);
        let runs = [run(900), pass, pass, pass];
        assert_eq!(
            pick(&runs, 1000, RUNS_STALL),
            Some(Group { first: 0, last: 3 })
        );
        // The same for a pass over a third of the keys.
        let mut thirds = vec![run(30_000); 6];
        thirds.push(pass);
        assert_eq!(pick(&thirds, 1000, RUNS_STALL), None);
        thirds.insert(0, run(30_000));
        let all = Group { first: 0, last: 7 };
        assert_eq!(pick(&thirds, 1000, RUNS_STALL), Some(all));
        // Only flushes, or one large run, are not worth compacting so soon.
        assert_eq!(pick(&[run(1000); 4], 1000, RUNS_STALL), None);
        let merged = [run(1000), run(1000), run(100_000), run(10_000)];
        assert_eq!(pick(&merged, 1000, RUNS_STALL), None);
    }

    /// A queue: a few live entries below the tombstones of all others.
    #[test]
    fn tombstones_that_outnumber_the_last_run_are_merged_with_it() {
        let last = run(60_000);
        assert_eq!(last.entries, 1000);
        let taken = RunSize {
            deletes: 400,
            entries: 420,
            ..run(1700)
        };
        let mut runs = vec![taken, taken, last];
        assert_eq!(pick(&runs, 1000, RUNS_STALL), None);
        runs.insert(0, taken);
        let all = Group { first: 0, last: 3 };
        assert_eq!(pick(&runs, 1000, RUNS_STALL), Some(all));
        // If a run below is damaged, the remaining runs are not compacted repeatedly.
        let left = RunSize {
            deletes: 1200,
            entries: 2200,
            ..run(62_000)
        };
        assert_eq!(pick(&[taken, taken, left], 1000, RUNS_STALL), None);
        let large = RunSize {
            deletes: 5000,
            ..taken
        };
        assert_eq!(pick(&[large, last], 1000, RUNS_STALL), None, "a single run");
    }

    #[test]
    fn for_readers_what_outweighs_the_last_run_is_merged_before_what_is_alike() {
        // By the end of a compaction a fast writer has left eight flushes again.
        let mut runs = vec![run(1000); 8];
        runs.extend(vec![run(50_000); 3]);
        runs.push(run(70_000));
        let (all, flushes) = (Group { first: 0, last: 11 }, Group { first: 0, last: 7 });
        assert_eq!(pick(&runs, 1000, 10), Some(all));
        assert_eq!(pick(&runs, 1000, RUNS_STALL), Some(flushes), "no readers");
        let mut many = vec![run(1000); RUNS_STALL - FAN_IN - 3];
        many.extend(&runs[8..]);
        let newest = Group {
            first: 0,
            last: many.len() - 5,
        };
        assert_eq!(pick(&many, 1000, 10), Some(newest), "no room for flushes");
        // Below twice the weight of the last run, flushes are compacted with each other.
        runs.remove(8);
        assert_eq!(pick(&runs, 1000, 10), Some(flushes));
    }

    #[test]
    fn an_idle_database_becomes_one_run_where_it_pays() {
        assert_eq!(pick_idle(&[]), None);
        assert_eq!(pick_idle(&[run(1000)]), None);
        assert_eq!(
            pick_idle(&[run(1000), run(1000)]),
            Some(Group { first: 0, last: 1 })
        );
        let huge = [run(1 << 20), run(1 << 40)];
        assert_eq!(pick_idle(&huge), None);
        let dead = RunSize {
            bytes: 1000,
            entries: 100,
            deletes: 50,
            ..run(1000)
        };
        let alone = Some(Group { first: 0, last: 0 });
        assert_eq!(pick_idle(&[dead]), alone);
        // Versions that a snapshot kept.
        let kept = |hidden, hides_much| RunSize {
            entries: 100,
            hidden,
            hides_much,
            ..run(1000)
        };
        assert_eq!(pick_idle(&[kept(50, false)]), alone);
        assert_eq!(pick_idle(&[kept(1, true)]), alone);
        assert_eq!(pick_idle(&[kept(10, false)]), None);
    }
}
