//! Writer and follower as simulated processes, one of which is killed at every operation.

use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::{Job, KeyspaceOptions, WriteBatch};
use cairndb_env::testing::setting::setting;
use cairndb_sim::SimEnv;

use super::*;

const PATH: &str = "/db";

fn options_in(env: &Arc<SimEnv>) -> Options {
    options().memory_budget(256 << 10).env(env.clone())
}

/// The writes of a script, in the order in which they were begun.
#[derive(Default)]
struct Written {
    /// State after each acknowledged write.
    acknowledged: Entries,
    /// State after the write that was begun last.
    begun: Entries,
}

/// Steps of one writer.
struct Script {
    random: Random,
    next: u32,
}

impl Script {
    fn new(seed: u64) -> Script {
        Script {
            random: Random::new(seed),
            next: 0,
        }
    }

    /// Does one thing. Returns `false` once the process was killed.
    fn step(&mut self, db: &Db, written: &mut Written) -> bool {
        self.next += 1;
        let random = &mut self.random;
        let draw = random.index(100);
        let key = |random: &mut Random| format!("{:03}", random.index(200)).into_bytes();
        let done = match draw {
            0..70 => {
                let mut batch = WriteBatch::new();
                for n in 0..=random.index(6) {
                    let (key, value) = (key(random), format!("{} {n} ", self.next).repeat(40));
                    batch.put(&key, value.as_bytes());
                    written.begun.insert(key, value.into_bytes());
                }
                if random.index(6) == 0 {
                    let from = key(random);
                    let to = [&from[..], b"9"].concat();
                    batch.delete_range(from.clone()..to.clone());
                    let range = from..to;
                    written.begun.retain(|key, _| !range.contains(key));
                }
                db.write(&batch)
            }
            70..74 => db.flush(),
            74..76 => db.compact_range(..),
            76..78 => {
                let created =
                    db.create_keyspace(&format!("s{}", self.next), &KeyspaceOptions::new());
                created.map(drop)
            }
            _ => {
                let jobs = [Job::Flush, Job::Compact, Job::Persist];
                db.step_background(jobs[random.index(jobs.len())]).map(drop)
            }
        };
        if done.is_ok() {
            written.acknowledged.clone_from(&written.begun);
        }
        done.is_ok()
    }
}

const STEPS: usize = 120;

/// Returns the number of operations of a run without kills, after the opens.
fn operations(seed: u64) -> u64 {
    let env = SimEnv::new(seed);
    let db = options_in(&env.process()).open(PATH).unwrap();
    let follower = options_in(&env.process()).follow().open(PATH).unwrap();
    let (mut script, mut written, begun) = (Script::new(seed), Written::default(), env.op_count());
    for _ in 0..STEPS {
        assert!(script.step(&db, &mut written));
        assert!(entries(&follower) == written.acknowledged, "seed {seed}");
    }
    env.op_count() - begun
}

/// Returns every `stride`th number below `count`.
fn sampled(count: u64) -> impl Iterator<Item = u64> {
    let points = setting("CAIRN_FOLLOW_POINTS").unwrap_or(60);
    let stride = (count / points).max(1);
    (0..count).step_by(usize::try_from(stride).unwrap())
}

#[test]
fn a_follower_survives_a_writer_that_is_killed_anywhere() {
    let first = setting("CAIRN_SEED").unwrap_or(1);
    for seed in first..first + 3 {
        for at in sampled(operations(seed)) {
            let env = SimEnv::new(seed);
            env.record_ops(false);
            let writing = env.process();
            let db = options_in(&writing).open(PATH).unwrap();
            let follower = options_in(&env.process()).follow().open(PATH).unwrap();
            let (mut script, mut written) = (Script::new(seed), Written::default());
            // It reads nothing before the end, so it has no file open.
            let quiet = options_in(&env.process()).follow().open(PATH).unwrap();
            writing.kill_at(env.op_count() + at);
            let mut kept = None;
            for step in 0..STEPS {
                if !script.step(&db, &mut written) {
                    break;
                }
                if step == 40 {
                    kept = Some((quiet.snapshot(), written.acknowledged.clone()));
                }
                if step % 5 == 0 {
                    let found = entries(&follower);
                    assert!(found == written.acknowledged, "seed {seed}, at {at}");
                }
            }
            drop(db);
            let check = |found: Entries, when: &str| {
                let possible = found == written.acknowledged || found == written.begun;
                assert!(possible, "{when}, seed {seed}, at {at}");
            };
            check(entries(&follower), "after the kill");
            assert!(!follower.has_writer().unwrap());
            let late = options_in(&env.process()).follow().open(PATH).unwrap();
            check(entries(&late), "of a new follower");
            // The next writer recovers, writes and removes what it does not need.
            let db = options_in(&env.process()).open(PATH).unwrap();
            db.put(b"again", b"1").unwrap();
            db.compact_range(..).unwrap();
            let expected = entries(&db);
            assert!(
                entries(&follower) == expected,
                "again, seed {seed}, at {at}"
            );
            assert!(entries(&late) == expected, "again, seed {seed}, at {at}");
            if let Some((snapshot, expected)) = &kept {
                assert!(entries_at(snapshot) == *expected, "seed {seed}, at {at}");
            }
        }
    }
}

#[test]
fn a_follower_that_is_killed_anywhere_holds_nothing() {
    let first = setting("CAIRN_SEED").unwrap_or(1);
    for seed in first..first + 3 {
        for at in sampled(operations(seed)) {
            let env = SimEnv::new(seed);
            env.record_ops(false);
            let (writing, following) = (env.process(), env.process());
            let db = options_in(&writing).open(PATH).unwrap();
            let (mut script, mut written) = (Script::new(seed), Written::default());
            following.kill_at(env.op_count() + at);
            let mut follower = options_in(&following).follow().open(PATH).ok();
            for _ in 0..STEPS {
                assert!(script.step(&db, &mut written), "seed {seed}, at {at}");
                let Some(db) = &follower else {
                    continue;
                };
                match db.iter().collect::<cairndb::Result<Vec<_>>>() {
                    Ok(found) => {
                        let found: Entries = found.into_iter().map(owned).collect();
                        assert!(found == written.acknowledged, "seed {seed}, at {at}");
                    }
                    Err(_) => follower = None,
                }
            }
            drop(follower);
            following.kill();
            db.compact_range(..).unwrap();
            db.wait_idle().unwrap();
            assert_eq!(db.property("cairndb.followers").unwrap(), "[]");
            let held = db.property("cairndb.space").unwrap();
            assert!(held.contains("\"held_follower_bytes\":0"), "{held}");
            assert!(entries(&db) == written.acknowledged, "seed {seed}, at {at}");
        }
    }
}
