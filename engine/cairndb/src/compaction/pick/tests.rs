//! Tests of the picker.

use super::*;

fn run(bytes: u64) -> RunSize {
    RunSize {
        bytes,
        entries: bytes / 60,
        deletes: 0,
        hidden: 0,
        hides_much: false,
        values: 0,
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
                pick_for_stall(&runs, runs.len(), unit, runs_max),
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
    let group = pick_for_stall(&runs, free, 100, RUNS_STALL).unwrap();
    assert_eq!(
        (group.first, group.last),
        (4, 19),
        "the oldest of the flushes"
    );
    assert_eq!(
        pick_for_stall(&runs[13..], free - 13, 100, RUNS_STALL),
        None,
        "seven runs are too few"
    );
    assert_eq!(
        pick_for_stall(&runs, runs.len(), 100, RUNS_STALL),
        None,
        "nothing is due"
    );
    runs[15].damaged = true;
    let group = pick_for_stall(&runs, free, 100, RUNS_STALL).unwrap();
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
