//! The crash tests at the size of a push check: every short workload, then long random ones, until
//! enough distinct states have been found correct.
//!
//! `CAIRN_SEED`, the seed of the first long workload, replays a run. `CAIRN_STATES` scales the
//! tests, in percent of a push check.

#![expect(clippy::print_stdout, reason = "tests print their coverage")]

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_testkit::campaign::{Campaign, Effort};
use cairndb_testkit::setting;
use cairndb_testkit::workload::all_short;

const THREADS: usize = 2;

/// Calls `work` with ascending numbers on all threads until it returns `false`.
fn on_all_threads(work: impl Fn(u64) -> bool + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| while work(next.fetch_add(1, Ordering::Relaxed)) {});
        }
    });
}

fn conclude(campaign: &Campaign, name: &str) {
    println!("{name}: {campaign}");
    let kept = campaign.kept();
    assert!(kept.is_empty(), "{name}: {campaign}\n{}", kept.join("\n\n"));
}

#[test]
fn every_short_workload_survives_a_crash_at_every_operation() {
    let length = usize::try_from(setting("CAIRN_SHORT_LENGTH", 3)).unwrap();
    let all = all_short(length);
    let campaign = Campaign::default();
    on_all_threads(|number| {
        let steps = all.get(usize::try_from(number).unwrap());
        if let Some(steps) = steps {
            campaign.short(steps, 7, &Effort::SHORT);
        }
        steps.is_some() && campaign.violations() < 5
    });
    conclude(&campaign, "short workloads");
}

#[test]
fn long_workloads_survive_crashes_and_crashes_within_recovery() {
    let percent = setting("CAIRN_STATES", 100);
    let seed = setting("CAIRN_SEED", 1000);
    println!("long workloads: CAIRN_SEED={seed} CAIRN_STATES={percent}");
    let campaign = Campaign::default();
    on_all_threads(|number| {
        campaign.long(seed + number, 260, 60, &Effort::LONG);
        let enough = campaign.states() >= 100_000 * percent / 100
            && campaign.nested() >= 10_000 * percent / 100;
        !enough && campaign.violations() < 5
    });
    conclude(&campaign, "long workloads");
}

#[test]
fn faulty_workloads_survive_crashes() {
    let runs = 150 * setting("CAIRN_STATES", 100) / 100;
    let seed = setting("CAIRN_SEED", 5000);
    println!("faulty workloads: CAIRN_SEED={seed}, {runs} runs");
    let campaign = Campaign::default();
    on_all_threads(|number| {
        campaign.faulty(seed + number, 160, 12, &Effort::LONG);
        number < runs && campaign.violations() < 5
    });
    conclude(&campaign, "faulty workloads");
}
