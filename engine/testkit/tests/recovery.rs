//! Recovery interrupted by a read error, a write error or a full disk, each as a minimal run.

use std::path::Path;
use std::sync::Arc;

use cairndb::{Db, Durability, ErrorKind, Job, WriteOptions};
use cairndb_sim::{Cause, CrashChoice, Effect, Fault, Keep, Op, OpKind, Profile, Short, SimEnv};
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setup::Setup;

/// Value length, long enough for a value file.
const LARGE: usize = 9000;

fn try_open(env: &Arc<SimEnv>) -> cairndb::Result<Db> {
    Setup::plain().options(env.clone()).open(PATH)
}

fn open(env: &Arc<SimEnv>) -> Db {
    try_open(env).expect("the database must open")
}

/// Returns the machine after `SIGKILL`, with everything that was handed to the system.
fn killed(env: &SimEnv) -> Arc<SimEnv> {
    env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All))
}

/// Returns the database after a power loss that keeps only what is durable.
fn after_power_loss(env: &SimEnv) -> Db {
    open(&env.crash_image(Profile::Strict, &CrashChoice::new(Keep::None)))
}

/// Returns a killed database with two small values and `count` large ones, all of them only in the
/// log.
fn killed_with_large_values(count: u8) -> Arc<SimEnv> {
    let env = SimEnv::new(1);
    let db = open(&env);
    let put = |key: &[u8], value: &[u8]| db.put(key, value).expect("there must be room");
    put(b"small", b"1");
    for number in 0..count {
        put(&[number], &[number; LARGE]);
    }
    put(b"last", b"2");
    killed(&env)
}

fn assert_whole(db: &Db, count: u8) {
    let get = |key: &[u8]| db.get(key).expect("every value must be readable");
    assert_eq!(get(b"small").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(b"last").as_deref(), Some(&b"2"[..]));
    for number in 0..count {
        assert_eq!(get(&[number]).as_deref(), Some(&[number; LARGE][..]));
    }
}

fn assert_syncs_in_order(env: &SimEnv, what: &str) {
    let broken = env.violations();
    assert!(broken.is_empty(), "{what}: {broken:?}");
}

fn is_kind(name: &str, extension: &str) -> bool {
    Path::new(name).extension() == Some(extension.as_ref())
}

/// Returns the tables and value files with their lengths.
fn data_files(env: &SimEnv) -> Vec<(String, u64)> {
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let files = env.files();
    let named = files.iter().filter_map(|(path, _)| {
        let bytes = env.read_file(path)?.len() as u64;
        Some((name(path)?, bytes))
    });
    let is_data = |(name, _): &(String, u64)| is_kind(name, "val") || is_kind(name, "tbl");
    let mut data: Vec<_> = named.filter(is_data).collect();
    data.sort();
    data
}

fn bytes_of(files: &[(String, u64)]) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

/// Regression: a value file that temporarily could not be opened or read was treated as the end of
/// the log. All later records were cut off, and recovery made the cut permanent.
#[test]
fn a_passing_read_error_at_opening_loses_nothing() {
    for (kind, cause) in [
        (OpKind::OpenRead, Cause::Descriptors),
        (OpKind::OpenRead, Cause::Permission),
        (OpKind::ReadAt, Cause::Io),
    ] {
        let env = killed_with_large_values(2);
        let before = env.image_hash();
        env.inject(Fault::on(kind, ".val", Effect::Fails(cause)).sticky());
        let error = try_open(&env).unwrap_err();
        let named = (error.kind(), error.file_name());
        assert_eq!(
            named,
            (ErrorKind::Io, Some("000003.val")),
            "{cause:?}: {error}"
        );
        assert_eq!(env.image_hash(), before, "{cause:?} changed something");
        env.heal();
        assert_whole(&open(&env), 2);
    }
}

/// Regression: any failure during replay was reported as a failure of the log, at the record being
/// replayed.
#[test]
fn an_error_during_replay_names_the_file_that_failed() {
    for (kind, part, cause) in [
        (OpKind::Append, ".tbl", Cause::Io),
        (OpKind::Create, ".tbl", Cause::Full),
        (OpKind::Append, ".val", Cause::Io),
        (OpKind::Create, ".val", Cause::Descriptors),
    ] {
        let env = SimEnv::new(1);
        let db = open(&env);
        // More than a memtable, so that tables are started in the middle of the log.
        for number in 0..60_u8 {
            db.put(&[number], &[number; 2000]).unwrap();
        }
        db.put(b"large", &[1; LARGE]).unwrap();
        let env = killed(&env);
        env.inject(Fault::on(kind, part, Effect::Fails(cause)).sticky());
        let error = try_open(&env).unwrap_err();
        let named = error.file_name().unwrap_or_default();
        assert!(named.ends_with(part), "{kind:?} {cause:?}: {error}");
    }
}

