//! Compares the memtable with a `BTreeMap`: alone, and during inserts.

mod logged;
mod model;
mod threads;

use std::cmp::Ordering as Compare;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cairndb_base::{Comparator, Kind, Order, SEQ_MAX, SeqNo, hash64};

use crate::{ChunkPool, Memtable};
use model::{Pair, Random, reverse};

/// Returns a key that orders like the number.
pub(crate) fn ordered(number: u64) -> [u8; 8] {
    number.swap_bytes().to_le_bytes()
}

/// Returns a key from a small set, in which many keys have long parts in common, up to the end of
/// the hint and after it.
fn draw_key(random: &mut Random, hint: &[u8]) -> Vec<u8> {
    let mut key = match random.below(8) {
        0 => Vec::new(),
        1 => hint[..hint.len() / 2].to_vec(),
        2 => random.bytes(2),
        _ => hint.to_vec(),
    };
    match random.below(4) {
        0 => key.extend_from_slice(b"sameheadsameheadsame"),
        1 => key.extend_from_slice(&[0xff; 9]),
        2 => key.extend_from_slice(&[0; 9]),
        _ => {}
    }
    let len = random.below(4);
    key.extend((0..len).map(|_| b'a' + random.below(3).to_le_bytes()[0]));
    key
}

fn draw_kind(random: &mut Random) -> Kind {
    Kind::from_u8(random.below(4).to_le_bytes()[0]).expect("four kinds")
}

fn run_model(order: &Order, hint: &[u8], seed: u64) {
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut pair = Pair::new(order.clone(), hint, seed);
    pair.check_walks();
    let steps = if cfg!(miri) { 30 } else { 1500 };
    for seq in 1..=steps {
        let key = draw_key(&mut random, hint);
        let kind = draw_kind(&mut random);
        let len = random.below(40);
        let value = random.bytes(usize::try_from(len).unwrap());
        pair.insert(seq, kind, &key, &value);
        let probe = draw_key(&mut random, hint);
        let snapshot = match random.below(10) {
            0 => SEQ_MAX,
            1 => 0,
            _ => random.below(seq + 2),
        };
        pair.check_get(&key, SEQ_MAX);
        pair.check_get(&probe, snapshot);
        pair.check_seeks(&probe, snapshot);
    }
    pair.check_walks();
    pair.check_counters();
    for _ in 0..steps {
        let probe = draw_key(&mut random, hint);
        let snapshot = random.below(steps + 2);
        pair.check_get(&probe, snapshot);
        pair.check_seeks(&probe, snapshot);
        pair.check_seeks(&probe, SEQ_MAX);
    }
}

#[test]
fn bytewise_agrees_with_the_model_whatever_the_hint() {
    for (seed, hint) in [
        &b""[..],
        b"k",
        b"prefix",
        b"a long common prefix ",
        &[0xff; 3],
    ]
    .into_iter()
    .enumerate()
    {
        run_model(&Order::Bytewise, hint, seed as u64);
    }
}

#[test]
fn custom_orders_agree_with_the_model() {
    run_model(&reverse(false), b"prefix", 100);
    run_model(&reverse(true), b"", 101);
}

#[test]
fn keys_in_order_and_in_reverse_order_agree_with_the_model() {
    let count = if cfg!(miri) { 40 } else { 3000u64 };
    for hint in [&b""[..], b"0000"] {
        let mut up = Pair::new(Order::Bytewise, hint, 0);
        let mut down = Pair::new(Order::Bytewise, hint, 0);
        for i in 0..count {
            up.insert(i + 1, Kind::Put, format!("{i:016}").as_bytes(), b"up");
            let key = format!("{:016}", count - i);
            down.insert(i + 1, Kind::Put, key.as_bytes(), b"down");
        }
        for pair in [up, down] {
            for i in 0..count + 2 {
                pair.check_seeks(format!("{i:016}").as_bytes(), SEQ_MAX);
            }
            pair.check_walks();
            pair.check_counters();
            assert!(pair.table.common_prefix().starts_with(b"000000000000"));
        }
    }
}

