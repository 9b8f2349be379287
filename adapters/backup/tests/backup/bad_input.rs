//! What is refused, with what it says, and that nothing is lost.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use cairndb::env::Env;
use cairndb::{Db, ErrorKind, Result};
use cairndb_backup::{Backup, BackupOptions, Contents, Moment, Repository, Restore, Retention};
use cairndb_sim::SimEnv;

use crate::life::{KEY, open, repository};
use crate::model::Model;

const AT: &str = "/backups";

fn begin<'a>(db: &Db, at: &'a Repository) -> Result<Backup<'a>> {
    Backup::begin(db, at, BackupOptions::new())
}

#[test]
fn of_two_programs_that_write_to_a_place_one_is_refused() {
    let sim = SimEnv::new(1);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut one = begin(&db, &at).unwrap();
    db.put(b"a", b"1").unwrap();
    one.catch_up().unwrap();
    // Both look alive: it is the same process.
    let mut two = begin(&db, &at).unwrap();
    db.put(b"b", b"2").unwrap();
    two.catch_up().unwrap();
    db.put(b"c", b"3").unwrap();
    let error = one.catch_up().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    let process = format!("process {} on ", std::process::id());
    assert!(error.to_string().contains(&process), "{error}");
    two.catch_up().unwrap();
    two.end().unwrap();
    let report = Restore::new(&at).run(Path::new("/restored")).unwrap();
    assert_eq!(report.place.seq, db.place().unwrap().seq);
}

#[test]
fn a_key_is_needed_and_must_be_the_right_one() {
    let env: Arc<dyn Env> = SimEnv::new(2);
    let db = open(&env, Path::new("/db")).unwrap();
    db.put(b"secret", b"never in clear").unwrap();
    let at = repository(&env, Path::new(AT), Some(KEY)).unwrap();
    let mut backup = begin(&db, &at).unwrap();
    backup.catch_up().unwrap();
    backup.end().unwrap();
    let other = KEY.replace("00", "01");
    for (key, says) in [(None, "are encrypted"), (Some(&*other), "not the one")] {
        let error = repository(&env, Path::new(AT), key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(says), "{error}");
    }
    let plain = repository(&env, Path::new("/plain"), None);
    plain.unwrap();
    let error = repository(&env, Path::new("/plain"), Some(KEY)).unwrap_err();
    assert!(error.to_string().contains("are not encrypted"), "{error}");
    assert!(!format!("{error:?}{at:?}").contains(KEY));
}

#[test]
fn nothing_is_stored_in_clear_with_a_key() {
    let sim = SimEnv::new(3);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    for key in [None, Some(KEY)] {
        let at = if key.is_some() {
            "/encrypted"
        } else {
            "/clear"
        };
        let at_place = repository(&env, Path::new(at), key).unwrap();
        let mut backup = begin(&db, &at_place).unwrap();
        db.put(b"stone-of-rosetta", b"granodiorite").unwrap();
        backup.catch_up().unwrap();
        db.flush().unwrap();
        backup.end().unwrap();
        let mut backup = Backup::begin(&db, &at_place, BackupOptions::new().base_bytes(1)).unwrap();
        db.put(b"another", b"1").unwrap();
        backup.catch_up().unwrap();
        backup.end().unwrap();
        let files = sim.files();
        let found = files
            .iter()
            .filter(|(path, _)| path.starts_with(at))
            .any(|(path, _)| {
                let bytes = sim.read_file(path).unwrap();
                bytes.windows(12).any(|part| part == b"granodiorite")
            });
        assert_eq!(found, key.is_none());
    }
}

#[test]
fn a_clock_that_was_set_back_makes_a_time_ambiguous_and_loses_nothing() {
    let sim = SimEnv::new(4);
    let env: Arc<dyn Env> = sim.clone();
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut times = Vec::new();
    for turn in 0..6_u8 {
        sim.advance_clock(10_000_000_000);
        if turn == 4 {
            sim.set_wall_back(35_000);
        }
        // The first write of a handle states its time at once.
        let db = open(&env, Path::new("/db")).unwrap();
        let mut backup = begin(&db, &at).unwrap();
        db.put(&[turn], b"value").unwrap();
        times.push(env.wall_ms());
        backup.catch_up().unwrap();
        backup.end().unwrap();
    }
    let db = open(&env, Path::new("/db")).unwrap();
    let to_time = |ms: u64, to: &str| {
        let moment = Moment::Time(UNIX_EPOCH + Duration::from_millis(ms));
        let restored = Restore::new(&at).to(moment).run(Path::new(to))?;
        let db = open(&env, Path::new(to))?;
        Ok::<_, cairndb::Error>((restored, Contents::of(&db)?.entries))
    };
    let error = to_time(times[4] + 500, "/ambiguous").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("clock was set back"), "{error}");
    // Before all of it there is no doubt.
    assert_eq!(to_time(times[0] + 500, "/first").unwrap().1, 1);
    // The newest moment does not ask for a time.
    Restore::new(&at).run(Path::new("/newest")).unwrap();
    let newest = open(&env, Path::new("/newest")).unwrap();
    assert_eq!(Contents::of(&newest).unwrap(), Contents::of(&db).unwrap());
}

