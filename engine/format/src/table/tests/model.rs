//! Tables compared with a sorted list: every get, seek and scan, for all shapes of keys and orders.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Kind, Order, SEQ_MAX, hash64};

use super::support::*;
use crate::value_file::{Pointer, record_bytes};

use crate::table::{
    Compression, Table, TableBuilder, TableCursor, TableOptions, TableSummary, ValueIn,
};

pub(super) fn options(order: &Order, compression: Compression) -> TableOptions {
    TableOptions {
        order: order.clone(),
        compression,
        ..TableOptions::new(FILE)
    }
}

fn check_at(cursor: &mut TableCursor, entry: Option<&Entry>, context: &str) {
    let Some(entry) = entry else {
        assert!(!cursor.valid(), "{context}: expected nowhere");
        return;
    };
    assert!(cursor.valid(), "{context}: expected {}", entry.seq);
    let found = (cursor.key(), cursor.seq(), cursor.kind());
    assert_eq!(found, (&entry.key[..], entry.seq, entry.kind), "{context}");
    let is_right = cursor.value().unwrap() == entry.value;
    assert!(is_right, "{context}: wrong value");
}

pub(super) fn check_scans(table: &Arc<Table>, entries: &[Entry], context: &str) {
    let mut cursor = table.cursor();
    for forward in [true, false] {
        begin(&mut cursor, forward).unwrap();
        for at in 0..entries.len() {
            let at = if forward { at } else { entries.len() - 1 - at };
            check_at(&mut cursor, Some(&entries[at]), context);
            go(&mut cursor, forward).unwrap();
        }
        check_at(&mut cursor, None, context);
    }
}

/// Compares the result of a seek without a cursor.
fn check_seek(table: &Table, entry: Option<&Entry>, key: &[u8], seq: u64, context: &str) {
    for wants in [false, true] {
        let (mut found, mut value) = (b"rubbish".to_vec(), b"more of it".to_vec());
        let decide = |found: &[u8]| {
            assert_eq!(Some(found), entry.map(|entry| &entry.key[..]), "{context}");
            wants
        };
        let approach = table.approach(key, true);
        let mark = approach.seek(key, seq, &mut found, &mut value, decide);
        let marked = mark.unwrap().map(|mark| (mark.seq, mark.kind));
        let expected = entry.map(|entry| (entry.seq, entry.kind));
        assert_eq!(marked, expected, "{context}");
        if let Some(entry) = entry {
            let expected = [&b"more of it"[..], &entry.value][usize::from(wants)];
            assert_eq!(found, entry.key, "{context}");
            assert!(value == expected, "{context}: wrong value");
        }
    }
}

pub(super) fn check_probe(
    table: &Arc<Table>,
    entries: &[Entry],
    key: &[u8],
    seq: u64,
    context: &str,
) {
    let order = &table.order;
    let before = |at: usize| at.checked_sub(1).map(|at| &entries[at]);
    let from = entries.partition_point(|entry| compare(entry, key, seq, order).is_lt());
    let mut cursor = table.cursor();
    cursor.seek(key, seq).unwrap();
    check_at(&mut cursor, entries.get(from), context);
    check_seek(table, entries.get(from), key, seq, context);
    if cursor.valid() {
        cursor.prev().unwrap();
        check_at(&mut cursor, before(from), context);
    }
    let to = entries.partition_point(|entry| compare(entry, key, seq, order).is_le());
    cursor.seek_for_prev(key, seq).unwrap();
    check_at(&mut cursor, before(to), context);
    if cursor.valid() {
        cursor.next().unwrap();
        check_at(&mut cursor, entries.get(to), context);
    }
    let expected = entries.get(from);
    let expected = expected.filter(|entry| order.compare(&entry.key, key).is_eq());
    let mut scratch = b"rubbish".to_vec();
    table.prefetch_filter(hash64(key));
    let found = table.get(key, hash64(key), seq, &mut scratch).unwrap();
    let found = found.map(|found| (found.seq(), found.kind()));
    let wanted = expected.map(|entry| (entry.seq, entry.kind));
    assert_eq!(found, wanted, "{context}");
    let is_right = expected.is_none_or(|entry| scratch == entry.value);
    assert!(is_right, "{context}: wrong value");
}

