//! Tests of tables that differ on disk from what was written, of tables that a flush adds to a run
//! while it is compacted, and of the order in which a job reads its inputs.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{ErrorKind, FileNumber, Kind, Order, SEQ_MAX, SeqNo};
use cairndb_format::name;
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

use crate::compaction::pick::Group;
use crate::compaction::schedule::Schedule;
use crate::engine::core::Core;
use crate::jobs::inputs::{Change, Inputs};
use crate::jobs::plan::CompactionPlan;
use crate::read::merging_iter::MergingIter;
use crate::read::source::{MergeSource, RunCursor};
use crate::state::options::{Compression, Durability, Options};

/// Reserves all runs for a compaction.
fn plan_of_all_runs(core: &Core) -> CompactionPlan {
    let mut state = core.base.versions.lock();
    let last = state.version.runs.len() - 1;
    Schedule::group_plan(&mut state, Group { first: 0, last })
}

#[test]
fn a_compaction_that_was_not_written_as_it_should_be_is_thrown_away() {
    let env = SimEnv::new(7);
    let options = Options::new().env(env.clone()).create_if_missing(true);
    let core = Core::open(&options, Path::new("/db")).expect("the database can be opened");
    for round in 0..2_u8 {
        for n in 0..500_u32 {
            let key = (n * 2 + u32::from(round)).swap_bytes().to_le_bytes();
            core.write_one(Kind::Put, &key, &[round; 60], Durability::Os)
                .expect("the disk has room");
        }
        core.flush_all().expect("the disk has room");
    }
    let plan = plan_of_all_runs(&core);
    assert_eq!(plan.inputs.len(), 2);
    let mut whole = core
        .space
        .compactor
        .carry_out(&plan)
        .expect("the inputs can be read");
    core.space
        .compactor
        .open_checked(&mut whole)
        .expect("the output is intact");
    whole.discard(&*core.base.dir);

    let mut outcome = core
        .space
        .compactor
        .carry_out(&plan)
        .expect("the inputs can be read");
    let file = name::table(FileNumber(outcome.tables[0].record.file));
    let path = Path::new("/db").join(&file);
    // In the first data page, which is not read when the table is opened.
    assert!(env.corrupt(&path, 2_000, 1));
    let error = core
        .space
        .compactor
        .open_checked(&mut outcome)
        .expect_err("the output is damaged");
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.file_name(), Some(&*file));
    assert!(env.read_file(&path).is_none(), "nothing names it");
}

/// Returns a random key of the given shape.
fn key_of(shape: u64, mut draw: impl FnMut(u64) -> u64) -> Vec<u8> {
    match shape {
        0 => format!("{:016}", draw(300)).into_bytes(),
        1 => {
            let key = format!("user{:03}/{:09}", draw(20), draw(5)).into_bytes();
            let len = if draw(4) == 0 { 9 } else { key.len() };
            key[..len].to_vec()
        }
        2 => (0..draw(5))
            .map(|_| [0, 1, 0xff][usize::try_from(draw(3)).unwrap()])
            .collect(),
        3 => format!("{:05}-{}-{:07}", draw(9), "x".repeat(30), draw(99)).into_bytes(),
        4 => format!("{:06}{}", draw(400), "0".repeat(7)).into_bytes(),
        // Streams whose keys follow one another within a run and have equal heads.
        _ => {
            let stream = draw(1 << 20) / (1 << 17);
            format!("streams/{stream}/of one length/{:04}", draw(3000)).into_bytes()
        }
    }
}

/// Writes some runs of keys of one shape, and returns the snapshots taken in between.
fn fill(core: &Core, shape: u64, mut draw: impl FnMut(u64) -> u64) -> Vec<SeqNo> {
    let mut pinned = Vec::new();
    for _ in 0..=draw(7) {
        // A run of tombstones has pages of more keys than are decoded at a time.
        let deletes = draw(3) == 0;
        let value: Vec<u8> = (0..[40, 700][usize::try_from(draw(2)).unwrap()])
            .map(|_| draw(256).to_le_bytes()[0])
            .collect();
        for _ in 0..=draw(if deletes { 1500 } else { 600 }) {
            let key = key_of(shape, &mut draw);
            let kind = if deletes { Kind::Delete } else { Kind::Put };
            let value = if deletes { &[][..] } else { &value };
            let os = Durability::Os;
            core.write_one(kind, &key, value, os)
                .expect("there is room");
            if draw(20) == 0 {
                pinned.push(core.base.acquire_snapshot());
            }
        }
        core.flush_all().expect("the disk has room");
    }
    pinned
}

