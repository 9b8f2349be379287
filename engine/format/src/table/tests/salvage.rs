//! Tests of salvage: every entry of an intact page is found, whatever else is damaged.

use std::sync::Arc;

use cairndb_base::Order;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_env::ReadFile;

use super::support::{Entry, FILE, Rng, build, entries_of_shape, image, sort};
use crate::table::{Salvaged, TableFacts, TableOptions, TableSalvage, is_table_number};

/// Entries of each unit: its first page, its number of pages, its entries.
type Units = Vec<(u32, u32, Vec<Entry>)>;

/// Returns what salvage finds, and the number of damaged pages.
fn salvaged(bytes: Vec<u8>) -> (Units, usize) {
    let file: Arc<dyn ReadFile> = image(bytes);
    let facts = TableFacts::read(&file, FILE).ok();
    let dictionary = facts.map(|facts| facts.dictionary);
    let mut salvage = TableSalvage::new(file, FILE, &Order::Bytewise, dictionary);
    let (mut units, mut damaged) = (Units::new(), 0);
    while let Some((at, found)) = salvage.advance().unwrap() {
        match found {
            Salvaged::Entries(page) => {
                let entries = (0..page.count()).map(|index| {
                    let (mut key, mut value) = (Vec::new(), Vec::new());
                    page.key_into(index, &mut key);
                    let mark = page.mark(index);
                    let read = page.value_into(index, &mut value);
                    // Without its dictionary a value is lost; it is never wrong.
                    read.unwrap_or_else(|_| value = b"lost".to_vec());
                    Entry {
                        key,
                        seq: mark.seq,
                        kind: mark.kind,
                        value,
                    }
                });
                units.push((at, page.pages(), entries.collect()));
            }
            Salvaged::Damaged { .. } => damaged += 1,
            Salvaged::Index { .. } => {}
        }
    }
    (units, damaged)
}

#[test]
fn only_entries_of_damaged_pages_are_lost() {
    let mut rng = Rng(11);
    for shape in 0..5 {
        let mut entries = entries_of_shape(shape, 300, &mut rng);
        sort(&mut entries, &Order::Bytewise);
        let (bytes, _) = build(&entries, TableOptions::new(FILE));
        let (units, damaged) = salvaged(bytes.clone());
        assert_eq!(damaged, 0);
        let all: Vec<Entry> = units.iter().flat_map(|unit| unit.2.clone()).collect();
        assert_eq!(all, entries);
        let pages = bytes.len() / PAGE_BYTES;
        let dictionary = units.len() < pages;
        for page in 0..pages {
            let mut harmed = bytes.clone();
            let at = page * PAGE_BYTES + rng.below(PAGE_BYTES);
            harmed[at] ^= 1 << rng.below(8);
            let (found, _) = salvaged(harmed);
            let page = u32::try_from(page).unwrap();
            let hit = |first: u32, pages: u32| (first..first + pages).contains(&page);
            let expected: Vec<_> = units.iter().filter(|unit| !hit(unit.0, unit.1)).collect();
            let firsts = |units: &[&(u32, u32, Vec<Entry>)]| -> Vec<(u32, usize)> {
                units.iter().map(|unit| (unit.0, unit.2.len())).collect()
            };
            let found: Vec<_> = found.iter().collect();
            assert_eq!(firsts(&found), firsts(&expected), "page {page}");
            let same = |a: &Entry, b: &Entry| a == b || dictionary && a.value == b"lost";
            for (a, b) in found.iter().zip(&expected) {
                assert!(a.2.iter().zip(&b.2).all(|(a, b)| same(a, b)));
            }
        }
    }
}

#[test]
fn a_table_is_recognised_by_its_first_page_or_its_meta_block() {
    let mut rng = Rng(5);
    let mut entries = entries_of_shape(0, 200, &mut rng);
    sort(&mut entries, &Order::Bytewise);
    let (bytes, _) = build(&entries, TableOptions::new(FILE));
    let is_it = |bytes: &[u8], number: u64| {
        let file: Arc<dyn ReadFile> = image(bytes.to_vec());
        is_table_number(&file, cairndb_base::FileNumber(number)).unwrap()
    };
    assert!(is_it(&bytes, FILE.0) && !is_it(&bytes, FILE.0 + 1));
    let mut harmed = bytes.clone();
    harmed[10] ^= 1;
    assert!(is_it(&harmed, FILE.0) && !is_it(&harmed, FILE.0 + 1));
    let end = harmed.len() - 100;
    harmed[end] ^= 1;
    assert!(!is_it(&harmed, FILE.0));
    assert!(is_it(&bytes[..bytes.len() - 10], FILE.0));
}
