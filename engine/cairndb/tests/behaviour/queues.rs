//! Queues: entries put at the tail and deleted at the head leave tombstones that a seek must not
//! step over again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::thread;

use cairndb::env::random::Random;
use cairndb::{Append, Comparator, Cursor, Db, Job, Snapshot};

use crate::counting::Counting;
use crate::{mem_db, stat, stepped, threaded};

fn key(n: u64) -> Vec<u8> {
    format!("queue {n:08}").into_bytes()
}

/// Returns the first key at or after `from`.
fn first(db: &Db, from: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut cursor = db.cursor();
    match from {
        Some(key) => cursor.seek(key).unwrap(),
        None => cursor.seek_to_first().unwrap(),
    }
    cursor.valid().then(|| cursor.key().to_vec())
}

/// Regression: each read of the head took one step for every entry deleted before.
#[test]
fn reading_the_head_of_a_queue_does_not_walk_deleted_entries() {
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
    // From the first key of the database, and from the first key of the queue.
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
        // A memtable may be sealed in the meantime, after which one read steps over tombstones.
        // Before the fix every read stepped over 6,000 tombstones.
        assert!(
            late < 8 * early,
            "{early} comparisons at first, {late} later"
        );
    }
}

/// A stack and a queue whose head is its greatest key.
#[test]
fn reading_the_last_key_does_not_walk_deleted_entries_either() {
    const TURNS: u64 = 2_000;
    for stack in [false, true] {
        let order = Arc::new(Counting::default());
        let db = stepped()
            .memory_budget(16 << 20)
            .comparator(Arc::clone(&order) as Arc<dyn Comparator>)
            .open("/db")
            .unwrap();
        let place = |n: u64| key(if stack { n } else { 99_999_999 - n });
        (0..3_000).for_each(|n| db.put(&place(n), b"job").unwrap());
        let last = || {
            let mut cursor = db.cursor();
            cursor.seek_to_last().unwrap();
            cursor.key().to_vec()
        };
        let turn = |n: u64| {
            if stack {
                assert_eq!(last(), place(2_999 - n));
                db.delete(&place(2_999 - n)).unwrap();
            } else {
                assert_eq!(last(), place(n));
                db.delete(&place(n)).unwrap();
                db.put(&place(n + 3_000), b"job").unwrap();
            }
        };
        let early = order.of(|| (0..200).for_each(turn));
        (200..TURNS - 200).for_each(turn);
        let late = order.of(|| (TURNS - 200..TURNS).for_each(turn));
        // Before the fix every read stepped over two thousand tombstones.
        assert!(
            late < 4 * early,
            "stack {stack}: {early} comparisons at first, {late} later"
        );
    }
}

/// Entries put into other queues, or before all queues, must not make a read step over tombstones
/// either.
#[test]
fn queues_are_read_in_turn_between_other_writes() {
    const QUEUES: u64 = 16;
    const LENGTH: u64 = 10;
    const TURNS: u64 = 200;
    let order = Arc::new(Counting::default());
    let db = stepped()
        .memory_budget(16 << 20)
        .comparator(Arc::clone(&order) as Arc<dyn Comparator>)
        .open("/db")
        .unwrap();
    let name = |queue: u64, n: u64| format!("queue {queue:02} {n:08}").into_bytes();
    for queue in 0..QUEUES {
        (0..LENGTH).for_each(|n| db.put(&name(queue, n), b"job").unwrap());
    }
    let turn = |n: u64| {
        for queue in 0..QUEUES {
            let from = format!("queue {queue:02}");
            assert_eq!(first(&db, Some(from.as_bytes())), Some(name(queue, n)));
            db.delete(&name(queue, n)).unwrap();
            db.put(&name(queue, n + LENGTH), b"job").unwrap();
        }
        db.put(b"counter", &n.to_le_bytes()).unwrap();
    };
    let early = order.of(|| (0..20).for_each(turn));
    (20..TURNS - 20).for_each(turn);
    let late = order.of(|| (TURNS - 20..TURNS).for_each(turn));
    assert!(
        late < 4 * early,
        "{early} comparisons at first, {late} later"
    );
}

