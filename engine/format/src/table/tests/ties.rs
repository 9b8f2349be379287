//! Tables whose pages begin alike, so that tie heads distinguish them: compared with a sorted list,
//! and with the rules of the fence.

use std::sync::Arc;

use cairndb_base::{Order, SEQ_MAX, hash64};

use super::model::check_probe;
use super::support::*;
use crate::table::index::fence::{HEADS_PER_PAGE, head_at};
use crate::table::read::get::{FastGet, FastPath};
use crate::table::read::source::{file_seed, seal};
use crate::table::{Table, TableOptions};

/// Number of key shapes. All keys begin alike; those of the last shape differ in zeros that no head
/// distinguishes from the end of a key.
const SHAPES: usize = 6;

fn key(shape: usize, number: usize, rng: &mut Rng) -> Vec<u8> {
    match shape {
        0 => {
            let host = ["example", "example-shop", "zoo"][number % 3];
            let id = number / 3;
            format!("https://www.{host}.com/articles/{:03}/{id:07}.html", id % 7).into_bytes()
        }
        1 => format!("tenant-{:02}/item/{number:09}", number % 40).into_bytes(),
        2 if number == 0 => b"another".to_vec(),
        2 => format!("one prefix for all but the first: {number:08}").into_bytes(),
        3 => {
            // Pairs of pages that share more bytes than a builder keeps of either.
            let mut key = format!("path/{:05}/", number / 90).into_bytes();
            key.extend(vec![b'd'; number / 90 * 37 % 700]);
            key.extend(format!("{number:06}").into_bytes());
            key
        }
        4 => {
            let mut key = b"bits".to_vec();
            key.resize(4 + rng.below(30), 0);
            key.extend((0..rng.below(24)).map(|_| (rng.below(8) / 7) as u8));
            key
        }
        _ => {
            let mut key = b"zeros".to_vec();
            key.resize(5 + number % 3000, 0);
            key
        }
    }
}

/// Returns entries of a shape, some keys in many versions.
fn entries_of(shape: usize, count: usize, rng: &mut Rng) -> Vec<Entry> {
    let mut entries = Vec::new();
    for number in 0..count {
        let key = key(shape, number, rng);
        let versions = match rng.below(2000) {
            0 => 300,
            1..=20 => 3,
            _ => 1,
        };
        // In one shape, some entries take a whole page.
        let is_long = shape == 1 && number % 700 == 3;
        let len = if is_long { 6_000 } else { 1 + number % 80 };
        entries.extend((0..versions).map(|version| Entry {
            seq: 9 + version,
            ..put(&key[..], rng.bytes(len))
        }));
    }
    sort(&mut entries, &Order::Bytewise);
    entries
}

/// Returns a key close to another key.
fn neighbour(key: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut other = key.to_vec();
    match rng.below(7) {
        0 => other.push(0),
        1 => other.extend(rng.bytes(3)),
        2 => other.truncate(rng.below(key.len() + 1)),
        3 => other.truncate(key.len().saturating_sub(1)),
        4 if !key.is_empty() => {
            let at = rng.below(key.len());
            other[at] = other[at].wrapping_add([1, 0xff][rng.below(2)]);
        }
        5 if !key.is_empty() => {
            let at = rng.below(key.len());
            other[at] = rng.next() as u8;
        }
        _ => {}
    }
    other
}

/// Returns the number of units in the longest tie.
fn longest_tie(table: &Table) -> usize {
    let heads = (0..table.meta.fence_pages()).flat_map(|index| {
        let page = table.pages.read_unchecked(table.meta.fence_at() + index, 1);
        let page = page.unwrap();
        let count = table.meta.fence_place(index).count;
        (0..count).map(move |slot| head_at(&page, slot))
    });
    let heads: Vec<u64> = heads.collect();
    let ties = heads.chunk_by(|a, b| a == b).map(<[u64]>::len);
    ties.max().unwrap_or(0)
}

#[test]
fn tied_tables_answer_as_a_sorted_list() {
    let (mut longest, mut levels) = (0, 0);
    for shape in 0..SHAPES {
        for (count, seed) in [(60_000, 7), (4_000, 8)] {
            println!("keys {shape}, {count} of them, seed {seed}");
            let mut rng = Rng(seed);
            let count = if shape == 5 { 3_000 } else { count };
            let entries = entries_of(shape, count, &mut rng);
            let (bytes, summary) = build(&entries, TableOptions::new(FILE));
            for reach in [Reach::Mapped, Reach::Cached, Reach::Unmapped] {
                let order = Order::Bytewise;
                let table = open_with(bytes.clone(), &order, summary.checksum, reach).unwrap();
                assert!(table.meta.tie_levels > 0, "keys {shape}");
                assert_eq!(table.meta.numbered, shape == 1, "keys {shape}");
                levels = levels.max(table.meta.tie_levels);
                table.verify().unwrap();
                longest = longest.max(longest_tie(&table));
                let probes = if reach == Reach::Mapped { 3_000 } else { 300 };
                for probe in 0..probes {
                    let entry = &entries[rng.below(entries.len())];
                    let key = neighbour(&entry.key, &mut rng);
                    let seq = [SEQ_MAX, entry.seq, 10][rng.below(3)];
                    check_probe(&table, &entries, &key, seq, &format!("probe {probe}"));
                }
            }
        }
    }
    assert!(levels > 2, "{levels}");
    // Ties of blocks and of pages.
    assert!(longest > HEADS_PER_PAGE, "{longest}");
}