/// Regression: each open that failed or was killed left its copies of large values until an open
/// succeeded. On a disk without room for two copies, no open ever succeeded.
#[test]
fn an_opening_that_fails_leaves_no_copies() {
    for fault in [
        Fault::on(OpKind::Append, ".tbl", Effect::Fails(Cause::Io)),
        Fault::on(OpKind::SyncFile, ".tbl", Effect::Fails(Cause::Io)),
        Fault::on(OpKind::SyncFile, ".val", Effect::Fails(Cause::Io)),
        Fault::on(OpKind::Append, ".val", Effect::Fails(Cause::Io)).after(2),
    ] {
        let env = killed_with_large_values(4);
        let before = data_files(&env);
        env.inject(fault.clone().sticky());
        for _ in 0..3 {
            try_open(&env).unwrap_err();
            assert_eq!(data_files(&env), before, "{fault:?}");
        }
        env.heal();
        assert_whole(&open(&env), 4);
        assert_whole(&after_power_loss(&env), 4);
        assert_syncs_in_order(&env, &format!("{fault:?}"));
    }
}

#[test]
fn openings_killed_again_and_again_do_not_accumulate_copies() {
    let mut env = killed_with_large_values(8);
    // Twice the values and one table.
    let once = 2 * bytes_of(&data_files(&env)) + (16 << 10);
    for attempt in 0..6 {
        let whole = killed(&env);
        let from = whole.op_count();
        open(&whole);
        let rename = manifests(&whole, from).next();
        let rename = rename.expect("an open renames its CURRENT").index - from;
        let image = killed(&env);
        image.crash_at(image.op_count() + rename);
        try_open(&image).unwrap_err();
        env = killed(&image);
        let files = data_files(&env);
        assert!(bytes_of(&files) <= once, "attempt {attempt}: {files:?}");
    }
    assert_whole(&open(&env), 8);
}

/// Returns the operations since `from` that put a manifest in use.
fn manifests(env: &SimEnv, from: u64) -> impl Iterator<Item = Op> {
    let later = env
        .ops()
        .into_iter()
        .skip(usize::try_from(from).expect("few operations"));
    later.filter(|op| op.kind == OpKind::Rename && op.to == "CURRENT")
}

/// Regression: at every open, recovery filled the disk with its own copies, kept them, and found no
/// room for tables.
#[test]
fn a_disk_without_room_for_copies_opens_with_the_values_in_place() {
    let half = Effect::WritesPart(Short::Half, Cause::Full);
    for fault in [
        Fault::on(OpKind::Append, ".val", Effect::Fails(Cause::Full)).after(2),
        Fault::on(OpKind::Append, ".val", half),
        Fault::on(OpKind::Append, ".tbl", Effect::Fails(Cause::Full)),
        Fault::on(OpKind::SyncFile, ".val", Effect::Fails(Cause::Full)),
        Fault::on(OpKind::Append, "MANIFEST", Effect::Fails(Cause::Full)),
    ] {
        let env = killed_with_large_values(4);
        let values = || {
            let mut files = data_files(&env);
            files.retain(|(name, _)| is_kind(name, "val"));
            files
        };
        let before = values();
        env.inject(fault.clone());
        env.inject(fault.clone());
        let db = open(&env);
        assert_eq!(values(), before, "{fault:?}");
        assert_whole(&db, 4);
        drop(db);
        assert_whole(&after_power_loss(&env), 4);
        assert_syncs_in_order(&env, &format!("{fault:?}"));
    }
}

/// Regression: replay held the whole log in memory, regardless of the budget.
#[test]
fn the_log_is_read_one_segment_at_a_time() {
    let env = SimEnv::new(1);
    let options = Setup::plain().options(env.clone());
    let db = options.memory_budget(16 << 20).open(PATH).unwrap();
    for number in 0..5000_u32 {
        db.put(&number.to_le_bytes(), &[7; 1000]).unwrap();
    }
    let env = killed(&env);
    let db = open(&env);
    assert_eq!(db.iter().count(), 5000);
    let ops = env.ops();
    let is = |op: &Op, kind, ending: &str| op.kind == kind && is_kind(&op.name, ending);
    let first_table = ops.iter().position(|op| is(op, OpKind::Create, "tbl"));
    let last_read = ops.iter().rposition(|op| is(op, OpKind::ReadAt, "log"));
    let first_table = first_table.expect("replay writes tables");
    assert!(last_read.is_some_and(|read| read > first_table));
}

/// After a failed close, the contents after the next open are durable.
#[test]
fn data_shown_after_a_failed_close_is_durable() {
    let env = SimEnv::new(1);
    let db = open(&env);
    let sync = WriteOptions::new().durability(Durability::Sync);
    db.put_with(b"a", b"1", &sync).unwrap();
    db.put(b"b", b"2").unwrap();
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::Append, "MANIFEST", full));
    assert_eq!(db.close().unwrap_err().kind(), ErrorKind::NoSpace);
    let db = open(&env);
    let shown = [db.get(b"a").unwrap(), db.get(b"b").unwrap()];
    assert_eq!(shown[0].as_deref(), Some(&b"1"[..]));
    let db = after_power_loss(&env);
    assert_eq!([db.get(b"a").unwrap(), db.get(b"b").unwrap()], shown);
}