/// A cursor that is older than a queue's newest entries must not mark them as deleted.
#[test]
fn what_an_older_cursor_finds_deleted_is_deleted_at_its_moment_only() {
    let (db, _) = mem_db();
    (0..200).for_each(|n| db.put(&key(n), b"job").unwrap());
    (0..200).for_each(|n| db.delete(&key(n)).unwrap());
    let mut cursor = db.cursor();
    (200..203).for_each(|n| db.put(&key(n), b"job").unwrap());
    cursor.seek_to_first().unwrap();
    assert!(!cursor.valid(), "the cursor is older than the new entries");
    assert_eq!(first(&db, None), Some(key(200)));
    // The same for entries between keys that have been deleted by now.
    db.put(&key(100), b"job").unwrap();
    db.delete(&key(100)).unwrap();
    db.put(&key(150), b"job").unwrap();
    assert_eq!(first(&db, None), Some(key(150)));
    assert_eq!(first(&db, Some(&key(120))), Some(key(150)));
    assert_eq!(first(&db, Some(&key(151))), Some(key(200)));
}

/// A consumer polls an empty queue.
#[test]
fn polling_an_empty_queue_is_cheap() {
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
    // In the middle of the deleted entries.
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
    let mut last = None;
    for _ in 0..=steps {
        let shown = cursor.valid().then(|| (cursor.key(), cursor.value()));
        let want = expected.next().map(|(key, value)| (&**key, &**value));
        assert_eq!(shown, want, "from {from:?}");
        last = want;
        cursor.next().unwrap();
    }
    if cursor.valid() {
        // Turn and move backward again.
        cursor.prev().unwrap();
        let shown = Some((cursor.key(), cursor.value()));
        assert_eq!(shown, last, "from {from:?}");
    }
}

fn check_back(cursor: &mut Cursor, state: &State, from: Option<&[u8]>, steps: usize) {
    let end = if let Some(key) = from {
        cursor.seek_for_prev(key).unwrap();
        Bound::Included(key.to_vec())
    } else {
        cursor.seek_to_last().unwrap();
        Bound::Unbounded
    };
    let mut expected = state.range((Bound::Unbounded, end)).rev();
    let mut last = None;
    for _ in 0..=steps {
        let shown = cursor.valid().then(|| (cursor.key(), cursor.value()));
        let want = expected.next().map(|(key, value)| (&**key, &**value));
        assert_eq!(shown, want, "backward from {from:?}");
        last = want;
        cursor.prev().unwrap();
    }
    if cursor.valid() {
        // Turn and move forward again.
        cursor.next().unwrap();
        assert_eq!(
            Some((cursor.key(), cursor.value())),
            last,
            "backward from {from:?}"
        );
    }
}

/// Several queues in one database, with every other kind of operation between the reads.
#[test]
fn reads_of_queues_see_every_operation_between_them() {
    for seed in 0..24u64 {
        let mut options = stepped().merge_operator(Arc::new(Append));
        if seed % 2 == 1 {
            // Keeps most tombstones in memtables.
            options = options.memory_budget(4 << 20);
        }
        let db = options.open("/db").unwrap();
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
                59..61 => {
                    db.step_background(Job::Compact).unwrap();
                }
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

/// A key must not be skipped if its newest entry is in the mutable memtable and its older entries
/// are not.
#[test]
fn operands_on_deleted_keys_are_seen() {
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
    assert_eq!(first(&other, None), None, "databases must not share state");
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
            assert_eq!(first(&db, None), Some(key(STRETCH)));
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| assert_eq!(first(&db, None), Some(key(STRETCH))));
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
        assert!(
            all <= 2 * STRETCH + 3 * others,
            "{all} tombstones passed, held: {held}"
        );
        seek_all();
        let last = passed();
        seek_all();
        let seeks = THREADS + 2;
        let allowed = seeks * (64 + stat(&db, "tables"));
        assert!(
            passed() - last <= allowed,
            "{} of {allowed}",
            passed() - last
        );
        if let Some(before) = before {
            let mut cursor = before.cursor();
            cursor.seek_to_first().unwrap();
            assert_eq!(
                cursor.key(),
                key(0),
                "the snapshot sees the deleted entries"
            );
        }
    }
}

