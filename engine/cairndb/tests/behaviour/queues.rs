//! Queues: entries put at the tail and deleted at the head leave tombstones that a seek must not
//! step over again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::thread;

use cairndb::env::random::Random;
use cairndb::{Cursor, Db, Job, Snapshot};

use crate::{appending, shown, stat, stepped, threaded};

fn key(n: u64) -> Vec<u8> {
    format!("queue {n:08}").into_bytes()
}

/// Returns the first key.
fn first(db: &Db) -> Option<Vec<u8>> {
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    shown(&cursor).map(|(key, _)| key)
}

type State = BTreeMap<Vec<u8>, Vec<u8>>;
type Step = fn(&mut Cursor) -> cairndb::Result<()>;

fn check(cursor: &mut Cursor, state: &State, from: Option<&[u8]>, steps: usize) {
    match from {
        Some(key) => cursor.seek(key).unwrap(),
        None => cursor.seek_to_first().unwrap(),
    }
    let expected = state.range(from.unwrap_or_default().to_vec()..);
    check_steps(cursor, expected, steps, [Cursor::next, Cursor::prev]);
}

fn check_back(cursor: &mut Cursor, state: &State, from: Option<&[u8]>, steps: usize) {
    let end = if let Some(key) = from {
        cursor.seek_for_prev(key).unwrap();
        Bound::Included(key.to_vec())
    } else {
        cursor.seek_to_last().unwrap();
        Bound::Unbounded
    };
    let expected = state.range((Bound::Unbounded, end)).rev();
    check_steps(cursor, expected, steps, [Cursor::prev, Cursor::next]);
}

/// Checks the entry at which a cursor is, and those that it steps to. Then steps back once.
#[track_caller]
fn check_steps<'a>(
    cursor: &mut Cursor,
    mut expected: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    steps: usize,
    [on, back]: [Step; 2],
) {
    let mut last = None;
    for step in 0..=steps {
        let entry = cursor.valid().then(|| (cursor.key(), cursor.value()));
        last = expected.next().map(|(key, value)| (&**key, &**value));
        assert_eq!(entry, last, "step {step}");
        on(cursor).unwrap();
    }
    if cursor.valid() {
        back(cursor).unwrap();
        assert_eq!(Some((cursor.key(), cursor.value())), last);
    }
}

/// Several queues in one database, with every other kind of operation between the reads.
#[test]
fn reads_of_queues_see_every_operation_between_them() {
    for seed in 0..24u64 {
        // The larger one keeps most tombstones in memtables.
        let budget = if seed % 2 == 1 { 4 << 20 } else { 256 << 10 };
        let db = appending().memory_budget(budget).open("/db").unwrap();
        let mut random = Random::new(seed);
        let mut state = State::new();
        let mut kept: Vec<(Snapshot, State)> = Vec::new();
        let mut tails = [0u64; 3];
        let name = |queue: usize, n: u64| format!("{queue} {n:06}").into_bytes();
        // A cursor that outlives many writes.
        let mut old = (db.cursor(), state.clone());
        for turn in 0..4_000 {
            let queue = usize::try_from(random.below(3)).unwrap();
            let tail = tails[queue];
            let any = name(queue, random.below(tail + 2));
            match random.below(100) {
                0..35 => {
                    db.put(&name(queue, tail), &any).unwrap();
                    state.insert(name(queue, tail), any);
                    tails[queue] += 1;
                }
                35..50 => {
                    // Many at once, so that the sequence of tombstones grows long.
                    let taken = usize::try_from(random.below(40)).unwrap();
                    let range = name(queue, 0)..name(queue, 999_999);
                    let mut heads: Vec<_> =
                        state.range(range).map(|(key, _)| key.clone()).collect();
                    // From the end in one of the queues.
                    if queue == 2 {
                        heads.reverse();
                    }
                    for key in heads.into_iter().take(taken) {
                        db.delete(&key).unwrap();
                        state.remove(&key);
                    }
                }
                50..53 => {
                    db.put(&any, b"again").unwrap();
                    state.insert(any, b"again".to_vec());
                }
                53..56 => {
                    db.merge(&any, b"more").unwrap();
                    state.entry(any).or_default().extend_from_slice(b"more");
                }
                56..58 => db.flush().unwrap(),
                58..59 => db.compact_range(..).unwrap(),
                59..61 => drop(db.step_background(Job::Compact).unwrap()),
                61..63 => kept.push((db.snapshot(), state.clone())),
                63..65 if !kept.is_empty() => {
                    let at = usize::try_from(random.below(kept.len() as u64)).unwrap();
                    drop(kept.swap_remove(at));
                }
                65..67 => old = (db.cursor(), state.clone()),
                67..75 => {
                    if let Some((snapshot, state)) = kept.last() {
                        check(&mut snapshot.cursor(), state, None, turn % 5);
                        check(&mut snapshot.cursor(), state, Some(&any), 2);
                        check_back(&mut snapshot.cursor(), state, None, turn % 5);
                        check_back(&mut snapshot.cursor(), state, Some(&any), 2);
                    }
                    check(&mut old.0, &old.1, Some(&name(queue, 0)), 2);
                    check_back(&mut old.0, &old.1, Some(&name(queue, 999_999)), 2);
                    check(&mut old.0, &old.1, None, 1);
                    check_back(&mut old.0, &old.1, None, 1);
                }
                75..79 => check(&mut db.cursor(), &state, None, turn % 7),
                79..84 => check(&mut db.cursor(), &state, Some(&name(queue, 0)), turn % 7),
                84..88 => check(&mut db.cursor(), &state, Some(&any), turn % 7),
                88..92 => check_back(&mut db.cursor(), &state, None, turn % 7),
                92..96 => {
                    let end = name(queue, 999_999);
                    check_back(&mut db.cursor(), &state, Some(&end), turn % 7);
                }
                _ => check_back(&mut db.cursor(), &state, Some(&any), turn % 7),
            }
        }
        check(&mut db.cursor(), &state, None, state.len());
        check_back(&mut db.cursor(), &state, None, state.len());
    }
}

