//! Tests of each owner, built only with the owners below it: no `Core`, no threads.

use std::path::Path;

use cairndb_base::{Kind, PageCache, SEQ_MAX};
use cairndb_env::{Background as Mode, Env, MemEnv};
use cairndb_format::manifest::VersionEdit;
use cairndb_mem::ClockCache;

use std::sync::atomic::Ordering;

use super::*;
use crate::compaction::compactor::Compactor;
use crate::engine::configure::{contexts, opener, settings};
use crate::engine::first_state::{Opened, foundation};
use crate::log::payload::Payload;
use crate::read::get;
use crate::recovery::recovered::Recovered;
use crate::state::budget::Budget;
use crate::state::files::reaper::Reaper;
use crate::state::keyspaces::Keyspaces;
use crate::state::options::{Durability as Level, Options};
use crate::state::ranges::RangeMap;
use crate::state::sections::Sections;
use crate::state::stats::StallReason;
use crate::write::seal::Sealer;

const PATH: &str = "/db";

/// Returns the first owners over an empty directory.
fn empty() -> (Arc<Base>, Arc<Disk>, Arc<MemEnv>) {
    let env = MemEnv::new(Mode::Stepped);
    let options = Options::new().create_if_missing(true);
    let options = options.memory_budget(1 << 20);
    let dir = env.open_dir(Path::new(PATH), true).expect("it can be made");
    let lock = dir.lock("LOCK").expect("the lock is free");
    let budget = Budget::new(options.memory_budget);
    let cache: Arc<dyn PageCache> = Arc::new(ClockCache::new(budget.cache));
    let reaper = Arc::new(Reaper::default());
    let keyspaces = Arc::new(Keyspaces::new(&options));
    let contexts = contexts(&options, Path::new(PATH), &keyspaces);
    let orders = Sections::from_fn(|section| contexts[section].order.clone());
    let shared = Arc::clone(&env) as Arc<dyn Env>;
    let tables = opener(&options, &shared, &dir, &cache, &reaper, orders);
    let opened = Opened {
        env: shared,
        dir,
        lock: Some(lock),
        contexts,
        keyspaces,
        settings: settings(&options, budget, &tables),
        opener: tables,
        recovered: Recovered::created(1),
    };
    let (base, disk) = foundation(opened);
    (base, disk, env)
}

/// Applies one entry to the mutable memtable without logging it, and publishes it.
fn apply(base: &Base, disk: &Disk, key: &[u8], value: &[u8]) {
    let mut commit = disk.log.lock();
    let payload = Payload::One {
        kind: Kind::Put,
        key: StoredKey::plain(key),
        value,
    };
    assert!(commit.skip_log(payload.count()));
    let last = commit.apply(&payload, None);
    base.versions.publish(last);
}

fn read(base: &Base, key: &[u8]) -> Option<Vec<u8>> {
    let (view, seq) = base.versions.read_point(Section::Default);
    let mut out = Vec::new();
    let found = get::get(
        &view,
        &base.context,
        key,
        (seq, &RangeMap::default()),
        &mut out,
    )
    .expect("readable");
    found.is_there().then_some(out)
}

fn sealer(base: &Arc<Base>, tables: &Arc<Tables>) -> Sealer {
    Sealer::new(base, tables, ChunkPool::new(1 << 20))
}

/// Applies an entry and flushes it.
fn flush_one(base: &Arc<Base>, disk: &Disk, tables: &Arc<Tables>, key: &[u8], value: &[u8]) {
    apply(base, disk, key, value);
    let sealed = sealer(base, tables).seal(&mut disk.log.lock());
    assert_eq!(sealed, None, "there is room");
    assert!(tables.flusher.flush_once().expect("the disk has room"));
}