/// Regression: a step that met a stretch of tombstones passed all of them, each time. The top of a
/// stack is found by a seek to the key after it and a step back.
#[test]
fn steps_over_a_stretch_of_tombstones_are_seeks() {
    const STRETCH: u64 = 20_000;
    for flushed in [false, true] {
        let db = stepped().memory_budget(16 << 20).open("/db").unwrap();
        (0..=STRETCH).for_each(|n| db.put(&key(n), b"job").unwrap());
        let _snapshot = db.snapshot();
        (1..STRETCH).for_each(|n| db.delete(&key(n)).unwrap());
        if flushed {
            db.flush().unwrap();
        }
        let turn = || {
            let mut cursor = db.cursor();
            cursor.seek(&key(STRETCH)).unwrap();
            cursor.prev().unwrap();
            assert_eq!(cursor.key(), key(0));
            cursor.next().unwrap();
            assert_eq!(cursor.key(), key(STRETCH));
            cursor.prev().unwrap();
            assert_eq!(cursor.key(), key(0));
        };
        let passed = || stat(&db, "dead_entries_passed");
        turn();
        let first = passed();
        assert!((STRETCH - 1..3 * STRETCH).contains(&first), "{first}");
        for n in 0..50 {
            db.put(format!("zoo {n}").as_bytes(), b"other").unwrap();
            turn();
        }
        let later = passed() - first;
        assert!(later <= 50 * 3 * 64, "{later}");
    }
}

/// A snapshot has spans of its own beside those of newer reads.
#[test]
fn a_snapshot_steps_over_its_tombstones_once() {
    const STRETCH: u64 = 20_000;
    let db = stepped().open("/db").unwrap();
    for n in 0..=STRETCH {
        db.put(&key(n), b"job").unwrap();
    }
    for n in 0..STRETCH {
        db.delete(&key(n)).unwrap();
    }
    let snapshot = db.snapshot();
    for n in 0..STRETCH / 2 {
        db.put(&key(n), b"again").unwrap();
    }
    for n in 0..STRETCH / 2 {
        db.delete(&key(n)).unwrap();
    }
    db.flush().unwrap();
    let passed = || stat(&db, "dead_entries_passed");
    let seek = || {
        let mut cursor = snapshot.cursor();
        cursor.seek_to_first().unwrap();
        assert_eq!(cursor.key(), key(STRETCH));
        assert_eq!(first(&db, None), Some(key(STRETCH)));
    };
    (0..4).for_each(|_| seek());
    let begun = passed();
    for _ in 0..50 {
        seek();
        db.put(b"zoo", b"other").unwrap();
    }
    assert!(passed() - begun <= 64 * 100, "{}", passed() - begun);
}

/// A compaction that drops everything newer must not make a span hold for older iterators.
#[test]
fn an_older_iterator_sees_what_was_deleted_and_compacted_since() {
    let options = stepped();
    let db = options.open("/db").unwrap();
    let name = |letter: char, n: u64| format!("{letter}{n:03}").into_bytes();
    for n in 0..100 {
        db.put(&name('a', n), b"live").unwrap();
        db.put(&name('z', n), b"live").unwrap();
    }
    db.compact_range(..).unwrap();
    let snapshot = db.snapshot();
    for n in 0..100 {
        db.delete(&name('z', n)).unwrap();
    }
    db.flush().unwrap();
    drop(snapshot);
    db.close().unwrap();
    drop(db);
    let db = options.open("/db").unwrap();
    let mut older = db.cursor();
    older.seek_to_first().unwrap();
    assert_eq!(older.key(), name('a', 0));
    for n in 0..100 {
        db.delete(&name('a', n)).unwrap();
    }
    db.compact_range("a".as_bytes().."b".as_bytes()).unwrap();
    assert_eq!(first(&db, Some(b"a000")), None);
    older.seek(b"a000").unwrap();
    assert_eq!(older.key(), name('a', 0));
}
