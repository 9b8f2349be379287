//! Tests of limits: what is rejected, and the largest inputs that are accepted.

use cairndb_base::limits::KEY_BYTES_MAX;
use cairndb_base::{ErrorKind, Kind, Order, SEQ_MAX, hash64};

use super::model::options;
use super::support::*;
use crate::table::{BoundLimits, Compression, TableBuilder, TableOptions, ValueIn};

fn builder() -> TableBuilder {
    TableBuilder::new(Box::new(Sink::default()), TableOptions::new(FILE))
}

#[test]
fn entries_out_of_order_are_refused() {
    let mut builder = builder();
    let mut add = |key: &[u8], seq| {
        builder
            .add(key, seq, Kind::Put, ValueIn::Raw(b"v"))
            .map_err(|error| error.kind())
    };
    assert_eq!(add(b"b", 5), Ok(()));
    assert_eq!(add(b"a", 9), Err(ErrorKind::InvalidArgument));
    assert_eq!(add(b"b", 5), Err(ErrorKind::InvalidArgument));
    assert_eq!(add(b"b", 6), Err(ErrorKind::InvalidArgument));
    assert_eq!(add(b"b", 4), Ok(()));
    assert_eq!(add(b"c", SEQ_MAX), Ok(()));
    assert_eq!(add(b"d", SEQ_MAX + 1), Err(ErrorKind::InvalidArgument));
}

#[test]
fn an_empty_table_is_refused() {
    let kind = builder()
        .finish(&BoundLimits::default())
        .map_err(|error| error.kind());
    assert_eq!(kind, Err(ErrorKind::InvalidArgument));
}

#[test]
fn the_longest_key_is_taken_and_one_byte_more_is_not() {
    let mut long = vec![b'k'; KEY_BYTES_MAX + 1];
    let refused = builder().add(&long, 1, Kind::Put, ValueIn::Raw(b"v"));
    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::InvalidArgument)
    );
    long.pop();
    let entries = [
        (b"a".to_vec(), b"small".to_vec()),
        (long.clone(), vec![b'v'; 3_000_000]),
        (b"z".to_vec(), Rng(3).bytes(2_000_000)),
    ]
    .map(|(key, value)| Entry {
        key,
        seq: 1,
        kind: Kind::Put,
        value,
    });
    let (bytes, summary) = build(&entries, TableOptions::new(FILE));
    for reach in [Reach::Mapped, Reach::Cached] {
        let order = Order::Bytewise;
        let table = open_with(bytes.clone(), &order, summary.checksum, reach).unwrap();
        table.verify().unwrap();
        let mut scratch = Vec::new();
        for entry in &entries {
            let hash = hash64(&entry.key);
            let found = table.get(&entry.key, hash, SEQ_MAX, &mut scratch).unwrap();
            assert!(found.is_some() && scratch == entry.value);
        }
        let mut cursor = table.cursor();
        cursor.last().unwrap();
        for entry in entries.iter().rev() {
            assert!(cursor.key() == entry.key && cursor.value().unwrap() == entry.value);
            cursor.prev().unwrap();
        }
    }
}

#[test]
fn values_of_every_size_around_a_page_are_kept() {
    let order = Order::Bytewise;
    for compression in [Compression::None, Compression::Short] {
        let mut rng = Rng(11);
        let entries: Vec<Entry> = (3900..4200)
            .chain(65_500..65_560)
            .map(|len| Entry {
                key: format!("{len:08}").into_bytes(),
                seq: 3,
                kind: Kind::Put,
                value: if len % 2 == 0 {
                    vec![b'v'; len]
                } else {
                    rng.bytes(len)
                },
            })
            .collect();
        let options = TableOptions {
            compression,
            ..TableOptions::new(FILE)
        };
        let (bytes, summary) = build(&entries, options);
        let table = open_with(bytes, &order, summary.checksum, Reach::Mapped).unwrap();
        table.verify().unwrap();
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        for entry in &entries {
            assert!(cursor.key() == entry.key && cursor.value().unwrap() == entry.value);
            cursor.next().unwrap();
        }
        assert!(!cursor.valid());
    }
}

/// Tombstones decide nothing about the storage of values. Each once waited for the first value that
/// decided, and took 8 bytes or more.
#[test]
fn tombstones_cost_a_builder_their_filter_and_no_more() {
    for value_every in [usize::MAX, 100_000] {
        let mut builder = builder();
        let mut most = 0;
        for n in 0..150_000_usize {
            let (kind, value) = match (n + 1) % value_every {
                0 => (Kind::Put, &[7; 100][..]),
                _ => (Kind::Delete, &[][..]),
            };
            let key = format!("{n:016}");
            builder
                .add(key.as_bytes(), 1, kind, ValueIn::Raw(value))
                .unwrap();
            most = most.max(builder.memory_bytes().saturating_sub(4 * (n + 1)));
        }
        assert!(most < 400 << 10, "{most} bytes besides the hashes of keys");
        assert_eq!(
            builder.finish(&BoundLimits::default()).unwrap().entries,
            150_000
        );
    }
}

/// Entries without key or value bytes once did not count towards the memory of entries waiting for
/// a group, and each page processed them all again.
#[test]
fn versions_of_the_empty_key_without_values_do_not_wait_for_ever() {
    const COUNT: u64 = 100_000;
    let options = options(&Order::Bytewise, Compression::Adaptive);
    let sink = Sink::default();
    let mut builder = TableBuilder::new(Box::new(sink.clone()), options);
    let mut most = 0;
    for n in 0..COUNT {
        // Values that make the table choose groups.
        let value = [n.to_le_bytes(), [7; 8]].concat();
        let value = if n < 3000 { &value[..] } else { b"" };
        builder
            .add(b"", COUNT - n, Kind::Merge, ValueIn::Raw(value))
            .unwrap();
        most = most.max(builder.memory_bytes());
    }
    let summary = builder.finish(&BoundLimits::default()).unwrap();
    let bytes = sink.bytes.lock().unwrap().clone();
    assert!(modes(&bytes)[2] > 0, "groups were chosen");
    assert!(most < 2 << 20, "{most} bytes");
    let table = open_with(bytes, &Order::Bytewise, summary.checksum, Reach::Mapped).unwrap();
    let mut cursor = table.cursor();
    cursor.first().unwrap();
    let mut seq = COUNT;
    while cursor.valid() {
        assert_eq!(cursor.seq(), seq);
        seq -= 1;
        cursor.next().unwrap();
    }
    assert_eq!(seq, 0);
}
