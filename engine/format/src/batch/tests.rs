//! Tests of batches: encoding and decoding, the frame of one entry, limits, and malformed payloads.

use cairndb_base::coding::split_keyspace;
use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{ErrorKind, FileNumber, Kind};
use proptest::prelude::*;

use super::*;
use crate::testing::{Noise, fails};
use crate::value_file::Pointer;

fn pointer() -> Pointer {
    Pointer {
        file: FileNumber(7),
        offset: 64,
        len: 9000,
        raw_len: 9000,
        crc: 5,
        codec: 0,
    }
}

fn sample() -> BatchWriter {
    let mut batch = BatchWriter::new();
    batch.put(b"stone", b"grey");
    batch.delete(b"");
    batch.merge(&[9; 300], b"");
    batch.pointer(b"p", &pointer());
    batch.add_in(Kind::Put, 7, b"stone", b"red");
    batch.add_in(Kind::Delete, 1 << 31, b"", b"ignored");
    batch.add_in(Kind::Merge, 7, &[9; 124], b"");
    batch.add_in(Kind::Pointer, u32::MAX, b"p", &pointer().encode());
    batch
}

#[test]
fn entries_come_back_in_order() {
    let batch = sample();
    let payload = batch.to_payload();
    assert_eq!(payload.len() as u64, batch.payload_len());
    let entries: Vec<_> = iter(&payload).unwrap().map(Result::unwrap).collect();
    let parts = entries
        .iter()
        .map(|entry| (entry.kind, entry.in_keyspace, entry.key, entry.value));
    let longer = [&[0, 0, 0, 7][..], &[9; 124]].concat();
    let expected: [(Kind, bool, &[u8], &[u8]); 8] = [
        (Kind::Put, false, b"stone", b"grey"),
        (Kind::Delete, false, b"", b""),
        (Kind::Merge, false, &[9; 300], b""),
        (Kind::Pointer, false, b"p", &pointer().encode()),
        (Kind::Put, true, b"\0\0\0\x07stone", b"red"),
        (Kind::Delete, true, &[0x80, 0, 0, 0], b""),
        (Kind::Merge, true, &longer, b""),
        (
            Kind::Pointer,
            true,
            b"\xff\xff\xff\xffp",
            &pointer().encode(),
        ),
    ];
    assert!(parts.eq(expected));
    let found = validate(&payload).unwrap();
    assert_eq!((found.count, found.unknown_kind), (8, None));
    assert_eq!(count(&payload).unwrap(), 8);
    let read: Vec<_> = batch.iter().map(Result::unwrap).collect();
    assert_eq!(read, entries);
    assert!(batch.own_entries().eq(entries));
}

#[test]
fn an_empty_batch_is_one_zero_byte() {
    let batch = BatchWriter::new();
    assert!(batch.is_empty());
    assert_eq!(batch.to_payload(), [0]);
    assert_eq!(validate(&[0]).unwrap().count, 0);
    assert_eq!(iter(&[0]).unwrap().count(), 0);
}

#[test]
fn joined_batches_are_their_entries_one_behind_the_other() {
    let mut first = sample();
    let mut second = BatchWriter::with_capacity(64);
    second.put(b"k", b"v");
    let total = first.count() + second.count();
    let prefix = BatchWriter::joined_prefix(total);
    let joined = [prefix.as_slice(), first.entries(), second.entries()].concat();
    first.append(&second);
    assert_eq!(first.to_payload(), joined);
    assert_eq!(validate(&joined).unwrap().count, 9);
    first.clear();
    assert_eq!(first.to_payload(), [0]);
}

