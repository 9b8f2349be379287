//! Every bug the regime has found, as the smallest run that shows it.

use cairndb::{Comparator, Db, Durability, ErrorKind, Job, Options, WriteOptions};
use cairndb_env::sim::{Cause, CrashChoice, Effect, Fault, Keep, OpKind, Profile, Short, SimEnv};
use cairndb_testkit::campaign::{Campaign, Effort};
use cairndb_testkit::oracle::PATH;
use cairndb_testkit::setup::Setup;
use cairndb_testkit::workload::{Act, Step};

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn open(env: &Arc<SimEnv>) -> Db {
    let opened = Setup::plain().options(env.clone()).open(PATH);
    opened.expect("the database opens")
}

/// Every state of every crash during `steps` satisfies the oracle.
fn survives(steps: &[Step]) {
    let effort = Effort {
        weak: 200,
        other: 20,
        ..Effort::SHORT
    };
    let campaign = Campaign::default();
    for length in 1..=steps.len() {
        campaign.short(&steps[..length], 7, &effort);
    }
    assert!(campaign.states() > 20);
    assert_eq!(campaign.kept(), Vec::<String>::new());
}

/// The rename of CURRENT reached the disk, the manifest's name did not.
#[test]
fn current_never_names_a_manifest_without_a_durable_name() {
    survives(&[Step::Reopen]);
}

/// A creation cut short left MANIFEST-000001; every later opening wanted to make it again.
#[test]
fn a_creation_cut_short_can_be_done_again() {
    let mut begun = false;
    for at in 1.. {
        let env = SimEnv::new(1);
        env.crash_at(at);
        if Setup::plain().options(env.clone()).open(PATH).is_ok() {
            break;
        }
        let image = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::None));
        begun |= image.files().len() > 1;
        open(&image).put(b"k", b"v").unwrap();
    }
    assert!(begun, "the manifest was");
}

/// The edit that names a value file reached the disk, the file's name did not: every later manifest
/// named a file that was missing.
#[test]
fn a_value_file_whose_name_was_lost_is_forgotten() {
    survives(&[Step::One(4, Act::Put(9000), Durability::Os)]);
}

/// An edit without tables synced the names of logs without a directory sync.
#[test]
fn a_tombstone_alone_keeps_the_order_of_syncs() {
    survives(&[Step::One(0, Act::Delete, Durability::Os), Step::Flush]);
}

/// A crash while a second handle began its manifest left that manifest behind for ever.
#[test]
fn leftovers_are_removed_also_after_a_clean_opening() {
    survives(&[Step::Reopen, Step::One(0, Act::Put(1500), Durability::Os)]);
}

/// The open value file kept the length it had at its first read.
#[test]
fn values_appended_after_the_first_read_are_read() {
    let env = SimEnv::new(1);
    let db = open(&env);
    for key in [b"a", b"b"] {
        db.put(key, &[7; 9000]).unwrap();
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&[7; 9000][..]));
    }
}

/// A page whose first entry is an older version of the last key of the page before counted as a
/// page of single versions: scanning backward, a deleted key came back.
#[test]
fn a_deleted_key_stays_deleted_backward_across_a_page_boundary() {
    for filler in (24..4000).step_by(40) {
        let env = SimEnv::new(1);
        let options: Options = Setup {
            compress: false,
            ..Setup::plain()
        }
        .options(env);
        let db = options.open(PATH).unwrap();
        db.put(b"a", &vec![1; filler]).unwrap();
        db.put(b"b", &[2; 1500]).unwrap();
        db.put(b"c", &[3; 1500]).unwrap();
        db.compact_range(..).unwrap();
        let snapshot = db.snapshot();
        db.delete(b"b").unwrap();
        db.compact_range(..).unwrap();
        let keys = |iter: cairndb::Iter| -> Vec<Vec<u8>> {
            iter.map(|entry| entry.unwrap().0.to_vec()).collect()
        };
        let mut backward: Vec<_> = db.iter().rev().map(|e| e.unwrap().0.to_vec()).collect();
        backward.reverse();
        assert_eq!(keys(db.iter()), [b"a", b"c"], "filler {filler}");
        assert_eq!(backward, [b"a", b"c"], "filler {filler}");
        assert_eq!(keys(snapshot.iter()).len(), 3);
    }
}

