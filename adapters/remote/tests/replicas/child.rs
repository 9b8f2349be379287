//! The processes that are killed: two threads write a source flat out, and one keeps the target in
//! step. They report on standard error, because what is in a pipe survives the death of its
//! writer.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use cairndb::{Db, Durability};
use cairndb_env::testing::setting::setting;

use crate::replica::{self, Trouble, consume};
use crate::source::{self, Writer};
use crate::targets;

/// The environment variable that makes a test process a child. Its value is the directory.
pub(crate) const DIR: &str = "CAIRN_REPLICA_DIR";
/// The name of the target.
pub(crate) const TARGET: &str = "CAIRN_REPLICA_TARGET";
/// The seed of what is written.
pub(crate) const SEED: &str = "CAIRN_REPLICA_SEED";

/// Maximum number of batches of one thread: a child that nobody kills ends.
const BATCHES_MAX: u64 = 20_000;
/// Batches that the writers may be ahead of the replica in one life.
const AHEAD_MAX: u64 = 600;
/// Times in a row that a target may be gone: a server that is killed takes a while to come back.
const FAILURES_MAX: u32 = 3000;
/// How long the replay waits before it tries again.
const BREATH: Duration = Duration::from_millis(10);

/// How far the writers are ahead of the replica.
#[derive(Default)]
struct Pace {
    ahead: Mutex<u64>,
    moved: Condvar,
    /// Whether the replay has ended.
    ended: AtomicBool,
    /// Whether the writers have.
    written: AtomicBool,
}

impl Pace {
    /// Counts a batch and waits until it is not too far ahead. Returns false after the end.
    fn wrote(&self) -> bool {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        *ahead += 1;
        let far = |ahead: &mut u64| *ahead > AHEAD_MAX && !self.ended.load(Ordering::SeqCst);
        drop(self.moved.wait_while(ahead, far));
        !self.ended.load(Ordering::SeqCst)
    }

    /// Counts a change that was applied. At first they are of earlier lives.
    fn applied(&self) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        *ahead = ahead.saturating_sub(1);
        self.moved.notify_all();
    }

    /// Waits a moment before the target is tried again.
    fn breathe(&self) {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.moved.wait_timeout_while(ahead, BREATH, |_| true));
    }

    fn end(&self) {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::SeqCst);
        self.moved.notify_all();
        drop(ahead);
    }
}

fn say(line: &str) {
    // The parent may have exited; then no process reads the line.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Runs the child if this process is a child.
pub(crate) fn live_as_child() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let target = std::env::var(TARGET).unwrap_or_default();
    let seed = setting(SEED).unwrap_or(0);
    if let Err(error) = live(&PathBuf::from(dir), &target, seed) {
        say(&format!("failed: {error}"));
    }
}

fn live(dir: &Path, target: &str, seed: u64) -> cairndb::Result<()> {
    let source = source::open(dir)?;
    replica::lease(&source)?;
    say("opened");
    // What is not durable survives a kill as well.
    let durability = [Durability::Sync, Durability::Os][usize::from(seed & 1 == 1)];
    // Half of the lives take the changes from shared memory, as another process does.
    let follower = if seed & 2 == 2 {
        // There is something to follow after a write.
        source.put(b"", b"")?;
        Some(source::follow(dir)?)
    } else {
        None
    };
    let pace = Pace::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let read = follower.as_ref().unwrap_or(&source);
            replay(dir, target, (read, durability), &pace);
            pace.end();
        });
        let writers = [true, false].map(|leads| {
            let (source, pace) = (&source, &pace);
            scope.spawn(move || {
                let mut writer = Writer::new(seed, leads);
                for _ in 0..BATCHES_MAX {
                    if let Err(error) = writer.write(source) {
                        return say(&format!("failed: a write: {error}"));
                    }
                    if !pace.wrote() {
                        return;
                    }
                }
            })
        });
        for writer in writers {
            let _ = writer.join();
        }
        pace.written.store(true, Ordering::SeqCst);
    });
    source.close()
}

/// Keeps the target in step, again and again if it is gone.
fn replay(dir: &Path, target: &str, (source, durability): (&Db, Durability), pace: &Pace) {
    let mut failures = 0;
    loop {
        let mut goes_on = |applied: Option<_>| match applied {
            Some(state) => {
                let replica::State { changes, .. } = state;
                failures = 0;
                pace.applied();
                say(&format!("applied {changes}"));
                true
            }
            None => !pace.written.load(Ordering::SeqCst),
        };
        let ended = targets::with(target, dir, |target| {
            consume(source, target, durability, &mut goes_on)
        });
        match ended {
            Ok(_) => return,
            Err(Trouble::Again(why)) if failures < FAILURES_MAX => {
                failures += 1;
                say(&format!("again: {why}"));
                pace.breathe();
            }
            Err(trouble) => return say(&format!("failed: {trouble}")),
        }
    }
}
