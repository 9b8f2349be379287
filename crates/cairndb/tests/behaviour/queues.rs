//! Queues: what is put at the tail and taken out at the head leaves tombstones that a seek need not walk again.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::thread;

use cairndb::env::random::Random;
use cairndb::{Append, Comparator, Cursor, Db, Job, Snapshot};

use crate::{mem_db, stepped, threaded};

/// Bytewise, and counts: as a custom order, so that keys are compared where heads would be.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &'static str {
        "test.Counting"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Memory::Relaxed);
        a.cmp(b)
    }
}

impl Counting {
    /// Comparisons that `run` takes.
    fn of(&self, run: impl FnOnce()) -> u64 {
        let before = self.0.load(Memory::Relaxed);
        run();
        self.0.load(Memory::Relaxed) - before
    }
}

fn key(n: u64) -> Vec<u8> {
    format!("queue {n:08}").into_bytes()
}

/// The first key from `from` on.
fn first(db: &Db, from: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut cursor = db.cursor();
    match from {
        Some(key) => cursor.seek(key).unwrap(),
        None => cursor.seek_to_first().unwrap(),
    }
    cursor.valid().then(|| cursor.key().to_vec())
}

/// Each look into a queue cost as many steps as the queue had entries before.
#[test]
fn a_queue_is_looked_into_without_walking_what_was_taken_out() {
    const LENGTH: u64 = 20;
    const TURNS: u64 = 2_000;
    let order = Arc::new(Counting::default());
    let db = stepped()
        .memory_budget(4 << 20)
        .comparator(Arc::clone(&order) as Arc<dyn Comparator>)
        .open("/db")
        .unwrap();
    for n in 0..LENGTH {
        db.put(&key(n), b"job").unwrap();
    }
    // From the first key of all, and from the queue's own.
    for from in [None, Some(&b"queue"[..])] {
        let begun: u64 = first(&db, from).map_or(0, |key| {
            std::str::from_utf8(&key[6..]).unwrap().parse().unwrap()
        });
        let turn = |n: u64| {
            assert_eq!(first(&db, from), Some(key(n)));
            db.delete(&key(n)).unwrap();
            db.put(&key(n + LENGTH), b"job").unwrap();
        };
        let early = order.of(|| (begun..begun + 200).for_each(turn));
        (begun + 200..begun + TURNS - 200).for_each(turn);
        let late = order.of(|| (begun + TURNS - 200..begun + TURNS).for_each(turn));
        assert!(
            late < 2 * early,
            "{early} comparisons at first, {late} later"
        );
    }
}

/// An empty queue that somebody polls.
#[test]
fn an_empty_queue_is_found_empty_at_once() {
    let order = Arc::new(Counting::default());
    let db = stepped()
        .memory_budget(4 << 20)
        .comparator(Arc::clone(&order) as Arc<dyn Comparator>)
        .open("/db")
        .unwrap();
    (0..2_000).for_each(|n| db.put(&key(n), b"job").unwrap());
    (0..2_000).for_each(|n| db.delete(&key(n)).unwrap());
    let walked = order.of(|| assert_eq!(first(&db, None), None));
    let polled = order.of(|| assert_eq!(first(&db, None), None));
    assert!(walked > 2_000 && polled < 50, "{walked}, {polled}");
    db.put(&key(2_000), b"job").unwrap();
    assert_eq!(first(&db, None), Some(key(2_000)));
    // In the middle of what is dead.
    db.put(&key(1_000), b"job").unwrap();
    assert_eq!(first(&db, None), Some(key(1_000)));
    assert_eq!(first(&db, Some(&key(1_001))), Some(key(2_000)));
}

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(cursor: &mut Cursor, state: &State, from: Option<&[u8]>, steps: usize) {
    match from {
        Some(key) => cursor.seek(key).unwrap(),
        None => cursor.seek_to_first().unwrap(),
    }
    let mut expected = state.range(from.unwrap_or_default().to_vec()..);
    for _ in 0..=steps {
        let shown = cursor.valid().then(|| (cursor.key(), cursor.value()));
        let want = expected.next().map(|(key, value)| (&**key, &**value));
        assert_eq!(shown, want, "from {from:?}");
        cursor.next().unwrap();
    }
}

/// Several queues in one database, with everything else that may happen to it in between.
#[test]
fn whatever_happens_between_looks_is_seen() {
    for seed in 0..12u64 {
        let options = stepped().merge_operator(Arc::new(Append));
        let db = options.open("/db").unwrap();
        let mut random = Random::new(seed);
        let mut state = State::new();
        let mut kept: Vec<(Snapshot, State)> = Vec::new();
        let mut tails = [0u64; 3];
        let name = |queue: usize, n: u64| format!("{queue} {n:06}").into_bytes();
        // One that lives through many writes, at its own number.
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
                    // Many at once, so that what is dead becomes long.
                    let taken = usize::try_from(random.below(40)).unwrap();
                    let range = name(queue, 0)..name(queue, 999_999);
                    let heads: Vec<_> = state.range(range).map(|(key, _)| key.clone()).collect();
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
                59..61 => {
                    db.step_background(Job::Merge).unwrap();
                }
                61..63 => kept.push((db.snapshot(), state.clone())),
                63..65 if !kept.is_empty() => {
                    let at = usize::try_from(random.below(kept.len() as u64)).unwrap();
                    kept.swap_remove(at);
                }
                65..67 => old = (db.cursor(), state.clone()),
                67..75 => {
                    if let Some((snapshot, state)) = kept.last() {
                        check(&mut snapshot.cursor(), state, None, 2);
                        check(&mut snapshot.cursor(), state, Some(&any), 2);
                    }
                    check(&mut old.0, &old.1, Some(&name(queue, 0)), 2);
                    check(&mut old.0, &old.1, None, 1);
                }
                75..83 => check(&mut db.cursor(), &state, None, turn % 3),
                83..92 => check(&mut db.cursor(), &state, Some(&name(queue, 0)), turn % 3),
                _ => check(&mut db.cursor(), &state, Some(&any), turn % 3),
            }
        }
        check(&mut db.cursor(), &state, None, state.len());
    }
}

/// Where a key's newest entry is in the part that takes inserts and the rest of it is not, it is not passed over.
#[test]
fn operands_on_what_is_dead_are_seen() {
    let (db, _) = {
        let options = stepped().merge_operator(Arc::new(Append));
        (options.open("/db").unwrap(), options)
    };
    (0..100).for_each(|n| db.put(&key(n), b"job").unwrap());
    db.flush().unwrap();
    (0..99).for_each(|n| db.delete(&key(n)).unwrap());
    assert_eq!(first(&db, None), Some(key(99)));
    assert_eq!(first(&db, None), Some(key(99)));
    db.merge(&key(40), b"new").unwrap();
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    assert_eq!((cursor.key(), cursor.value()), (&*key(40), &b"new"[..]));
    drop(cursor);
    let (other, _) = mem_db();
    assert_eq!(
        first(&other, None),
        None,
        "nothing is shared between databases"
    );
}

/// A producer beside the consumer: most jobs at the tail, some before everything else.
#[test]
fn what_comes_between_is_taken_first() {
    const JOBS: u64 = 30_000;
    let db = threaded().open("/db").unwrap();
    let urgent = |n: u64| format!("prior {n:08}").into_bytes();
    // Urgent jobs whose put has returned.
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
            let Some(job) = first(&db, None) else {
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
    assert_eq!(first(&db, None), None);
}
