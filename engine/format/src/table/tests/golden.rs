//! Golden bytes: a table of this version stays readable, and is written identically again.

use std::fmt::Write;

use cairndb_base::{Kind, Order};

use super::support::*;
use crate::golden::parse;
use crate::table::{Compression, TableOptions};

const CLASSIC: &str = include_str!("../../../../../testdata/golden/table-classic-v1.hex");
const ENDED: &str = include_str!("../../../../../testdata/golden/table-ended-v1.hex");
const KEYS: &str = include_str!("../../../../../testdata/golden/table-keys-v1.hex");
const LONG: &str = include_str!("../../../../../testdata/golden/table-long-v1.hex");
const MIXED: &str = include_str!("../../../../../testdata/golden/table-mixed-v1.hex");
const RECORDS: &str = include_str!("../../../../../testdata/golden/table-records-v1.hex");
const TIES: &str = include_str!("../../../../../testdata/golden/table-ties-v1.hex");
const ROWS: &str = include_str!("../../../../../testdata/golden/table-rows-v1.hex");
/// The same entries as written by an encoder that searched more of each value.
const ROWS_BEFORE: &str = include_str!("../../../../../testdata/golden/table-rows-before-v1.hex");

/// Returns entries with 16-digit keys and 100-byte values that compress to half their size.
fn classic() -> Vec<Entry> {
    let mut rng = Rng(42);
    (0..150u32)
        .map(|number| Entry {
            key: format!("{number:016}").into_bytes(),
            seq: 0,
            kind: Kind::Put,
            value: classic_value(&mut rng),
        })
        .collect()
}

/// Returns entries with keys that end alike: numbers in digits and a name, then numbers as bytes
/// and many zeros.
fn ended() -> Vec<Entry> {
    let mut rng = Rng(43);
    let digits = (0..90u32).map(|number| format!("{number:05}/name").into_bytes());
    let numbers = (0..90u32)
        .map(|number| [b"name/", &number.swap_bytes().to_le_bytes()[..], &[0; 40]].concat());
    digits
        .chain(numbers)
        .map(|key| Entry {
            key,
            seq: 0,
            kind: Kind::Put,
            value: classic_value(&mut rng),
        })
        .collect()
}

/// Returns entries with keys longer than a bound.
fn long() -> Vec<Entry> {
    [(b'a', 0), (b'a', 1), (b'k', 9), (0xff, 0)]
        .map(|(byte, end)| Entry {
            key: [&[b'k'; 8][..], &[byte; 1192], &[end]].concat(),
            seq: 0,
            kind: Kind::Put,
            value: b"long".to_vec(),
        })
        .to_vec()
}

/// Returns entries with keys that begin alike, in two ties of pages.
fn tied() -> Vec<Entry> {
    let mut rng = Rng(44);
    let urls = |host: &'static str| {
        (0..120u32).map(move |number| format!("https://www.{host}/page/{number:04}"))
    };
    urls("example.com")
        .chain(urls("example.org"))
        .map(|key| Entry {
            key: key.into_bytes(),
            seq: 0,
            kind: Kind::Put,
            value: classic_value(&mut rng),
        })
        .collect()
}

/// Returns entries with keys of several lengths, versions, all kinds of entry, and an extent.
fn mixed() -> Vec<Entry> {
    let mut entries = entries_of_shape(6, 60, &mut Rng(8));
    for entry in &mut entries {
        if entry.kind != Kind::Pointer {
            entry.value.truncate(100);
        }
    }
    entries.push(Entry {
        key: b"user5/large".to_vec(),
        seq: 77,
        kind: Kind::Put,
        value: Rng(1).bytes(9000),
    });
    sort(&mut entries, &Order::Bytewise);
    entries
}

/// Returns entries with values that are stored in groups.
fn grouped() -> Vec<Entry> {
    let mut entries = rows(260, &mut Rng(5));
    entries.retain(|entry| entry.value.len() < 200);
    sort(&mut entries, &Order::Bytewise);
    entries
}

/// Returns entries with values that are stored alone against a dictionary.
fn with_dictionary() -> Vec<Entry> {
    let mut entries = records(160, &mut Rng(6));
    entries.retain(|entry| entry.value.len() < 200);
    sort(&mut entries, &Order::Bytewise);
    entries
}

