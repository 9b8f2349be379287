//! Reads: cursors in both directions, ranges, prefixes, snapshots, several keys at once.

use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::{Cursor, Db, ErrorKind, Job, Options, Value};

use crate::counting::Counting;
use crate::{
    all, all_backward, appending, entries, fails, field, keys, mem_db, noise, paths, real_dir,
    reverse, shown, stat, stepped,
};

/// Writes every fourth key of 00..99, starting at `residue`.
fn write(db: &Db, residue: u8) {
    for n in (0..100u8).filter(|n| n % 4 == residue) {
        db.put(format!("{n:02}").as_bytes(), &[n; 20]).unwrap();
    }
}

/// Puts three quarters of the keys in a compacted run, a newer run and the mutable memtable.
fn three_layers() -> Db {
    let (db, _) = mem_db();
    write(&db, 0);
    for n in 0..100u8 {
        db.put(format!("{n:02}x").as_bytes(), b"dead").unwrap();
    }
    db.compact_range(..).unwrap();
    write(&db, 1);
    for n in 0..100u8 {
        db.delete(format!("{n:02}x").as_bytes()).unwrap();
    }
    db.flush().unwrap();
    write(&db, 2);
    db
}

/// Puts keys 00..99 in a compacted run, two newer runs and the mutable memtable.
fn layered() -> Db {
    let db = three_layers();
    db.flush().unwrap();
    write(&db, 3);
    db
}

fn numbers(range: std::ops::Range<u8>) -> Vec<Vec<u8>> {
    range.map(|n| format!("{n:02}").into_bytes()).collect()
}

/// Regression: a cursor passed its sources on to the next cursor without the mutable memtable,
/// because that memtable had been empty.
#[test]
fn a_cursor_sees_writes_made_since_another_was_dropped() {
    let db = three_layers();
    db.flush().unwrap();
    let value_at = |key: &str| {
        let mut cursor = db.cursor();
        cursor.seek(key.as_bytes()).unwrap();
        assert_eq!(cursor.key(), key.as_bytes());
        cursor.value().to_vec()
    };
    for round in 0..3u8 {
        for key in ["00", "01", "02"] {
            value_at(key);
            db.put(key.as_bytes(), &[round]).unwrap();
            assert_eq!(value_at(key), [round]);
            db.put(b"000", &[round]).unwrap();
            assert_eq!(value_at("000"), [round]);
        }
        // The view changes. After the last round there is one run.
        if round == 1 {
            db.compact_range(..).unwrap();
        } else {
            db.flush().unwrap();
        }
    }
    let mut moved = db.cursor();
    moved.seek(b"01").unwrap();
    moved.prev().unwrap();
    assert_eq!(moved.key(), b"000");
}

/// After a number of lone seeks, a seek looks up its key like a get, without positioning its
/// sources. A move after such a seek must continue from the key.
#[test]
fn lone_seeks_lead_to_the_same_entries() {
    let (one_run, _) = mem_db();
    for n in (0..100u8).filter(|n| n % 3 != 0) {
        let key = format!("{n:02}");
        one_run.put(key.as_bytes(), &[n; 20]).unwrap();
        one_run.put((key + "x").as_bytes(), b"dead").unwrap();
    }
    for n in 0..100u8 {
        one_run.delete(format!("{n:02}x").as_bytes()).unwrap();
    }
    one_run.compact_range(..).unwrap();
    for db in [one_run, three_layers(), layered()] {
        let expected = all(&db);
        let mut reused = db.cursor();
        for turn in 0..200 {
            // Keys that exist, that were deleted, and that never existed.
            let sought = format!("{:02}{}", turn * 37 % 103, ["", "x", "y"][turn / 5 % 3]);
            let at = expected.partition_point(|(key, _)| key.as_slice() < sought.as_bytes());
            let mut fresh = db.cursor();
            for cursor in [&mut fresh, &mut reused] {
                check_seek(cursor, &sought, 1, false, &expected);
                if turn % 25 < 20 {
                    continue;
                }
                check_seek(cursor, &sought, 4, false, &expected);
                cursor.seek(sought.as_bytes()).unwrap();
                cursor.prev().unwrap();
                let before = (at < expected.len()).then(|| at.checked_sub(1)).flatten();
                assert_eq!(shown(cursor), before.map(|at| expected[at].clone()));
            }
        }
    }
}

