//! Conversions that die.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use cairndb::{ErrorKind, RepairOptions};
use cairndb_env::random::Random;
use cairndb_sim::{CrashPoint, Profile, SimEnv};
use cairndb_testkit::setting;

use crate::fixture::{
    Fixture, Opened, PATH, Size, check, check_ours, complete, convert, directory, fixture, options,
};

/// Databases in a push, and the moments of their conversions that are tried at least.
const DATABASES: u64 = 5;
const MOMENTS_MIN: usize = 200;
const THREADS: usize = 2;

const PROFILES: [Profile; 3] = [Profile::Kill, Profile::Ordered, Profile::Weak];

/// Runs a conversion to its end. Returns the crash point before each operation that changes
/// something.
fn moments(fixture: &Fixture) -> Vec<CrashPoint> {
    let (sender, points) = channel();
    fixture.env.watch(move |point| sender.send(point).unwrap());
    convert(&fixture.env).unwrap();
    fixture.env.unwatch();
    assert_eq!(fixture.env.violations(), []);
    points.into_iter().collect()
}

#[test]
fn a_conversion_may_die_at_any_moment() {
    let (first, percent) = (setting("CAIRN_SEED", 1), setting("CAIRN_STATES", 100));
    let databases = (DATABASES * percent / 100).clamp(1, 4 * DATABASES);
    let states_max = if percent > 100 { 40 } else { 3 };
    let (mut moments_tried, states_tried) = (0, AtomicU64::new(0));
    for seed in first..first + databases {
        println!("CAIRN_SEED={seed}");
        let fixture = fixture(seed, Size::SMALL);
        let moments = moments(&fixture);
        moments_tried += moments.len();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Some(moment) = moments.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tried = die(&fixture, moment, seed, states_max);
                        states_tried.fetch_add(tried, Ordering::Relaxed);
                    }
                });
            }
        });
    }
    let states = states_tried.into_inner();
    println!("{moments_tried} moments, {states} states");
    assert!(
        moments_tried >= MOMENTS_MIN || databases < DATABASES,
        "{moments_tried}"
    );
}

/// Checks the states that a crash at this moment may leave. Returns how many.
fn die(fixture: &Fixture, moment: &CrashPoint, seed: u64, states_max: usize) -> u64 {
    let mut tried = 0;
    for profile in PROFILES {
        for state in moment.states(profile, seed, states_max) {
            let place = format!("{profile:?} {:?} before {:?}", state.choice, moment.op());
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                if check(&state.image, &fixture.entries) == Opened::LevelDb {
                    not_destroyed(&state.image);
                }
                if tried % 4 == 3 {
                    without_current(&state.image, fixture);
                } else {
                    complete(&state.image, fixture);
                }
            }));
            assert!(checked.is_ok(), "{place}");
            tried += 1;
        }
    }
    tried
}

/// Regression: files of ours made `destroy` take LevelDB's database for ours.
fn not_destroyed(env: &Arc<SimEnv>) {
    let before = env.image_hash();
    cairndb::destroy(PATH, &options(env)).unwrap_err();
    assert_eq!(env.image_hash(), before);
}

/// Checks that a directory which has lost `CURRENT`, too, is no new database, and that a repair
/// takes what is complete: LevelDB's files, or ours.
fn without_current(env: &Arc<SimEnv>, fixture: &Fixture) {
    directory(env, PATH).unwrap().unlink("CURRENT").unwrap();
    convert(env).unwrap_err();
    let opened = options(env).create_if_missing(true).open(PATH);
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::Corruption);
    cairndb::repair(PATH, "/repaired", &RepairOptions::new(&options(env))).unwrap();
    let db = options(env).open("/repaired").unwrap();
    check_ours(&db, &fixture.entries);
    db.close().unwrap();
}

/// Each attempt dies too, until one does not.
#[test]
fn every_attempt_may_die() {
    let (first, percent) = (setting("CAIRN_SEED", 1), setting("CAIRN_STATES", 100));
    for seed in first..first + (40 * percent / 100).max(1) {
        let fixture = fixture(seed, Size::SMALL);
        let mut random = Random::new(seed);
        let mut env = fixture.env.clone();
        let mut deaths = 0;
        loop {
            let alive = deaths == 6;
            if !alive {
                env.crash_at(env.op_count() + random.index(500) as u64);
            }
            let converted = convert(&env).is_ok();
            if !env.crashed() {
                assert!(converted, "seed {seed}");
                break;
            }
            deaths += 1;
            let profile = PROFILES[random.index(PROFILES.len())];
            let mut states: Vec<_> = env.crash_states(profile, random.next_u64(), 8).collect();
            env = states.swap_remove(random.index(states.len())).image;
            check(&env, &fixture.entries);
        }
        let again = env.with_mapping(true);
        assert_eq!(check(&again, &fixture.entries), Opened::Ours, "seed {seed}");
        complete(&again, &fixture);
    }
}
