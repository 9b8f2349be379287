//! Tests of batches: encoding and decoding, the frame of one entry, limits, and malformed payloads.

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
        .map(|entry| (entry.kind, entry.key, entry.value));
    let expected: [(Kind, &[u8], &[u8]); 4] = [
        (Kind::Put, b"stone", b"grey"),
        (Kind::Delete, b"", b""),
        (Kind::Merge, &[9; 300], b""),
        (Kind::Pointer, b"p", &pointer().encode()),
    ];
    assert!(parts.eq(expected));
    let found = validate(&payload).unwrap();
    assert_eq!((found.count, found.unknown_kind), (4, None));
    assert_eq!(count(&payload).unwrap(), 4);
    let own: Vec<_> = batch.iter().map(Result::unwrap).collect();
    assert_eq!(own, entries);
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
    assert_eq!(validate(&joined).unwrap().count, 5);
    first.clear();
    assert_eq!(first.to_payload(), [0]);
}

#[test]
fn a_frame_is_what_the_writer_makes() {
    for key_len in [0, 1, 16, 127, 128, 20_000] {
        for value_len in [0, 1, 100, 127, 128, 70_000] {
            for kind in [Kind::Put, Kind::Merge, Kind::Delete] {
                let (key, value) = (vec![1; key_len], vec![2; value_len]);
                let mut batch = BatchWriter::new();
                batch.add(kind, &key, &value);
                let frame = frame(kind, false, key_len, value_len);
                let is_delete = kind == Kind::Delete;
                let value = if is_delete { &[][..] } else { &value };
                let parts = [frame.before_key(), &key, frame.before_value(), value].concat();
                assert_eq!(parts, batch.to_payload());
                assert_eq!(frame.payload_len(key_len, value_len), parts.len() as u64);
            }
        }
    }
    let largest = frame(Kind::Put, false, KEY_BYTES_MAX, VALUE_BYTES_MAX);
    let lengths = [largest.before_key().len(), largest.before_value().len()];
    assert_eq!(lengths, [6, 5]);
}

#[test]
fn limits_hold_at_and_one_beyond() {
    let mut batch = BatchWriter::new();
    let mut key = vec![0; KEY_BYTES_MAX];
    batch.put(&key, b"");
    batch.check().unwrap();
    assert_eq!(validate(&batch.to_payload()).unwrap().count, 1);
    key.push(0);
    batch.put(&key, b"");
    let error = fails(batch.check(), ErrorKind::InvalidArgument);
    assert_eq!(batch.count(), 1);
    assert!(error.to_string().contains("67108865"), "{error}");
    let mut other = BatchWriter::new();
    other.append(&batch);
    other.check().unwrap_err();
    batch.clear();
    batch.check().unwrap();
    // The same key, encoded by a writer that enforces no limit.
    let mut payload = vec![1, 1, 0x81, 0x80, 0x80, 0x20];
    payload.resize(payload.len() + key.len(), 0);
    payload.push(0);
    fails(validate(&payload), ErrorKind::Corruption);
}

#[test]
fn unknown_kinds_are_stepped_over_by_validate_and_refused_by_iter() {
    for kind in [4u8, 5, 6, 7, 255] {
        let payload = [3, 1, 1, b'a', 0, kind, 1, b'b', 2, 8, 9, 0, 1, b'c'];
        let found = validate(&payload).unwrap();
        assert_eq!((found.count, found.unknown_kind), (3, Some(kind)));
        let mut entries = iter(&payload).unwrap();
        assert_eq!(entries.next().unwrap().unwrap().key, b"a");
        fails(entries.next().unwrap(), ErrorKind::FormatTooNew);
        assert!(entries.next().is_none());
    }
}

#[test]
fn malformed_payloads_are_errors() {
    let longest = [&[0xff; 9][..], &[1]].concat();
    let payloads: [&[u8]; 12] = [
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
            *byte %= 9;
        }
        let valid = validate(&payload).is_ok_and(|found| found.unknown_kind.is_none());
        let read = iter(&payload).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(valid, read.is_ok(), "seed {seed}");
    }
}

fn entry() -> impl Strategy<Value = (Kind, Vec<u8>, Vec<u8>)> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..max);
    (0u8..3, bytes(200), bytes(400))
        .prop_map(|(kind, key, value)| (Kind::from_u8(kind).expect("known"), key, value))
}

proptest! {
    #[test]
    fn any_batch_round_trips(entries in prop::collection::vec(entry(), 0..40)) {
        let mut batch = BatchWriter::new();
        for (kind, key, value) in &entries {
            batch.add(*kind, key, value);
        }
        let payload = batch.to_payload();
        prop_assert_eq!(validate(&payload).unwrap().count, entries.len() as u64);
        let read: Vec<_> = iter(&payload).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.kind, entry.key.to_vec(), entry.value.to_vec())
        }).collect();
        let mut written = entries;
        for (kind, _, value) in &mut written {
            if *kind == Kind::Delete {
                value.clear();
            }
        }
        prop_assert_eq!(read, written);
    }
}