#[test]
fn a_version_set_publishes_and_poisons() {
    let (base, disk, _env) = empty();
    assert_eq!(base.versions.published(), 0);
    let snapshot = base.acquire_snapshot();
    apply(&base, &disk, b"k", b"v");
    assert_eq!(base.versions.published(), 1);
    assert_eq!(base.readable_at(), [snapshot, 1]);
    base.versions.publish_up_to(0);
    assert_eq!(base.versions.published(), 1, "it never decreases");
    let number = base.versions.newest_view();
    base.versions.publish_view(&base.versions.lock());
    assert_eq!(base.versions.newest_view(), number + 1);
    let _ = base.poison(Error::invalid("a test"));
    assert!(base.health.check_write().is_err());
}

#[test]
fn manifests_begin_with_the_first_edit_and_claim_names_once() {
    let (base, disk, env) = empty();
    let manifests = &disk.log.manifests;
    assert!(!manifests.is_open());
    assert!(manifests.append(&VersionEdit::default()).is_err());
    let started = disk.log.ensure_manifest(&mut disk.log.lock());
    started.expect("the manifest is started");
    assert!(manifests.is_open() && manifests.bytes() > 0);
    assert_eq!(base.versions.lock().durable.manifest, 1);
    assert!(!manifests.take_names());
    let appended = manifests.append_naming(&VersionEdit::default());
    appended.expect("the edit is appended");
    assert!(manifests.take_names());
    assert!(!manifests.take_names(), "claimed already");
    manifests.give_back_names();
    assert!(manifests.take_names());
    let dir = env.open_dir(Path::new(PATH), false).expect("there");
    assert!(dir.list().expect("listed").contains(&"CURRENT".to_owned()));
}

#[test]
fn a_log_creates_marked_files_and_a_sweeper_unlinks_them() {
    let (base, disk, env) = empty();
    let (number, region) = disk.log.create_log(4096).expect("the disk has room");
    assert!(region.size() == 4096 && !disk.log.has_written());
    let name = cairndb_format::name::log(number);
    let dir = env.open_dir(Path::new(PATH), false).expect("there");
    assert_eq!(dir.size_of(&name).expect("looked up"), Some(4096));
    base.sweeper.reaper().add(name.clone());
    assert!(base.sweeper.reap());
    assert_eq!(dir.size_of(&name).expect("looked up"), None);
    base.sweeper.release_lock();
    base.sweeper.reaper().add(name);
    assert!(!base.sweeper.reap(), "nothing is unlinked without the lock");
}

#[test]
fn one_sync_pass_covers_all_writes_before_it() {
    let (base, disk, _env) = empty();
    for key in [b"a", b"b"] {
        apply(&base, &disk, key, b"v");
    }
    assert_eq!(disk.log.lock().synced.0, 0);
    disk.sync_written().expect("synced");
    assert_eq!(disk.log.lock().synced.0, 2);
}

#[test]
fn a_flusher_installs_a_run_and_a_persister_makes_it_durable() {
    let (base, disk, _env) = empty();
    let tables = Arc::new(Tables::new(&base, &disk));
    // Nothing waits.
    assert!(!tables.flusher.flush_once().expect("nothing fails"));
    flush_one(&base, &disk, &tables, b"k", b"v");
    assert_eq!(base.versions.lock().version.runs.len(), 1);
    assert_eq!(read(&base, b"k").as_deref(), Some(&b"v"[..]));
    assert_eq!(base.versions.lock().durable.seq, 0);
    assert!(disk.persist().expect("synced"));
    assert_eq!(base.versions.lock().durable.seq, 1);
    // Nothing is pending.
    assert!(!disk.persist().expect("nothing fails"));
}