#[test]
fn a_frame_is_what_the_writer_makes() {
    for key_len in [0, 1, 16, 127, 128, 20_000] {
        for value_len in [0, 1, 100, 127, 128, 70_000] {
            for kind in [Kind::Put, Kind::Merge, Kind::Delete] {
                let (key, value) = (vec![1; key_len], vec![2; value_len]);
                let mut batches = [BatchWriter::new(), BatchWriter::new()];
                batches[0].add(kind, &key, &value);
                batches[1].add_in(kind, 0x0101_0101, &key, &value);
                for (in_keyspace, batch) in [false, true].into_iter().zip(batches) {
                    let key = vec![1; key_len + if in_keyspace { 4 } else { 0 }];
                    let frame = frame(kind, in_keyspace, key.len(), value_len);
                    let is_delete = kind == Kind::Delete;
                    let value = if is_delete { &[][..] } else { &value };
                    let parts = [frame.before_key(), &key, frame.before_value(), value].concat();
                    assert_eq!(parts, batch.to_payload());
                    assert_eq!(frame.payload_len(key.len(), value_len), parts.len() as u64);
                }
            }
        }
    }
    let largest = frame(Kind::Put, true, KEY_BYTES_MAX + 4, VALUE_BYTES_MAX);
    let lengths = [largest.before_key().len(), largest.before_value().len()];
    assert_eq!(lengths, [6, 5]);
}

#[test]
fn limits_hold_at_and_one_beyond() {
    let mut batch = BatchWriter::new();
    let mut key = vec![0; KEY_BYTES_MAX];
    batch.put(&key, b"");
    batch.add_in(Kind::Put, 1, &key, b"");
    batch.check().unwrap();
    assert_eq!(validate(&batch.to_payload()).unwrap().count, 2);
    key.push(0);
    for number in [0, 1] {
        let mut batch = batch.clone();
        match number {
            0 => batch.put(&key, b""),
            _ => batch.add_in(Kind::Put, number, &key, b""),
        }
        let error = fails(batch.check(), ErrorKind::InvalidArgument);
        assert_eq!(batch.count(), 2);
        assert!(error.to_string().contains("67108865"), "{error}");
    }
    batch.put(&key, b"");
    let mut other = BatchWriter::new();
    other.append(&batch);
    other.check().unwrap_err();
    batch.clear();
    batch.check().unwrap();
    // The same key, encoded by a writer that enforces no limit.
    for (kind, more) in [(1, 0), (9, 4)] {
        let mut payload = vec![1, kind, 0x81 + more, 0x80, 0x80, 0x20];
        payload.resize(payload.len() + key.len() + usize::from(more), 1);
        payload.push(0);
        fails(validate(&payload), ErrorKind::Corruption);
    }
}

#[test]
fn unknown_kinds_are_stepped_over_by_validate_and_refused_by_iter() {
    // Those that `docs/format/batch.md` reserves, and others.
    for kind in [5u8, 6, 13, 14, 15, 16, 27, 255] {
        let (start, end) = ([3, 1, 1, b'a', 0, kind], [2, 8, 9, 0, 1, b'c']);
        let payload = [&start[..], &[4, 0, 0, 0, 1], &end].concat();
        let found = validate(&payload).unwrap();
        assert_eq!((found.count, found.unknown_kind), (3, Some(kind)));
        let mut entries = iter(&payload).unwrap();
        assert_eq!(entries.next().unwrap().unwrap().key, b"a");
        fails(entries.next().unwrap(), ErrorKind::FormatTooNew);
        assert!(entries.next().is_none());
    }
}

#[test]
fn a_time_mark_has_a_time_and_no_key() {
    let payload = |key: &[u8], value: &[u8]| {
        let mut batch = BatchWriter::new();
        batch.add(Kind::TimeMark, key, value);
        batch.to_payload()
    };
    let whole = payload(b"", &7_u64.to_le_bytes());
    let mark = iter(&whole).unwrap().next().unwrap().unwrap();
    assert_eq!((mark.kind, mark.value[0]), (Kind::TimeMark, 7));
    for bad in [
        payload(b"k", &[0; 8]),
        payload(b"", &[0; 7]),
        payload(b"", b""),
    ] {
        fails(validate(&bad), ErrorKind::Corruption);
    }
}

