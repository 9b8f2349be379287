//! Writes during a sync pass, with the other thread held at the exact point.

#![expect(
    clippy::disallowed_methods,
    reason = "a second writer, like a user's thread"
)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use cairndb_base::{Error, ErrorKind, Kind, Result};
use cairndb_env::sync::Mutex;
use cairndb_env::{Background, FileSync};
use cairndb_sim::{Profile, SimEnv};

use crate::engine::core::Core;
use crate::log::values::UNSYNCED_FILES_MAX;
use crate::read::cursor::ViewCursor;
use crate::read::get::get;
use crate::read::hints::view_ref::ViewRef;
use crate::state::options::{Durability, Options};
use crate::state::ranges::RangeMap;
use crate::state::sections::Section;

const LARGE: [u8; 9_000] = [7; 9_000];

fn open(env: Arc<SimEnv>) -> Result<Arc<Core>> {
    let options = Options::new().env(env).create_if_missing(true);
    Core::open(&options, Path::new("/db"))
}

/// Work done during the sync of a value file.
struct Within<F>(Mutex<Option<F>>);

impl<F> fmt::Debug for Within<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Within")
    }
}

impl<F: FnOnce() -> Result<()> + Send> FileSync for Within<F> {
    fn sync(&self) -> Result<()> {
        let work = self.0.lock().take();
        work.map_or(Ok(()), |work| work())
    }
}

fn within(work: impl FnOnce() -> Result<()> + Send + 'static) -> Arc<dyn FileSync> {
    Arc::new(Within(Mutex::new(Some(work))))
}

/// Makes the next sync pass run `work` between its syncs.
fn in_next_pass(core: &Core, work: impl FnOnce() -> Result<()> + Send + 'static) {
    core.disk.value_files.values().sync_also(within(work));
}

/// Makes the next sync pass fail after it has run `work`.
fn fail_next_pass(core: &Core, work: impl FnOnce() + Send + 'static) {
    in_next_pass(core, move || {
        work();
        Err(lost())
    });
}

fn lost() -> Error {
    Error::new(ErrorKind::Io, "the disk lost it")
}

/// Opens a new database.
fn new() -> Arc<Core> {
    open(SimEnv::new(1)).expect("a new database can be opened")
}

/// Puts a key that must be accepted.
fn put(core: &Core, key: &[u8], value: &[u8], durability: Durability) {
    let written = core.write_one(Kind::Put, key, value, durability);
    written.expect("a healthy database takes writes");
}

/// Puts a key and flushes it.
fn put_in_table(core: &Core) {
    put(core, b"k", b"v", Durability::Os);
    core.writer.flush_memtables().expect("and can flush them");
}

/// Waits for a thread, whose call must succeed.
fn joined<T>(thread: JoinHandle<Result<T>>) -> T {
    let result = thread.join().expect("the thread does not panic");
    result.expect("the call succeeds")
}

/// Checks that a call has failed because a sync did.
#[track_caller]
fn is_poisoned<T: fmt::Debug>(result: Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Poisoned);
}

fn log_written(core: &Core) -> u64 {
    let live = core.disk.log.segments().live();
    live.iter().map(|one| one.written()).sum()
}

/// Puts a large value from another thread and returns once its record is in the log. At that time
/// it is not acknowledged, because an earlier `Sync` write is still being synced.
fn put_late(core: &Arc<Core>, durability: Durability) -> JoinHandle<Result<()>> {
    let before = log_written(core);
    let other = Arc::clone(core);
    let put = move || other.write_one(Kind::Put, b"late", &LARGE, durability);
    let thread = thread::spawn(put);
    while log_written(core) == before {
        thread::yield_now();
    }
    thread
}

