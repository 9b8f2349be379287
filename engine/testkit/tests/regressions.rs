//! Every bug that the crash tests have found, as the smallest run that reproduces it.

use cairndb::{Comparator, Compression, Db, Durability, ErrorKind, Job, WriteOptions};
use cairndb_sim::{Cause, CrashChoice, Effect, Fault, Keep, OpKind, Profile, Short, SimEnv};
use cairndb_testkit::campaign::{Campaign, Effort};
use cairndb_testkit::oracle::{self, PATH};
use cairndb_testkit::setup::Setup;
use cairndb_testkit::workload::{Act, Step};

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

fn open(env: &Arc<SimEnv>) -> Db {
    let opened = Setup::plain().options(env.clone()).open(PATH);
    opened.expect("the database must open")
}

/// Checks that every state of every crash during `steps` satisfies the oracle.
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

/// Regression: the rename of `CURRENT` reached the disk, but the manifest's name did not.
#[test]
fn current_never_names_a_manifest_without_a_durable_name() {
    survives(&[Step::Reopen]);
}

/// Regression: an interrupted creation left `MANIFEST-000001`, and every later open failed to
/// create it.
#[test]
fn an_interrupted_creation_can_be_repeated() {
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
    assert!(begun, "some crash must leave a partly created database");
}

/// Regression: the edit that names a value file reached the disk, but the file's name did not.
/// Every later manifest named a missing file.
#[test]
fn a_value_file_whose_name_was_lost_is_forgotten() {
    survives(&[Step::One(4, Act::Put(9000), Durability::Os)]);
}

/// Regression: an edit without tables synced the names of logs without a directory sync.
#[test]
fn a_tombstone_alone_keeps_the_order_of_syncs() {
    survives(&[Step::One(0, Act::Delete, Durability::Os), Step::Flush]);
}

/// Regression: a crash while a second handle started its manifest left that manifest forever.
#[test]
fn leftovers_are_also_removed_after_a_clean_opening() {
    survives(&[Step::Reopen, Step::One(0, Act::Put(1500), Durability::Os)]);
}

/// Regression: a page whose first entry is an older version of the last key of the previous page
/// was treated as a page of single versions. In a backward scan a deleted key reappeared.
#[test]
fn a_deleted_key_stays_deleted_backward_across_a_page_boundary() {
    for filler in (24..4000).step_by(40) {
        let env = SimEnv::new(1);
        let options = Setup::plain().options(env).compression(Compression::None);
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

/// Returns the database after a power loss that keeps only what is durable.
fn after_power_loss(env: &SimEnv) -> Db {
    open(&env.crash_image(Profile::Strict, &CrashChoice::new(Keep::None)))
}

/// Regression: after a failed sync of a value file, the system returns values that it will never
/// write. Recovery synced that file again and trusted it, and a power loss removed values that the
/// open had returned.
#[test]
fn values_shown_after_a_failed_sync_are_rewritten() {
    let env = SimEnv::new(1);
    let db = open(&env);
    db.put(b"a", &[1; 9000]).unwrap();
    env.inject(Fault::on(OpKind::SyncFile, ".val", Effect::SyncKeepsCache));
    let error = db.put_with(b"b", &[2; 9000], &sync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    db.close().unwrap_err();
    let db = open(&env);
    // The value was handed to the system, and no power loss occurred.
    let shown = db.get(b"a").unwrap();
    assert!(shown.is_some());
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"a").unwrap().as_deref(), shown.as_deref());
}

/// Regression: the next handle recycled a log whose sync had failed, and lost synced writes in it.
#[test]
fn a_log_whose_sync_failed_is_not_recycled() {
    let env = SimEnv::new(1);
    let db = open(&env);
    env.inject(Fault::on(OpKind::SyncFile, ".log", Effect::SyncKeepsCache));
    db.put_with(b"a", b"1", &sync()).unwrap_err();
    db.close().unwrap_err();
    let db = open(&env);
    db.put_with(b"b", b"2", &sync()).unwrap();
    let db = after_power_loss(&env);
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// Regression: a full disk poisoned the handle while `CURRENT` was prepared.
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
        // After a fault that occurs once, the write is retried if there was something to unlink.
        let refused = db.put(b"a", b"1").err();
        let kind = refused.map(|error| error.kind());
        assert!(kind.is_none_or(|kind| kind == ErrorKind::NoSpace));
        db.put_with(b"b", b"2", &sync()).unwrap();
        let db = after_power_loss(&env);
        // The write is applied if and only if it was acknowledged.
        assert_eq!(db.get(b"a").unwrap().is_some(), kind.is_none());
        assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    }
}