pub(super) fn check_summary(summary: &TableSummary, entries: &[Entry], bytes: usize) {
    let raw: usize = entries.iter().map(|e| e.key.len() + e.value.len()).sum();
    let deletes = entries.iter().filter(|e| e.kind == Kind::Delete).count();
    assert_eq!(summary.smallest, entries[0].key);
    assert_eq!(summary.largest, entries[entries.len() - 1].key);
    assert_eq!(summary.entries, entries.len() as u64);
    assert_eq!(summary.deletes, deletes as u64);
    assert_eq!(summary.raw_bytes, raw as u64);
    assert_eq!(summary.bytes, bytes as u64);
    assert_eq!(Some(summary.seq_min), entries.iter().map(|e| e.seq).min());
    assert_eq!(Some(summary.seq_max), entries.iter().map(|e| e.seq).max());
    let mut refs = BTreeMap::new();
    for entry in entries.iter().filter(|e| e.kind == Kind::Pointer) {
        let pointer = Pointer::decode(&entry.value).unwrap();
        *refs.entry(pointer.file.0).or_insert(0) += record_bytes(pointer.len);
    }
    assert_eq!(summary.value_refs, refs.into_iter().collect::<Vec<_>>());
}

fn check_table(entries: &[Entry], options: &TableOptions, rng: &mut Rng, context: &str) {
    let (bytes, summary) = build(entries, options.clone());
    check_summary(&summary, entries, bytes.len());
    for reach in [Reach::Mapped, Reach::Cached, Reach::Unmapped] {
        let context = format!("{context} {reach:?}");
        let table = open_with(bytes.clone(), &options.order, summary.checksum, reach).unwrap();
        assert_eq!(table.summary(), &summary, "{context}");
        table.verify().expect(&context);
        check_scans(&table, entries, &context);
        let probes = if reach == Reach::Mapped { 400 } else { 60 };
        for _ in 0..probes {
            let entry = &entries[rng.below(entries.len())];
            let mut key = entry.key.clone();
            let seq = match rng.below(4) {
                0 => SEQ_MAX,
                1 => entry.seq.saturating_sub(1),
                2 => entry.seq + 1,
                _ => entry.seq,
            };
            match rng.below(6) {
                0 => key.push(rng.next() as u8),
                1 => drop(key.pop()),
                2 if !key.is_empty() => {
                    let at = rng.below(key.len());
                    key[at] = key[at].wrapping_add(rng.next() as u8);
                }
                _ => {}
            }
            check_probe(&table, entries, &key, seq, &context);
        }
        check_probe(&table, entries, b"", SEQ_MAX, &context);
        check_probe(&table, entries, b"", 0, &context);
        check_probe(&table, entries, &[0xff; 40], SEQ_MAX, &context);
    }
}

#[test]
fn bytewise_tables_answer_as_a_sorted_list() {
    for seed in 0..50u64 {
        let mut rng = Rng(seed);
        let shape = seed as usize % KEY_SHAPES;
        let compression =
            [Compression::None, Compression::Short, Compression::Adaptive][rng.below(3)];
        let count = [1, 2, 70, 2000][rng.below(4)];
        let mut entries = entries_of_shape(shape, count, &mut rng);
        let order = Order::Bytewise;
        sort(&mut entries, &order);
        let context = format!("seed {seed} shape {shape} {compression:?}");
        check_table(&entries, &options(&order, compression), &mut rng, &context);
    }
}

#[test]
fn custom_orders_answer_as_a_sorted_list() {
    for seed in 100..124u64 {
        let mut rng = Rng(seed);
        let shape = seed as usize % KEY_SHAPES;
        let orders = [reverse(), Order::Custom(Arc::new(NoCase))];
        let order = &orders[seed as usize % 2];
        let mut entries = entries_of_shape(shape, 700, &mut rng);
        sort(&mut entries, order);
        let context = format!("seed {seed} shape {shape} {}", order.name());
        let options = options(order, Compression::Short);
        check_table(&entries, &options, &mut rng, &context);
    }
}

/// Checks tables of random entries, whose pages must be mostly of the mode that `is_chosen`
/// accepts, and copies of them.
fn check_copies(
    seeds: std::ops::Range<u64>,
    draw: fn(usize, &mut Rng) -> Vec<Entry>,
    copies: &[Compression],
    is_chosen: fn([usize; 4]) -> bool,
) {
    for seed in seeds {
        let mut rng = Rng(seed);
        let order = if seed % 4 == 3 {
            reverse()
        } else {
            Order::Bytewise
        };
        let mut entries = draw(2500, &mut rng);
        sort(&mut entries, &order);
        let options = options(&order, Compression::Adaptive);
        check_table(&entries, &options, &mut rng, &format!("seed {seed}"));
        let (bytes, summary) = build(&entries, options);
        let modes = modes(&bytes);
        assert!(is_chosen(modes), "seed {seed}: {modes:?}");
        let table = open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
        for compression in copies {
            let (bytes, summary) = copy(&table, *compression);
            let again = open_with(bytes, &order, summary.checksum, Reach::Cached).unwrap();
            again.verify().unwrap();
            check_scans(&again, &entries, &format!("copy of seed {seed}"));
        }
    }
}

