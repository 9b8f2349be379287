//! Conversions in which nothing goes wrong.

use std::path::Path;
use std::sync::{Arc, Mutex};

use cairndb::ErrorKind;
use cairndb::leveldb::{
    UpgradeOptions, UpgradeOutcome, UpgradeProgress, UpgradeStep, plan, upgrade,
};
use cairndb_env::Env;
use cairndb_leveldb::{NewDatabase, WriteOptions};
use cairndb_sim::SimEnv;

use crate::fixture::{
    ORIGINAL, Opened, PATH, Size, check, check_converted, complete, convert, directory, files,
    fixture, options,
};

#[test]
fn a_conversion_reports_its_plan_its_progress_and_its_result() {
    let fixture = fixture(1, Size::SMALL);
    let plan = plan(PATH, &options(&fixture.env)).unwrap();
    let seen: Arc<Mutex<Vec<UpgradeProgress>>> = Arc::default();
    let steps = Arc::clone(&seen);
    let settings = UpgradeOptions::new(options(&fixture.env))
        .on_progress(move |at| steps.lock().unwrap().push(*at));
    let report = upgrade(PATH, settings).unwrap();
    assert_eq!(report.outcome, UpgradeOutcome::Converted);
    assert_eq!(report.entries, fixture.entries.len() as u64);
    let raw = fixture
        .entries
        .iter()
        .map(|(key, value)| key.len() + value.len());
    assert_eq!(report.raw_bytes, raw.sum::<usize>() as u64);
    assert!(report.tables > 1 && !report.torn, "{report:?}");
    assert!(
        plan.fits() && plan.target_bytes >= report.target_bytes,
        "{plan:?}, {report:?}"
    );
    assert!(
        plan.target_bytes < 2 * report.target_bytes + (64 << 10),
        "{plan:?}, {report:?}"
    );
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted_by_key(|at| at.step as u8));
    let last = |step| *seen.iter().rfind(|at| at.step == step).unwrap();
    assert_eq!(last(UpgradeStep::Linking).entries, 0);
    assert_eq!(last(UpgradeStep::Verifying).entries, report.entries);
    assert_eq!(
        last(UpgradeStep::Verifying).bytes_expected,
        report.raw_bytes
    );
    assert_eq!(last(UpgradeStep::Finishing).bytes, report.raw_bytes);
    check_converted(&fixture.env, &fixture);
    assert_eq!(
        convert(&fixture.env).unwrap().outcome,
        UpgradeOutcome::NothingToDo
    );
    assert_eq!(fixture.env.violations(), []);
}

#[test]
fn a_plan_changes_nothing() {
    let fixture = fixture(2, Size::SMALL);
    let before = fixture.env.image_hash();
    plan(PATH, &options(&fixture.env)).unwrap();
    assert_eq!(fixture.env.image_hash(), before);
}

#[test]
fn an_open_converts_only_if_it_is_asked_to() {
    let fixture = fixture(3, Size::SMALL);
    let env = &fixture.env;
    let before = env.image_hash();
    for refused in [
        options(env),
        options(env).create_if_missing(true),
        options(env).upgrade_leveldb(true).read_only(true),
        options(env).upgrade_leveldb(true).error_if_exists(true),
    ] {
        refused.open(PATH).unwrap_err();
        assert_eq!(env.image_hash(), before);
    }
    let db = options(env).upgrade_leveldb(true).open(PATH).unwrap();
    assert!(db.open_report().clean);
    db.close().unwrap();
    check_converted(env, &fixture);
    // The option has no effect on a database of ours, or on an empty directory.
    options(env)
        .upgrade_leveldb(true)
        .open(PATH)
        .unwrap()
        .close()
        .unwrap();
    let new = options(env)
        .upgrade_leveldb(true)
        .create_if_missing(true)
        .open("/new")
        .unwrap();
    new.close().unwrap();
    let missing = options(env)
        .upgrade_leveldb(true)
        .open("/missing")
        .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn the_sequence_numbers_go_on() {
    let fixture = fixture(4, Size::SMALL);
    convert(&fixture.env).unwrap();
    let db = options(&fixture.env).open(PATH).unwrap();
    let snapshot = db.snapshot();
    let key = fixture.entries.keys().next().unwrap();
    db.put(key, b"newer").unwrap();
    assert_eq!(
        snapshot.get(key).unwrap().as_deref(),
        Some(&fixture.entries[key][..])
    );
    assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"newer"[..]));
    drop(snapshot);
    db.compact_range(..).unwrap();
    assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"newer"[..]));
}

#[test]
fn an_empty_database_is_converted() {
    let env = SimEnv::new(5);
    let dir = env.open_dir(Path::new(PATH), true).unwrap();
    NewDatabase::create(&dir, WriteOptions::default())
        .unwrap()
        .finish()
        .unwrap();
    let report = convert(&env).unwrap();
    assert_eq!(
        (report.outcome, report.entries),
        (UpgradeOutcome::Converted, 0)
    );
    assert_eq!(
        check(&env, &std::collections::BTreeMap::new()),
        Opened::Ours
    );
}

/// A user may want to keep what an earlier conversion has left.
#[test]
fn an_older_copy_is_never_removed() {
    let fixture = fixture(6, Size::SMALL);
    let env = &fixture.env;
    complete(env, &fixture);
    cairndb::destroy(PATH, &options(env)).unwrap();
    let original = directory(env, ORIGINAL).unwrap();
    assert!(
        files(&*original) == fixture.files,
        "destroy keeps the originals"
    );
    let dir = env.open_dir(Path::new(PATH), true).unwrap();
    let mut new = NewDatabase::create(&dir, WriteOptions::default()).unwrap();
    new.put(b"another", b"database").unwrap();
    new.finish().unwrap();
    let before = env.image_hash();
    let error = convert(env).unwrap_err();
    assert!(error.to_string().contains("move it elsewhere"), "{error}");
    assert_eq!(env.image_hash(), before);
    assert!(files(&*original) == fixture.files);
}
