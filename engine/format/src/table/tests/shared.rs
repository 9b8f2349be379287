//! Tables with a common dictionary: values copied between them, and values of other tables encoded
//! again.

use std::sync::Arc;

use cairndb_base::{ErrorKind, Kind, Order, SEQ_MAX};

use super::model::{check_scans, copy, options};
use super::support::*;
use crate::table::{
    Compression, Dictionary, Table, TableBuilder, TableCursor, TableOptions, ValueIn,
};
use crate::testing::fails;

/// Returns a table of `entries` that was offered a dictionary.
fn table_of(entries: &[Entry], offered: Option<&Arc<Dictionary>>) -> (Vec<u8>, Arc<Table>) {
    let to = TableOptions {
        dictionary: offered.cloned(),
        ..options(&Order::Bytewise, Compression::Adaptive)
    };
    let (bytes, summary) = build(entries, to);
    let (copy, order) = (bytes.clone(), Order::Bytewise);
    let table = open_with(copy, &order, summary.checksum, Reach::Mapped);
    (bytes, table.unwrap())
}

/// Returns rows of one kind; rows of another `kind` have nothing in common with them.
fn rows_of(kind: usize, count: usize) -> Vec<Entry> {
    let mut rng = Rng(kind as u64 + 1);
    let words: Vec<Vec<u8>> = (0..12).map(|_| rng.text(14)).collect();
    let row = |_| {
        let words = words.iter();
        words
            .flat_map(|word| [&word[..], &rng.text(3)].concat())
            .collect()
    };
    puts(count, |n| format!("{:08}", 2 * n + kind), row)
}

#[test]
fn a_copy_has_the_dictionary_and_is_the_same_file() {
    let (bytes, table) = table_of(&rows_of(0, 3000), None);
    assert!(!table.dictionary().bytes().is_empty(), "rows share words");
    let (copied, _) = copy(&table, Compression::Adaptive);
    assert!(copied == bytes, "the copy differs");
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
    // No dictionary pays off there.
    let (_, alone) = table_of(&classic, Some(offered));
    assert!(alone.dictionary().bytes().is_empty());
}

/// Adds the entry at which a cursor is, and moves it.
fn take(builder: &mut TableBuilder, cursor: &mut TableCursor) {
    let key = cursor.key().to_vec();
    let value = cursor.entry().unwrap().value;
    builder.add(&key, 0, Kind::Put, value).unwrap();
    cursor.next().unwrap();
}

#[test]
fn values_of_two_dictionaries_meet_in_one_table() {
    let (many, few) = (rows_of(0, 3000), rows_of(1, 1000));
    let ((_, first), (_, second)) = (table_of(&many, None), table_of(&few, None));
    let to = options(&Order::Bytewise, Compression::Adaptive);
    let (bytes, summary) = build_with(to, |builder| {
        let (mut one, mut two) = (first.cursor(), second.cursor());
        one.first().unwrap();
        two.first().unwrap();
        while one.valid() || two.valid() {
            let from_two = !one.valid() || two.valid() && two.key() < one.key();
            take(builder, if from_two { &mut two } else { &mut one });
            // Two of three entries come from the first table.
            if from_two && one.valid() {
                take(builder, &mut one);
            }
        }
    });
    let merged = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped).unwrap();
    let mut all = [many, few].concat();
    all.sort_by(|a, b| a.key.cmp(&b.key));
    check_scans(&merged, &all, "merged");
    merged.verify().unwrap();
}

/// Returns a row of one of two forms, which share their beginning.
fn event(of_user: bool, key: String, rng: &mut Rng) -> Entry {
    let day = 1 + rng.below(28);
    let (one, two) = (rng.below(1_000_000), rng.below(1_000_000));
    let form = if of_user {
        format!(r#""first_name":"{one:x}","newsletter":true,"language":"norsk","points":{two}"#)
    } else {
        format!(r#""article":"A-{one:06}","price":{two},"currency":"NOK","stock":"Oslo""#)
    };
    put(
        key,
        format!("{{\"created\":\"2024-05-{day:02}\",{form}}}").into_bytes(),
    )
}

/// Compacts two tables, the second newer, from key `from` on.
fn merge(old: &Arc<Table>, new: Option<&Arc<Table>>, from: &[u8]) -> (usize, Arc<Table>) {
    let offered = new.map(|table| Arc::clone(table.dictionary()));
    let to = TableOptions {
        dictionary: offered,
        ..options(&Order::Bytewise, Compression::Adaptive)
    };
    let (bytes, summary) = build_with(to, |builder| {
        let (mut old, mut newer) = (old.cursor(), new.map(Table::cursor));
        old.seek(from, SEQ_MAX).unwrap();
        if let Some(newer) = &mut newer {
            newer.seek(from, SEQ_MAX).unwrap();
        }
        while old.valid() {
            match &mut newer {
                Some(newer) if newer.valid() && newer.key() == old.key() => {
                    take(builder, newer);
                    old.next().unwrap();
                }
                _ => take(builder, &mut old),
            }
        }
    });
    let len = bytes.len();
    let merged = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped);
    (len, merged.unwrap())
}

#[test]
fn a_later_table_of_a_merge_is_not_bound_to_what_the_first_values_chose() {
    let mut rng = Rng(1);
    let mut rows = |of_user, count, letter: char| -> Vec<Entry> {
        let row = |n: u32| event(of_user, format!("{letter}{n:08}"), &mut rng);
        (0..count).map(row).collect()
    };
    let (articles, users) = (rows(false, 300, 'a'), rows(true, 3000, 'u'));
    let (own, _) = table_of(&users, None);
    let (_, mixed) = table_of(&[articles, users].concat(), None);
    let (merged, _) = merge(&mixed, None, b"u");
    let own = own.len();
    assert!(10 * merged <= 11 * own, "{merged} against {own}");
}

#[test]
fn values_that_change_by_and_by_get_a_new_dictionary_in_the_end() {
    let mut rng = Rng(2);
    let mut row = |of_user, n| event(of_user, format!("k{n:08}"), &mut rng);
    let rows: Vec<Entry> = (0..3000).map(|n| row(false, n)).collect();
    let (_, mut table) = table_of(&rows, None);
    let mut len = 0;
    for round in 0..5 {
        let changed: Vec<Entry> = (round..3000).step_by(5).map(|n| row(true, n)).collect();
        let (_, flushed) = table_of(&changed, None);
        (len, table) = merge(&table, Some(&flushed), b"");
    }
    let all: Vec<Entry> = (0..3000).map(|n| row(true, n)).collect();
    let (own, _) = table_of(&all, None);
    assert!(10 * len <= 11 * own.len(), "{len} against {}", own.len());
}

#[test]
fn a_value_that_its_dictionary_does_not_decode_is_refused() {
    let (_, table) = table_of(&rows_of(0, 3000), None);
    let options = options(&Order::Bytewise, Compression::Short);
    let mut builder = TableBuilder::new(Box::new(Sink::default()), options);
    let value = ValueIn::Shared {
        bytes: &[200, 1, 2],
        raw_len: 40,
        dictionary: table.dictionary(),
    };
    fails(
        builder.add(b"k", SEQ_MAX, Kind::Put, value),
        ErrorKind::Corruption,
    );
}
