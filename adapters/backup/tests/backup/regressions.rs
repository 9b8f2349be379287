//! Cases that a review found: each lost something, or said what was not so.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use cairndb::env::{Env, RealEnv};
use cairndb::physical::LiveFiles;
use cairndb::{
    ChangesOptions, Db, Durability, ErrorKind, KeyspaceOptions, Options, Result, WriteOptions,
};
use cairndb_backup::{
    Backup, BackupOptions, Directory, Download, Moment, Object, Place, Repository, Restore,
    RestoreReport, Retention, Upload,
};
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

use crate::life::{open, repository};
use crate::model::{check, contents};

const AT: &str = "/backups";

fn back_up(db: &Db, at: &Repository, options: BackupOptions) -> Result<()> {
    let mut backup = Backup::begin(db, at, options)?;
    backup.catch_up()?;
    backup.end().map(drop)
}

/// Restores the newest moment, which must be that of `db`, and opens it.
fn restore(at: &Repository, env: &Arc<dyn Env>, to: &str, db: &Db) -> Db {
    let expected = contents(db);
    let report = Restore::new(at).run(Path::new(to)).unwrap();
    let restored = open(env, Path::new(to)).unwrap();
    check(&contents(&restored), &expected, &to);
    assert_eq!(restored.place().unwrap().seq, report.place.seq, "{to}");
    restored
}

fn at_time(at: &Repository, ms: u64, to: &str) -> Result<RestoreReport> {
    let moment = Moment::Time(UNIX_EPOCH + Duration::from_millis(ms));
    Restore::new(at).to(moment).run(Path::new(to))
}

/// A place of which one creation of a record fails, when the counter comes to 1.
#[derive(Debug)]
struct Flaky {
    inner: Directory,
    creations: Arc<AtomicI64>,
}

impl Place for Flaky {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        if name.starts_with("chain") {
            // Attempts are made twice.
            let left = self.creations.fetch_sub(1, Ordering::SeqCst);
            if [1, 2].contains(&left) {
                return Err(cairndb_base::Error::new(ErrorKind::Io, "the place fails"));
            }
        }
        self.inner.create(name, bytes)
    }

    fn upload(&self, name: &str) -> Result<Box<dyn Upload + '_>> {
        self.inner.upload(name)
    }

    fn download(&self, name: &str) -> Result<Box<dyn Download + '_>> {
        self.inner.download(name)
    }

    fn list(&self, folder: &str, after: &str) -> Result<Vec<Object>> {
        self.inner.list(folder, after)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }
}

fn flaky(env: &Arc<dyn Env>) -> (Repository, Arc<AtomicI64>) {
    let creations = Arc::new(AtomicI64::new(0));
    let place = Flaky {
        inner: Directory::open(Arc::clone(env), Path::new(AT), true).unwrap(),
        creations: Arc::clone(&creations),
    };
    let at = Repository::open_or_create(Arc::clone(env), Box::new(place), None);
    (at.unwrap(), creations)
}

/// Nothing is flushed between two bases, so the second needs records that only the first lists.
#[test]
fn a_prune_keeps_records_that_only_pruned_bases_list() {
    for changes_only in [false, true] {
        let sim = SimEnv::new(1);
        let env: Arc<dyn Env> = sim.clone();
        let db = open(&env, Path::new("/db")).unwrap();
        let at = repository(&env, Path::new(AT), None).unwrap();
        let options = if changes_only {
            BackupOptions::new().changes_only()
        } else {
            BackupOptions::new().base_bytes(1)
        };
        let mut backup = Backup::begin(&db, &at, options).unwrap();
        for turn in 0..2100_u32 {
            if !changes_only && turn > 20 {
                break;
            }
            db.put(format!("key {turn}").as_bytes(), b"value").unwrap();
            backup.catch_up().unwrap();
            if turn % if changes_only { 700 } else { 7 } == 5 {
                at.prune(Retention::new(), false).unwrap();
            }
        }
        backup.end().unwrap();
        assert!(at.verify().unwrap().damage.is_empty());
        at.prune(Retention::new(), false).unwrap();
        drop(restore(&at, &env, "/restored", &db));
    }
}

