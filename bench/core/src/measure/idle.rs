//! Waiting for an engine that does not report when its background work has finished.
//!
//! The counters of an engine are polled until they stop changing. If it has none, the threads of
//! the process other than the harness's are watched: if none of them has used CPU time or waited
//! for the disk for 60 ms, work ended at the last sign of life. The result is accurate to about one
//! polling interval; LevelDB's C interface offers nothing better.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::fault::Fault;

/// Polling interval.
const LOOK: Duration = Duration::from_millis(10);
/// Time without a sign of life after which the process counts as idle. LevelDB syncs each table
/// that it has written, and a thread in such a wait is in state D, so this only has to cover the
/// gaps between two steps.
const REST: Duration = Duration::from_millis(60);
/// Time without a counter change after which an engine counts as idle: long enough for a manager
/// thread that polls every few milliseconds to start a merge after a flush.
const STILL: Duration = Duration::from_millis(150);
/// Maximum wait for a store that never becomes idle.
const PATIENCE: Duration = Duration::from_mins(10);

/// Returns the signs of life of the other threads: the CPU time of each and whether it waits for
/// the disk.
fn signs(names: &[&str]) -> BTreeMap<u32, (u64, bool)> {
    let mine = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return BTreeMap::new();
    };
    tasks
        .flatten()
        .filter_map(|task| {
            let id: u32 = task.file_name().to_str()?.parse().ok()?;
            let path = task.path();
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
            if id == mine || names.contains(&name) {
                return None;
            }
            let ran = std::fs::read_to_string(path.join("schedstat")).ok();
            let ran = ran
                .and_then(|text| text.split(' ').next()?.parse().ok())
                .unwrap_or(0);
            Some((id, (ran, rest.starts_with(['D', 'R']))))
        })
        .collect()
}

/// Waits until the process is idle. Returns the time of the last sign of life, or `None` after ten
/// minutes. `ignored` are the names of the harness's own threads.
pub fn wait(since: Instant, ignored: &[&str]) -> Option<Duration> {
    // A receiver whose sender stays alive provides a timed wait without `sleep`.
    let (alive, never) = mpsc::channel::<()>();
    let mut before = signs(ignored);
    let mut last_sign = if before.values().any(|&(_, busy)| busy) {
        Instant::now()
    } else {
        since
    };
    loop {
        let _ = never.recv_timeout(LOOK);
        let now = signs(ignored);
        if now != before || now.values().any(|&(_, busy)| busy) {
            last_sign = Instant::now();
        }
        before = now;
        if last_sign.elapsed() >= REST && since.elapsed() >= REST {
            drop(alive);
            return Some(last_sign.saturating_duration_since(since));
        }
        if since.elapsed() > PATIENCE {
            return None;
        }
    }
}

/// Polls a number until it stops changing. Returns the time of its last change, or `None` after ten
/// minutes.
///
/// # Errors
/// The error of `ask`.
pub fn wait_still(
    since: Instant,
    first: u64,
    mut ask: impl FnMut() -> Result<u64, Fault>,
) -> Result<Option<Duration>, Fault> {
    let (alive, never) = mpsc::channel::<()>();
    let (mut before, mut last_sign) = (first, since);
    let (mut looked, mut still) = (Instant::now(), Duration::ZERO);
    while still < STILL {
        if since.elapsed() > PATIENCE {
            return Ok(None);
        }
        let _ = never.recv_timeout(LOOK);
        let (now, again) = (ask()?, Instant::now());
        // A pause of the whole process counts as one poll, not as idle time.
        still += (again - looked).min(2 * LOOK);
        looked = again;
        if now != before {
            (before, last_sign, still) = (now, again, Duration::ZERO);
        }
    }
    drop(alive);
    Ok(Some(last_sign.saturating_duration_since(since)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_asked_until_they_rest() {
        let (since, mut left) = (Instant::now(), 5);
        let settled = wait_still(since, 0, || {
            left -= i64::from(left > 0);
            Ok(left.unsigned_abs())
        });
        let settled = settled.expect("no fault").expect("rests");
        assert!(settled >= 4 * LOOK && left == 0, "{settled:?}");
        assert!(since.elapsed() >= settled + STILL);
        let fault = wait_still(since, 0, || Err(Fault::new("gone"))).expect_err("reported");
        assert_eq!(fault.to_string(), "gone");
    }

    #[test]
    fn a_busy_thread_is_waited_for() {
        let since = Instant::now();
        let busy = Duration::from_millis(150);
        let worker = std::thread::spawn(move || while since.elapsed() < busy {});
        // Other tests of this binary run at the same time, so only the lower bound is certain.
        let settled = wait(since, &[]).expect("ends");
        assert!(settled + 2 * LOOK >= busy, "{settled:?}");
        worker.join().expect("no panic");
    }
}