#[test]
fn what_cannot_be_restored_is_named_with_what_can() {
    let sim = SimEnv::new(5);
    let env: Arc<dyn Env> = sim.clone();
    let nothing = repository_at(&env, "/nothing").unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::NotFound);
    let db = open(&env, Path::new("/db")).unwrap();
    let mut model = Model::new(5);
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut backup = begin(&db, &at).unwrap();
    model.write(&db, 30).unwrap();
    backup.catch_up().unwrap();
    backup.end().unwrap();
    let late = Restore::new(&at).to(Moment::Seq(1 << 40));
    let error = late.run(Path::new("/late")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let last = db.place().unwrap().seq;
    assert!(error.to_string().contains(&format!("to {last}")), "{error}");
    let early = Moment::Time(UNIX_EPOCH);
    let error = Restore::new(&at)
        .to(early)
        .run(Path::new("/early"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = Restore::new(&at).run(Path::new("/db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // A full disk leaves no database.
    sim.set_capacity(sim.files().iter().map(|(_, bytes)| bytes).sum::<u64>() + 20_000);
    let error = Restore::new(&at).run(Path::new("/full"));
    if let Err(error) = error {
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        assert!(
            !sim.files()
                .iter()
                .any(|(path, _)| path.starts_with("/full"))
        );
    }
    sim.set_capacity(u64::MAX);
    // A place that a newer version has written.
    let marker = Path::new(AT).join("meta/format");
    let text = String::from_utf8(sim.read_file(&marker).unwrap()).unwrap();
    sim.write_file(
        &marker,
        text.replace("\"format\":1", "\"format\":2").as_bytes(),
    );
    let error = repository_at(&env, AT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FormatTooNew);
}

fn repository_at(env: &Arc<dyn Env>, path: &str) -> Result<Repository> {
    let place = cairndb_backup::Directory::open(Arc::clone(env), Path::new(path), false)?;
    Repository::open(Arc::clone(env), Box::new(place), None)
}

#[test]
fn pruning_keeps_what_is_asked_for() {
    let sim = SimEnv::new(6);
    let env: Arc<dyn Env> = sim.clone();
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, Path::new(AT), None).unwrap();
    let mut backup = Backup::begin(&db, &at, BackupOptions::new().base_bytes(1)).unwrap();
    for turn in 0..8_u8 {
        sim.advance_clock(60_000_000_000);
        db.put(&[turn], &[7; 2000]).unwrap();
        db.flush().unwrap();
        backup.catch_up().unwrap();
    }
    let bases = at.backups().unwrap().bases;
    assert!(bases >= 8, "{bases}");
    let tried = at
        .prune(Retention::new().age(Duration::from_secs(150)), true)
        .unwrap();
    assert_eq!(
        at.backups().unwrap().bases,
        bases,
        "a dry run removes nothing"
    );
    let pruned = at
        .prune(Retention::new().age(Duration::from_secs(150)), false)
        .unwrap();
    assert_eq!(pruned, tried);
    assert!(pruned.objects > 5 && pruned.bases < bases, "{pruned:?}");
    let moments = at.backups().unwrap().moments;
    let young = env.wall_ms() - 150_000;
    assert!(moments[0].from.unwrap() <= UNIX_EPOCH + Duration::from_millis(young));
    // The backup goes on, although what it had counted on is gone.
    db.put(b"later", b"1").unwrap();
    backup.catch_up().unwrap();
    assert!(at.verify().unwrap().damage.is_empty());
    let last = at.prune(Retention::new().bases(1), false).unwrap();
    assert_eq!(last.bases, 1);
    backup.end().unwrap();
    Restore::new(&at).run(Path::new("/restored")).unwrap();
    let restored = open(&env, Path::new("/restored")).unwrap();
    assert_eq!(Contents::of(&restored).unwrap(), Contents::of(&db).unwrap());
}
