//! Tests of tables that differ on disk from what was written, of tables that a flush adds to a run
//! while it is compacted, and of the order in which a job reads its inputs.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{ErrorKind, FileNumber, Kind, Order, SEQ_MAX, SeqNo};
use cairndb_env::random::Random;
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
use crate::state::version::Run;

fn options(env: &Arc<SimEnv>) -> Options {
    Options::new().env(env.clone()).create_if_missing(true)
}

fn open(options: &Options) -> Arc<Core> {
    Core::open(options, Path::new("/db")).expect("the database can be opened")
}

fn write(core: &Core, key: &[u8], round: u8) {
    let written = core.write_one(Kind::Put, key, &[round; 60], Durability::Os);
    written.expect("the disk has room");
}

/// Reserves all runs for a compaction.
fn plan_of_all_runs(core: &Core) -> CompactionPlan {
    let mut state = core.base.versions.lock();
    let last = state.version.runs.len() - 1;
    Schedule::group_plan(&mut state, Group { first: 0, last })
}

#[test]
fn a_compaction_that_was_not_written_as_it_should_be_is_thrown_away() {
    let env = SimEnv::new(7);
    let core = open(&options(&env));
    for round in 0..2_u8 {
        for n in 0..500_u32 {
            let key = (n * 2 + u32::from(round)).swap_bytes().to_le_bytes();
            write(&core, &key, round);
        }
        core.flush_all().expect("the disk has room");
    }
    let plan = plan_of_all_runs(&core);
    assert_eq!(plan.inputs.len(), 2);
    let compactor = &core.space.compactor;
    let carry_out = || compactor.carry_out(&plan).expect("the inputs can be read");
    let mut whole = carry_out();
    let checked = compactor.open_checked(&mut whole);
    checked.expect("the output is intact");
    whole.discard(&*core.base.dir);

    let mut outcome = carry_out();
    let file = name::table(FileNumber(outcome.tables[0].record.file));
    let path = Path::new("/db").join(&file);
    // In the first data page, which is not read when the table is opened.
    assert!(env.corrupt(&path, 2_000, 1));
    let checked = compactor.open_checked(&mut outcome);
    let error = checked.expect_err("the output is damaged");
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.file_name(), Some(&*file));
    assert!(env.read_file(&path).is_none(), "nothing names it");
}

/// Returns a random key of the given shape.
fn key_of(shape: u64, random: &mut Random) -> Vec<u8> {
    let mut draw = |bound: u64| random.below(bound);
    match shape {
        0 => format!("{:016}", draw(300)).into_bytes(),
        1 => {
            let key = format!("user{:03}/{:09}", draw(20), draw(5)).into_bytes();
            let len = if draw(4) == 0 { 9 } else { key.len() };
            key[..len].to_vec()
        }
        2 => (0..draw(5))
            .map(|_| [0, 1, 0xff][random.index(3)])
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
fn fill(core: &Core, shape: u64, random: &mut Random) -> Vec<SeqNo> {
    let mut pinned = Vec::new();
    for _ in 0..=random.below(7) {
        let len = [40, 700][random.index(2)];
        let value: Vec<u8> = (0..len)
            .map(|_| random.below(256).to_le_bytes()[0])
            .collect();
        // A run of tombstones has pages of more keys than are decoded at a time.
        let (kind, value, most) = match random.below(3) {
            0 => (Kind::Delete, &[][..], 1500),
            _ => (Kind::Put, &value[..], 600),
        };
        for _ in 0..=random.below(most) {
            let key = key_of(shape, random);
            let written = core.write_one(kind, &key, value, Durability::Os);
            written.expect("there is room");
            if random.below(20) == 0 {
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
        let mut random = Random::new(seed);
        // The minimum budget, so that some runs have several tables.
        let options = options(&SimEnv::new(seed)).memory_budget(256 << 10);
        let core = open(&options.compression(Compression::None));
        let shape = seed % 6;
        let pinned = fill(&core, shape, &mut random);
        let version = Arc::clone(&core.base.versions.view().version);
        let counts = version.runs.iter().map(|run| run.tables().len());
        tables = tables.max(counts.max().unwrap_or(0));
        let source = |run: &Arc<Run>| {
            let cursor = RunCursor::new(Arc::clone(run), Order::Bytewise);
            MergeSource::Run(Box::new(cursor.rechecking()))
        };
        let sources = || version.runs.iter().map(source).collect::<Vec<_>>();
        let mut merger = MergingIter::new(sources(), Order::Bytewise);
        let mut inputs = Inputs::new(sources(), Order::Bytewise);
        for round in 0..4 {
            if round == 0 {
                merger.first().expect("sources are intact");
                inputs.first().expect("sources are intact");
            } else {
                let key = key_of(shape, &mut random);
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
                    let is_same = before == key;
                    assert!(!differs || !is_same, "seed {seed}");
                    let change = inputs.change();
                    assert!(change != Change::None || is_same, "seed {seed}");
                    assert!(change != Change::Sure || !is_same, "seed {seed}");
                    same += u32::from(change == Change::None);
                    sure += u32::from(change == Change::Sure);
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
    let core = open(&options(&env));
    for round in 0..3_u8 {
        (0..50_u32).for_each(|n| write(&core, &n.to_le_bytes(), round));
        core.flush_all().expect("the disk has room");
    }
    let plan = plan_of_all_runs(&core);
    let compactor = &core.space.compactor;
    let outcome = compactor.carry_out(&plan).expect("the inputs are intact");
    // After all other keys: the flush adds its table to a run that is being compacted.
    write(&core, &[255; 9], 3);
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
    let again = open(&options(&image));
    assert_eq!(again.base.versions.lock().version.tables().count(), 2);
}
