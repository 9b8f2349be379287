//! Heads that a merging iterator takes from a page all at once, compared with the keys.

use std::sync::Arc;

use cairndb_base::head::HEAD_BYTES;
use cairndb_base::{HeadRule, Kind, Order};

use super::model::options;
use super::support::*;
use crate::table::{Compression, Table};

fn check_heads(table: &Arc<Table>, entries: &[Entry], rule: &HeadRule, rng: &mut Rng) -> usize {
    let mut cursor = table.cursor().rechecking();
    let mut heads = Vec::new();
    let mut whole = 0;
    match rng.below(2) {
        0 => cursor.first().unwrap(),
        // After a seek the page's keys are not decoded.
        _ => cursor.seek(&entries[0].key, entries[0].seq).unwrap(),
    }
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(cursor.key(), entry.key);
        let most = 1 + rng.below(40);
        let len = cursor.page().heads_ahead(rule, most, &mut heads);
        assert!((1..=most).contains(&heads.len()));
        let with_heads = || entries[at..].iter().zip(&heads);
        assert_eq!(with_heads().count(), heads.len());
        for (entry, head) in with_heads() {
            assert_eq!(*head, rule.head(&entry.key), "{:?}", entry.key);
        }
        if len > 0 {
            whole += 1;
            assert!(len <= rule.prefix().len() + HEAD_BYTES);
            assert!(with_heads().all(|(entry, _)| entry.key.len() == len));
            assert!(with_heads().all(|(entry, _)| entry.key.starts_with(rule.prefix())));
        }
        if heads.len() > 1 {
            let next = &entries[at + 1].key;
            for other in [next, &entry.key, &rng.bytes(3)] {
                assert_eq!(cursor.page().compare_next(other), next.cmp(other));
            }
        }
        cursor.next().unwrap();
    }
    assert_eq!(cursor.page().heads_ahead(rule, 9, &mut heads), 0);
    assert!(heads.is_empty());
    whole
}

#[test]
fn heads_of_a_page_are_those_of_its_keys() {
    let mut whole = 0;
    for seed in 0..60_u64 {
        let mut rng = Rng(seed);
        let mut entries = entries_of_shape(seed as usize % KEY_SHAPES, 400, &mut rng);
        if seed % 4 == 0 {
            // Several pages of a thousand keys each, too many to decode at once.
            let ending = ["", "00", "0000000"][seed as usize % 3];
            entries = puts(4000, |n| format!("{:014}{ending}", n * 7), |_| Vec::new());
            for entry in &mut entries {
                entry.kind = Kind::Delete;
            }
        }
        let order = Order::Bytewise;
        sort(&mut entries, &order);
        let table = built(&entries, options(&order, Compression::Short));
        let (first, last) = (&entries[0].key, &entries[entries.len() - 1].key);
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let longer = rng.below(first.len() + 1);
        for len in [shared, shared / 2, longer, 0] {
            let rule = HeadRule::new(&order, first[..len].to_vec());
            whole += check_heads(&table, &entries, &rule, &mut rng);
        }
    }
    assert!(whole > 1000, "{whole}");
}