/// Regression: the same happened if the flush was installed but not yet durable. A kill lost every
/// write after the record, and after a sync the next open failed.
#[test]
fn a_value_file_outlives_the_log_records_of_a_flush_that_is_not_durable() {
    for durability in [Durability::Os, Durability::Sync] {
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
        let options = WriteOptions::new().durability(durability);
        db.put_with(b"c", b"3", &options).unwrap();
        let db = open(&env.crash_image(Profile::Kill, &CrashChoice::new(Keep::All)));
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"small"[..]));
        assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"3"[..]));
    }
}

/// The next open may find a rejected write completely, but never in part, and never after a later
/// write was acknowledged. Regression: the later write has the same sequence number, and it was
/// lost if the rejected write had reached the log completely.
#[test]
fn a_refused_write_is_found_whole_or_not_at_all() {
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
    assert!(!found.contains(&0), "{found:?}: both cases must occur");
}

/// An order that is bytewise until it is reversed.
#[derive(Debug, Default)]
struct Fickle(AtomicBool);

impl Comparator for Fickle {
    fn name(&self) -> &'static str {
        "testkit.fickle"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let turned = self.0.load(Memory::Relaxed);
        if turned { b.cmp(a) } else { a.cmp(b) }
    }
}

/// Regression: a handle that was poisoned because its own tables were out of order reported a
/// failed sync.
#[test]
fn a_handle_poisoned_without_a_failed_sync_reports_the_cause() {
    let order = Arc::new(Fickle::default());
    let options = Setup::plain().options(SimEnv::new(1));
    let db = options.comparator(order.clone()).open(PATH).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    order.0.store(true, Memory::Relaxed);
    db.put(b"c", b"1").unwrap();
    let error = db.flush().unwrap_err();
    let later = db.put(b"d", b"1").unwrap_err();
    for error in [error, later] {
        assert_eq!(error.kind(), ErrorKind::Poisoned);
        let text = error.to_string();
        let is_cause = !text.contains("sync") && text.contains("corruption");
        assert!(is_cause, "{text}");
    }
}

/// Regression: a manifest whose single snapshot is longer than 4 MiB was rewritten at every step.
#[test]
fn a_manifest_of_long_keys_is_not_begun_anew_at_every_step() {
    let env = SimEnv::new(1);
    let options = Setup::plain().options(env.clone());
    let db = options.memory_budget(4 << 20).open(PATH).unwrap();
    for number in 0..6 {
        db.put(&vec![number; 1 << 20], b"v").unwrap();
        db.flush().unwrap();
    }
    let manifests = || {
        let begun = env.ops().into_iter().filter(|op| op.kind == OpKind::Create);
        begun.filter(|op| op.name.starts_with("MANIFEST")).count()
    };
    let before = manifests();
    for number in 0..10 {
        db.put(&[number], b"v").unwrap();
        db.flush().unwrap();
    }
    let begun = manifests() - before;
    assert!(begun < 4, "{begun} manifests for ten small flushes");
}

/// Regression: after a manifest whose `CURRENT` could not be written, an attempt that could not
/// even create its manifest removed the first, which marks its number as used. The next open used
/// the number again.
#[test]
fn the_number_of_a_failed_manifest_stays_taken() {
    for skip in 0..12 {
        let env = SimEnv::new(1);
        open(&env).close().unwrap();
        let fails = Effect::Fails(Cause::Quota);
        env.inject(Fault::on(OpKind::Create, "", fails).after(skip).sticky());
        if let Ok(db) = Setup::plain().options(env.clone()).open(PATH) {
            for _ in 0..4 {
                let _ = db.put(b"key", &[7; 1000]);
                let _ = db.flush();
            }
            let _ = db.close();
        }
        env.heal();
        let db = open(&env);
        for _ in 0..4 {
            db.put(b"key", &[7; 1000]).unwrap();
            db.flush().unwrap();
        }
        db.close().unwrap();
        oracle::check_protocol(&env).unwrap_or_else(|error| panic!("skip {skip}: {error}"));
    }
}