/// Regression: the sync pass read the end of the log after it had synced the values. A value
/// written in between was durable in the log but not in its value file, and the next open treated
/// this as damage.
#[test]
fn a_value_that_comes_during_a_sync_pass_is_not_durable_in_the_log_alone() {
    let env = SimEnv::new(1);
    let core = open(env.clone()).expect("a new database can be opened");
    put(&core, b"first", &LARGE, Durability::Sync);
    let late = Arc::new(Mutex::new(None));
    let (within, slot) = (Arc::clone(&core), Arc::clone(&late));
    in_next_pass(&core, move || {
        *slot.lock() = Some(put_late(&within, Durability::Os));
        Ok(())
    });
    put(&core, b"second", b"", Durability::Sync);
    joined(late.lock().take().expect("the pass synced the values"));
    // Its record states the position up to which the log is known to be durable.
    put(&core, b"last", b"", Durability::Os);
    let mut lost = 0;
    for state in env.crash_states(Profile::Weak, 1, 300) {
        let reopened = open(state.image).expect("a crash leaves no damage");
        let (view, seq) = reopened.base.versions.read_point(Section::Default);
        let mut out = Vec::new();
        let mut has = |key: &[u8]| {
            let found = get(
                &view,
                &reopened.base.context,
                key,
                (seq, &RangeMap::default()),
                &mut out,
            );
            found.expect("the keys can be read").is_there()
        };
        assert!(has(b"first") && has(b"second"));
        lost += u32::from(!has(b"late"));
    }
    assert!(lost > 0, "some crash loses unsynced data");
}

/// A `Sync` write that arrives during a pass must be neither acknowledged with that pass, which
/// does not sync it, nor published with a later `Os` write.
#[test]
fn a_sync_write_that_comes_during_a_pass_waits_for_the_next() {
    let core = new();
    put(&core, b"first", b"", Durability::Sync);
    let (late, seen) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
    let (within, slot, seen_by) = (Arc::clone(&core), Arc::clone(&late), Arc::clone(&seen));
    in_next_pass(&core, move || {
        let threads = [Durability::Sync, Durability::Os].map(|level| put_late(&within, level));
        let second = Arc::clone(&within);
        in_next_pass(&within, move || {
            let published = second.base.versions.published();
            *seen_by.lock() = Some((published, second.disk.log.lock().last_seq));
            Ok(())
        });
        *slot.lock() = Some(threads);
        Ok(())
    });
    put(&core, b"second", b"", Durability::Sync);
    let late = late.lock().take().expect("the pass synced the values");
    for thread in late {
        joined(thread);
    }
    let (published, last) = seen.lock().take().expect("a second pass synced the values");
    // It is not visible before its own pass.
    assert!(published < last - 1);
    assert_eq!(core.base.versions.published(), last);
}

/// Regression: the pass that makes tables durable found nothing left to sync, because a failed pass
/// had claimed the files, and retired the log, although the values might be lost.
#[test]
fn what_a_failed_pass_had_claimed_is_not_taken_for_durable() {
    let core = new();
    put_in_table(&core);
    let persisting = Arc::new(Mutex::new(None));
    let (within, slot) = (Arc::clone(&core), Arc::clone(&persisting));
    fail_next_pass(&core, move || {
        let other = Arc::clone(&within);
        *slot.lock() = Some(thread::spawn(move || other.disk.persist()));
        while !within.base.versions.lock().durable.persisting {
            thread::yield_now();
        }
    });
    is_poisoned(core.disk.sync_written());
    let persisting = persisting.lock().take();
    let persisting = persisting.expect("the pass synced the values");
    is_poisoned(persisting.join().expect("the thread does not panic"));
    assert_eq!(core.base.versions.lock().durable.seq, 0);
}