#[test]
fn interleaved_streams_and_sequence_numbers_out_of_order_agree_with_the_model() {
    let mut random = Random(7);
    let mut pair = Pair::new(Order::Bytewise, b"s", 7);
    let count = if cfg!(miri) { 30 } else { 500u64 };
    for i in 0..count {
        for stream in 0..3 {
            let key = format!("s{stream}{i:08}");
            let seq = (i * 3 + stream + 1) ^ 1;
            pair.insert(seq, Kind::Put, key.as_bytes(), b"");
        }
        // Versions of one key, newest first, last, and in between.
        pair.insert(
            10_000 + (random.next() >> 12),
            Kind::Merge,
            b"s1",
            b"operand",
        );
    }
    pair.check_walks();
    for snapshot in [0, 1, 10_000, 1 << 40, 1 << 50, SEQ_MAX, u64::MAX] {
        pair.check_get(b"s1", snapshot);
        pair.check_seeks(b"s1", snapshot);
    }
    // Hundreds of versions of one key.
    for snapshot in (10_000..1 << 52).step_by(1 << 43) {
        pair.check_get(b"s1", snapshot);
        pair.check_seeks(b"s1", snapshot);
        pair.check_seeks(b"s10", snapshot);
    }
}

/// Ascending keys fall between earlier keys, not all of which are in the tree.
#[test]
fn keys_in_order_within_keys_in_order_agree_with_the_model() {
    for behind in 0..9 {
        let mut pair = Pair::new(Order::Bytewise, b"", 0);
        let (mut prefix, mut seq) = (Vec::new(), 0);
        for _ in 0..if cfg!(miri) { 4 } else { 60 } {
            for last in 1..=12 {
                seq += 1;
                pair.insert(seq, Kind::Put, &[&prefix[..], &[last]].concat(), b"");
            }
            prefix.push(behind);
            pair.check_seeks(&prefix, SEQ_MAX);
            pair.check_seeks(&[&prefix[..], &[0xff]].concat(), SEQ_MAX);
        }
        pair.check_walks();
    }
}

/// Runs of consecutive keys from random positions: blocks are split in the middle and at their
/// ends, and later keys follow each.
#[test]
fn bursts_of_keys_in_order_at_random_places_agree_with_the_model() {
    for seed in 200..if cfg!(miri) { 201 } else { 206 } {
        println!("seed {seed}");
        let mut random = Random(seed);
        let mut pair = Pair::new(Order::Bytewise, b"", seed);
        let (mut seq, count) = (0, if cfg!(miri) { 60 } else { 20_000 });
        while seq < count {
            let from = random.below(1 << 20) << 20;
            let longest = if seed % 2 == 0 { 40 } else { 2000 };
            for key in from..=from + random.below(longest) {
                seq += 1;
                pair.insert(seq, Kind::Put, &ordered(key), b"");
            }
            pair.check_seeks(&ordered(from + 5), SEQ_MAX);
        }
        pair.check_walks();
    }
}

/// Blocks above the leaves are also filled in order, and later keys come between.
#[test]
#[cfg_attr(miri, ignore = "20,000 entries")]
fn keys_between_many_in_order_agree_with_the_model() {
    let mut pair = Pair::new(Order::Bytewise, b"", 300);
    let mut random = Random(300);
    for seq in 1..=20_000 {
        pair.insert(seq, Kind::Put, &ordered(seq << 8), b"");
    }
    pair.check_walks();
    for seq in 20_001..=30_000 {
        let key = ordered(random.below(20_000 << 8));
        pair.insert(seq, Kind::Put, &key, b"");
        pair.check_seeks(&key, SEQ_MAX);
    }
    pair.check_walks();
}

#[test]
fn what_has_room_stays_within_the_capacity() {
    let step = if cfg!(miri) { 8 << 10 } else { 264 };
    for capacity in (4 << 10..40 << 10).step_by(step) {
        for order in 0..3u64 {
            let pool = ChunkPool::new(capacity);
            let (table, mut writer) =
                Memtable::pooled(&pool, Order::Bytewise, Vec::new(), capacity);
            let mut seq = 0;
            while writer.has_room(8, 4) {
                seq += 1;
                let key = match order {
                    0 => seq,
                    1 => u64::MAX - seq,
                    _ => hash64(&seq.to_le_bytes()),
                };
                let key = ordered(key);
                writer.insert(seq, Kind::Put, &key, b"rock");
                assert!(table.allocated_bytes() <= capacity || seq == 1);
            }
            assert!(capacity < 8 << 10 || table.bytes_used() * 2 > capacity);
        }
    }
}