#[test]
fn offsets_go_up_with_keys_and_are_those_of_units() {
    let mut rng = Rng(21);
    let key = |number: usize| match number {
        0..2_000 => format!("headhead/xxxx{number:06}").into_bytes(),
        _ => format!("z{number:06}").into_bytes(),
    };
    let entries = puts(2_200, key, |_| rng.bytes(1_300));
    let table = built(&entries, TableOptions::new(FILE));
    assert!(table.meta.tie_levels > 0);
    let offset = |key: &[u8]| table.approximate_offset(key).unwrap();
    let data_bytes = u64::from(table.meta.data_pages) * 4096;
    let behind_tie = offset(b"z000000");
    assert!(behind_tie > data_bytes * 8 / 10 && behind_tie < data_bytes);
    // Keys that have the head of the tie but not its common bytes sort before or after all of it.
    assert_eq!(offset(b"headhead/aaaa999999"), 0);
    assert_eq!(offset(b"headhead/zzzz000000"), behind_tie);
    assert_eq!(offset(b"headhead0"), behind_tie);
    let mut before = 0;
    for (number, entry) in entries.iter().enumerate() {
        let at = offset(&entry.key);
        assert!(at >= before, "{number}");
        let share = number as u64 * data_bytes / 2_200;
        let is_near = at.abs_diff(share) < data_bytes / 50;
        assert!(is_near, "{number}: {at} beside {share}");
        before = at;
    }
}

#[test]
fn most_gets_take_the_fast_path_to_a_page_of_a_tie() {
    for shape in [0, 2] {
        let mut rng = Rng(3);
        let mut entries = entries_of(shape, 60_000, &mut rng);
        entries.dedup_by(|b, a| a.key == b.key);
        let table = built(&entries, TableOptions::new(FILE));
        table.check_pages().unwrap();
        let path = FastPath::of(&table).expect("mapped");
        let (mut value, mut fast) = (Vec::new(), 0);
        for entry in &entries {
            let found = path.get(&entry.key, hash64(&entry.key), SEQ_MAX, &mut value);
            match found.unwrap() {
                FastGet::Fallback => {}
                FastGet::Page(_) | FastGet::Answer(Some(_)) => fast += 1,
                FastGet::Answer(None) => panic!("an existing key was not found"),
            }
        }
        let count = entries.len();
        assert!(fast > count * 3 / 4, "keys {shape}: {fast} of {count}");
    }
}

#[test]
fn tables_without_ties_have_no_tie_heads() {
    let mut rng = Rng(1);
    let digits = |number: usize| format!("{:016}", number * 7).into_bytes();
    // One tie of two pages among a hundred.
    let few = |number: usize| match number {
        0..200 => format!("a/a/a/a/a/{number:06}").into_bytes(),
        _ => format!("{number:08}").into_bytes(),
    };
    let shapes: [&dyn Fn(usize) -> Vec<u8>; 2] = [&digits, &few];
    for shape in shapes {
        let mut entries = puts(8_000, shape, |_| rng.bytes(40));
        sort(&mut entries, &Order::Bytewise);
        let table = built(&entries, TableOptions::new(FILE));
        assert_eq!(table.meta.tie_levels, 0);
        table.verify().unwrap();
    }
}

/// Returns a table with ties in which one bit of a tie head is flipped, with a matching checksum.
fn forged(level: u32, unit: usize, bit: usize) -> Arc<Table> {
    let entries = entries_of(0, 20_000, &mut Rng(5));
    let (mut bytes, summary) = build(&entries, TableOptions::new(FILE));
    let order = Order::Bytewise;
    let open = |bytes| open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
    let meta = open(bytes.clone()).meta.clone();
    assert!(level < meta.tie_levels && unit < meta.units as usize);
    let number = meta.ties_at(level);
    let page = &mut bytes[number as usize * 4096..][..4096];
    page[64 + 8 * unit + bit / 8] ^= 1 << (bit % 8);
    seal(file_seed(FILE), number, page);
    open(bytes)
}

#[test]
fn verify_notices_wrong_tie_heads() {
    for (level, unit) in [(0, 0), (0, 1), (0, 17), (1, 0), (1, 1), (1, 40)] {
        for bit in (0..64).step_by(3) {
            println!("level {level}, unit {unit}, bit {bit}");
            let error = forged(level, unit, bit).verify().unwrap_err();
            assert!(error.to_string().contains("tie head"), "{error}");
            assert_eq!(error.file_name(), Some("000007.tbl"), "{error}");
            assert!(error.file_offset().is_some(), "{error}");
        }
    }
}
