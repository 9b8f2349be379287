//! Waiting until an engine that cannot say so has ended its background work.
//!
//! The threads of the process other than the harness's are watched: when none of them has used CPU
//! time or waited for the disk for 60 ms, work ended at the last sign of life. The result is exact
//! to about one look; LevelDB through its C interface offers nothing better.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// No sign of life for this long means quiet. LevelDB syncs each table it has written, and a thread
/// in such a wait is in state D, so the rest only has to cover moments between two steps.
const REST: Duration = Duration::from_millis(60);
/// A store that is never quiet is given up on after this.
const PATIENCE: Duration = Duration::from_mins(10);

/// Signs of life of the other threads: the CPU time of each and whether it waits for the disk.
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

/// Waits for quiet; gives the time of the last sign of life, or `None` when patience ran out.
/// `ignored` are names of the harness's own threads.
pub fn wait(since: Instant, ignored: &[&str]) -> Option<Duration> {
    // A receiver whose sender stays alive: a wait with a limit, without sleeping.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_is_waited_for() {
        let since = Instant::now();
        let busy = Duration::from_millis(150);
        let worker = std::thread::spawn(move || while since.elapsed() < busy {});
        // Other tests of this binary run beside it, so only the lower bound is sure.
        let settled = wait(since, &[]).expect("ends");
        assert!(settled + 2 * LOOK >= busy, "{settled:?}");
        worker.join().expect("no panic");
    }
}