fn sync() -> WriteOptions {
    WriteOptions::new().durability(Durability::Sync)
}

/// The database after a power loss that keeps only what is durable.
fn after_power_loss(env: &SimEnv) -> Db {
    open(&env.crash_image(Profile::Strict, &CrashChoice::new(Keep::None)))
}

/// After a failed sync of a value file the system shows values that it will never write. Recovery
/// synced that file again, believed it, and a power loss took what the opening had shown.
#[test]
fn values_shown_after_a_failed_sync_are_written_anew() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put(b"a", &[1; 9000]).unwrap();
    env.inject(Fault::on(OpKind::SyncFile, ".val", Effect::SyncKeepsCache));
    let error = db.put_with(b"b", &[2; 9000], &sync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    db.close().unwrap_err();
    let db = open(&env);
    let shown = db.get(b"a").unwrap();
    assert!(
        shown.is_some(),
        "handed to the system, and no power was lost"
    );
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"a").unwrap().as_deref(), shown.as_deref());
}

/// The next handle recycled a log whose sync had failed, and lost synced writes in it.
#[test]
fn a_log_whose_sync_failed_is_not_recycled() {
    let env = SimEnv::new(1);
    let db = open(&env);
    let fault = Fault::on(OpKind::SyncFile, ".log", Effect::SyncKeepsCache);
    env.inject(fault);
    db.put_with(b"a", b"1", &sync()).unwrap_err();
    db.close().unwrap_err();
    let db = open(&env);
    db.put_with(b"b", b"2", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// A full disk while CURRENT was prepared poisoned the handle.
#[test]
fn a_full_disk_while_a_manifest_is_begun_heals_without_reopening() {
    for fault in [
        Fault::on(OpKind::Append, ".tmp", Effect::Fails(Cause::Full)),
        Fault::on(OpKind::Create, ".tmp", Effect::Fails(Cause::Full)),
        Fault::on(OpKind::Rename, ".tmp", Effect::Fails(Cause::Quota)),
        Fault::on(OpKind::Append, "MANIFEST", Effect::Fails(Cause::Full)),
    ] {
        let env = SimEnv::new(1);
        open(&env).close().unwrap();
        let db = open(&env);
        env.inject(fault);
        // Tried again where there was something to unlink, with one fault that has passed then.
        let refused = db.put(b"a", b"1").err();
        let kind = refused.map(|error| error.kind());
        assert!(kind.is_none_or(|kind| kind == ErrorKind::NoSpace));
        db.put_with(b"b", b"2", &sync()).unwrap();
        let db = after_power_loss(&env);
        let applied = db.get(b"a").unwrap().is_some();
        assert_eq!(
            applied,
            kind.is_none(),
            "certainly not applied, or certainly"
        );
        assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    }
}

/// A `Sync` write behind a failed append to the manifest poisoned the handle, although the edits it
/// needed stood before that append.
#[test]
fn a_sync_write_after_a_failed_manifest_append_succeeds() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put(b"a", b"1").unwrap();
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::Append, "MANIFEST", full));
    let error = db.put(b"b", &[2; 9000]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    db.put_with(b"c", b"3", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get(b"b").unwrap(), None, "certainly not applied");
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
}

/// Durably, and without a look at value files.
fn merge_to_one_run(db: &Db) {
    db.flush().expect("a disk without faults");
    for job in [Job::IdleCompact, Job::Persist] {
        while db.step_background(job).expect("as above") {}
    }
}

/// The log still held a pointer into a value file that was dropped once tables held nothing of it:
/// recovery took that record, long in tables, for damage and refused to open.
#[test]
fn a_log_outlives_the_value_file_its_flushed_records_point_to() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put(b"a", &[1; 9000]).unwrap();
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::Append, ".val", full));
    db.put(b"b", &[2; 9000]).unwrap_err();
    db.put(b"a", b"small").unwrap();
    merge_to_one_run(&db);
    assert!(db.step_background(Job::DropValues).unwrap());
    db.put_with(b"c", b"3", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"small"[..]));
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
}