#[test]
fn an_empty_memtable_has_no_place_for_any_key() {
    let pair = Pair::new(Order::Bytewise, b"", 0);
    pair.check_walks();
    pair.check_seeks(b"", SEQ_MAX);
    pair.check_seeks(&[0xff; 9], 1);
}

#[test]
fn the_next_prefix_leaves_a_head_that_ends_with_the_key() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 1 << 16);
    for (seq, key) in [b"0000000000019998", b"0000000000019999"]
        .iter()
        .enumerate()
    {
        writer.insert(seq as u64 + 1, Kind::Put, *key, b"");
    }
    assert_eq!(table.common_prefix(), b"000000000001999");
    // After the longer prefix the head of ...20000 would not distinguish it from any later key.
    assert_eq!(table.next_prefix(), b"00000000");
}

/// Returns the keys inserted between others since `seq`, last first; `None` if not all are known.
fn between(table: &Memtable, seq: SeqNo) -> Option<Vec<&[u8]>> {
    let mut keys = Vec::new();
    let all = table.inserted_between(seq, |key| keys.push(key));
    all.then_some(keys)
}

#[test]
fn what_was_inserted_before_others_is_told_from_what_came_last() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 64 << 10);
    let mut insert = |seq, kind, key: &[u8]| writer.insert(seq, kind, key, b"");
    assert_eq!(between(&table, 0), Some(vec![]));
    assert_eq!(table.key_near_end(SEQ_MAX), None);
    insert(1, Kind::Put, b"b");
    insert(2, Kind::Put, b"d");
    insert(3, Kind::Delete, b"b");
    insert(4, Kind::Delete, b"a");
    assert_eq!(
        between(&table, 0),
        Some(vec![]),
        "all puts come after the existing entries"
    );
    insert(5, Kind::Merge, b"c");
    // The same key again comes before its older version.
    insert(6, Kind::Put, b"d");
    insert(7, Kind::Put, b"e");
    assert_eq!(between(&table, 0), Some(vec![&b"d"[..], b"c"]));
    assert_eq!(between(&table, 5), Some(vec![&b"d"[..]]));
    assert_eq!(between(&table, 6), Some(vec![]));
    assert_eq!(table.key_near_end(7), Some(&b"e"[..]));
    assert_eq!(table.key_near_end(6), Some(&b"d"[..]));
    assert_eq!(table.key_near_end(1), Some(&b"b"[..]));
    assert_eq!(table.key_near_end(0), None);
    (8..80).for_each(|seq| insert(seq, Kind::Put, format!("f{seq:02}").as_bytes()));
    assert_eq!(table.key_near_end(7), None, "after too many newer entries");
}

#[test]
fn what_was_inserted_between_others_is_known_of_the_last_few_dozen() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 64 << 10);
    let mut insert = |seq, key: &[u8]| writer.insert(seq, Kind::Put, key, b"");
    insert(1, b"z");
    let key = |seq: u64| format!("k{:03}", seq * 7 % 200).into_bytes();
    for seq in 2..200 {
        insert(seq, &key(seq));
        for since in [seq - 1, seq.saturating_sub(20), seq.saturating_sub(30)] {
            let expected: Vec<_> = (since.max(1) + 1..=seq).rev().map(key).collect();
            assert_eq!(
                between(&table, since),
                Some(expected.iter().map(|key| &key[..]).collect()),
                "after {seq}"
            );
        }
        assert_eq!(between(&table, 0).is_some(), seq <= 32, "after {seq}");
    }
    // A number that does not ascend: entries before and after it cannot be distinguished.
    insert(100, b"k");
    assert_eq!(between(&table, 99), None);
    insert(200, b"l");
    assert_eq!(between(&table, 150), None);
    assert_eq!(between(&table, 199), Some(vec![&b"l"[..]]));
}