#[test]
fn a_schedule_chooses_and_a_compactor_compacts() {
    let (base, disk, _env) = empty();
    let tables = Arc::new(Tables::new(&base, &disk));
    for value in [b"1", b"2"] {
        flush_one(&base, &disk, &tables, b"k", value);
    }
    let schedule = &tables.schedule;
    let wanted = |idle| schedule.compaction_wanted(&base.versions.lock(), idle);
    assert_eq!(wanted(false), None, "two runs are few");
    assert!(wanted(true).is_some());
    let compactor = Compactor::new(&base, &disk, &tables);
    assert!(compactor.compact_idle().expect("the disk has room"));
    let state = base.versions.lock();
    assert_eq!(state.version.runs.len(), 1);
    let entries = state.version.tables().map(|it| it.record.entries);
    assert_eq!(entries.sum::<u64>(), 1);
    drop(state);
    assert_eq!(wanted(true), None);
    assert_eq!(read(&base, b"k").as_deref(), Some(&b"2"[..]));
}

/// Creates a value file to which nothing is written.
fn begin_value_file(disk: &Disk) {
    let (files, mut commit) = (&disk.value_files, disk.log.lock());
    let begun = files.begin_value_file(&mut commit, true, |_| Ok(()));
    drop(begun.expect("the disk has room"));
}

#[test]
fn value_files_without_a_value_are_dropped() {
    let (base, disk, _env) = empty();
    let tables = Arc::new(Tables::new(&base, &disk));
    begin_value_file(&disk);
    assert_eq!(base.versions.lock().version.values.len(), 1);
    assert!(tables.dead_files.drop_dead_values().expect("synced"));
    assert!(base.versions.lock().version.values.is_empty());
    assert!(!tables.dead_files.drop_dead_values().expect("nothing fails"));
    let space = SpaceMaker::new(&base, &disk, &tables);
    assert!(!space.value_gc().space_wanted(&base.versions.lock()));
}

/// Regression: on a loaded machine, writers went on while another thread was about to unlink files,
/// and the files took more than the limit under load.
#[test]
fn a_dropped_value_file_counts_until_it_is_unlinked() {
    let (base, disk, _env) = empty();
    let tables = Tables::new(&base, &disk);
    begin_value_file(&disk);
    let file = Arc::clone(&base.versions.lock().version.values[&2]);
    file.bytes.store(1 << 30, Ordering::Relaxed);
    drop(file);
    assert!(tables.dead_files.drop_dead_values().expect("synced"));
    assert!(base.versions.lock().version.values.is_empty());
    let waits = || tables.dead_files.hold_up(&disk.log.lock());
    assert_eq!(waits(), Some(StallReason::Space));
    base.sweeper.reap();
    assert_eq!(waits(), None);
}

#[test]
fn space_is_made_only_on_a_full_disk() {
    let (base, disk, _env) = empty();
    let tables = Arc::new(Tables::new(&base, &disk));
    let space = Arc::new(SpaceMaker::new(&base, &disk, &tables));
    assert!(!disk.reserve.is_nearly_full() && !disk.reserve.is_short());
    let mut calls = 0;
    let failed = space.with_disk_space(|| {
        calls += 1;
        Err::<(), _>(Error::new(cairndb_base::ErrorKind::NoSpace, "a quota"))
    });
    // The file system has room, so a quota is not retried.
    assert_eq!((failed.is_err(), calls), (true, 1));
}

#[test]
fn a_writer_needs_no_core() {
    let (base, disk, _env) = empty();
    let tables = Arc::new(Tables::new(&base, &disk));
    let space = Arc::new(SpaceMaker::new(&base, &disk, &tables));
    let pool = ChunkPool::new(1 << 20);
    let writer = Arc::new(Writer::new(&base, &disk, &tables, &space, pool));
    let written = writer.write_one(Kind::Put, StoredKey::plain(b"k"), b"v", Level::Sync, None);
    written.expect("the disk has room");
    assert_eq!(read(&base, b"k").as_deref(), Some(&b"v"[..]));
    writer.flush_all().expect("the disk has room");
    assert_eq!(base.versions.lock().durable.seq, 1);
    let runner = Runner::new(&base, &disk, &tables, &space, &writer);
    assert!(runner.step_while(|| true).expect("nothing fails"));
    assert!(!Scheduler::new(runner).is_started());
    assert!(base.versions.published() < SEQ_MAX);
}
