//! Tests of limits: what is rejected, and the largest inputs that are accepted.

use cairndb_base::limits::STORED_KEY_BYTES_MAX;
use cairndb_base::{ErrorKind, Kind, Order, SEQ_MAX, hash64};

use super::model::{check_scans, options};
use super::support::*;
use crate::table::{BoundLimits, Compression, TableBuilder, TableOptions, ValueIn};
use crate::testing::fails;

fn builder() -> TableBuilder {
    TableBuilder::new(Box::new(Sink::default()), TableOptions::new(FILE))
}

#[test]
fn entries_out_of_order_are_refused() {
    let mut builder = builder();
    let mut add = |key: &[u8], seq| builder.add(key, seq, Kind::Put, ValueIn::Raw(b"v"));
    add(b"b", 5).unwrap();
    fails(add(b"a", 9), ErrorKind::InvalidArgument);
    fails(add(b"b", 5), ErrorKind::InvalidArgument);
    fails(add(b"b", 6), ErrorKind::InvalidArgument);
    add(b"b", 4).unwrap();
    add(b"c", SEQ_MAX).unwrap();
    fails(add(b"d", SEQ_MAX + 1), ErrorKind::InvalidArgument);
}

#[test]
fn an_empty_table_is_refused() {
    let finished = builder().finish(&BoundLimits::default());
    fails(finished, ErrorKind::InvalidArgument);
}

#[test]
fn the_longest_key_is_taken_and_one_byte_more_is_not() {
    let mut long = vec![b'k'; STORED_KEY_BYTES_MAX + 1];
    let refused = builder().add(&long, 1, Kind::Put, ValueIn::Raw(b"v"));
    fails(refused, ErrorKind::InvalidArgument);
    long.pop();
    let entries = [
        put("a", "small"),
        put(long.clone(), vec![b'v'; 3_000_000]),
        put("z", Rng(3).bytes(2_000_000)),
    ];
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
        check_scans(&table, &entries, "long");
    }
}

#[test]
fn values_of_every_size_around_a_page_are_kept() {
    for compression in [Compression::None, Compression::Short] {
        let mut rng = Rng(11);
        let entry = |len| {
            let value = match len % 2 {
                0 => vec![b'v'; len],
                _ => rng.bytes(len),
            };
            put(format!("{len:08}"), value)
        };
        let entries: Vec<Entry> = (3900..4200).chain(65_500..65_560).map(entry).collect();
        let table = built(&entries, options(&Order::Bytewise, compression));
        table.verify().unwrap();
        check_scans(&table, &entries, "around a page");
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
            let (key, value) = (format!("{n:016}"), ValueIn::Raw(value));
            builder.add(key.as_bytes(), 1, kind, value).unwrap();
            most = most.max(builder.memory_bytes().saturating_sub(4 * (n + 1)));
        }
        assert!(most < 400 << 10, "{most} bytes besides the hashes of keys");
        let summary = builder.finish(&BoundLimits::default()).unwrap();
        assert_eq!(summary.entries, 150_000);
    }
}

/// Entries without key or value bytes once did not count towards the memory of entries waiting for
/// a group, and each page processed them all again.
#[test]
fn versions_of_the_empty_key_without_values_do_not_wait_for_ever() {
    const COUNT: u64 = 100_000;
    let options = options(&Order::Bytewise, Compression::Adaptive);
    let mut most = 0;
    let (bytes, summary) = build_with(options, |builder| {
        for n in 0..COUNT {
            // Values that make the table choose groups.
            let value = [n.to_le_bytes(), [7; 8]].concat();
            let value = ValueIn::Raw(if n < 3000 { &value } else { b"" });
            builder.add(b"", COUNT - n, Kind::Merge, value).unwrap();
            most = most.max(builder.memory_bytes());
        }
    });
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
