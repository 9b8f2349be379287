//! The fast path compared with the general path: usual tables take it, and it gives the same
//! results.

use std::sync::Arc;

use cairndb_base::{Kind, Order, SEQ_MAX, SeqNo, hash64};

use super::model::options;
use super::support::*;
use crate::table::read::get::{FastGet, FastPath};
use crate::table::read::lookup::Lookup;
use crate::table::{Compression, Table, TableOptions};

/// Returns the number of keys that the fast path answers, once their pages have been checked.
fn answered(entries: &[Entry]) -> usize {
    let table = built(entries, TableOptions::new(FILE));
    let fast = FastPath::of(&table).expect("mapped");
    let mut value = Vec::new();
    for entry in entries {
        let found = table.get(&entry.key, hash64(&entry.key), SEQ_MAX, &mut value);
        assert!(found.unwrap().is_some() && value == entry.value);
    }
    let mut answered = 0;
    for entry in entries {
        let found = fast.get(&entry.key, hash64(&entry.key), SEQ_MAX, &mut value);
        if let FastGet::Answer(found) = found.unwrap() {
            let found = found.expect("the key exists");
            assert_eq!((found.seq(), found.kind()), (entry.seq, entry.kind));
            assert!(value == entry.value && !found.goes_on());
            answered += 1;
        }
    }
    answered
}

fn entries(key: impl Fn(u64) -> Vec<u8>, value: impl Fn(u64, &mut Rng) -> Vec<u8>) -> Vec<Entry> {
    let mut rng = Rng(23);
    let entry = |number| Entry {
        seq: 5,
        ..put(key(number), value(number, &mut rng))
    };
    (0..6_000).map(entry).collect()
}

#[test]
fn usual_tables_take_the_fast_path() {
    let digits = |number: u64| format!("{number:016}").into_bytes();
    let padded = |number: u64| [number.swap_bytes().to_le_bytes(), [0; 8]].concat();
    let tables = [
        entries(digits, |_, rng| classic_value(rng)),
        entries(padded, |_, rng| classic_value(rng)),
        entries(digits, |number, rng| row_value(number as usize, rng)),
        entries(digits, |number, rng| rng.bytes(number as usize % 90)),
    ];
    for (at, entries) in tables.iter().enumerate() {
        // The first key of a page has a fence head with which other pages may also begin.
        let answered = answered(entries);
        assert!(answered > entries.len() * 9 / 10, "{at}: {answered}");
    }
}

#[test]
fn what_is_not_usual_is_left_to_the_general_way() {
    let digits = |number: u64| format!("{number:016}").into_bytes();
    let tailed = |number: u64| format!("{number:07}/tail of {}", number * 7919).into_bytes();
    let mut operands = entries(digits, |_, _| vec![7; 60]);
    for entry in operands.iter_mut().step_by(50) {
        entry.kind = Kind::Merge;
    }
    for mut entries in [operands, entries(tailed, |_, _| vec![7; 60])] {
        for (number, entry) in (0..).zip(&mut entries) {
            entry.seq = number % 3;
        }
        assert_eq!(answered(&entries), 0);
    }
}

/// Returns a table whose pages have all been checked. It has no filter, so that a get of an absent
/// key looks for it.
fn checked(entries: &[Entry], options: TableOptions) -> Arc<Table> {
    let filter_bits_per_key = 0;
    let table = built(
        entries,
        TableOptions {
            filter_bits_per_key,
            ..options
        },
    );
    table.check_pages().unwrap();
    table
}

/// Compares the results of both paths for one key.
fn compare_ways(table: &Table, key: &[u8], snapshot: SeqNo) {
    let (mut value, mut expected) = (b"rubbish".to_vec(), b"other".to_vec());
    let found = table.get(key, hash64(key), snapshot, &mut value).unwrap();
    let lookup = Lookup::new(table);
    let general = lookup.get(key, snapshot, &mut expected).unwrap();
    let what = key.escape_ascii();
    assert_eq!(found, general, "{what}");
    assert!(found.is_none() || value == expected, "{what}");

    let (mut landed, mut found_value) = (b"rubbish".to_vec(), Vec::new());
    let approach = table.approach(key, true);
    let sought = approach.seek(key, snapshot, &mut landed, &mut found_value, |_| true);
    let sought = sought.unwrap();
    let span = lookup.span_of(key).unwrap();
    let place = lookup.find(span, key, snapshot).unwrap();
    let Some(place) = place else {
        return assert!(sought.is_none(), "{what}");
    };
    let (page, dictionary) = (place.unit.view(), table.dictionary());
    let (mut general_key, mut general_value) = (Vec::new(), Vec::new());
    page.key_into(place.index, &mut general_key);
    let read = page
        .values()
        .value_into(place.index, dictionary, &mut general_value);
    read.unwrap();
    assert_eq!(landed, general_key, "{what}");
    assert!(found_value == general_value, "{what}");
    let mark = sought.expect("the general path found one");
    let expected = page.mark(place.index);
    assert_eq!((mark.seq, mark.kind), (expected.seq, expected.kind));
}

