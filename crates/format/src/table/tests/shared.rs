//! Tables that have one dictionary: values copied between them, and those of others encoded anew.

use std::sync::Arc;

use cairndb_base::{ErrorKind, Kind, Order, SEQ_MAX};

use super::model::{check_scans, copy, options};
use super::support::*;
use crate::table::{Compression, Dictionary, Table, TableBuilder, TableOptions, ValueIn};

/// A table of `entries`, offered a dictionary.
fn table_of(entries: &[Entry], offered: Option<&Arc<Dictionary>>) -> (Vec<u8>, Arc<Table>) {
    let to = TableOptions {
        dictionary: offered.cloned(),
        ..options(&Order::Bytewise, Compression::Adaptive)
    };
    let (bytes, summary) = build(entries, to);
    let table = open_with(
        bytes.clone(),
        &Order::Bytewise,
        summary.checksum,
        Reach::Mapped,
    );
    (bytes, table.unwrap())
}

/// Rows of one kind; those of another `kind` have nothing in common with them.
fn rows_of(kind: u32, count: u32) -> Vec<Entry> {
    let mut rng = Rng(u64::from(kind) + 1);
    let words: Vec<Vec<u8>> = (0..12).map(|_| rng.text(14)).collect();
    let mut row = |number: u32| Entry {
        key: format!("{number:08}").into_bytes(),
        seq: 0,
        kind: Kind::Put,
        value: words
            .iter()
            .flat_map(|word| [word.clone(), rng.text(3)].concat())
            .collect(),
    };
    (0..count).map(|n| row(2 * n + kind)).collect()
}

#[test]
fn a_copy_has_the_dictionary_and_is_the_same_file() {
    let (bytes, table) = table_of(&rows_of(0, 3000), None);
    assert!(!table.dictionary().bytes().is_empty(), "rows share words");
    assert!(
        copy(&table, Compression::Adaptive).0 == bytes,
        "the copy differs"
    );
}

#[test]
fn an_offered_dictionary_is_taken_where_it_serves() {
    let (first, other) = (rows_of(0, 6000), rows_of(1, 3000));
    let (_, table) = table_of(&first[..3000], None);
    let offered = table.dictionary();
    let (_, next) = table_of(&first[3000..], Some(offered));
    assert_eq!(next.dictionary(), offered);
    let (_, unlike) = table_of(&other, Some(offered));
    assert_ne!(unlike.dictionary(), offered, "words of another kind");
    assert!(!unlike.dictionary().bytes().is_empty());
    let mut classic = rows_of(0, 3000);
    for (n, entry) in (0..).zip(&mut classic) {
        entry.value = classic_value(&mut Rng(n));
    }
    let (_, alone) = table_of(&classic, Some(offered));
    assert!(
        alone.dictionary().bytes().is_empty(),
        "no dictionary pays there"
    );
}

#[test]
fn values_of_two_dictionaries_meet_in_one_table() {
    let (many, few) = (rows_of(0, 3000), rows_of(1, 1000));
    let ((_, first), (_, second)) = (table_of(&many, None), table_of(&few, None));
    let sink = Sink::default();
    let to = options(&Order::Bytewise, Compression::Adaptive);
    let mut builder = TableBuilder::new(Box::new(sink.clone()), to);
    let (mut one, mut two) = (first.cursor(), second.cursor());
    one.first().unwrap();
    two.first().unwrap();
    while one.valid() || two.valid() {
        let from_two = !one.valid() || two.valid() && two.key() < one.key();
        let from = if from_two { &mut two } else { &mut one };
        // Two of three come from the first.
        let key = from.key().to_vec();
        builder
            .add(&key, 0, Kind::Put, from.stored().unwrap())
            .unwrap();
        from.next().unwrap();
        if from_two && one.valid() {
            let key = one.key().to_vec();
            builder
                .add(&key, 0, Kind::Put, one.stored().unwrap())
                .unwrap();
            one.next().unwrap();
        }
    }
    assert!(builder.trained().is_none());
    let summary = builder.finish().unwrap();
    let bytes = std::mem::take(&mut *sink.bytes.lock().unwrap());
    let merged = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped).unwrap();
    let mut all = [many, few].concat();
    all.sort_by(|a, b| a.key.cmp(&b.key));
    check_scans(&merged, &all, "merged");
    merged.verify().unwrap();
}

#[test]
fn a_value_that_its_dictionary_does_not_decode_is_refused() {
    let (_, table) = table_of(&rows_of(0, 3000), None);
    let mut builder = TableBuilder::new(
        Box::new(Sink::default()),
        options(&Order::Bytewise, Compression::Short),
    );
    let value = ValueIn::Shared {
        bytes: &[200, 1, 2],
        raw_len: 40,
        dictionary: table.dictionary(),
    };
    let refused = builder.add(b"k", SEQ_MAX, Kind::Put, value).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corruption);
}
