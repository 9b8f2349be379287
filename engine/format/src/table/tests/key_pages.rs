//! Tables in a custom order, whose key pages map keys to units: compared with a sorted list, and
//! damaged.

use std::sync::Arc;

use cairndb_base::{ErrorKind, Order, SEQ_MAX, hash64};

use super::model::{check_probe, options};
use super::support::*;
use crate::table::read::source::{file_seed, seal};
use crate::table::{Compression, Table};

/// Returns entries with keys of a few bytes to a few hundred, some in so many versions that they
/// fill pages.
fn entries_in(order: &Order, count: usize, rng: &mut Rng) -> Vec<Entry> {
    let mut entries = Vec::new();
    for number in 0..count {
        let mut key = format!("{:07}", rng.below(10 * count)).into_bytes();
        if number % 3 == 0 {
            key[0] = b'A' + b' ' * (rng.below(2) as u8);
        }
        if rng.below(40) == 0 {
            key.resize(60 + rng.below(240), b'l');
        }
        let versions = match rng.below(800) {
            0 => 200,
            1..=20 => 3,
            _ => 1,
        };
        // Some entries take a whole page.
        let len = if number % 997 == 3 { 5_000 } else { 100 };
        entries.extend((0..versions).map(|version| Entry {
            seq: 9 + version,
            ..put(&key[..], rng.bytes(len))
        }));
    }
    sort(&mut entries, order);
    entries
}

#[test]
fn tables_with_key_pages_answer_as_a_sorted_list() {
    for (order, seed) in [(reverse(), 3), (Order::Custom(Arc::new(NoCase)), 4)] {
        let mut rng = Rng(seed);
        let entries = entries_in(&order, 20_000, &mut rng);
        let (bytes, summary) = build(&entries, options(&order, Compression::Short));
        for reach in [Reach::Mapped, Reach::Cached, Reach::Unmapped] {
            let table = open_with(bytes.clone(), &order, summary.checksum, reach).unwrap();
            assert!(table.meta.key_pages > 1, "{}", table.meta.key_pages);
            assert!(table.meta.numbered);
            table.verify().unwrap();
            table.check_pages().unwrap();
            let probes = if reach == Reach::Mapped { 4_000 } else { 300 };
            for probe in 0..probes {
                let entry = &entries[rng.below(entries.len())];
                let mut key = entry.key.clone();
                match rng.below(4) {
                    0 => key.push(rng.next() as u8),
                    1 => drop(key.pop()),
                    2 => {
                        let at = rng.below(key.len());
                        key[at] = rng.next() as u8;
                    }
                    _ => {}
                }
                let seq = [SEQ_MAX, entry.seq, 10][rng.below(3)];
                let context = format!("seed {seed}, {reach:?}, probe {probe}");
                check_probe(&table, &entries, &key, seq, &context);
            }
        }
    }
}

/// Returns the entries of a table with key pages, its bytes, its checksum, and the range of its key
/// pages.
fn keyed_table() -> (Vec<Entry>, Vec<u8>, u32, std::ops::Range<usize>) {
    let order = reverse();
    let entries = entries_in(&order, 600, &mut Rng(6));
    let (bytes, summary) = build(&entries, options(&order, Compression::None));
    let table = open_with(bytes.clone(), &order, summary.checksum, Reach::Mapped).unwrap();
    let meta = &table.meta;
    let pages = meta.keys_at() as usize..meta.block_at() as usize;
    assert!(!pages.is_empty());
    (entries, bytes, summary.checksum, pages)
}

fn get_all(table: &Table, entries: &[Entry]) -> cairndb_base::Result<()> {
    let mut value = Vec::new();
    for entry in entries {
        let hash = hash64(&entry.key);
        let found = table.get(&entry.key, hash, entry.seq, &mut value)?;
        assert!(found.is_some() && value == entry.value);
    }
    Ok(())
}

#[test]
fn every_flipped_byte_of_a_key_page_is_noticed() {
    let (entries, bytes, checksum, pages) = keyed_table();
    for at in pages.start * 4096..pages.end * 4096 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let table = open_with(damaged, &reverse(), checksum, Reach::Mapped).unwrap();
        for error in [
            table.verify().expect_err("verify missed damage"),
            table.check_index().expect_err("damage was missed"),
            get_all(&table, &entries).expect_err("damage was missed"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            let place = (error.file_name(), error.file_offset());
            assert_eq!(place, (Some("000007.tbl"), Some((at / 4096 * 4096) as u64)));
        }
    }
}

#[test]
fn forged_key_pages_never_panic_and_verify_notices_them() {
    let (entries, bytes, checksum, pages) = keyed_table();
    let mut rng = Rng(17);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..3_000 {
        let mut forged = bytes.clone();
        let number = pages.start + rng.below(pages.len());
        let page = &mut forged[number * 4096..][..4096];
        let before = page.to_vec();
        for _ in 0..=rng.below(3) {
            let at = match rng.below(3) {
                0 => 4 + rng.below(12),
                1 => 16 + rng.below(60),
                _ => 4 + rng.below(700),
            };
            page[at] = [0, 0xff, rng.next() as u8][rng.below(3)];
        }
        // Reserved bytes have no meaning.
        let lies =
            page[4] != before[4] || page[6..12] != before[6..12] || page[16..] != before[16..];
        seal(file_seed(FILE), number as u32, page);
        let reach = [Reach::Mapped, Reach::Cached][round % 2];
        let table = open_with(forged, &reverse(), checksum, reach).unwrap();
        let unused = table.verify().is_ok();
        refused += usize::from(!unused);
        accepted += usize::from(unused);
        let mut value = Vec::new();
        let mut cursor = table.cursor();
        for entry in entries.iter().step_by(11) {
            let _ = table.get(&entry.key, hash64(&entry.key), SEQ_MAX, &mut value);
            let _ = cursor.seek(&entry.key, entry.seq);
            let _ = cursor.seek_for_prev(&entry.key, 0);
            let _ = table.approximate_offset(&entry.key);
        }
        // Unused room after the last key has no meaning, either.
        let is_right = !unused || !lies || get_all(&table, &entries).is_ok();
        assert!(is_right, "round {round}");
    }
    assert!(refused > 1_000 && accepted > 10, "{refused} and {accepted}");
}
