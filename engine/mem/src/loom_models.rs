//! Loom models: one writer and one reader in every interleaving with at most four preemptions
//! (three if the reader uses the tree) and every reordering that C11 atomics allow.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p cairndb-mem --release loom`. The models are
//! small, two or three inserts each, because loom tries all executions. Each node's plain bytes
//! have a witness (see `sync`), so reaching a node without the edge that publishes it also fails.

use std::sync::Arc;

use cairndb_base::{Kind, Order, SeqNo, hash64};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use crate::{MemWriter, Memtable};

/// A memtable and the published sequence number.
struct SharedTable {
    table: Arc<Memtable>,
    published: AtomicU64,
}

fn insert(writer: &mut MemWriter, seq: SeqNo, key: &[u8]) {
    writer.insert(seq, Kind::Put, key, key);
}

/// Inserts `settled` before the threads start, then runs `reader` concurrently with the inserts of
/// `coming`, each of which is published. Sequence numbers count from 1 across both.
fn model(
    preemptions: usize,
    settled: &'static [&'static [u8]],
    coming: &'static [&'static [u8]],
    reader: fn(&SharedTable, &[&[u8]]),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 32 << 10);
        let mut seq = 0;
        for key in settled {
            seq += 1;
            insert(&mut writer, seq, key);
        }
        let shared = Arc::new(SharedTable {
            table,
            published: AtomicU64::new(seq),
        });
        let all = [settled, coming].concat();
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || reader(&shared, &all))
        };
        for key in coming {
            seq += 1;
            insert(&mut writer, seq, key);
            shared.published.store(seq, Ordering::Release);
        }
        thread.join().expect("the reader's assertions must hold");
    });
}

/// Returns the keys written up to `snapshot`, with their sequence numbers, in the memtable's order.
fn expected<'k>(keys: &[&'k [u8]], snapshot: SeqNo) -> Vec<(&'k [u8], SeqNo)> {
    let mut expected: Vec<(&[u8], SeqNo)> = keys.iter().copied().zip(1..=snapshot).collect();
    expected.sort_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
    expected
}

fn walk_forward(shared: &SharedTable, keys: &[&[u8]]) {
    let snapshot = shared.published.load(Ordering::Acquire);
    let mut met = Vec::new();
    let mut cursor = shared.table.cursor();
    cursor.seek_to_first();
    while cursor.valid() {
        assert_eq!(cursor.key(), cursor.value());
        if cursor.seq() <= snapshot {
            met.push((cursor.key().to_vec(), cursor.seq()));
        }
        cursor.next();
    }
    let met: Vec<(&[u8], SeqNo)> = met.iter().map(|(key, seq)| (&key[..], *seq)).collect();
    assert_eq!(met, expected(keys, snapshot));
}

fn walk_backward(shared: &SharedTable, keys: &[&[u8]]) {
    let snapshot = shared.published.load(Ordering::Acquire);
    let mut met = Vec::new();
    let mut cursor = shared.table.cursor();
    cursor.seek_to_last();
    while cursor.valid() {
        assert_eq!(cursor.key(), cursor.value());
        if cursor.seq() <= snapshot {
            met.push((cursor.key().to_vec(), cursor.seq()));
        }
        cursor.prev();
    }
    met.reverse();
    let met: Vec<(&[u8], SeqNo)> = met.iter().map(|(key, seq)| (&key[..], *seq)).collect();
    assert_eq!(met, expected(keys, snapshot));
}

fn walk_to_and_fro(shared: &SharedTable, keys: &[&[u8]]) {
    let snapshot = shared.published.load(Ordering::Acquire);
    let expected = expected(keys, snapshot);
    let mut cursor = shared.table.cursor();
    cursor.seek_to_first();
    while cursor.valid() && cursor.seq() > snapshot {
        cursor.next();
    }
    for step in 1..expected.len() {
        cursor.next();
        while cursor.seq() > snapshot {
            cursor.next();
        }
        assert_eq!((cursor.key(), cursor.seq()), expected[step]);
        cursor.prev();
        while cursor.seq() > snapshot {
            cursor.prev();
        }
        assert_eq!((cursor.key(), cursor.seq()), expected[step - 1]);
        cursor.next();
        while cursor.seq() > snapshot {
            cursor.next();
        }
    }
}

fn get_each(shared: &SharedTable, keys: &[&[u8]]) {
    let snapshot = shared.published.load(Ordering::Acquire);
    for (key, _) in expected(keys, snapshot) {
        let newest = (1..=snapshot).zip(keys).filter(|(_, k)| **k == key).last();
        let found = shared.table.get(key, hash64(key), snapshot);
        let found = found.expect("values are in memory");
        let found = found.expect("neither the index nor the list may miss a published entry");
        assert_eq!(Some(found.seq), newest.map(|(seq, _)| seq));
        assert_eq!(found.value, key);
    }
}

fn seek_both_ways(shared: &SharedTable, keys: &[&[u8]]) {
    let snapshot = shared.published.load(Ordering::Acquire);
    let mut cursor = shared.table.cursor();
    for (key, seq) in expected(keys, snapshot) {
        cursor.seek(key, seq);
        assert_eq!((cursor.key(), cursor.seq()), (key, seq));
        cursor.seek_for_prev(key, seq);
        assert_eq!((cursor.key(), cursor.seq()), (key, seq));
    }
}

#[test]
fn loom_forward_walks_meet_every_published_entry() {
    model(4, &[b"b"], &[b"a", b"c", b"b"], walk_forward);
}

#[test]
fn loom_backward_walks_meet_every_published_entry() {
    model(4, &[b"b"], &[b"c", b"a", b"b"], walk_backward);
}

#[test]
fn loom_inserts_into_one_gap_stay_visible_from_both_sides() {
    model(4, &[b"a", b"z"], &[b"m", b"c"], walk_to_and_fro);
}

#[test]
fn loom_gets_find_what_is_published() {
    model(4, &[b"k"], &[b"a", b"k", b"b"], get_each);
}

#[test]
fn loom_seeks_find_what_is_published() {
    // The fourth entry splits the first block of the tree and adds a level above it.
    model(3, &[b"a", b"b", b"d"], &[b"c"], seek_both_ways);
}

#[test]
fn loom_seeks_find_their_place_where_entries_move() {
    model(3, &[b"a", b"d"], &[b"b"], seek_both_ways);
}

#[test]
fn loom_seeks_find_what_is_appended() {
    model(3, &[b"a", b"b", b"c"], &[b"d"], seek_both_ways);
}

/// Checks that either all entries inserted between others are reported, or the result is `false`.
fn tell_between(shared: &SharedTable, keys: &[&[u8]]) {
    let published = shared.published.load(Ordering::Acquire);
    for since in [1, published.saturating_sub(1).max(1)] {
        let mut reported = Vec::new();
        let all = shared
            .table
            .inserted_between(since, |key| reported.push(key));
        let since = usize::try_from(since).expect("few are inserted");
        let published = usize::try_from(published).expect("few are inserted");
        let whole = keys[since..published]
            .iter()
            .all(|key| reported.contains(key));
        assert!(whole || !all, "{reported:?} of {published} since {since}");
    }
}

#[test]
fn loom_what_was_put_between_others_is_told_or_missed() {
    model(3, &[b"z"], &[b"b", b"c", b"a"], tell_between);
}