/// Returns keys in and around those of a table: each with bytes lowered and raised, truncated and
/// extended.
fn probes(entries: &[Entry], rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut probes = vec![Vec::new(), vec![0xff; 40], b"0".to_vec()];
    for _ in 0..400 {
        let key = &entries[rng.below(entries.len())].key;
        probes.push(key.clone());
        probes.push(key[..rng.below(key.len())].to_vec());
        let more = rng.below(3);
        probes.push([key.as_slice(), &rng.bytes(more)].concat());
        for at in 0..key.len() {
            for step in [1, 0xff, rng.bytes(1)[0]] {
                let mut other = key.clone();
                other[at] = other[at].wrapping_add(step);
                probes.push(other);
            }
        }
    }
    probes
}

/// Tests several versions of a key in one page, with sequence numbers of every width.
#[test]
fn both_ways_say_the_same_of_versions() {
    let mut rng = Rng(31);
    let with_gaps = |number: u64| format!("user{:012}", number * 7 + number % 3).into_bytes();
    let ended = |number: u64| format!("{:09}/of one kind", number * 3).into_bytes();
    let keys: [&dyn Fn(u64) -> Vec<u8>; 2] = [&with_gaps, &ended];
    for (shape, key) in keys.into_iter().enumerate() {
        for spread in [2, 200, 60_000, 1 << 30, 1 << 50] {
            let mut entries: Vec<Entry> = Vec::new();
            for number in 0..1_500 {
                let seqs = (0..rng.below(5)).map(|_| 7 + rng.next() % spread);
                let mut seqs: Vec<u64> = seqs.collect();
                seqs.sort_unstable();
                seqs.dedup();
                // Newest first.
                entries.extend(seqs.into_iter().rev().map(|seq| Entry {
                    seq,
                    ..put(key(number), classic_value(&mut rng))
                }));
            }
            let table = checked(&entries, TableOptions::new(FILE));
            println!("keys {shape}, numbers of {spread}");
            for probe in probes(&entries, &mut rng) {
                for snapshot in [SEQ_MAX, 7 + rng.next() % spread, 6] {
                    compare_ways(&table, &probe, snapshot);
                }
            }
        }
    }
}

#[test]
fn both_ways_say_the_same() {
    let mut rng = Rng(29);
    let with_gaps = |number: u64| format!("user{:012}", number * 7 + number % 3).into_bytes();
    let ended = |number: u64| format!("{:09}/of one kind", number * 3).into_bytes();
    let keys: [&dyn Fn(u64) -> Vec<u8>; 2] = [&with_gaps, &ended];
    for (shape, key) in keys.into_iter().enumerate() {
        for values in 0..4 {
            let (put, delete, pointed) = (Kind::Put, Kind::Delete, Kind::Pointer);
            for (seq, kind) in [(0, put), (9, put), (0, delete), (0, pointed)] {
                let value = |number: usize, rng: &mut Rng| match (kind, values) {
                    (Kind::Delete, _) => Vec::new(),
                    (Kind::Pointer, _) => pointer(rng).encode().to_vec(),
                    (_, 0) => classic_value(rng),
                    (_, 1) => row_value(number, rng),
                    (_, 2) => rng.bytes(number % 90),
                    _ => vec![7; 60],
                };
                let entries: Vec<Entry> = (0..3_000)
                    .map(|number| Entry {
                        key: key(number),
                        seq,
                        kind,
                        value: value(number as usize, &mut rng),
                    })
                    .collect();
                let ways = [Compression::Adaptive, Compression::None];
                let compression = ways[usize::from(values == 3)];
                let table = checked(&entries, options(&Order::Bytewise, compression));
                println!("keys {shape}, values {values}, number {seq}, {kind:?}");
                for probe in probes(&entries, &mut rng) {
                    for snapshot in [SEQ_MAX, 8] {
                        compare_ways(&table, &probe, snapshot);
                    }
                }
            }
        }
    }
}