/// Regression: with too many unsynced files, a relocation claimed its copies and synced them
/// between two steps. A concurrent pass that makes tables durable found none to sync: the manifest
/// named tables whose values were not on disk, and the originals were removed.
#[test]
fn copies_that_another_still_syncs_are_not_taken_for_durable() {
    let core = new();
    put_in_table(&core);
    let persisting = Arc::new(Mutex::new(None));
    let (inside, slot) = (Arc::clone(&core), Arc::clone(&persisting));
    core.disk.value_files.moved().sync_also(within(move || {
        let other = Arc::clone(&inside);
        let thread = thread::spawn(move || other.disk.persist());
        // Enough time for a pass that does not wait.
        let mut looks = 0;
        while looks < 20_000 && !thread.is_finished() {
            looks += u32::from(inside.base.versions.lock().durable.persisting);
            thread::yield_now();
        }
        *slot.lock() = Some(thread);
        Err(lost())
    }));
    for _ in 0..UNSYNCED_FILES_MAX {
        core.disk.value_files.moved().sync_also(within(|| Ok(())));
    }
    is_poisoned(core.disk.value_files.ensure_copy_file().map(drop));
    let persisting = persisting.lock().take().expect("the copies were synced");
    is_poisoned(persisting.join().expect("the thread does not panic"));
    assert_eq!(core.base.versions.lock().durable.seq, 0);
}

/// Regression: closing did not wait for a pass of `sync` that was past its turn. It synced again
/// what that pass had failed to sync, which may succeed for pages that the system has dropped, and
/// recorded a clean close.
#[test]
fn closing_waits_for_a_sync_pass_and_fails_with_it() {
    let core = new();
    put(&core, b"k", b"v", Durability::Os);
    core.disk.log.lock().syncing = true;
    let other = Arc::clone(&core);
    let closing = thread::spawn(move || other.close());
    // Enough time for a close that does not wait.
    let mut looks = 0;
    while looks < 20_000 {
        looks += u32::from(core.base.versions.lock().closing);
        thread::yield_now();
    }
    let mut commit = core.disk.log.lock();
    is_poisoned(Err::<(), _>(core.base.poison(lost())));
    commit.syncing = false;
    core.disk.log.notify();
    drop(commit);
    is_poisoned(closing.join().expect("the thread does not panic"));
}

/// Regression: a failure of background work was not returned to callers that waited until the
/// database was idle.
#[test]
fn a_failure_wakes_those_who_wait() {
    let env = SimEnv::with(1, Background::Threads);
    let core = open(env).expect("a new database can be opened");
    put_in_table(&core);
    fail_next_pass(&core, || {});
    is_poisoned(core.wait_idle(None));
}

/// Positions a cursor on the first key at or after `key`, and returns that key.
fn seek(core: &Core, key: &[u8]) -> Vec<u8> {
    let (view, seq) = core.base.versions.read_point(Section::Default);
    let mut cursor = ViewCursor::new(ViewRef::new(view), seq, RangeMap::default());
    cursor.seek(key).expect("the keys can be read");
    cursor.key().to_vec()
}

#[test]
fn seeks_between_writes_find_their_place_in_every_part() {
    let core = new();
    let key = |number: u32| [0, number.swap_bytes()].map(u32::to_be_bytes).concat();
    let mut number = 0_u32;
    while core.base.versions.view().memtable_count() < 3 {
        put(&core, &key(number), b"", Durability::Os);
        number += 1;
        // A key that does not exist, so that a position is found in every source.
        assert_eq!(seek(&core, &key(number / 2)[..7]), key(number / 2));
    }
    for number in (0..number).step_by(8) {
        assert_eq!(seek(&core, &key(number)[..7]), key(number));
    }
}

#[test]
fn what_is_done_with_a_view_limits_runs_and_parts() {
    let core = new();
    put(&core, b"k", b"v", Durability::Os);
    let view = core.base.versions.view();
    let limits = || (view.runs_for_readers(), view.memtables_for_readers());
    assert_eq!(limits(), (None, None), "no reader");
    let mut out = Vec::new();
    let found = get(
        &view,
        &core.base.context,
        b"k",
        (1, &RangeMap::default()),
        &mut out,
    );
    assert!(found.expect("the keys can be read").is_there());
    assert_eq!(limits(), (Some(10), Some(6)));
    assert_eq!(seek(&core, b"j"), b"k");
    assert_eq!(limits(), (Some(6), Some(6)));
}