/// Jobs and readers merge their sources by different algorithms, which must give the same result.
#[test]
fn the_inputs_of_a_job_come_as_a_readers_merge_gives_them() {
    let (mut sure, mut same, mut tables) = (0, 0, 0);
    for seed in 0..60_u64 {
        let mut number = seed;
        let mut draw = move |bound: u64| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (number >> 33) % bound
        };
        let env = SimEnv::new(seed);
        // The minimum budget, so that some runs have several tables.
        let options = Options::new().env(env.clone()).create_if_missing(true);
        let options = options
            .memory_budget(256 << 10)
            .compression(Compression::None);
        let core = Core::open(&options, Path::new("/db")).expect("the database can be opened");
        let shape = seed % 6;
        let pinned = fill(&core, shape, &mut draw);
        let version = Arc::clone(&core.base.versions.view().version);
        tables = tables.max(
            version
                .runs
                .iter()
                .map(|run| run.tables().len())
                .max()
                .unwrap_or(0),
        );
        let sources = || -> Vec<MergeSource> {
            let runs = version.runs.iter();
            let cursors = runs.map(|run| RunCursor::new(Arc::clone(run), Order::Bytewise));
            cursors
                .map(|cursor| MergeSource::Run(Box::new(cursor.rechecking())))
                .collect()
        };
        let mut merger = MergingIter::new(sources(), Order::Bytewise);
        let mut inputs = Inputs::new(sources(), Order::Bytewise);
        for round in 0..4 {
            if round == 0 {
                merger.first().expect("sources are intact");
                inputs.first().expect("sources are intact");
            } else {
                let key = key_of(shape, &mut draw);
                merger.seek(&key, SEQ_MAX).expect("sources are intact");
                inputs.seek(&key, SEQ_MAX).expect("sources are intact");
            }
            let mut before: Option<Vec<u8>> = None;
            let mut differs = false;
            while merger.valid() {
                let key = merger.key().to_vec();
                merger.load_value().expect("sources are intact");
                let entry = inputs.entry().expect("sources are intact");
                let mark = (merger.key(), merger.seq(), merger.kind());
                assert_eq!((entry.key, entry.seq, entry.kind), mark, "seed {seed}");
                assert_eq!(inputs.value().expect("sources are intact"), merger.value());
                if let Some(before) = before {
                    assert!(!differs || before != key, "seed {seed}");
                    match inputs.change() {
                        Change::None => {
                            assert_eq!(before, key, "seed {seed}");
                            same += 1;
                        }
                        Change::Sure => {
                            assert_ne!(before, key, "seed {seed}");
                            sure += 1;
                        }
                        Change::Unknown => {}
                    }
                }
                differs = inputs.changes();
                before = Some(key);
                merger.step().expect("sources are intact");
                inputs.step().expect("sources are intact");
            }
            assert!(!inputs.valid(), "seed {seed}");
        }
        for seq in pinned {
            let _ = core.base.snapshots.release(seq);
        }
    }
    println!("{sure} sure, {same} same, {tables} tables");
    assert!(sure > 10_000 && same > 1_000 && tables > 2);
}

#[test]
fn a_table_that_moves_to_another_run_is_there_after_a_crash() {
    let env = SimEnv::new(7);
    let options = Options::new().create_if_missing(true);
    let opened = Core::open(&options.clone().env(env.clone()), Path::new("/db"));
    let core = opened.expect("the database can be opened");
    let write = |key: &[u8], round: u8| {
        let written = core.write_one(Kind::Put, key, &[round; 60], Durability::Os);
        written.expect("the disk has room");
    };
    for round in 0..3_u8 {
        (0..50_u32).for_each(|n| write(&n.to_le_bytes(), round));
        core.flush_all().expect("the disk has room");
    }
    let plan = plan_of_all_runs(&core);
    let compactor = &core.space.compactor;
    let outcome = compactor.carry_out(&plan).expect("the inputs are intact");
    // After all other keys: the flush adds its table to a run that is being compacted.
    write(&[255; 9], 3);
    core.flush_all().expect("the disk has room");
    {
        let mut state = core.base.versions.lock();
        state.end_compaction(&plan);
        let installer = &core.disk.installer;
        installer.install_compaction(&mut state, &plan, outcome);
        assert_eq!(state.version.runs.len(), 1);
    }
    assert!(core.disk.persist().expect("the disk has room"));
    let kept = CrashChoice::new(Keep::All);
    let image = env.crash_point().image(Profile::Kill, &kept);
    let again = Core::open(&options.env(image), Path::new("/db"));
    let again = again.expect("the killed database can be opened");
    assert_eq!(again.base.versions.lock().version.tables().count(), 2);
}