#[test]
fn grouped_tables_answer_as_a_sorted_list() {
    let is_grouped = |modes: [usize; 4]| modes[2] > modes[0] + modes[1];
    check_copies(300..308, rows, &[Compression::Adaptive], is_grouped);
}

#[test]
fn tables_with_a_dictionary_answer_as_a_sorted_list() {
    let has_dictionary = |modes: [usize; 4]| modes[3] > 2 * modes[..3].iter().sum::<usize>();
    let copies = [Compression::Adaptive, Compression::Short];
    check_copies(400..408, records, &copies, has_dictionary);
}

#[test]
fn grouping_is_chosen_where_it_pays() {
    let mut rng = Rng(77);
    let key = |number| format!("{number:012}");
    let rows = puts(20_000, key, |number| row_value(number, &mut rng));
    let order = Order::Bytewise;
    let (alone, _) = build(&rows, options(&order, Compression::Short));
    let (grouped, summary) = build(&rows, options(&order, Compression::Adaptive));
    println!("rows: {} alone, {} grouped", alone.len(), grouped.len());
    assert!(grouped.len() * 10 < alone.len() * 8);
    let table = open_with(grouped, &order, summary.checksum, Reach::Mapped).unwrap();
    table.verify().unwrap();
    check_scans(&table, &rows, "rows");
    let classic = puts(3000, |n| format!("{n:016}"), |_| classic_value(&mut rng));
    let (adaptive, _) = build(&classic, options(&order, Compression::Adaptive));
    let (short, _) = build(&classic, options(&order, Compression::Short));
    assert!(adaptive == short, "values that halve alone stay alone");
}

/// A thousand such values once waited and were stored alone, and only the values after them made
/// the choice.
#[test]
fn short_values_are_all_stored_as_is_chosen() {
    for len in [5, 8, 12, 18] {
        let value = |number: usize| [(number as u64).to_le_bytes(), [7; 8], [9; 8]].concat();
        let key = |number| format!("{number:016}");
        let entries = puts(20_000, key, |number| value(number)[..len].to_vec());
        let (bytes, _) = build(&entries, options(&Order::Bytewise, Compression::Adaptive));
        let chosen = modes(&bytes);
        let ways = chosen.iter().filter(|pages| **pages > 0).count();
        assert_eq!(ways, 1, "{len} bytes: {chosen:?}");
    }
}

#[test]
fn versions_of_one_key_span_pages() {
    let mut rng = Rng(5);
    let mut entries = Vec::new();
    for key in [&b"a"[..], b"stone", b"stone\0", b"z"] {
        for seq in 0..900 {
            entries.push(Entry {
                key: key.to_vec(),
                seq: seq * 3,
                kind: Kind::Put,
                value: rng.text(seq as usize % 90),
            });
        }
    }
    let order = Order::Bytewise;
    sort(&mut entries, &order);
    let options = options(&order, Compression::Short);
    check_table(&entries, &options, &mut rng, "versions");
    let table = built(&entries, options);
    for entry in &entries {
        for seq in [entry.seq, entry.seq + 1] {
            check_probe(&table, &entries, &entry.key, seq, "versions, all");
        }
    }
}

#[test]
fn every_key_and_every_gap_of_a_dense_table_is_found() {
    let mut rng = Rng(9);
    let key = |number| format!("{:016}", number * 2);
    let entries = puts(4000, key, |_| classic_value(&mut rng));
    let table = built(&entries, options(&Order::Bytewise, Compression::Short));
    for number in 0..8002 {
        let key = format!("{number:016}");
        check_probe(&table, &entries, key.as_bytes(), SEQ_MAX, &key);
    }
}