/// The same where the flush was installed and not yet made durable: the kill lost every write behind
/// the record, and a sync behind it made the next opening refuse.
#[test]
fn a_value_file_outlives_the_log_records_of_a_flush_that_is_not_durable() {
    for synced in [false, true] {
        let env = SimEnv::new(1);
        let db = open(&env);
        db.put(b"a", &[1; 9000]).unwrap();
        let full = Effect::Fails(Cause::Full);
        env.inject(Fault::on(OpKind::Append, ".val", full));
        db.put(b"b", &[2; 9000]).unwrap_err();
        db.put(b"a", b"small").unwrap();
        for number in 0_u32.. {
            if db.step_background(Job::Flush).unwrap() {
                break;
            }
            db.put(&number.to_le_bytes(), &[7; 300]).unwrap();
        }
        db.step_background(Job::DropValues).unwrap();
        let durability = if synced {
            Durability::Sync
        } else {
            Durability::Os
        };
        let options = WriteOptions::new().durability(durability);
        db.put_with(b"c", b"3", &options).unwrap();
        let db = open(&env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All)));
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"small"[..]));
        assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
    }
}

/// A refused write may be found whole by the next opening, never in part, and never once a later
/// write was acknowledged: that one has its sequence number, and was lost where the refused one had
/// reached the log whole all the same.
#[test]
fn a_refused_write_is_there_as_a_whole_or_not_at_all() {
    let mut found = [0, 0];
    for short in [Short::OneByte, Short::Half, Short::AllButOne] {
        for len in 1..60 {
            let env = SimEnv::new(1);
            let db = open(&env);
            db.put(b"a", b"1").unwrap();
            let effect = Effect::WritesPart(short, Cause::Full);
            env.inject(Fault::on(OpKind::WriteLog, ".log", effect));
            let refused = vec![0; len];
            let error = db.put(b"b", &refused).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoSpace);
            assert_eq!(db.get(b"b").unwrap(), None);
            let killed = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
            let next = open(&killed);
            assert_eq!(next.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
            let value = next.get(b"b").unwrap();
            assert!(value.as_deref().is_none_or(|value| value == refused));
            found[usize::from(value.is_some())] += 1;
            db.put(b"c", b"3").unwrap();
            let killed = env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All));
            let next = open(&killed);
            let value = next.get(b"c").unwrap();
            assert_eq!(value.as_deref(), Some(&b"3"[..]), "{short:?} {len}");
            assert_eq!(next.get(b"b").unwrap(), None, "{short:?} {len}");
        }
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}: both happen");
}

/// Bytewise until it turns round.
#[derive(Debug, Default)]
struct Fickle {
    turned: AtomicBool,
}

impl Comparator for Fickle {
    fn name(&self) -> &'static str {
        "testkit.fickle"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.turned.load(std::sync::atomic::Ordering::Relaxed) {
            b.cmp(a)
        } else {
            a.cmp(b)
        }
    }
}

/// A handle poisoned by its own tables being out of order spoke of a sync that had failed.
#[test]
fn a_handle_poisoned_without_a_failed_sync_says_so() {
    let order = Arc::new(Fickle::default());
    let options = Setup::plain().options(SimEnv::new(1));
    let db = options.comparator(order.clone()).open(PATH).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    order
        .turned
        .store(true, std::sync::atomic::Ordering::Relaxed);
    db.put(b"c", b"1").unwrap();
    let error = db.flush().unwrap_err();
    let later = db.put(b"d", b"1").unwrap_err();
    for error in [error, later] {
        assert_eq!(error.kind(), ErrorKind::Poisoned);
        let text = error.to_string();
        assert!(
            !text.contains("sync") && text.contains("corruption"),
            "{text}"
        );
    }
}