#[test]
fn what_is_damaged_is_sent_again() {
    for removes in [true, false] {
        let sim = SimEnv::new(1);
        let env: Arc<dyn Env> = sim.clone();
        let db = open(&env, Path::new("/db")).unwrap();
        let at = repository(&env, Path::new(AT), None).unwrap();
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
        back_up(&db, &at, BackupOptions::new()).unwrap();
        let files = sim.files();
        let is_data = |path: &Path| path.to_string_lossy().contains("/data/");
        let (data, _) = files.iter().find(|(path, _)| is_data(path)).unwrap();
        if removes {
            assert!(sim.delete(data));
        } else {
            assert!(sim.corrupt(data, 40, 0x55));
        }
        assert_eq!(at.verify().unwrap().damage.len(), 1);
        db.put(b"b", b"2").unwrap();
        back_up(&db, &at, BackupOptions::new()).unwrap();
        drop(restore(&at, &env, "/restored", &db));
    }
}

#[test]
fn a_backup_goes_on_after_an_error() {
    let env: Arc<dyn Env> = SimEnv::new(1);
    let db = open(&env, Path::new("/db")).unwrap();
    let (at, creations) = flaky(&env);
    let mut backup = Backup::begin(&db, &at, BackupOptions::new()).unwrap();
    backup.catch_up().unwrap();
    db.put(b"a", b"1").unwrap();
    creations.store(2, Ordering::SeqCst);
    assert_eq!(backup.catch_up().unwrap_err().kind(), ErrorKind::Io);
    db.put(b"b", b"2").unwrap();
    backup.catch_up().unwrap();
    backup.end().unwrap();
    drop(restore(&at, &env, "/restored", &db));
}

#[test]
fn a_time_between_two_timelines_is_refused() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut times = Vec::new();
    for (key, is_backed_up) in [("a", true), ("b", false), ("c", true)] {
        sim.advance_clock(1_000_000_000_000);
        let db = open(&env, Path::new("/db")).unwrap();
        db.put(key.as_bytes(), b"1").unwrap();
        times.push(env.wall_ms());
        if is_backed_up {
            back_up(&db, &at, BackupOptions::new()).unwrap();
        }
        // What follows is not kept.
        for lease in db.leases().unwrap() {
            db.drop_lease(&lease.name).unwrap();
        }
        db.flush().unwrap();
        db.close().unwrap();
    }
    assert_eq!(at.backups().unwrap().moments.len(), 2);
    let between = times[1] + 500_000;
    let error = at_time(&at, between, "/between").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    at.prune(Retention::new(), false).unwrap();
    let error = at_time(&at, between, "/pruned").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_time_after_the_first_backup_has_its_log() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    sim.advance_clock(1_000_000_000_000);
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    db.put(b"in a table", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"in the log", b"1").unwrap();
    back_up(&db, &at, BackupOptions::new()).unwrap();
    sim.advance_clock(100_000_000_000);
    at_time(&at, env.wall_ms(), "/restored").unwrap();
    let restored = open(&env, Path::new("/restored")).unwrap();
    check(&contents(&restored), &contents(&db), &"the first backup");
}

/// The newest change is an event, which has no record.
#[test]
fn the_newest_moment_is_continued_after_an_event() {
    let env: Arc<dyn Env> = SimEnv::new(1);
    for flushes in [false, true] {
        let path = |name: &str| format!("/{name}-{flushes}");
        let at = repository(&env, Path::new(&path("backups")), None).unwrap();
        let db = open(&env, Path::new(&path("db"))).unwrap();
        db.put(b"a", b"1").unwrap();
        if flushes {
            back_up(&db, &at, BackupOptions::new()).unwrap();
        }
        db.create_keyspace("one", &KeyspaceOptions::new()).unwrap();
        back_up(&db, &at, BackupOptions::new()).unwrap();
        let restored = restore(&at, &env, &path("restored"), &db);
        assert_eq!(restored.place().unwrap().seq, db.place().unwrap().seq);
        restored.put(b"b", b"1").unwrap();
        back_up(&restored, &at, BackupOptions::new()).unwrap();
        assert_eq!(at.backups().unwrap().moments.len(), 1);
        drop(restore(&at, &env, &path("again"), &restored));
    }
}

