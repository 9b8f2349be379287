//! The loops of the worker and the syncer, a turn at a time in seeded order on a simulated disk.
//!
//! Whatever the order, every task that a loop runs is the policy's answer to the facts at that
//! moment, nothing that was written is lost, and a database left alone becomes idle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cairndb_base::Kind;
use cairndb_env::random::Random;
use cairndb_env::sync::MutexGuard;
use cairndb_sim::{Cause, Effect, Fault, OpKind, SimEnv};

use super::Scheduler;
use crate::engine::core::Core;
use crate::scheduler::policy::{self, SYNCER, Task};
use crate::scheduler::runner::{Ended, Turn};
use crate::scheduler::worker::Memory;
use crate::state::options::{Durability, Options};
use crate::versions::engine_state::EngineState;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Two threads that are stopped between their turns.
struct Threads<'a> {
    scheduler: &'a Scheduler,
    memory: Memory,
    turn: Turn,
    ran: BTreeSet<String>,
}

impl Threads<'_> {
    /// Makes a turn of the worker, or of the syncer. Returns how it has ended.
    fn turn(&mut self, worker: bool) -> Ended {
        let Threads {
            scheduler,
            memory,
            turn,
            ran,
        } = self;
        let wait = |state: MutexGuard<'_, EngineState>, _| drop(state);
        let facts = {
            let state = scheduler.runner.base.versions.lock();
            let turn = if worker { &memory.turn } else { &*turn };
            scheduler.runner.facts(turn, &state)
        };
        let ended = if worker {
            scheduler.runner.worker_turn(memory, &wait)
        } else {
            scheduler.runner.syncer_turn(turn, &wait)
        };
        // Without other work, the worker looks whether the database is idle.
        let mut idle = facts;
        idle.caller.rested = worker;
        idle.idle_compaction = ended == Ended::Ran(Task::CompactIdle);
        match (policy::next(&facts), ended) {
            (Some(task), ended) => assert_eq!(ended, Ended::Ran(task), "worker: {worker}"),
            (None, Ended::Ran(task)) => assert_eq!(policy::next(&idle), Some(task)),
            (None, ended) => assert_eq!(ended, Ended::Waited),
        }
        if let Ended::Ran(task) = ended {
            ran.insert(format!("{task:?}"));
        }
        ended
    }
}

fn write(core: &Core, model: &mut Model, random: &mut Random) {
    let key = format!("{:04}", random.index(400)).into_bytes();
    let write = |kind, value: &[u8]| core.write_one(kind, &key, value, Durability::Os).is_ok();
    if random.index(4) == 0 {
        if write(Kind::Delete, b"") {
            model.remove(&key);
        }
        return;
    }
    let len = if random.index(12) == 0 { 20_000 } else { 200 };
    let value = vec![u8::try_from(random.index(256)).expect("a byte"); len];
    if write(Kind::Put, &value) {
        model.insert(key, value);
    }
}

fn check(db: &crate::Db, model: &Model, seed: u64) {
    let entries = db.iter().map(Result::unwrap);
    let entries = entries.map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert!(&entries.collect::<Model>() == model, "seed {seed}");
}

/// Runs one history, and returns the tasks that it ran.
fn run(seed: u64) -> BTreeSet<String> {
    let mut random = Random::new(seed);
    let env = SimEnv::new(seed);
    let options = Options::new()
        .create_if_missing(true)
        .memory_budget(256 << 10)
        .value_file_bytes(1 << 20)
        .env(env.clone());
    let db = options.open(Path::new("/db")).unwrap();
    let core = db.core();
    let mut threads = Threads {
        scheduler: &core.scheduler,
        memory: Memory::new(),
        turn: Turn::new(SYNCER),
        ran: BTreeSet::new(),
    };
    let mut model = Model::new();
    let mut waits = 0;
    for _ in 0..60 {
        match random.index(12) {
            0..4 => (0..random.index(80)).for_each(|_| write(core, &mut model, &mut random)),
            4..9 => {
                let worker = random.index(3) > 0;
                (0..random.index(8)).for_each(|_| _ = threads.turn(worker));
            }
            9 => env.advance_clock(random.index(100_000_000) as u64),
            10 if waits == 0 => {
                core.base.versions.lock().background.hurrying += 1;
                waits = 1;
            }
            _ if random.index(4) == 0 => {
                // A table that cannot be made: space is freed, or the threads pause and try again.
                let full = Effect::Fails(Cause::Full);
                env.inject(Fault::on(OpKind::Create, ".tbl", full));
            }
            _ => {
                core.base.versions.lock().background.hurrying -= waits;
                waits = 0;
            }
        }
    }
    env.heal();
    core.base.versions.lock().background.hurrying -= waits;
    // Left alone, it becomes idle: both wait, and there is nothing left.
    let mut turns = 0;
    loop {
        env.advance_clock(200_000_000);
        let ended = [threads.turn(true), threads.turn(false)];
        let state = core.base.versions.lock();
        let left = state.can_flush() || state.durable.pending.is_some();
        if state.background.idle.is_quiet() && !left && ended == [Ended::Waited; 2] {
            break;
        }
        turns += 1;
        assert!(turns < 2_000, "seed {seed}: it does not become idle");
    }
    check(&db, &model, seed);
    let ran = threads.ran;
    db.close().unwrap();
    check(&options.open("/db").unwrap(), &model, seed);
    ran
}

#[test]
fn the_threads_run_what_the_policy_chooses() {
    let mut ran = BTreeSet::new();
    for seed in 0..1_000 {
        ran.extend(run(seed));
    }
    assert!(ran.len() >= 12, "of 17 tasks, only {ran:?}");
}