/// The shortcut of lone seeks lowers the number of comparisons, because positioning each source
/// costs some.
#[test]
fn lone_seeks_position_no_source() {
    const SEEKS: u64 = 64;
    let order = Arc::new(Counting::default());
    let db = stepped().comparator(order.clone()).open("/db").unwrap();
    for layer in 0..4 {
        write(&db, layer);
        if layer < 3 {
            db.flush().unwrap();
        }
    }
    assert_eq!(stat(&db, "runs"), 3);
    let seek = |n: u64, moves: bool| {
        let key = format!("{:02}", n * 37 % 99);
        let mut cursor = db.cursor();
        let comparisons = order.of(|| cursor.seek(key.as_bytes()).unwrap());
        assert_eq!(cursor.key(), key.as_bytes());
        if moves {
            cursor.next().unwrap();
        }
        comparisons
    };
    let followed: u64 = (0..SEEKS).map(|n| seek(n, true)).sum();
    // The first lone seeks only establish the pattern.
    let _: u64 = (0..SEEKS).map(|n| seek(n, false)).sum();
    let alone: u64 = (0..SEEKS).map(|n| seek(n, false)).sum();
    assert!(
        2 * alone < followed,
        "{alone} comparisons of lone seeks, {followed} of seeks before a move"
    );
}

/// One run that also holds the data of a snapshot: older versions, tombstones, operands.
#[test]
fn lone_seeks_in_a_run_respect_snapshots() {
    let db = appending().open("/db").unwrap();
    let key = |n: u8| format!("{n:02}").into_bytes();
    for n in 0..100 {
        db.put(&key(n), &[n; 20]).unwrap();
    }
    let before = db.snapshot();
    for n in 0..100u8 {
        match n % 4 {
            0 => db.delete(&key(n)).unwrap(),
            1 => db.put(&key(n), &[n; 30]).unwrap(),
            2 => db.merge(&key(n), &[n; 5]).unwrap(),
            _ => {}
        }
    }
    db.compact_range(..).unwrap();
    let expected = all(&db);
    assert_eq!(expected.len(), 75);
    let expected_before: Vec<_> = (0..100).map(|n| (key(n), vec![n; 20])).collect();
    for turn in 0..300 {
        let sought = format!("{:02}{}", turn * 37 % 103, ["", "x"][turn / 5 % 2]);
        check_seek(&mut db.cursor(), &sought, 1, false, &expected);
        check_seek(&mut before.cursor(), &sought, 1, false, &expected_before);
    }
}

/// Checks that a seek to `sought`, and steps to further entries, return those of `expected`, in
/// either order.
#[track_caller]
fn check_seek(
    cursor: &mut Cursor,
    sought: &str,
    count: usize,
    backwards: bool,
    expected: &[(Vec<u8>, Vec<u8>)],
) {
    let before = |key: &[u8]| key != sought.as_bytes() && (key < sought.as_bytes()) != backwards;
    let at = expected.partition_point(|(key, _)| before(key));
    cursor.seek(sought.as_bytes()).unwrap();
    for step in 0..count {
        if step > 0 {
            cursor.next().unwrap();
        }
        let entry = shown(cursor);
        assert!(
            entry.as_ref() == expected.get(at + step),
            "{sought} and {step} on, {backwards}"
        );
    }
}

/// Most seeks have no steps, because a step makes the next seeks position their sources again.
fn count_of(turn: usize) -> usize {
    if turn % 50 > 45 { 4 } else { 1 }
}

