//! Concurrent readers: each snapshot must show exactly its writes, in both directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cairndb_base::{Kind, Order, SeqNo, hash64};

use super::model::{Random, Version};
use crate::Memtable;

/// Returns the key of the write with this sequence number: a fixed shuffle, in which every eighth
/// write repeats an older key.
fn key_of(seq: u64) -> Vec<u8> {
    let number = if seq.is_multiple_of(8) { seq / 2 } else { seq };
    let shuffled = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    format!("key{shuffled:010}").into_bytes()
}

/// Iterates in one direction and checks that exactly the writes up to `snapshot` occur, in order.
fn check_walk(table: &Arc<Memtable>, snapshot: SeqNo, forward: bool) {
    let mut cursor = table.cursor();
    if forward {
        cursor.seek_to_first();
    } else {
        cursor.seek_to_last();
    }
    let mut seen = 0;
    let mut last: Option<Version> = None;
    while cursor.valid() {
        let here = Version {
            reversed: false,
            key: cursor.key().to_vec(),
            seq: cursor.seq(),
        };
        if here.seq <= snapshot {
            assert_eq!(here.key, key_of(here.seq));
            assert_eq!(cursor.value(), here.seq.to_le_bytes());
            seen += 1;
        }
        if let Some(last) = last {
            assert_eq!(last < here, forward, "{last:?} then {here:?}");
        }
        last = Some(here);
        if forward {
            cursor.next();
        } else {
            cursor.prev();
        }
    }
    // All are distinct, because strictly ordered, and within the snapshot: so none is missing.
    assert_eq!(seen, snapshot, "forward {forward}");
}

#[test]
fn readers_at_published_sequence_numbers_see_exactly_their_writes() {
    let count = if cfg!(miri) { 24 } else { 4000u64 };
    let (table, mut writer) = Memtable::new(Order::Bytewise, b"key".to_vec(), 512 << 10);
    let published = AtomicU64::new(0);
    thread::scope(|scope| {
        for reader in 0..3u64 {
            let (table, published) = (&table, &published);
            scope.spawn(move || {
                let mut random = Random(reader);
                loop {
                    let snapshot = published.load(Ordering::Acquire);
                    check_walk(table, snapshot, true);
                    check_walk(table, snapshot, false);
                    for _ in 0..50.min(snapshot) {
                        check_point(table, snapshot, 1 + random.below(snapshot));
                    }
                    if snapshot == count {
                        return;
                    }
                }
            });
        }
        for seq in 1..=count {
            let key = key_of(seq);
            writer.insert(seq, Kind::Put, &key, &seq.to_le_bytes());
            published.store(seq, Ordering::Release);
        }
    });
}

/// Checks that a write within the snapshot is found by a get and by seeks in both directions.
fn check_point(table: &Arc<Memtable>, snapshot: SeqNo, seq: SeqNo) {
    let key = key_of(seq);
    let found = table.get(&key, hash64(&key), seq);
    let found = found.expect("nothing is damaged").expect("published");
    assert_eq!(found.value, seq.to_le_bytes());
    let newest = table.get(&key, hash64(&key), snapshot);
    let newest = newest.expect("nothing is damaged").expect("published");
    assert!(newest.seq >= seq && newest.seq <= snapshot);
    let mut cursor = table.cursor();
    cursor.seek(&key, seq);
    assert_eq!((cursor.key(), cursor.seq()), (&key[..], seq));
    cursor.seek_for_prev(&key, seq);
    assert_eq!((cursor.key(), cursor.seq()), (&key[..], seq));
}