/// Value files were dropped only while no memtable held anything at all: under steady writes, never.
#[test]
fn a_dead_value_file_goes_while_pointers_to_newer_ones_wait_in_memory() {
    let env = SimEnv::new(1);
    let db = open(&env);
    let next_file = || {
        let full = Effect::Fails(Cause::Full);
        env.inject(Fault::on(OpKind::Append, ".val", full));
        db.put(b"unlucky", &[0; 9000]).unwrap_err();
    };
    db.put(b"a", &[1; 9000]).unwrap();
    next_file();
    db.put(b"b", &[2; 9000]).unwrap();
    assert!(!db.step_background(Job::DropValues).unwrap(), "a is in it");
    db.put(b"a", b"small").unwrap();
    merge_to_one_run(&db);
    next_file();
    db.put(b"c", &[3; 9000]).unwrap();
    db.put(b"b", b"small").unwrap();
    assert!(db.step_background(Job::DropValues).unwrap(), "a's is dead");
    assert!(!db.step_background(Job::DropValues).unwrap());
    // The pointer to b's value lies in a table still; c's waits in the memtable.
    db.put_with(b"last", b"", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&[3; 9000][..]));
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"small"[..]));
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"small"[..]));
}

/// A persist that failed at its manifest append took the mark "names not yet durable" with it: a
/// `Sync` write behind it was acknowledged with the name of its value file still to be lost.
#[test]
fn a_sync_write_of_a_large_value_after_a_failed_persist_survives() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put_with(b"a", b"1", &sync()).unwrap();
    // A value file is begun; its edit is appended, not synced.
    db.put(b"b", &[2; 9000]).unwrap();
    let full = Effect::Fails(Cause::Full);
    env.inject(Fault::on(OpKind::Append, "MANIFEST", full));
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    db.put_with(b"c", &[3; 9000], &sync()).unwrap();
    db.put_with(b"d", b"4", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&[3; 9000][..]));
    assert_eq!(db.get(b"d").unwrap().as_deref(), Some(&b"4"[..]));
}

/// A manifest whose one snapshot is longer than 4 MiB was begun anew at every step.
#[test]
fn a_manifest_of_long_keys_is_not_begun_anew_at_every_step() {
    let env = SimEnv::new(1);
    let setup = Setup {
        budget: 4 << 20,
        ..Setup::plain()
    };
    let db = setup.options(env.clone()).open(PATH).unwrap();
    for number in 0..6 {
        db.put(&vec![number; 1 << 20], b"v").unwrap();
        db.flush().unwrap();
    }
    let manifests = || {
        let begun = env.ops().into_iter();
        begun
            .filter(|op| op.kind == OpKind::Create && op.name.starts_with("MANIFEST"))
            .count()
    };
    let before = manifests();
    for number in 0..10 {
        db.put(&[number], b"v").unwrap();
        db.flush().unwrap();
    }
    let begun = manifests() - before;
    assert!(begun < 4, "{begun} manifests for ten small flushes");
}

/// A close with more runs than readers should meet began with a merge to make room, and failed with
/// it: what had been written without the log was gone, though its flush would have been done.
#[test]
fn a_close_flushes_without_merging_first() {
    let env = SimEnv::new(1);
    let options = |env: &Arc<SimEnv>| {
        let setup = Setup {
            mapped: Some(false),
            ..Setup::plain()
        };
        setup.options(env.clone())
    };
    let db = options(&env).open(PATH).unwrap();
    for number in 0..24u8 {
        db.put(b"pebble", &[number]).unwrap();
        db.flush().unwrap();
    }
    assert!(db.get(b"slate").unwrap().is_none(), "somebody reads");
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.put_with(b"stone", b"grey", &unlogged).unwrap();
    let unreadable = Fault::on(OpKind::OpenRead, ".tbl", Effect::Fails(Cause::Io));
    env.inject(unreadable.sticky());
    let closed = db.close();
    env.heal();
    drop(db);
    let db = options(&env).open(PATH).unwrap();
    assert_eq!(
        db.get(b"stone").unwrap().as_deref(),
        Some(&b"grey"[..]),
        "{closed:?}"
    );
    closed.unwrap();
}
