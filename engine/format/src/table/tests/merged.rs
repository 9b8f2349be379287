//! Tables built from entries received in different stored forms, as compactions build them.

use std::sync::Arc;

use cairndb_base::{Kind, Order};

use super::model::{check_probe, check_scans, check_summary, options};
use super::support::*;
use crate::table::{Compression, TableCursor, TableSummary, ValueIn};

/// Compacts tables stored in different ways, together with entries that are not stored yet.
fn merged(entries: &[Entry], order: &Order, rng: &mut Rng) -> (Vec<u8>, TableSummary) {
    let from: Vec<usize> = if rng.below(3) == 0 {
        entries.iter().map(|_| rng.below(3)).collect()
    } else {
        let runs = 1 + rng.below(entries.len());
        (0..entries.len()).map(|n| n / runs % 3).collect()
    };
    let source = |(number, compression): (usize, Compression)| {
        let own = entries.iter().zip(&from);
        let own = own.filter(|(_, from)| **from == number);
        let own: Vec<Entry> = own.map(|(entry, _)| entry.clone()).collect();
        (!own.is_empty()).then(|| {
            let mut cursor = built(&own, options(order, compression)).cursor();
            cursor.first().unwrap();
            cursor
        })
    };
    let mut sources = [(0, Compression::Short), (1, Compression::Adaptive)].map(source);
    let mut to = options(order, Compression::Adaptive);
    if rng.below(2) == 0 {
        let tables = sources.iter().flatten().map(TableCursor::table);
        let mut dictionaries = tables.map(|table| Arc::clone(table.dictionary()));
        to.dictionary = dictionaries.next_back();
    }
    let (mut memory, mut estimate) = (0, 0);
    let (bytes, summary) = build_with(to, |builder| {
        for (entry, from) in entries.iter().zip(&from) {
            if let Some(Some(cursor)) = sources.get_mut(*from) {
                let stored = cursor.entry().unwrap();
                let added = builder.add(&entry.key, stored.seq, stored.kind, stored.value);
                added.unwrap();
                cursor.next().unwrap();
            } else {
                let value = ValueIn::Raw(&entry.value);
                builder
                    .add(&entry.key, entry.seq, entry.kind, value)
                    .unwrap();
            }
            let again = ValueIn::Raw(b"again");
            let added = builder.add(&entry.key, entry.seq, entry.kind, again);
            assert!(added.is_err());
        }
        (memory, estimate) = (builder.memory_bytes(), builder.bytes_estimate());
    });
    assert!(memory < (4 << 20), "{memory} bytes held");
    let found = summary.bytes;
    assert!(
        found < estimate + (128 << 10),
        "{found} bytes, {estimate} estimated"
    );
    (bytes, summary)
}

/// Returns entries of one kind, some near the limit for pending entries, and some tombstones in a
/// row.
fn mixed(rng: &mut Rng) -> Vec<Entry> {
    let count = [3, 150, 400, 2500][rng.below(4)];
    let mut entries = match rng.below(5) {
        0 | 1 => records(count, rng),
        2 | 3 => rows(count, rng),
        _ => entries_of_shape(rng.below(KEY_SHAPES), count, rng),
    };
    if rng.below(2) == 0 {
        let edge = rng.below(count);
        for (n, entry) in entries.iter_mut().enumerate().skip(edge).take(40) {
            if entry.kind == Kind::Put {
                entry.value = rng.text(4094 + n % 5);
            }
        }
    }
    if rng.below(3) == 0 {
        for entry in entries.iter_mut().take(count / 3) {
            entry.kind = Kind::Delete;
            entry.value.clear();
        }
    }
    entries
}

#[test]
fn merged_tables_answer_as_a_sorted_list() {
    let mut seen = [0; 4];
    for seed in 500..540u64 {
        let mut rng = Rng(seed);
        let order = if seed % 4 == 3 {
            reverse()
        } else {
            Order::Bytewise
        };
        let mut entries = mixed(&mut rng);
        sort(&mut entries, &order);
        let (bytes, summary) = merged(&entries, &order, &mut rng);
        check_summary(&summary, &entries, bytes.len());
        for (seen, pages) in seen.iter_mut().zip(modes(&bytes)) {
            *seen += pages;
        }
        let reach = [Reach::Mapped, Reach::Cached, Reach::Unmapped][rng.below(3)];
        let table = open_with(bytes, &order, summary.checksum, reach).unwrap();
        let context = format!("merged {seed}");
        table.verify().expect(&context);
        check_scans(&table, &entries, &context);
        for _ in 0..100 {
            let entry = &entries[rng.below(entries.len())];
            check_probe(&table, &entries, &entry.key.clone(), entry.seq, &context);
        }
    }
    assert!(seen.into_iter().all(|pages| pages > 20), "{seen:?}");
}