#[test]
fn an_empty_memtable_answers() {
    let (table, writer) = Memtable::new(Order::Bytewise, Vec::new(), 0);
    assert!(table.is_empty() && writer.has_room(1 << 20, 1 << 20));
    let found = table.get(b"", hash64(b""), SEQ_MAX);
    assert_eq!(found.expect("nothing is damaged"), None);
    assert_eq!(table.common_prefix(), b"");
    assert_eq!((table.seq_min(), table.seq_max()), (SEQ_MAX, 0));
    let mut cursor = table.cursor();
    assert!(!cursor.valid());
    cursor.seek(b"", SEQ_MAX);
    assert!(!cursor.valid());
    cursor.seek_for_prev(b"\xff", 0);
    assert!(!cursor.valid());
}

#[test]
fn empty_keys_and_values_are_entries() {
    let mut pair = Pair::new(Order::Bytewise, b"hint", 0);
    pair.insert(1, Kind::Put, b"", b"");
    pair.insert(2, Kind::Put, b"hint", b"");
    pair.insert(3, Kind::Delete, b"", b"");
    pair.insert(SEQ_MAX, Kind::Put, &[0xff; 20], b"last");
    pair.check_walks();
    pair.check_get(b"", 2);
    pair.check_get(b"", 3);
    pair.check_seeks(b"", 2);
    pair.check_seeks(&[0xff; 20], SEQ_MAX);
    assert_eq!(pair.table.common_prefix(), b"");
}

#[test]
fn room_ends_where_the_capacity_does() {
    let capacity = if cfg!(miri) { 8 << 10 } else { 512 << 10 };
    let (table, mut writer) = Memtable::new(Order::Bytewise, b"key".to_vec(), capacity);
    let mut seq = 0;
    while writer.has_room(16, 100) {
        seq += 1;
        let key = format!("key{:013}", seq * 7919 % 10_007);
        writer.insert(seq, Kind::Put, key.as_bytes(), &[9; 100]);
    }
    assert!(table.allocated_bytes() <= capacity);
    assert!(
        table.allocated_bytes() + 256 > capacity,
        "nearly all is allocated"
    );
    assert!(table.bytes_used() * 10 > capacity * 8, "nearly all is used");
    let before = table.allocated_bytes();
    let large = vec![5u8; capacity * 2];
    assert!(!writer.has_room(3, large.len()));
    writer.insert(seq + 1, Kind::Put, b"key", &large);
    let found = table.get(b"key", hash64(b"key"), SEQ_MAX);
    assert_eq!(found.unwrap().unwrap().value, large);
    let extra = table.allocated_bytes() - before - large.len();
    assert!(extra < 256, "one dedicated chunk, {extra} bytes over");
}

#[test]
fn a_memtable_starts_small() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 512 << 10);
    writer.insert(1, Kind::Put, b"a", b"b");
    assert!(
        table.allocated_bytes() < 112 << 10,
        "{}",
        table.allocated_bytes()
    );
}

#[test]
#[cfg_attr(miri, ignore = "64 MiB are too much for Miri")]
fn the_longest_key_is_an_entry_and_a_longer_one_is_refused() {
    let key = vec![b'k'; cairndb_base::limits::STORED_KEY_BYTES_MAX];
    let mut pair = Pair::new(Order::Bytewise, b"kk", 0);
    pair.insert(1, Kind::Put, &key, b"v");
    pair.insert(2, Kind::Put, &key[1..], b"w");
    pair.check_walks();
    assert_eq!(pair.table.common_prefix(), &key[1..]);
    let longer = [&key[..], b"k"].concat();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pair.writer.insert(3, Kind::Put, &longer, b"");
    }));
    assert!(result.is_err());
    pair.check_walks();
}

#[test]
fn a_panicking_comparator_leaves_the_memtable_whole() {
    #[derive(Debug)]
    struct Fragile;
    impl Comparator for Fragile {
        fn name(&self) -> &'static str {
            "test.Fragile"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Compare {
            assert!(a != b"bad" && b != b"bad", "the test makes it panic");
            a.cmp(b)
        }
    }
    let (table, mut writer) = Memtable::new(Order::Custom(Arc::new(Fragile)), Vec::new(), 4096);
    for (seq, key) in (1..).zip([b"c", b"a", b"b"]) {
        writer.insert(seq, Kind::Put, key, b"");
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        writer.insert(4, Kind::Put, b"bad", b"");
    }));
    assert!(result.is_err());
    writer.insert(5, Kind::Put, b"d", b"");
    assert_eq!(table.len(), 4);
    let mut cursor = table.cursor();
    cursor.seek_to_last();
    for key in [b"d", b"c", b"b", b"a"] {
        assert_eq!(cursor.key(), key);
        cursor.prev();
    }
}

