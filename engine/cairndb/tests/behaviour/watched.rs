//! Long calls report their progress and can be stopped at any of their reports.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use cairndb::env::{Background, MemEnv};
use cairndb::{Db, ErrorKind, Options, Progress, RepairOptions, watch};
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

use crate::{fails, paths, real_dir};

const ENTRIES: u32 = 60_000;

fn count(db: &Db) -> usize {
    db.iter().flatten().count()
}

/// Fills a database with several runs and a few large values.
fn fill(db: &Db) {
    for pass in 0..2_u8 {
        for n in 0..ENTRIES {
            db.put(&n.to_be_bytes(), &[pass; 40]).unwrap();
        }
        db.put(b"large", &vec![pass; 1 << 20]).unwrap();
        db.flush().unwrap();
    }
}

/// Makes `call`, and stops it at report number `at`. Returns the result and the reports.
fn stopped_at<T>(at: usize, call: impl FnOnce() -> T) -> (T, Vec<Progress>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let list = Rc::clone(&seen);
    let watcher = move |progress| {
        list.borrow_mut().push(progress);
        if list.borrow().len() > at {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    (watch(watcher, call), seen.take())
}

fn stopped_before_it_begins(call: impl FnOnce() -> cairndb::Result<()>) {
    let (result, seen) = stopped_at(0, call);
    fails(result, ErrorKind::Interrupted);
    assert_eq!(seen.len(), 1);
}

/// Stops `call` at reports further and further in, until it gets to its end. `check` is called
/// after each.
fn stop_everywhere(
    name: &str,
    mut call: impl FnMut() -> cairndb::Result<()>,
    mut check: impl FnMut(),
) {
    let (mut at, mut stops) = (0, 0);
    loop {
        let (result, seen) = stopped_at(at, &mut call);
        check();
        assert!(seen.is_sorted_by_key(|progress| progress.done), "{name}");
        let Err(error) = result else {
            assert!(stops > 2, "{name}: {stops} stops");
            let last = seen.last().unwrap();
            assert!(last.done > 0 && last.total > 0, "{name}: {last:?}");
            return;
        };
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{name} {at}: {error}");
        assert_eq!(seen.len(), at + 1, "{name}: the watcher is not asked again");
        stops += 1;
        at = at * 2 + 1;
    }
}

#[test]
fn a_stopped_call_changes_nothing_and_can_be_repeated() {
    let env = MemEnv::new(Background::Stepped);
    let options = Options::new().create_if_missing(true).env(env);
    let db = options.open("/one").unwrap();
    fill(&db);
    let entries = count(&db);
    let compact = || db.compact_range(..);
    stop_everywhere("compact_range", compact, || {
        assert_eq!(count(&db), entries);
        assert_eq!(db.get(b"large").unwrap().unwrap().len(), 1 << 20);
    });
    let (stopped, _) = stopped_at(0, || db.checkpoint("/copy"));
    fails(stopped, ErrorKind::Interrupted);
    let missing = options.clone().create_if_missing(false);
    fails(missing.open("/copy"), ErrorKind::NotFound);
    db.checkpoint("/copy").unwrap();
    db.close().unwrap();
    let verify = || cairndb::verify("/one", &options).map(drop);
    stop_everywhere("verify", verify, || {});
    let (_, seen) = stopped_at(usize::MAX, verify);
    let last = seen.last().unwrap();
    assert_eq!(last.done, last.total, "verify ends at its estimate");
    let repair = || cairndb::repair("/one", "/two", &RepairOptions::new(&options)).map(drop);
    stop_everywhere("repair", repair, || {
        if let Ok(two) = missing.open("/two") {
            assert_eq!(count(&two), entries);
        }
    });
    let two = missing.open("/two").unwrap();
    assert_eq!(count(&two), entries);
}

/// An open that is stopped while it replays the log leaves the log.
#[test]
fn a_stopped_open_can_be_repeated() {
    let env = SimEnv::with(13, Background::Stepped);
    let options = Options::new().create_if_missing(true);
    let db = options.clone().env(env.clone()).open("/one").unwrap();
    for n in 0..1_000_u32 {
        db.put(&n.to_be_bytes(), b"in the log").unwrap();
    }
    // The pieces of the last write are kept.
    let point = env.crash_point();
    let image = || point.image(Profile::Kill, &CrashChoice::new(Keep::All));
    let options = options.env(image());
    let open = || options.open("/one").map(|db| assert_eq!(count(&db), 1_000));
    stop_everywhere("open, and close", open, || {});
    let read_only = options.env(image()).read_only(true);
    let open = || read_only.open("/one").map(drop);
    stop_everywhere("open for reading", open, || {});
}

/// A call that waits for other threads is stopped too, and they go on.
#[test]
fn waits_for_background_threads_are_stopped() {
    let dir = real_dir();
    let options = Options::new().create_if_missing(true);
    let options = options.memory_budget(1 << 20);
    let db = options.open(dir.path()).unwrap();
    fill(&db);
    let entries = count(&db);
    let (result, _) = stopped_at(3, || db.compact_range(..));
    if let Err(error) = result {
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    }
    // Whether or not the worker has left anything to wait for.
    for _ in 0..2 {
        stopped_before_it_begins(|| db.wait_idle());
        stopped_before_it_begins(|| db.flush());
        stopped_before_it_begins(|| db.compact_range(..));
        db.compact_range(..).unwrap();
        db.wait_idle().unwrap();
    }
    assert_eq!(count(&db), entries);
    db.put(b"later", b"value").unwrap();
    db.compact_range(..).unwrap();
    assert_eq!(count(&db), entries + 1);
    db.close().unwrap();
    let tables = paths(dir.path(), "tbl").len() as u64;
    let report = cairndb::verify(dir.path(), &options).unwrap();
    assert_eq!(tables, report.tables, "a stopped call left tables");
}