#[test]
fn the_newest_moment_is_continued_after_a_crash() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let elsewhere: Arc<dyn Env> = SimEnv::new(2);
    let at = repository(&elsewhere, Path::new(AT), None).unwrap();
    let db = open(&env, Path::new("/db")).unwrap();
    db.put(b"a", b"1").unwrap();
    back_up(&db, &at, BackupOptions::new()).unwrap();
    let synced = WriteOptions::new().durability(Durability::Sync);
    db.put_with(b"a2", b"1", &synced).unwrap();
    let all = CrashChoice::new(Keep::All);
    let env: Arc<dyn Env> = sim.crash_point().image(Profile::Weak, &all);
    drop(db);
    let db = open(&env, Path::new("/db")).unwrap();
    db.put(b"b", b"1").unwrap();
    back_up(&db, &at, BackupOptions::new()).unwrap();
    let consumer = db.place().unwrap();
    let restored = restore(&at, &elsewhere, "/restored", &db);
    // A consumer of the lost database goes on, too.
    let after = ChangesOptions::new().after(consumer);
    drop(restored.changes(&after).unwrap());
    back_up(&restored, &at, BackupOptions::new()).unwrap();
    assert_eq!(at.backups().unwrap().moments.len(), 1);
}

#[test]
fn a_follower_knows_the_moment_of_its_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    db.put(b"a", b"1").unwrap();
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.put_with(b"u", b"1", &unlogged).unwrap();
    db.create_keyspace("one", &KeyspaceOptions::new()).unwrap();
    let follower = Options::new().follow().open(&path).unwrap();
    let [ours, theirs] = [&db, &follower].map(|db| LiveFiles::of(db).unwrap().restorable());
    assert_eq!(theirs, ours);
}

#[test]
fn a_part_of_a_database_does_not_continue_the_whole() {
    let env: Arc<dyn Env> = SimEnv::new(1);
    let at = repository(&env, Path::new(AT), None).unwrap();
    let db = open(&env, Path::new("/db")).unwrap();
    db.create_keyspace("one", &KeyspaceOptions::new()).unwrap();
    db.create_keyspace("two", &KeyspaceOptions::new()).unwrap();
    db.put(b"a", b"1").unwrap();
    back_up(&db, &at, BackupOptions::new()).unwrap();
    let part = Restore::new(&at).only(["one".to_owned()], true);
    part.run(Path::new("/part")).unwrap();
    let part = open(&env, Path::new("/part")).unwrap();
    let error = back_up(&part, &at, BackupOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    drop(restore(&at, &env, "/restored", &db));
}

#[test]
fn a_wrong_clock_makes_nothing_old() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    sim.advance_clock(200 * 86_400 * 1_000_000_000);
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut backup = Backup::begin(&db, &at, BackupOptions::new().base_bytes(1)).unwrap();
    for turn in 0..6_u8 {
        sim.advance_clock(3_600 * 1_000_000_000);
        db.put(&[turn], b"value").unwrap();
        if turn == 3 {
            sim.set_wall_back(90 * 86_400 * 1000);
        }
        backup.catch_up().unwrap();
    }
    sim.advance_clock(91 * 86_400 * 1_000_000_000);
    let bases = at.backups().unwrap().bases;
    let day = Duration::from_hours(24);
    let pruned = at.prune(Retention::new().age(100 * day), true).unwrap();
    assert_eq!(pruned.bases, bases);
}

#[test]
fn a_writer_that_has_not_written_is_no_obstacle() {
    let env: Arc<dyn Env> = RealEnv::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    db.put(b"a", b"1").unwrap();
    db.close().unwrap();
    let _idle = Db::open(&path).unwrap();
    let follower = Options::new().follow().open(&path).unwrap();
    let at = repository(&env, &dir.path().join("backups"), None).unwrap();
    back_up(&follower, &at, BackupOptions::new()).unwrap();
}
