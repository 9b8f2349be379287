//! Golden bytes: a table of this version stays readable, and is written identically again.

use std::fmt::Write;

use cairndb_base::{Kind, Order};

use super::model::{check_scans, options};
use super::support::*;
use crate::golden::parse;
use crate::table::{Compression, TableOptions};

const CLASSIC: &str = include_str!("../../../../../testdata/golden/table-classic-v1.hex");
const ENDED: &str = include_str!("../../../../../testdata/golden/table-ended-v1.hex");
const KEYS: &str = include_str!("../../../../../testdata/golden/table-keys-v1.hex");
const KEYSPACES: &str = include_str!("../../../../../testdata/golden/table-keyspaces-v2.hex");
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
    puts(
        150,
        |number| format!("{number:016}"),
        |_| classic_value(&mut rng),
    )
}

/// Returns entries with keys that end alike: numbers in digits and a name, then numbers as bytes
/// and many zeros.
fn ended() -> Vec<Entry> {
    let mut rng = Rng(43);
    let key = |number: usize| match number {
        0..90 => format!("{number:05}/name").into_bytes(),
        _ => [b"name/\0\0\0", &[(number - 90) as u8][..], &[0; 40]].concat(),
    };
    puts(180, key, |_| classic_value(&mut rng))
}

/// Returns entries of three keyspaces.
fn in_keyspaces() -> Vec<Entry> {
    let key = |number: usize| [&[0, 0, 0, number as u8 / 2 * 2 + 2][..], b"apple"].concat();
    let mut entries = puts(6, key, |number| vec![b'0' + number as u8]);
    for entry in entries.iter_mut().skip(1).step_by(2) {
        entry.key.splice(4.., *b"pear");
    }
    entries
}

/// Returns entries with keys longer than a bound.
fn long() -> Vec<Entry> {
    let key = |byte, end| [&[b'k'; 8][..], &[byte; 1192], &[end]].concat();
    let ends = [(b'a', 0), (b'a', 1), (b'k', 9), (0xff, 0)];
    ends.map(|(byte, end)| put(key(byte, end), b"long"))
        .to_vec()
}

/// Returns entries with keys that begin alike, in two ties of pages.
fn tied() -> Vec<Entry> {
    let mut rng = Rng(44);
    let key = |number: usize| {
        let host = ["example.com", "example.org"][number / 120];
        format!("https://www.{host}/page/{:04}", number % 120)
    };
    puts(240, key, |_| classic_value(&mut rng))
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
        seq: 77,
        ..put("user5/large", Rng(1).bytes(9000))
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

/// Returns entries for a custom order.
fn reversed() -> Vec<Entry> {
    let mut entries = puts(48, |n| format!("{n:016}"), |_| vec![b'v'; 900]);
    entries.push(put([b'9'; 70], [b'v'; 900]));
    sort(&mut entries, &reverse());
    entries
}

/// Checks that a table reads back as these entries.
fn check_read(recorded: Vec<u8>, order: &Order, checksum: u32, entries: &[Entry]) {
    let table = open_with(recorded, order, checksum, Reach::Mapped).unwrap();
    table.verify().unwrap();
    check_scans(&table, entries, "recorded");
}

#[test]
fn tables_are_as_recorded() {
    let (short, adaptive) = (Compression::Short, Compression::Adaptive);
    // Each with the feature that its meta page marks, and its section.
    for (golden, entries, order, compression, feature, section) in [
        (CLASSIC, classic(), Order::Bytewise, short, 0, 0),
        (ENDED, ended(), Order::Bytewise, short, 0, 0),
        (LONG, long(), Order::Bytewise, short, 4, 0),
        (TIES, tied(), Order::Bytewise, short, 1, 0),
        (KEYS, reversed(), reverse(), Compression::None, 2, 0),
        (MIXED, mixed(), Order::Bytewise, short, 0, 0),
        (ROWS, grouped(), Order::Bytewise, adaptive, 0, 0),
        (KEYSPACES, in_keyspaces(), Order::Bytewise, short, 0, 1),
        (RECORDS, with_dictionary(), Order::Bytewise, adaptive, 0, 0),
    ] {
        let options = TableOptions {
            section,
            ..options(&order, compression)
        };
        let (bytes, summary) = build(&entries, options);
        let recorded = parse(golden);
        assert!(recorded == bytes, "written now:\n{}", print(&bytes));
        let meta = &recorded[recorded.len() - 4096..];
        assert_eq!((meta[20], meta[28]), (feature, section));
        check_read(recorded, &order, summary.checksum, &entries);
    }
}

#[test]
fn recorded_tables_have_the_pages_that_they_are_there_for() {
    // The page between has keys of both kinds.
    assert_eq!(endings(&parse(ENDED)), (2, 1));
    assert!(modes(&parse(ROWS))[2] > 0, "no page has groups");
    assert!(modes(&parse(RECORDS))[3] > 0, "no page has a dictionary");
}

#[test]
fn rows_of_another_encoder_are_read() {
    let before = parse(ROWS_BEFORE);
    assert!(before != parse(ROWS));
    let (sum, _) = before[before.len() - 4096..].split_first_chunk().unwrap();
    let checksum = u32::from_le_bytes(*sum);
    check_read(before, &Order::Bytewise, checksum, &grouped());
}
