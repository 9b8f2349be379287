//! Writes that meet a sync pass under way, with the other thread held at the very place.

#![expect(
    clippy::disallowed_methods,
    reason = "a second writer, as a user's thread would be"
)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use cairndb_base::{Kind, Result};
use cairndb_env::FileSync;
use cairndb_env::sim::{Profile, SimEnv};
use cairndb_env::sync::Mutex;

use crate::engine::core::Core;
use crate::state::options::{Durability, Options};

const LARGE: [u8; 9_000] = [7; 9_000];

fn open(env: Arc<SimEnv>) -> Result<Arc<Core>> {
    let options = Options::new().env(env).create_if_missing(true);
    Core::open(&options, Path::new("/db"))
}

/// Work done within the sync of a value file.
struct Within<F>(Mutex<Option<F>>);

impl<F> fmt::Debug for Within<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Within")
    }
}

impl<F: FnOnce() + Send> FileSync for Within<F> {
    fn sync(&self) -> Result<()> {
        if let Some(work) = self.0.lock().take() {
            work();
        }
        Ok(())
    }
}

fn log_written(core: &Core) -> u64 {
    core.segments.live().iter().map(|one| one.written()).sum()
}

/// Puts a large value from another thread and returns once its record is in the log. It is not
/// acknowledged by then: a `Sync` write before it is still being synced.
fn put_late(core: &Arc<Core>) -> JoinHandle<Result<()>> {
    let before = log_written(core);
    let other = Arc::clone(core);
    let put = move || other.write_one(Kind::Put, b"late", &LARGE, Durability::Os);
    let thread = thread::spawn(put);
    while log_written(core) == before {
        thread::yield_now();
    }
    thread
}

/// The sync pass looked at the log after it had synced the values: what came in between was durable
/// in the log and not in its value file, and opening took that for damage.
#[test]
fn a_value_that_comes_during_a_sync_pass_is_not_durable_in_the_log_alone() {
    let env = SimEnv::new(1);
    let core = open(env.clone()).expect("a fresh database opens");
    let put = |key: &[u8], value: &[u8], durability| {
        core.write_one(Kind::Put, key, value, durability)
            .expect("a healthy database takes writes");
    };
    put(b"first", &LARGE, Durability::Sync);
    let late = Arc::new(Mutex::new(None));
    let (within, slot) = (Arc::clone(&core), Arc::clone(&late));
    let work = move || *slot.lock() = Some(put_late(&within));
    core.values
        .sync_also(Arc::new(Within(Mutex::new(Some(work)))));
    put(b"second", b"", Durability::Sync);
    let late = late.lock().take().expect("the pass synced the values");
    late.join()
        .expect("it does not panic")
        .expect("it succeeds");
    // Its record says up to where the log is known to be durable.
    put(b"last", b"", Durability::Os);
    let mut lost = 0;
    for state in env.crash_states(Profile::Weak, 1, 300) {
        let reopened = open(state.image).expect("a crash leaves no damage");
        let (view, seq) = reopened.read_point();
        let mut out = Vec::new();
        let mut has = |key: &[u8]| {
            crate::read::get::get(&view, &reopened.context, key, seq, &mut out)
                .expect("what is there can be read")
        };
        assert!(has(b"first") && has(b"second"));
        lost += u32::from(!has(b"late"));
    }
    assert!(lost > 0, "some crash takes what was not synced");
}