/// The comparator was once called after the entry had been linked.
#[test]
fn a_comparator_that_panics_at_any_call_leaves_no_entry_half_there() {
    #[derive(Debug)]
    struct Fused(AtomicU64);
    impl Comparator for Fused {
        fn name(&self) -> &'static str {
            "test.Fused"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Compare {
            let left = self.0.fetch_sub(1, Ordering::Relaxed);
            assert!(left > 0, "the test makes it panic");
            a.cmp(b)
        }
        fn equality_is_identity(&self) -> bool {
            true
        }
    }
    for calls in 0..20 {
        let fuse = Arc::new(Fused(AtomicU64::new(u64::MAX)));
        let order = Order::Custom(Arc::clone(&fuse) as Arc<dyn Comparator>);
        let (table, mut writer) = Memtable::new(order, Vec::new(), 4096);
        for (seq, key) in (1..).zip([b"c", b"a", b"b", b"d"]) {
            writer.insert(seq, Kind::Put, key, b"old");
        }
        fuse.0.store(calls, Ordering::Relaxed);
        let put = || writer.insert(5, Kind::Put, b"b", b"new");
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(put)).is_ok();
        fuse.0.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(table.len(), if done { 5 } else { 4 }, "{calls} calls");
        let found = table.get(b"b", hash64(b"b"), SEQ_MAX).unwrap().unwrap();
        assert_eq!(found.value, if done { b"new" } else { b"old" });
    }
}

/// Its newest version has a place or none, alternately, and a snapshot sees each of many versions.
#[test]
fn every_version_is_found_whatever_chunk_it_is_in() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 256 << 10);
    let large = vec![7; 100 << 10];
    let hash = hash64(b"key");
    for seq in 1..=24u64 {
        let value = if seq % 3 == 0 { &large[..] } else { b"small" };
        writer.insert(seq, Kind::Put, b"key", value);
        for snapshot in 1..=seq {
            let found = table.get(b"key", hash, snapshot).unwrap().unwrap();
            assert_eq!(found.seq, snapshot);
        }
        assert_eq!(table.get(b"key", hash, 0).unwrap(), None);
        let found = table.get(b"key", hash, SEQ_MAX).unwrap().unwrap();
        assert_eq!((found.seq, found.value), (seq, value));
    }
}

#[test]
fn a_lying_comparator_gives_wrong_answers_only() {
    #[derive(Debug)]
    struct Liar(AtomicU64);
    impl Comparator for Liar {
        fn name(&self) -> &'static str {
            "test.Liar"
        }
        fn compare(&self, _: &[u8], _: &[u8]) -> Compare {
            let calls = self.0.fetch_add(1, Ordering::Relaxed);
            match Random(calls).below(3) {
                0 => Compare::Less,
                1 => Compare::Equal,
                _ => Compare::Greater,
            }
        }
    }
    let order = Order::Custom(Arc::new(Liar(AtomicU64::new(0))));
    let (table, mut writer) = Memtable::new(order, Vec::new(), 4096);
    let count = if cfg!(miri) { 50 } else { 2000 };
    for seq in 1..=count {
        writer.insert(seq, Kind::Put, b"key", b"");
        table.get(b"key", 0, seq).expect("values are in memory");
    }
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    let mut steps = 0;
    while cursor.valid() {
        steps += 1;
        cursor.next();
    }
    assert_eq!(steps, count, "the list itself stays intact");
}

#[test]
fn a_cursor_outlives_every_other_handle() {
    let (table, mut writer) = Memtable::new(Order::Bytewise, Vec::new(), 4096);
    writer.insert(1, Kind::Put, b"k", b"v");
    let mut cursor = table.cursor();
    drop((table, writer));
    cursor.seek_to_first();
    let copy = cursor.clone();
    thread::scope(|scope| {
        scope.spawn(move || assert_eq!((copy.key(), copy.value()), (&b"k"[..], &b"v"[..])));
    });
    assert_eq!(cursor.seq(), 1);
}
