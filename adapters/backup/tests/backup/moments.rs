//! Restores of a backup that nothing has disturbed.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb::env::{Env, RealEnv};
use cairndb::{Db, Durability, KeyspaceOptions, WriteOptions};
use cairndb_backup::{Backup, BackupOptions, Contents, Restore};

use crate::life::{KEY, check_moment, open, repository};
use crate::model::{Model, State, check, contents};

fn restore_moments(seed: u64, key: Option<&str>, options: BackupOptions) {
    let env: Arc<dyn Env> = RealEnv::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let at = repository(&env, &dir.path().join("backups"), key).unwrap();
    let mut model = Model::new(seed);
    for _ in 0..6 {
        let db = open(&env, &path).unwrap();
        let mut backup = Backup::begin(&db, &at, options).unwrap();
        for _ in 0..12 {
            model.write(&db, 10).unwrap();
            backup.catch_up().unwrap();
        }
        backup.end().unwrap();
        db.close().unwrap();
    }
    let found = at.backups().unwrap();
    assert_eq!(found.moments.len(), 1, "{found:?}");
    assert!(found.damage.is_empty(), "{found:?}");
    let verified = at.verify().unwrap();
    assert!(verified.damage.is_empty(), "{verified:?}");
    assert_eq!(verified.moments, found.moments);
    let range = &found.moments[0];
    for number in 0..20 {
        let seq = range.first.seq + model.random.draw(range.last.seq - range.first.seq + 1);
        let to = dir.path().join(format!("restored-{number}"));
        let about = format!("seed {seed}");
        check_moment(&at, &env, &to, (&model, seq), &about);
    }
}

#[test]
fn every_moment_is_restored() {
    restore_moments(1, None, BackupOptions::new().base_bytes(20_000));
    restore_moments(2, Some(KEY), BackupOptions::new());
    restore_moments(3, None, BackupOptions::new().changes_only());
}

#[test]
fn unlogged_writes_are_there_after_their_flush() {
    let env: Arc<dyn Env> = RealEnv::new();
    let dir = tempfile::tempdir().unwrap();
    let db = open(&env, &dir.path().join("db")).unwrap();
    let at = repository(&env, &dir.path().join("backups"), None).unwrap();
    let mut backup = Backup::begin(&db, &at, BackupOptions::new()).unwrap();
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.put_with(b"unlogged", b"1", &unlogged).unwrap();
    db.put(b"logged", b"2").unwrap();
    backup.catch_up().unwrap();
    db.flush().unwrap();
    db.put(b"later", b"3").unwrap();
    backup.catch_up().unwrap();
    backup.end().unwrap();
    let to = dir.path().join("restored");
    Restore::new(&at).run(&to).unwrap();
    let restored = open(&env, &to).unwrap();
    assert_eq!(Contents::of(&db).unwrap(), Contents::of(&restored).unwrap());
    assert_eq!(
        restored.get(b"unlogged").unwrap().as_deref(),
        Some(&b"1"[..])
    );
}

#[test]
fn one_keyspace_is_restored_without_the_others() {
    let env: Arc<dyn Env> = RealEnv::new();
    let dir = tempfile::tempdir().unwrap();
    let db = open(&env, &dir.path().join("db")).unwrap();
    let at = repository(&env, &dir.path().join("backups"), None).unwrap();
    let spaces = ["one", "two"].map(|name| {
        db.create_keyspace(name, &KeyspaceOptions::default())
            .unwrap()
    });
    let put = |at: &str| {
        db.put(format!("default-{at}").as_bytes(), b"0").unwrap();
        for space in &spaces {
            space
                .put(format!("{}-{at}", space.name()).as_bytes(), b"1")
                .unwrap();
        }
    };
    put("in a table");
    db.flush().unwrap();
    let mut backup = Backup::begin(&db, &at, BackupOptions::new()).unwrap();
    put("in the log");
    backup.catch_up().unwrap();
    backup.end().unwrap();
    let all = contents(&db);
    for (number, (names, default)) in [(vec!["two"], false), (vec![], true), (vec!["one"], true)]
        .into_iter()
        .enumerate()
    {
        let to = dir.path().join(format!("restored-{number}"));
        let restore = Restore::new(&at).only(names.iter().map(|it| (*it).to_owned()), default);
        restore.run(&to).unwrap();
        let mut expected: State = all.clone();
        expected.retain(|name, _| name.is_empty() || names.contains(&&**name));
        if !default {
            expected.insert(String::new(), BTreeMap::new());
        }
        let restored = open(&env, &to).unwrap();
        check(&contents(&restored), &expected, &format_args!("{names:?}"));
    }
    let missing = Restore::new(&at).only(["three".to_owned()], true);
    let to = dir.path().join("missing");
    assert_eq!(
        missing.run(&to).unwrap_err().kind(),
        cairndb::ErrorKind::NotFound
    );
    assert!(!to.exists());
}

/// Backs up what is there.
fn back_up(db: &Db, at: &cairndb_backup::Repository) -> cairndb::Result<()> {
    let mut backup = Backup::begin(db, at, BackupOptions::new())?;
    backup.catch_up()?;
    backup.end().map(drop)
}

#[test]
fn a_restored_database_continues_the_backup_or_begins_a_timeline() {
    let env: Arc<dyn Env> = RealEnv::new();
    let dir = tempfile::tempdir().unwrap();
    let db = open(&env, &dir.path().join("db")).unwrap();
    let at = repository(&env, &dir.path().join("backups"), None).unwrap();
    db.put(b"a", b"1").unwrap();
    back_up(&db, &at).unwrap();
    let early = db.place().unwrap();
    db.put(b"b", b"2").unwrap();
    back_up(&db, &at).unwrap();
    db.close().unwrap();
    // The newest moment: nothing is uploaded again.
    let newest = dir.path().join("newest");
    Restore::new(&at).run(&newest).unwrap();
    let db = open(&env, &newest).unwrap();
    db.put(b"c", b"3").unwrap();
    back_up(&db, &at).unwrap();
    assert_eq!(at.backups().unwrap().moments.len(), 1);
    db.close().unwrap();
    // An earlier one: what came after it can still be restored.
    let earlier = dir.path().join("earlier");
    Restore::new(&at)
        .to(cairndb_backup::Moment::Place(early))
        .run(&earlier)
        .unwrap();
    let db = open(&env, &earlier).unwrap();
    assert!(db.get(b"b").unwrap().is_none());
    back_up(&db, &at).unwrap();
    let moments = at.backups().unwrap().moments;
    assert_eq!(moments.len(), 2, "{moments:?}");
    let again = dir.path().join("again");
    Restore::new(&at)
        .to(cairndb_backup::Moment::Place(moments[0].last))
        .run(&again)
        .unwrap();
    let again = open(&env, &again).unwrap();
    assert_eq!(again.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
    // Another database is refused.
    let other = open(&env, &dir.path().join("other")).unwrap();
    let error = back_up(&other, &at).unwrap_err();
    assert_eq!(error.kind(), cairndb::ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("another database"), "{error}");
}