/// A run with entries above it, in memory or in more runs, of which a snapshot contains only some,
/// in either order.
#[test]
fn lone_seeks_respect_snapshots() {
    for (backwards, runs) in [1, 2, 7].into_iter().flat_map(|n| [(false, n), (true, n)]) {
        let db = in_order(backwards, appending()).open("/db").unwrap();
        let key = |n: u8| format!("{n:03}").into_bytes();
        for n in (0..200).filter(|n| n % 2 == 0) {
            db.put(&key(n), &[n; 20]).unwrap();
        }
        let mut moments = vec![(db.snapshot(), all(&db))];
        // The last key of the run, or the first in reverse order. The first snapshot does not
        // contain it.
        db.put(b"z", b"late").unwrap();
        db.compact_range(..).unwrap();
        for n in 0..200u8 {
            match n % 9 {
                0 => db.delete(&key(n)).unwrap(),
                1..=3 => db.put(&key(n), &[n; 30]).unwrap(),
                4 => db.merge(&key(n), &[n; 5]).unwrap(),
                _ => {}
            }
        }
        moments.push((db.snapshot(), all(&db)));
        if runs > 1 {
            db.flush().unwrap();
        }
        for run in 2..runs {
            for n in 0..200u8 {
                match (n + 3 * run) % 23 {
                    0 => db.delete(&key(n)).unwrap(),
                    1 | 2 => db.put(&key(n), &[n; 10]).unwrap(),
                    3 => db.merge(&key(n), &[run; 3]).unwrap(),
                    _ => {}
                }
            }
            moments.push((db.snapshot(), all(&db)));
            db.flush().unwrap();
        }
        for n in (0..200).filter(|n| n % 5 == 0) {
            db.put(&key(n), &[n; 40]).unwrap();
        }
        moments.push((db.snapshot(), all(&db)));
        for turn in 0..2000 {
            let mut sought = format!("{:03}{}", turn * 37 % 203, ["", "x"][turn / 5 % 2]);
            if turn % 11 == 0 {
                sought = "z".into();
            }
            for (moment, expected) in &moments {
                check_seek(
                    &mut moment.cursor(),
                    &sought,
                    count_of(turn),
                    backwards,
                    expected,
                );
            }
        }
    }
}

fn in_order(backwards: bool, options: Options) -> Options {
    if backwards {
        options.comparator(reverse())
    } else {
        options
    }
}

/// One run of several tables, some values in value files, in either order.
#[test]
fn lone_seeks_in_a_run_find_values_wherever_they_are() {
    for backwards in [false, true] {
        let db = in_order(backwards, stepped()).open("/db").unwrap();
        // Incompressible, so that several tables remain.
        let noise = noise(&mut Random::new(1), 90_400);
        let value = |n: usize| noise[n..n + [0, 20, 3000, 90_000][n % 4]].to_vec();
        for n in 0..400 {
            db.put(format!("{n:03}").as_bytes(), &value(n)).unwrap();
        }
        db.compact_range(..).unwrap();
        assert!(stat(&db, "tables") > 1);
        let expected = all(&db);
        assert_eq!(expected.len(), 400);
        for turn in 0..1000 {
            let sought = format!("{:03}{}", turn * 137 % 403, ["", "x"][turn / 7 % 2]);
            check_seek(
                &mut db.cursor(),
                &sought,
                count_of(turn),
                backwards,
                &expected,
            );
        }
    }
}

#[test]
fn a_scan_sees_every_layer_once_and_no_tombstone() {
    let db = layered();
    assert_eq!(keys(db.iter()), numbers(0..100));
    assert_eq!(all_backward(&db), all(&db));
    for n in 0..100u8 {
        let get = |key: String| db.get(key.as_bytes()).unwrap();
        assert_eq!(get(format!("{n:02}")).unwrap(), [n; 20]);
        assert_eq!(get(format!("{n:02}x")), None);
    }
}

#[test]
fn a_cursor_can_turn_anywhere() {
    let db = layered();
    let mut cursor = db.cursor();
    assert!(!cursor.valid());
    for n in 0..100u8 {
        let key = format!("{n:02}").into_bytes();
        cursor.seek(&key).unwrap();
        assert_eq!(cursor.key(), key);
        cursor.prev().unwrap();
        assert_eq!(cursor.valid(), n > 0);
        if n > 0 {
            assert_eq!(cursor.key(), format!("{:02}", n - 1).as_bytes());
            cursor.next().unwrap();
            assert_eq!((cursor.key(), cursor.value()), (&key[..], &[n; 20][..]));
        }
        cursor.seek_for_prev(&[&key[..], b"y"].concat()).unwrap();
        assert_eq!(cursor.key(), key);
        cursor.next().unwrap();
        assert_eq!(cursor.valid(), n < 99);
        if n < 99 {
            cursor.prev().unwrap();
            assert_eq!(cursor.key(), key);
        }
    }
    cursor.seek(b"99z").unwrap();
    assert!(!cursor.valid());
    cursor.next().unwrap();
    cursor.prev().unwrap();
    assert!(!cursor.valid());
}

