//! Cases that a review found: each lost something, or said what was not so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
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

use crate::life::{KEY, open, repository};
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
    /// Object that is there but cannot be read.
    unreadable: Arc<OnceLock<String>>,
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
        if self.unreadable.get().is_some_and(|it| it == name) {
            let error = cairndb_base::Error::new(ErrorKind::Io, "the sector is bad");
            return Err(error.file(name));
        }
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
        unreadable: Arc::default(),
    };
    let at = Repository::open_or_create(Arc::clone(env), Box::new(place), None);
    (at.unwrap(), creations)
}

/// Returns the paths of objects in a folder of the place, in order.
fn objects(sim: &SimEnv, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(AT).join(folder);
    let files = sim.files().into_iter().map(|(path, _)| path);
    let mut found: Vec<PathBuf> = files.filter(|it| it.starts_with(&folder)).collect();
    found.sort();
    found
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

/// Restored was what came before, without a word.
#[test]
fn the_newest_moment_is_not_restored_when_later_changes_are_lost() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    for key in [b"a", b"b", b"c"] {
        sim.advance_clock(1_000_000_000);
        db.put(key, b"1").unwrap();
        back_up(&db, &at, BackupOptions::new()).unwrap();
    }
    let last = objects(&sim, "chain").pop().unwrap();
    assert!(sim.delete(&last));
    let listed = at.backups().unwrap();
    let [missing] = &listed.damage[..] else {
        panic!("{:?}", listed.damage);
    };
    assert!(last.ends_with(missing.file_name().unwrap()), "{missing}");
    let error = Restore::new(&at).run(Path::new("/r")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    // Neither by a time after it: it did not say so.
    let error = at_time(&at, u64::MAX / 2_000_000, "/r").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let left = Moment::Seq(listed.moments.last().unwrap().last.seq);
    let report = Restore::new(&at).to(left).run(Path::new("/r")).unwrap();
    assert_eq!(Moment::Seq(report.place.seq), left);
}

/// One bad sector ended restore and verification.
#[test]
fn an_object_that_cannot_be_read_counts_as_damaged() {
    for folder in ["bases", "chain", "data"] {
        let sim = SimEnv::new(1);
        let env: Arc<dyn Env> = sim.clone();
        let db = open(&env, Path::new("/db")).unwrap();
        let place = Flaky {
            inner: Directory::open(Arc::clone(&env), Path::new(AT), true).unwrap(),
            creations: Arc::default(),
            unreadable: Arc::default(),
        };
        let unreadable = Arc::clone(&place.unreadable);
        let at = Repository::open_or_create(Arc::clone(&env), Box::new(place), None).unwrap();
        for key in [b"a", b"b", b"c"] {
            db.put(key, b"1").unwrap();
            db.flush().unwrap();
            back_up(&db, &at, BackupOptions::new().base_bytes(1)).unwrap();
        }
        // The newest base, or what only a newer one needs.
        let objects = objects(&sim, folder);
        let bad = match folder {
            "data" => newest_data(&objects),
            _ => objects.last().unwrap(),
        };
        let name = bad.strip_prefix(AT).unwrap().to_str().unwrap();
        unreadable.set(name.to_owned()).unwrap();
        let report = at.verify().unwrap();
        let named: Vec<_> = report.damage.iter().map(|it| it.file_name()).collect();
        assert_eq!(named, [Some(name)]);
        assert!(!report.moments.is_empty(), "{folder}");
        drop(restore(&at, &env, "/r", &db));
    }
}

/// Returns the object that was uploaded last: its name ends with the number of a record.
fn newest_data(objects: &[PathBuf]) -> &PathBuf {
    let number = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        u64::from_str_radix(name.rsplit('-').next().unwrap(), 16).unwrap()
    };
    objects.iter().max_by_key(|path| number(path)).unwrap()
}