#[test]
fn a_range_ends_in_its_keyspace() {
    let payload = |end: &[u8]| {
        let mut batch = BatchWriter::new();
        batch.add_in(Kind::RangeDelete, 2, b"k", end);
        batch.to_payload()
    };
    for end in [&b"\0\0\0\x02l"[..], b"\0\0\0\x02", b"\0\0\0\x03"] {
        assert_eq!(validate(&payload(end)).unwrap().unknown_kind, None);
    }
    for end in [
        &b""[..],
        b"\0\0\0",
        b"\0\0\0\x03l",
        b"\0\0\0\x04",
        b"\0\0\0\x01",
    ] {
        fails(validate(&payload(end)), ErrorKind::Corruption);
    }
}

#[test]
fn malformed_payloads_are_errors() {
    let longest = [&[0xff; 9][..], &[1]].concat();
    let payloads: [&[u8]; 18] = [
        &[],
        &[0x80],
        &[1],
        &[1, 1],
        &[1, 1, 0],
        &[1, 0, 1],
        &[1, 0, 0, 0],
        &[0, 0],
        &[2, 1, 0, 0],
        &[&[1, 1], &longest[..], &[0]].concat(),
        &[&longest[..], &[1, 0, 0]].concat(),
        &[1, 3, 1, b'k', 4, 1, 2, 3, 4],
        // In a keyspace: no number, number 0, no value, a value too many, and not a pointer.
        &[1, 8, 3, 0, 0, 1],
        &[1, 9, 4, 0, 0, 0, 0, 0],
        &[1, 14, 3, 0, 0, 1, 0],
        &[1, 9, 4, 0, 0, 0, 1],
        &[1, 8, 4, 0, 0, 0, 1, 0],
        &[1, 11, 4, 0, 0, 0, 1, 1, 2],
    ];
    for payload in payloads {
        fails(validate(payload), ErrorKind::Corruption);
        let through = iter(payload).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        fails(through, ErrorKind::Corruption);
    }
}

#[test]
fn every_cut_of_a_payload_is_an_error() {
    let payload = sample().to_payload();
    for len in 0..payload.len() {
        validate(&payload[..len]).unwrap_err();
    }
    let longer = [&payload[..], &[0]].concat();
    validate(&longer).unwrap_err();
}

#[test]
fn noise_never_panics_and_iter_agrees_with_validate() {
    for seed in 0..20_000 {
        let mut noise = Noise::new(seed);
        let len = noise.below(60);
        let mut payload = noise.bytes(len);
        // Small numbers get further into the decoder than random ones.
        for byte in &mut payload {
            *byte %= 17;
        }
        let valid = validate(&payload).is_ok_and(|found| found.unknown_kind.is_none());
        let read = iter(&payload).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(valid, read.is_ok(), "seed {seed}");
    }
}

/// Returns an entry whose key follows the number of its keyspace, if it is in one.
fn entry() -> impl Strategy<Value = (Kind, Option<u32>, Vec<u8>, Vec<u8>)> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..max);
    let number = prop::option::of(1..=u32::MAX);
    (0u8..3, number, bytes(200), bytes(400)).prop_map(|(kind, number, key, value)| {
        (Kind::from_u8(kind).expect("known"), number, key, value)
    })
}

proptest! {
    #[test]
    fn any_batch_round_trips(entries in prop::collection::vec(entry(), 0..40)) {
        let mut batch = BatchWriter::new();
        for (kind, number, key, value) in &entries {
            match number {
                None => batch.add(*kind, key, value),
                Some(number) => batch.add_in(*kind, *number, key, value),
            }
        }
        let payload = batch.to_payload();
        prop_assert_eq!(validate(&payload).unwrap().count, entries.len() as u64);
        let read: Vec<_> = iter(&payload).unwrap().map(|entry| {
            let entry = entry.unwrap();
            let split = split_keyspace(entry.key).filter(|_| entry.in_keyspace);
            let (number, key) = match split {
                None => (None, entry.key),
                Some((number, key)) => (Some(number), key),
            };
            (entry.kind, number, key.to_vec(), entry.value.to_vec())
        }).collect();
        let mut written = entries;
        for (kind, _, _, value) in &mut written {
            if *kind == Kind::Delete {
                value.clear();
            }
        }
        prop_assert_eq!(read, written);
    }
}