#[test]
fn keys_that_end_alike_are_found_and_told_from_all_that_end_otherwise() {
    let order = Order::Bytewise;
    for ending in [
        "/",
        "/name",
        "/an ending that is longer than what one load takes",
    ] {
        let key = |number| format!("{:08}{ending}", number * 2);
        let entries = puts(3000, key, |n| classic_value(&mut Rng(n as u64)));
        let (bytes, summary) = build(&entries, options(&order, Compression::Short));
        assert_eq!(endings(&bytes).1, 0, "{ending}: pages without an ending");
        let table = open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
        check_scans(&table, &entries, ending);
        let cut = &ending[..ending.len() - 1];
        for number in 0..6002 {
            let id = format!("{number:08}");
            for end in [ending, cut, "", "\0", "~"] {
                let key = format!("{id}{end}");
                check_probe(&table, &entries, key.as_bytes(), SEQ_MAX, &key);
            }
            for end in ["\0", "~"] {
                let key = format!("{id}{ending}{end}");
                check_probe(&table, &entries, key.as_bytes(), SEQ_MAX, &key);
                let key = format!("{id}{cut}{end}");
                check_probe(&table, &entries, key.as_bytes(), SEQ_MAX, &key);
            }
            let within = &id[..=number % 7];
            check_probe(&table, &entries, within.as_bytes(), SEQ_MAX, within);
        }
    }
}

#[test]
fn a_page_has_an_ending_only_where_heads_hold_all_before_it() {
    type KeyOf = fn(usize) -> String;
    let ending: [KeyOf; 3] = [
        |n| format!("{n:06}/name"),
        |n| format!("{:08}", 7919 * n % 9_999_991) + "/name",
        |n| format!("{n:07}x"),
    ];
    // Of two lengths, with two endings, twelve bytes apart, without an ending.
    let others: [KeyOf; 4] = [
        |n| format!("{n:06}/{}", ["name", "names"][n % 2]),
        |n| format!("{n:06}/{}", ["name", "born"][n % 2]),
        |n| format!("{:08}abcd{:03}/name", n, n % 997),
        |n| format!("{n:06}{:02}", n % 89),
    ];
    let order = Order::Bytewise;
    let ending = ending.map(|key| (key, true));
    for (key, ends) in ending.into_iter().chain(others.map(|key| (key, false))) {
        let what = &key(77);
        let mut entries = puts(2000, key, |n| classic_value(&mut Rng(n as u64)));
        sort(&mut entries, &order);
        let (bytes, summary) = build(&entries, options(&order, Compression::Short));
        let (ended, other) = endings(&bytes);
        assert_eq!(ended > other, ends, "{what}: {ended} and {other}");
        let table = open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
        check_scans(&table, &entries, what);
    }
}

/// Returns a new table with every entry of `table`, as its cursor returns it.
pub(super) fn copy(table: &Arc<Table>, compression: Compression) -> (Vec<u8>, TableSummary) {
    build_with(options(&table.order, compression), |builder| {
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        while cursor.valid() {
            let entry = cursor.entry().unwrap();
            let added = builder.add(entry.key, entry.seq, entry.kind, entry.value);
            added.unwrap();
            cursor.next().unwrap();
        }
    })
}

#[test]
fn a_verbatim_copy_is_the_same_file() {
    for seed in 200..224u64 {
        let mut rng = Rng(seed);
        let mut entries = entries_of_shape(seed as usize % KEY_SHAPES, 900, &mut rng);
        let order = Order::Bytewise;
        sort(&mut entries, &order);
        let (bytes, summary) = build(&entries, options(&order, Compression::Short));
        let table = open_with(bytes.clone(), &order, summary.checksum, Reach::Mapped).unwrap();
        let (copied, copied_summary) = copy(&table, Compression::Short);
        assert_eq!(copied_summary, summary, "seed {seed}");
        assert!(copied == bytes, "seed {seed}: the copy differs");
    }
}

#[test]
fn a_stored_value_longer_than_its_raw_length_is_refused() {
    let (bytes, raw_len) = (&b"longer"[..], 2);
    let options = options(&Order::Bytewise, Compression::Short);
    let mut builder = TableBuilder::new(Box::new(Sink::default()), options);
    let half = ValueIn::Stored { bytes, raw_len };
    assert!(builder.add(b"k", 1, Kind::Put, half).is_err());
}

#[test]
fn classic_data_takes_63_bytes_an_entry() {
    let mut rng = Rng(1);
    let order = Order::Bytewise;
    for share in [1, 2] {
        let key = |number| format!("{number:016}");
        let mut entries = puts(200_000, key, |n| classic_value(&mut Rng(n as u64)));
        entries.retain(|_| share == 1 || rng.below(2) == 0);
        let (bytes, _) = build(&entries, options(&order, Compression::Short));
        let per_entry = bytes.len() as f64 / entries.len() as f64;
        println!("one key of {share}: {per_entry:.2} bytes an entry");
        assert!(per_entry <= 63.0, "{per_entry}");
    }
}