/// Regression: after an ordinary kill the report mentioned a checksum mismatch, although there were
/// only old contents of a recycled log.
#[test]
fn a_kill_in_a_recycled_log_is_not_reported_as_damage() {
    let env = SimEnv::new(1);
    let db = open(&env);
    for round in 0..8_u8 {
        for number in 0..80_u8 {
            db.put(&[number], &[round; 1500]).unwrap();
        }
        db.flush().unwrap();
        while db.step_background(Job::Persist).unwrap() {}
    }
    db.put(b"newest", b"1").unwrap();
    let db = open(&killed(&env));
    assert_eq!(db.get(b"newest").unwrap().as_deref(), Some(&b"1"[..]));
    let cut = db.open_report().log_cut.as_ref();
    let reason = &cut.expect("the recycled log must have old contents").reason;
    let is_harmless = reason.starts_with("nothing shows that a record was lost");
    assert!(is_harmless, "{reason}");
}

/// Opens with segments of 256 KiB.
fn try_open_larger(env: &Arc<SimEnv>) -> cairndb::Result<Db> {
    let options = Setup::plain().options(env.clone());
    options.memory_budget(1 << 20).open(PATH)
}

/// Number of keys in a long log. Each is put once or twice.
const LONG_KEYS: u32 = 500;
const LONG_PUTS: u32 = 700;

/// Returns the machine after a kill that leaves about ten log segments.
fn killed_with_a_long_log() -> Arc<SimEnv> {
    let env = SimEnv::new(11);
    let db = try_open_larger(&env).expect("the database must open");
    for number in 0..LONG_PUTS {
        let (key, value) = ((number % LONG_KEYS).to_le_bytes(), long_value(number));
        db.put(&key, &value).expect("there must be room");
    }
    db.sync().expect("nothing must fail");
    killed(&env)
}

/// Returns a value that fills a page.
fn long_value(number: u32) -> Vec<u8> {
    let words = (0..).map(|at: u32| at.wrapping_mul(number | 1).rotate_left(9).to_le_bytes());
    words.flatten().take(3900).collect()
}

fn assert_long(db: &Db) {
    for number in 0..LONG_KEYS {
        let again = number + LONG_KEYS;
        let newest = if again < LONG_PUTS { again } else { number };
        let found = db.get(&number.to_le_bytes());
        let found = found.expect("the value must be readable");
        let is_newest = found.as_deref() == Some(&long_value(newest)[..]);
        assert!(is_newest, "{number}");
    }
    let keys = db.iter().try_count().expect("every entry must be readable");
    assert_eq!(keys, u64::from(LONG_KEYS));
}

/// Leaves just enough room for one segment besides the files that must be kept.
fn with_little_room(env: &SimEnv, kept: u64) {
    env.set_capacity(kept + 700_000);
}

fn bytes_but_tables(env: &SimEnv) -> u64 {
    let files = env.files().into_iter();
    let kept = files.filter(|(name, _)| name.extension() != Some("tbl".as_ref()));
    kept.map(|(_, bytes)| bytes).sum()
}

/// Regression: there was no room for both the log and its tables, so reopening for writing failed.
#[test]
fn a_full_disk_is_replayed_a_segment_at_a_time() {
    let base = killed_with_a_long_log();
    let kept = bytes_but_tables(&base);
    let env = killed(&base);
    with_little_room(&env, kept);
    let from = env.op_count();
    let db = try_open_larger(&env).expect("the database must open");
    assert_long(&db);
    let count = manifests(&env, from).count();
    assert!(count > 5, "one manifest for each segment");
    drop(db);
    let whole = env.op_count() - from;
    assert_syncs_in_order(&env, "whole");
    // If the power fails at any point, the next open finds everything, on an equally full disk.
    let mut tried = 0;
    for at in 0..whole {
        let cut_short = killed(&base);
        with_little_room(&cut_short, kept);
        cut_short.crash_at(cut_short.op_count() + at);
        let _failed = try_open_larger(&cut_short);
        let (profile, keep) = match at % 3 {
            0 => (Profile::Kill, Keep::All),
            1 => (Profile::Strict, Keep::None),
            _ => (Profile::Weak, Keep::Random(at)),
        };
        let image = cut_short.crash_image(profile, &CrashChoice::new(keep));
        if profile != Profile::Weak {
            // Under the weak profile, unlinked files that reappear also take room.
            with_little_room(&image, kept);
        }
        let opened = try_open_larger(&image);
        let db = opened.unwrap_or_else(|error| panic!("{at} {profile:?}: {error}"));
        assert_long(&db);
        tried += 1;
        drop(db);
        assert_syncs_in_order(&image, "cut short");
    }
    assert!(tried > 100, "{tried}");
}