#[test]
fn ranges_and_prefixes_end_where_they_should() {
    let db = layered();
    for (found, expected) in [
        (db.range(b"10"..b"20"), 10..20),
        (db.range(b"10"..=b"20"), 10..21),
        (db.range(..b"05"), 0..5),
        (db.range(b"95"..), 95..100),
        (db.prefix(b"4"), 40..50),
        (db.prefix(b""), 0..100),
        (db.range(b"50"..b"50"), 0..0),
    ] {
        assert_eq!(keys(found), numbers(expected));
    }
    let backward = keys(db.prefix(b"4").rev());
    assert!(backward.iter().rev().eq(&numbers(40..50)));
}

#[test]
fn both_ends_of_an_iterator_meet() {
    let db = layered();
    let mut iter = db.iter();
    let mut seen = Vec::new();
    while let Some(front) = iter.next() {
        seen.push(front.unwrap().0.into_vec());
        if let Some(back) = iter.next_back() {
            seen.push(back.unwrap().0.into_vec());
        }
    }
    assert!(iter.next_back().is_none());
    seen.sort();
    assert_eq!(seen, numbers(0..100));
}

/// Skipped entries are not copied, but counted like copied ones.
#[test]
fn skipped_and_counted_entries_are_the_entries_that_exist() {
    let db = layered();
    let all = numbers(0..100);
    let key = |entry: Option<cairndb::Result<(Value, Value)>>| {
        entry.map(|entry| entry.unwrap().0.into_vec())
    };
    assert_eq!(db.iter().count(), 100);
    assert_eq!(db.iter().try_count().unwrap(), 100);
    assert_eq!(db.range(&all[10][..]..&all[20][..]).count(), 10);
    for n in [0, 1, 37, 99, 100, 5000] {
        assert_eq!(key(db.iter().nth(n)), all.get(n).cloned(), "{n}");
        let back = all.iter().rev().nth(n).cloned();
        assert_eq!(key(db.iter().nth_back(n)), back, "{n}");
        assert_eq!(db.iter().skip(n).count(), 100_usize.saturating_sub(n));
    }
    let mut iter = db.iter();
    assert_eq!(key(iter.nth(30)), Some(all[30].clone()));
    assert_eq!(key(iter.nth_back(30)), Some(all[69].clone()));
    assert_eq!(key(iter.next()), Some(all[31].clone()));
    assert_eq!(iter.try_count().unwrap(), 37, "wrong number of entries");
    let mut met = db.iter();
    assert!(met.nth_back(60).is_some() && met.nth(60).is_none());
    assert!(met.next_back().is_none());
    db.close().unwrap();
    assert_eq!(db.iter().count(), 0, "an error must not count as an entry");
    fails(db.iter().try_count(), ErrorKind::Closed);
    fails(db.iter().next().unwrap(), ErrorKind::Closed);
    assert!(db.iter().nth(1).is_none());
}

#[test]
fn a_snapshot_never_changes() {
    let (db, _) = mem_db();
    let mut snapshots = Vec::new();
    for round in 0..20u8 {
        for n in 0..50u8 {
            if (n + round) % 7 == 0 {
                db.delete(&[n]).unwrap();
            } else {
                db.put(&[n], &[round, n]).unwrap();
            }
        }
        snapshots.push((db.snapshot(), all(&db)));
        match round % 4 {
            0 => db.flush().unwrap(),
            1 => drop(db.step_background(Job::IdleCompact).unwrap()),
            2 => db.compact_range(..).unwrap(),
            _ => {}
        }
        for (snapshot, expected) in &snapshots {
            assert_eq!(entries(snapshot.iter()), *expected);
            for (key, value) in expected {
                assert_eq!(&*snapshot.get(key).unwrap().unwrap(), value);
            }
        }
        if round % 5 == 0 {
            drop(snapshots.remove(0));
        }
    }
}

