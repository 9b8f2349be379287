//! `wait_idle` and `wait_idle_for`: the work that they wait for, also with concurrent writers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb::{Db, ErrorKind, Job};

use crate::{stat, stepped, threaded};

/// Regression: `wait_idle` did not return while another thread wrote, or deleted ranges.
#[test]
fn waiting_for_idle_ends_while_another_thread_writes() {
    for range_every in [u64::MAX, 5000] {
        waiting_ends_beside_writes(range_every);
    }
}

fn waiting_ends_beside_writes(range_every: u64) {
    let db = threaded().memory_budget(1 << 20).open("/db").unwrap();
    let put = |n: u64| {
        let key = n.wrapping_mul(0x9E37_79B9).to_le_bytes();
        if n % range_every == 1 {
            db.delete_range(key.to_vec()..[&key[..], &[1]].concat())
                .unwrap();
        }
        db.put(&key, &[7; 100])
    };
    let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                put(n % 60_000).unwrap();
                begun.store(n > 100_000, Ordering::Relaxed);
                n += 1;
            }
        });
        while !begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            let (flushes, compactions) = (stat(&db, "flushes"), stat(&db, "merges"));
            db.wait_idle().unwrap();
            // The wait did not give up: the runs that existed at the call were compacted.
            assert!(stat(&db, "merges") > compactions || flushes == stat(&db, "flushes"));
            assert!(db.wait_idle_for(Duration::from_mins(10)).unwrap());
        }
        stop.store(true, Ordering::Relaxed);
    });
    db.close().unwrap();
}

fn with_work(db: &Db) {
    for n in 0..4_000_u32 {
        let key = n.wrapping_mul(0x9E37_79B9).to_le_bytes();
        db.put(&key, &[7; 100]).unwrap();
    }
}

#[test]
fn waiting_for_no_time_reports_pending_work() {
    let db = stepped().open("/db").unwrap();
    assert!(db.wait_idle_for(Duration::ZERO).unwrap());
    with_work(&db);
    assert!(!db.wait_idle_for(Duration::ZERO).unwrap());
    assert!(db.wait_idle_for(Duration::from_hours(1)).unwrap());
    let jobs = [Job::Flush, Job::IdleCompact, Job::Persist, Job::Reap];
    assert!(jobs.iter().all(|job| !db.step_background(*job).unwrap()));
    db.close().unwrap();
    let closed = db
        .wait_idle_for(Duration::ZERO)
        .map_err(|error| error.kind());
    assert!(
        closed == Ok(true) || closed == Err(ErrorKind::Closed),
        "{closed:?}"
    );
}

#[test]
fn waiting_with_a_limit_returns_at_the_limit() {
    let db = threaded().open("/db").unwrap();
    with_work(&db);
    // A short wait returns even if work is left. A long wait completes all work.
    let _ = db.wait_idle_for(Duration::from_micros(1)).unwrap();
    assert!(db.wait_idle_for(Duration::from_mins(10)).unwrap());
    assert_eq!(stat(&db, "runs"), 1);
    db.close().unwrap();
}
