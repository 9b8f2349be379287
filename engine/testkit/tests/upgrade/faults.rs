//! Conversions in which an operation fails.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_sim::{Effect, Fault, Op, OpKind};
use cairndb_testkit::effects::effects;
use cairndb_testkit::setting;

use crate::fixture::{
    Fixture, ORIGINAL, Opened, PATH, Size, check, complete, complete_anyhow, convert, directory,
    files, fixture,
};

const THREADS: usize = 2;
const SEED: u64 = 9;

/// Returns the operations of a conversion.
fn operations() -> Vec<Op> {
    let fixture = fixture(SEED, Size::SMALL);
    let before = fixture.env.op_count();
    convert(&fixture.env).unwrap();
    fixture
        .env
        .ops()
        .into_iter()
        .filter(|op| op.index >= before)
        .collect()
}

/// A push tries every eleventh case: adjacent operations are alike.
#[test]
fn every_operation_may_fail_in_every_way() {
    let percent = setting("CAIRN_STATES", 100);
    let mut plan = Vec::new();
    for op in operations() {
        for effect in effects(op.kind) {
            plan.extend([false, true].map(|sticky| (op.clone(), effect, sticky)));
        }
    }
    let step = if percent > 100 { 1 } else { 11 };
    let total = plan.len();
    let plan: Vec<_> = plan.into_iter().step_by(step).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((op, effect, sticky)) =
                    plan.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let failed = std::panic::catch_unwind(|| fail(op, *effect, *sticky)).is_err();
                    assert!(!failed, "{effect:?}, sticky {sticky}, at {op:?}");
                }
            });
        }
    });
    println!("{} of {total} faults", plan.len());
}

fn fail(op: &Op, effect: Effect, sticky: bool) {
    let fixture = fixture(SEED, Size::SMALL);
    let fault = Fault::at(op.index, effect);
    fixture
        .env
        .inject(if sticky { fault.sticky() } else { fault });
    let result = convert(&fixture.env);
    fixture.env.heal();
    let opened = check(&fixture.env, &fixture.entries);
    match &result {
        Ok(_) => assert_eq!(opened, Opened::Ours),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // What failed alone was undone by what did not.
            if !sticky && opened == Opened::LevelDb && op.kind != OpKind::Rename {
                check_undone(&fixture);
            }
        }
    }
    let again = fixture.env.with_mapping(true);
    if effect == Effect::SyncReportsLate {
        // Nothing can be known of the bytes that such a disk has lost.
        complete_anyhow(&again, &fixture);
    } else {
        complete(&again, &fixture);
    }
}

fn check_undone(fixture: &Fixture) {
    let dir = directory(&fixture.env, PATH).unwrap();
    assert!(files(&*dir) == fixture.files, "something was changed");
    if let Ok(original) = directory(&fixture.env, ORIGINAL) {
        assert_eq!(original.list().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_stopped_conversion_is_undone() {
    let (mut last, mut stops) = (1, 0);
    loop {
        let fixture = fixture(SEED, Size::SMALL);
        let mut reports = 0;
        let watcher = move |_| {
            reports += 1;
            if reports < last {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let Err(error) = cairndb::watch(watcher, || convert(&fixture.env)) else {
            break;
        };
        assert_eq!(error.kind(), cairndb::ErrorKind::Interrupted, "{error}");
        check_undone(&fixture);
        complete(&fixture.env.with_mapping(true), &fixture);
        last *= 2;
        stops += 1;
    }
    assert!(
        stops > 9,
        "{stops} stops of a conversion of 1,000 entries, and of reading them back"
    );
}

#[test]
fn a_full_disk_is_seen_beforehand() {
    let fixture = fixture(SEED, Size::SMALL);
    let used: usize = fixture.files.values().map(Vec::len).sum();
    let before = fixture.env.image_hash();
    fixture.env.set_capacity(used as u64 + (100 << 10));
    let error = convert(&fixture.env).unwrap_err();
    assert_eq!(error.kind(), cairndb::ErrorKind::NoSpace);
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(fixture.env.image_hash(), before);
    fixture.env.heal();
    complete(&fixture.env, &fixture);
}

/// Other programs may fill the disk meanwhile.
#[test]
fn a_disk_may_fill_up_at_any_byte() {
    let sizes: Vec<u64> = {
        let fixture = fixture(SEED, Size::SMALL);
        convert(&fixture.env).unwrap();
        let dir = directory(&fixture.env, PATH).unwrap();
        files(&*dir)
            .values()
            .map(|bytes| bytes.len() as u64)
            .collect()
    };
    let all: u64 = sizes.iter().sum();
    for at in 0..24 {
        let fixture = fixture(SEED, Size::SMALL);
        let used: usize = fixture.files.values().map(Vec::len).sum();
        let env = fixture.env.clone();
        let capacity = used as u64 + all * at / 24;
        // The estimate sees a disk without a limit.
        let settings = cairndb::leveldb::UpgradeOptions::new(crate::fixture::options(&env))
            .on_progress(move |at| {
                if at.step == cairndb::leveldb::UpgradeStep::Writing && at.entries == 0 {
                    env.set_capacity(capacity);
                }
            });
        let error = cairndb::leveldb::upgrade(PATH, settings).unwrap_err();
        assert_eq!(error.kind(), cairndb::ErrorKind::NoSpace, "{error}");
        fixture.env.heal();
        check_undone(&fixture);
        complete(&fixture.env.with_mapping(true), &fixture);
    }
}