#[test]
fn an_open_cursor_keeps_its_moment() {
    let (db, _) = mem_db();
    for n in 0..200u8 {
        db.put(&[n], b"before").unwrap();
    }
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    for n in 0..200u8 {
        db.put(&[n], b"after").unwrap();
        db.put(&[n, n], b"new").unwrap();
    }
    db.compact_range(..).unwrap();
    let mut seen = 0;
    while cursor.valid() {
        assert_eq!(cursor.value(), b"before");
        seen += 1;
        cursor.next().unwrap();
    }
    assert_eq!(seen, 200);
}

fn sendable<T: Send + Sync>(_: &T) {}

/// A thread holds a few views without a reference count. Further cursors, cursors of finished
/// threads and cursors moved to other threads also keep their views, however often views change.
#[test]
fn many_cursors_of_one_thread_keep_their_moments() {
    let (db, _) = mem_db();
    let mut cursors = Vec::new();
    let change = |moment: u8| {
        db.put(b"k", &[moment; 40]).unwrap();
        db.flush().unwrap();
        db.compact_range(..).unwrap();
    };
    for moment in 0..6u8 {
        change(moment);
        // More cursors than the thread has room for, without a change of the view in between.
        cursors.extend((0..20).map(|_| (moment, db.cursor())));
        let other = db.clone();
        let made = move || (0..9).map(|_| (moment, other.cursor())).collect::<Vec<_>>();
        cursors.extend(std::thread::spawn(made).join().unwrap());
        assert_eq!(db.get(b"k").unwrap().unwrap(), [moment; 40]);
    }
    sendable(&cursors);
    change(6);
    let ended = std::thread::spawn(move || {
        for (moment, cursor) in &mut cursors {
            cursor.seek(b"k").unwrap();
            assert_eq!(cursor.value(), [*moment; 40]);
            cursor.seek_to_last().unwrap();
            assert_eq!(cursor.value(), [*moment; 40]);
            cursor.prev().unwrap();
            assert!(!cursor.valid());
        }
    });
    ended.join().unwrap();
    let pinned = field(&db, "cairndb.memory", "pinned");
    assert_eq!(pinned, 0, "dropped cursors must pin nothing");
    assert_eq!(db.get(b"k").unwrap().unwrap(), [6; 40]);
}

/// The last handle is dropped while a cursor holds the view without a reference count.
#[test]
fn a_cursor_may_outlive_its_database() {
    let (db, _) = mem_db();
    db.put(b"k", &[7; 40]).unwrap();
    let mut before_close = db.cursor();
    db.clone().close().unwrap();
    let mut after_close = db.cursor();
    drop(db);
    for cursor in [&mut before_close, &mut after_close] {
        fails(cursor.seek(b"k"), ErrorKind::Closed);
        assert!(!cursor.valid());
    }
}

#[test]
fn multi_get_returns_values_in_the_order_of_the_keys() {
    let db = layered();
    let values = db.multi_get(&[&b"07"[..], b"absent", b"03"]).unwrap();
    assert_eq!(values[0].as_deref(), Some(&[7u8; 20][..]));
    assert_eq!(values[1], None);
    assert_eq!(values[2].as_deref(), Some(&[3u8; 20][..]));
    // More keys than are prefetched at once, across all layers, including deleted and absent ones.
    let keys: Vec<String> = (0..100)
        .flat_map(|n| [format!("{n:02}"), format!("{n:02}x"), format!("{n:02}y")])
        .collect();
    for db in [layered(), three_layers()] {
        let values = db.multi_get(&keys).unwrap();
        for (key, value) in keys.iter().zip(values) {
            assert_eq!(value, db.get(key.as_bytes()).unwrap(), "{key}");
        }
    }
}