/// A producer runs concurrently with the consumer. It puts most jobs at the tail, and some before
/// all others.
#[test]
fn urgent_jobs_are_taken_first() {
    const JOBS: u64 = 30_000;
    let db = threaded().open("/db").unwrap();
    let urgent = |n: u64| format!("prior {n:08}").into_bytes();
    // Number of urgent jobs whose put has returned.
    let waiting = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..JOBS {
                if n % 64 == 63 {
                    db.put(&urgent(n), b"job").unwrap();
                    waiting.fetch_add(1, Memory::Release);
                } else {
                    db.put(&key(n), b"job").unwrap();
                }
            }
        });
        let (mut taken, mut hurried, mut last) = (0, 0, None);
        while taken < JOBS {
            let wait = waiting.load(Memory::Acquire);
            let Some(job) = first(&db) else {
                assert_eq!(wait, hurried, "an urgent job was not seen");
                thread::yield_now();
                continue;
            };
            if job.starts_with(b"prior") {
                hurried += 1;
            } else {
                assert!(wait <= hurried, "an urgent job was passed over");
                assert!(last.as_ref() < Some(&job), "taken twice");
                last = Some(job.clone());
            }
            db.delete(&job).unwrap();
            taken += 1;
        }
    });
    assert_eq!(first(&db), None);
}

/// Regression (case 5): each thread, and each seek after a flush, stepped over the tombstones
/// again, and so did every seek under a held snapshot.
#[test]
fn seeks_together_step_over_a_stretch_of_tombstones_no_more_than_twice() {
    const STRETCH: u64 = 50_000;
    const THREADS: u64 = 4;
    for held in [false, true] {
        let db = stepped().open("/db").unwrap();
        let put = |n: u64| db.put(&key(n), b"job").unwrap();
        (0..STRETCH).for_each(put);
        put(STRETCH);
        let before = held.then(|| db.snapshot());
        for n in 0..STRETCH {
            db.delete(&key(n)).unwrap();
        }
        let passed = || stat(&db, "dead_entries_passed");
        let seek_all = || {
            assert_eq!(first(&db), Some(key(STRETCH)));
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| assert_eq!(first(&db), Some(key(STRETCH))));
                }
            });
            let mut cursor = db.cursor();
            cursor.seek_for_prev(&key(STRETCH - 1)).unwrap();
            assert!(!cursor.valid());
        };
        for turn in 0..20u64 {
            seek_all();
            // Other keys, before and after the stretch.
            for n in 0..2_000 {
                let other = format!("{} {turn} {n}", if n % 2 == 0 { "other" } else { "zoo" });
                db.delete(other.as_bytes()).unwrap();
            }
            match turn % 4 {
                0 => db.flush().unwrap(),
                1 => drop(db.step_background(Job::Compact).unwrap()),
                2 if turn == 10 => db.compact_range(..).unwrap(),
                _ => {}
            }
        }
        // The tombstones before the stretch are new at every turn.
        let others = 20 * 1_000;
        let all = passed();
        assert!(all <= 2 * STRETCH + 3 * others, "{all}, held: {held}");
        seek_all();
        let last = passed();
        seek_all();
        let seeks = THREADS + 2;
        let (more, allowed) = (passed() - last, seeks * (64 + stat(&db, "tables")));
        assert!(more <= allowed, "{more} of {allowed}");
        if let Some(before) = before {
            let (found, _) = before.first().unwrap().unwrap();
            assert_eq!(found, key(0), "the snapshot sees the deleted entries");
        }
    }
}
