//! The fault sweep at the size of a push check. Each operation of the reference workload fails in
//! each way: once, permanently, and until healed. So does each operation of a consumer of changes,
//! whose copy must stay equal. Then short lives run under random faults.
//!
//! `CAIRN_STATES` scales the tests, in percent of a push check. `CAIRN_FAULT` runs only the
//! operation with that index. `CAIRN_SEED` is the seed of the first life; with `CAIRN_STATES=0`
//! only that life runs.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cairndb_env::sync::{Condvar, Mutex};
use cairndb_sim::{Op, OpKind};
use cairndb_testkit::campaign::Campaign;
use cairndb_testkit::effects::effects;
use cairndb_testkit::lives;
use cairndb_testkit::setting;
use cairndb_testkit::sweep::{self, Case, Lasts};

const THREADS: usize = 2;
const SEED: u64 = 5;
/// How many of the operations other than those of a consumer's calls fail while one follows.
const FOLLOWED_ONE_IN: u64 = 9;
/// Time after which a run counts as hanging; a run normally takes milliseconds.
const HANG: Duration = Duration::from_mins(1);

/// Aborts the process and names the current runs if no run ends for too long.
fn watch_for_hangs(runs: &AtomicU64, current: &Mutex<Vec<String>>, done: &(Mutex<bool>, Condvar)) {
    let mut seen = u64::MAX;
    let mut finished = done.0.lock();
    while !*finished {
        let waited = done.1.wait_for(&mut finished, HANG);
        let now = runs.load(Ordering::Relaxed);
        if waited.timed_out() && now == seen {
            eprintln!("hang: {:?}", current.lock());
            std::process::abort();
        }
        seen = now;
    }
}

#[test]
fn every_operation_may_fail_in_every_way() {
    let ops = sweep::operations(SEED).unwrap();
    let followed = sweep::operations_followed(SEED, FOLLOWED_ONE_IN).unwrap();
    // The consumer reads the log, and its lease is noted in the manifest.
    for (kind, prefix, suffix) in [
        (OpKind::ReadAt, "", ".log"),
        (OpKind::SyncFile, "MANIFEST", ""),
    ] {
        let is_one = |op: &Op| op.kind == kind && op.name.starts_with(prefix);
        let is_one = |op: &Op| is_one(op) && op.name.ends_with(suffix);
        assert!(followed.iter().any(is_one), "{kind:?} {prefix}*{suffix}");
    }
    let only = setting("CAIRN_FAULT", u64::MAX);
    let percent = setting("CAIRN_STATES", 100);
    let mut plan = Vec::new();
    for (ops, leased) in [(&ops, false), (&followed, true)] {
        for op in ops {
            for effect in effects(op.kind) {
                plan.extend(Lasts::ALL.map(|lasts| Case {
                    op: op.clone(),
                    effect,
                    lasts,
                    leased,
                }));
            }
        }
    }
    let total = plan.len();
    plan.retain(|case| only == u64::MAX || case.op.index == only);
    let step = usize::try_from(100 / percent.clamp(1, 100)).unwrap();
    let plan: Vec<_> = plan.into_iter().step_by(step).collect();
    let campaign = Campaign::default();
    let (next, runs) = (AtomicUsize::new(0), AtomicU64::new(0));
    let revoked = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    let current = Mutex::new(vec![String::new(); THREADS]);
    let done = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| watch_for_hangs(&runs, &current, &done));
        let workers = (0..THREADS).map(|thread| {
            let (plan, next, runs, revoked) = (&plan, &next, &runs, &revoked);
            let (campaign, failures, current) = (&campaign, &failures, &current);
            scope.spawn(move || {
                while let Some(case) = plan.get(next.fetch_add(1, Ordering::Relaxed)) {
                    current.lock()[thread] = case.to_string();
                    match sweep::run(campaign, SEED, case) {
                        Ok(count) => _ = revoked.fetch_add(count, Ordering::Relaxed),
                        Err(violation) => failures.lock().push(violation.to_string()),
                    }
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.join().unwrap();
        }
        *done.0.lock() = true;
        done.1.notify_all();
    });
    let failures = failures.into_inner();
    println!(
        "fault sweep: {} of {total} runs over {} operations and {} followed ones, {} feeds \
         revoked, {} failures; {campaign}",
        runs.load(Ordering::Relaxed),
        ops.len(),
        followed.len(),
        revoked.load(Ordering::Relaxed),
        failures.len()
    );
    let shown = failures.iter().take(30).cloned().collect::<Vec<_>>();
    assert!(
        failures.is_empty(),
        "{}\n{}",
        shown.join("\n"),
        campaign.kept().join("\n\n")
    );
}

#[test]
fn short_lives_show_what_was_written_and_nothing_else() {
    let seed = setting("CAIRN_SEED", 1);
    let count = (3000 * setting("CAIRN_STATES", 100) / 100).max(1);
    println!("short lives: CAIRN_SEED={seed}, {count} lives");
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || failures.lock().len() >= 5 {
                        break;
                    }
                    if let Err(violation) = lives::live(seed + number) {
                        let replay = format!("CAIRN_SEED={} CAIRN_STATES=0", seed + number);
                        failures.lock().push(format!("{replay}: {violation}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