#[test]
fn a_comparator_decides_the_order_of_everything() {
    let options = stepped().comparator(reverse());
    let db = options.open("/db").unwrap();
    for n in 0..200u8 {
        db.put(&[n], &[n]).unwrap();
        if n % 60 == 0 {
            db.flush().unwrap();
        }
    }
    let expected: Vec<Vec<u8>> = (0..200u8).rev().map(|n| vec![n]).collect();
    assert_eq!(keys(db.iter()), expected);
    assert_eq!(all_backward(&db), all(&db));
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let db = options.open("/db").unwrap();
    assert_eq!(db.get(&[77]).unwrap().unwrap(), [77]);
    assert_eq!(keys(db.range([10]..[5])), [[10], [9], [8], [7], [6]]);
}

/// Regression: `contains` read the value of a pointer.
#[test]
fn contains_reads_no_large_value() {
    let dir = real_dir();
    let db = Db::open(dir.path()).unwrap();
    db.put(b"large", &[7; 50_000]).unwrap();
    db.put(b"gone", &[7; 50_000]).unwrap();
    db.delete(b"gone").unwrap();
    for path in paths(dir.path(), "val") {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, vec![0; bytes.len()]).unwrap();
    }
    for _ in 0..2 {
        fails(db.get(b"large"), ErrorKind::Corruption);
        assert!(db.contains(b"large").unwrap());
        assert!(!db.contains(b"gone").unwrap());
        assert!(!db.contains(b"none").unwrap());
        db.flush().unwrap();
    }
}

#[test]
fn a_cursor_of_a_closed_database_is_invalid() {
    let db = layered();
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    let mut entries = db.iter();
    entries.next().unwrap().unwrap();
    db.close().unwrap();
    fails(cursor.next(), ErrorKind::Closed);
    assert!(!cursor.valid());
    assert!(cursor.key().is_empty() && cursor.value().is_empty());
    fails(entries.next().unwrap(), ErrorKind::Closed);
    assert!(entries.next().is_none());
    assert!(entries.next_back().is_none());
}

/// Tables that only a cursor keeps alive are reported, and are removed after the cursor is dropped.
#[test]
fn tables_that_only_cursors_keep_are_reported() {
    let (db, _) = mem_db();
    let held = || stat(&db, "held_table_bytes");
    let rewrite = |value: &[u8]| {
        for n in 0..200u8 {
            db.put(&[n], value).unwrap();
        }
        db.compact_range(..).unwrap();
    };
    rewrite(b"before");
    assert_eq!(held(), 0);
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    rewrite(b"after");
    assert_eq!(cursor.value(), b"before");
    assert!(held() >= 4096, "{}", held());
    drop(cursor);
    db.wait_idle().unwrap();
    assert_eq!(held(), 0);
}

/// Regression: memtables that only cursors kept alive were not reported anywhere.
#[test]
fn memtables_that_cursors_pin_are_reported() {
    let (db, _) = mem_db();
    let mut cursors = Vec::new();
    for round in 0..20u8 {
        for n in 0..200u8 {
            db.put(&[n, round], &[round; 100]).unwrap();
        }
        let mut cursor = db.cursor();
        cursor.seek_to_first().unwrap();
        cursors.push(cursor);
        db.flush().unwrap();
    }
    let pinned = field(&db, "cairndb.memory", "pinned");
    assert!(pinned >= 20 * 200 * 102, "{pinned}");
    let total = field(&db, "cairndb.memory", "total");
    let usage = db.property("leveldb.approximate-memory-usage").unwrap();
    assert!(total >= pinned && usage == total.to_string());
    drop(cursors);
    assert_eq!(field(&db, "cairndb.memory", "pinned"), 0);
}

#[test]
fn a_range_that_ends_before_it_begins_holds_nothing() {
    let (db, _) = mem_db();
    let (from, to) = (b"slate".as_slice(), b"chalk");
    for flushed in [false, true] {
        for key in [b"chalk".as_slice(), b"marl", b"slate", b"tuff"] {
            db.put(key, b"stone").unwrap();
        }
        if flushed {
            db.flush().unwrap();
        }
        assert!(db.range(from..to).next().is_none());
        assert!(db.range(from..=to).next_back().is_none());
        assert_eq!(db.approximate_size(from..to).unwrap(), 0);
        db.compact_range(from..to).unwrap();
    }
    assert_eq!(all(&db).len(), 4);
}
