//! Tables whose values are stored raw until a compaction encodes them.

use std::sync::Arc;

use cairndb_base::Order;

use super::model::{check_scans, copy, options};
use super::support::*;
use crate::table::{Compression, Table};

const ROWS: usize = 3000;

/// Returns a table of `entries` that may be deferred, and whether it was.
fn table_of(entries: &[Entry]) -> (Vec<u8>, Table, bool) {
    let to = options(&Order::Bytewise, Compression::Deferred);
    let mut deferred = false;
    let (bytes, summary) = build_with(to, |builder| {
        add_all(builder, entries);
        deferred = builder.is_deferred();
    });
    let order = Order::Bytewise;
    let table = open_with(bytes.clone(), &order, summary.checksum, Reach::Mapped).unwrap();
    let table = Arc::into_inner(table).expect("no other owner exists yet");
    (bytes, table, deferred)
}

fn entries(value: impl Fn(&mut Rng) -> Vec<u8>) -> Vec<Entry> {
    puts(
        ROWS,
        |n| format!("{n:08}"),
        |n| value(&mut Rng(n as u64 + 1)),
    )
}

/// Returns entries with values of one form, which compress only together.
fn rows() -> Vec<Entry> {
    entries(|rng| {
        let (one, two) = (rng.below(1_000_000), rng.below(1000));
        format!("{{\"customer\":\"C-{one:06}\",\"price\":{two},\"currency\":\"NOK\"}}").into_bytes()
    })
}

#[test]
fn values_that_shrink_together_stay_raw_until_a_merge_takes_them() {
    let rows = rows();
    let (bytes, table, deferred) = table_of(&rows);
    let (as_they_are, _) = build(&rows, options(&Order::Bytewise, Compression::None));
    let (encoded, _) = build(&rows, options(&Order::Bytewise, Compression::Adaptive));
    // Raw, as without compression.
    assert!(deferred && bytes == as_they_are);
    assert!(10 * encoded.len() < 8 * bytes.len(), "encoding pays off");

    let table = Arc::new(table.with_deferred(true));
    check_scans(&table, &rows, "deferred");
    table.verify().unwrap();
    let (copied, _) = copy(&table, Compression::Adaptive);
    assert!(copied == encoded, "as if it had been encoded at once");
    let (left, _) = copy(&table, Compression::None);
    assert!(left == bytes, "a table with nothing to encode is copied");
}

/// A reader that does not know the flag sees a table of raw values, and copies them.
#[test]
fn a_deferred_table_is_a_table_of_raw_values() {
    let rows = rows();
    let (bytes, table, _) = table_of(&rows);
    let table = Arc::new(table);
    check_scans(&table, &rows, "raw");
    let (copied, _) = copy(&table, Compression::Short);
    assert!(copied == bytes, "verbatim");
}

#[test]
fn values_that_shrink_alone_or_not_at_all_are_stored_at_once() {
    let noise = entries(|rng| (0..100).map(|_| rng.below(256) as u8).collect());
    let classic = entries(classic_value);
    let few = rows()[..20].to_vec();
    for entries in [noise, classic, few] {
        let (bytes, _, deferred) = table_of(&entries);
        let adaptive = options(&Order::Bytewise, Compression::Adaptive);
        assert!(!deferred && bytes == build(&entries, adaptive).0);
    }
}