/// The newer history was meant without a word.
#[test]
fn a_number_in_two_histories_is_refused() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    for key in [b"a", b"b", b"c"] {
        db.put(key, b"1").unwrap();
        back_up(&db, &at, BackupOptions::new()).unwrap();
    }
    let begun = at.backups().unwrap().moments[0].first.seq;
    let to = Moment::Seq(begun);
    drop(Restore::new(&at).to(to).run(Path::new("/new")).unwrap());
    let new = open(&env, Path::new("/new")).unwrap();
    for key in [b"x", b"y"] {
        new.put(key, b"2").unwrap();
        back_up(&new, &at, BackupOptions::new()).unwrap();
    }
    let ranges = at.backups().unwrap().moments;
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    let seq = ranges[0].last.seq.min(ranges[1].last.seq);
    let twice = Restore::new(&at).to(Moment::Seq(seq)).run(Path::new("/r"));
    let twice = twice.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidArgument, "{twice}");
    for (range, expected) in ranges.iter().zip(["old", "new"]) {
        let mut place = range.last;
        place.seq = seq;
        let to = format!("/{expected}-again");
        let moment = Moment::Place(place);
        let _ = Restore::new(&at).to(moment).run(Path::new(&to)).unwrap();
        let has_new = open(&env, Path::new(&to)).unwrap().get(b"x").unwrap();
        assert_eq!(has_new.is_some(), expected == "new", "{place}");
    }
}

/// Objects of one place were valid in every place with the same key.
#[test]
fn an_encrypted_object_of_another_place_is_damaged() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    db.put(b"a", b"1").unwrap();
    let at = repository(&env, Path::new(AT), Some(KEY)).unwrap();
    back_up(&db, &at, BackupOptions::new()).unwrap();
    let marker = || env.open_dir(Path::new(AT).join("meta").as_ref(), false);
    let marker = marker().unwrap();
    let text = read(&*marker, "format");
    let mut other: serde_json::Value = serde_json::from_slice(&text).unwrap();
    other["id"] = "0123456789abcdef".into();
    marker.unlink("format").unwrap();
    let mut file = marker.create("format").unwrap();
    file.append(other.to_string().as_bytes()).unwrap();
    drop(file);
    let moved = repository(&env, Path::new(AT), Some(KEY)).unwrap();
    let listed = moved.backups().unwrap();
    assert!(listed.moments.is_empty() && !listed.damage.is_empty());
}

fn read(dir: &dyn cairndb::env::Dir, name: &str) -> Vec<u8> {
    let file = dir.open_read(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn prune_leaves_files_that_no_backup_made() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    for key in [b"a", b"b"] {
        db.put(key, b"1").unwrap();
        db.flush().unwrap();
        back_up(&db, &at, BackupOptions::new().base_bytes(1)).unwrap();
    }
    for folder in ["bases", "chain", "data"] {
        let dir = env.open_dir(Path::new(AT).join(folder).as_ref(), false);
        drop(dir.unwrap().create("README.txt").unwrap());
    }
    assert!(at.prune(Retention::new(), false).unwrap().objects > 0);
    for folder in ["bases", "chain", "data"] {
        let readme = Path::new(AT).join(folder).join("README.txt");
        assert!(objects(&sim, folder).contains(&readme), "{folder}");
    }
    drop(restore(&at, &env, "/r", &db));
}

/// Listing a folder failed, and with it everything else.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "an object is replaced by a folder"
)]
fn a_folder_in_the_place_of_an_object_counts_as_damaged() {
    let home = tempfile::tempdir().unwrap();
    let env: Arc<dyn Env> = RealEnv::new();
    let db = open(&env, &home.path().join("db")).unwrap();
    let place = home.path().join("place");
    let at = repository(&env, &place, None).unwrap();
    for key in [b"a", b"b"] {
        db.put(key, b"1").unwrap();
        db.flush().unwrap();
        back_up(&db, &at, BackupOptions::new().base_bytes(1)).unwrap();
    }
    let listed = std::fs::read_dir(place.join("bases")).unwrap();
    let newest = listed.map(|it| it.unwrap().path()).max().unwrap();
    std::fs::remove_file(&newest).unwrap();
    std::fs::create_dir(&newest).unwrap();
    let report = at.verify().unwrap();
    assert_eq!(report.damage.len(), 1, "{:?}", report.damage);
    assert!(newest.ends_with(report.damage[0].file_name().unwrap()));
    let to = home.path().join("restored");
    let restored = Restore::new(&at).run(&to).unwrap();
    assert_eq!(restored.damage.len(), 1, "{restored:?}");
}