/// Formats bytes as tokens of up to 32 bytes, one per line; a run of one byte becomes the byte and
/// its count.
fn print(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|b| **b == bytes[at]).count();
        if run > 16 {
            writeln!(out, "{:02x}*{run}", bytes[at]).unwrap();
            at += run;
            continue;
        }
        let end = (at + 32).min(bytes.len());
        for byte in &bytes[at..end] {
            write!(out, "{byte:02x}").unwrap();
        }
        out.push('\n');
        at = end;
    }
    out
}

fn check(golden: &str, entries: &[Entry], compression: Compression) {
    check_in(&Order::Bytewise, golden, entries, compression);
}

fn check_in(order: &Order, golden: &str, entries: &[Entry], compression: Compression) {
    let options = TableOptions {
        compression,
        order: order.clone(),
        ..TableOptions::new(FILE)
    };
    let (bytes, summary) = build(entries, options);
    let recorded = parse(golden);
    assert!(recorded == bytes, "written now:\n{}", print(&bytes));
    check_read(recorded, order, summary.checksum, entries);
}

/// Checks that a table reads back as these entries.
fn check_read(recorded: Vec<u8>, order: &Order, checksum: u32, entries: &[Entry]) {
    let table = open_with(recorded, order, checksum, Reach::Mapped).unwrap();
    table.verify().unwrap();
    let mut cursor = table.cursor();
    cursor.first().unwrap();
    for entry in entries {
        assert_eq!(cursor.key(), &entry.key[..]);
        assert_eq!((cursor.seq(), cursor.kind()), (entry.seq, entry.kind));
        assert!(cursor.value().unwrap() == entry.value);
        cursor.next().unwrap();
    }
    assert!(!cursor.valid());
}

#[test]
fn a_classic_table_is_as_recorded() {
    check(CLASSIC, &classic(), Compression::Short);
}

#[test]
fn a_table_of_keys_that_end_alike_is_as_recorded() {
    check(ENDED, &ended(), Compression::Short);
    // The page between has keys of both kinds.
    assert_eq!(endings(&parse(ENDED)), (2, 1));
}

#[test]
fn a_table_of_long_keys_is_as_recorded() {
    check(LONG, &long(), Compression::Short);
    let bytes = parse(LONG);
    let meta = bytes.len() - 4096;
    assert_eq!(bytes[meta + 20], 4, "the feature is not marked");
}

#[test]
fn a_table_of_keys_that_begin_alike_is_as_recorded() {
    check(TIES, &tied(), Compression::Short);
    let bytes = parse(TIES);
    let meta = bytes.len() - 4096;
    assert_eq!(bytes[meta + 20], 1, "the feature is not marked");
}

#[test]
fn a_table_in_an_order_of_its_own_is_as_recorded() {
    let mut entries: Vec<Entry> = (0..48u8)
        .map(|number| Entry {
            key: format!("{number:016}").into_bytes(),
            seq: 0,
            kind: Kind::Put,
            value: vec![b'v'; 900],
        })
        .collect();
    entries.push(Entry {
        key: vec![b'9'; 70],
        ..entries[0].clone()
    });
    let order = Order::Custom(std::sync::Arc::new(Reverse));
    sort(&mut entries, &order);
    check_in(&order, KEYS, &entries, Compression::None);
    let bytes = parse(KEYS);
    let meta = bytes.len() - 4096;
    assert_eq!(bytes[meta + 20], 2, "the feature is not marked");
}

#[test]
fn a_mixed_table_is_as_recorded() {
    check(MIXED, &mixed(), Compression::Short);
}

#[test]
fn a_table_of_rows_is_as_recorded() {
    check(ROWS, &grouped(), Compression::Adaptive);
    assert!(modes(&parse(ROWS))[2] > 0, "no page has groups");
    let before = parse(ROWS_BEFORE);
    assert!(before != parse(ROWS));
    let (sum, _) = before[before.len() - 4096..].split_first_chunk().unwrap();
    let checksum = u32::from_le_bytes(*sum);
    check_read(before, &Order::Bytewise, checksum, &grouped());
}

#[test]
fn a_table_of_records_is_as_recorded() {
    check(RECORDS, &with_dictionary(), Compression::Adaptive);
    assert!(modes(&parse(RECORDS))[3] > 0, "no page has a dictionary");
}
