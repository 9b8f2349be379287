//! Value files: encoding and decoding, wrong pointers, every byte, and failing appends.

use std::sync::Arc;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, ReadFile};
use proptest::prelude::*;

use super::*;
use crate::testing::{MemoryBytes, MemoryDir, Noise, fails};

const NUMBER: FileNumber = FileNumber(12);
const NAME: &str = "000012.val";

/// Returns a file with these values and the pointers to them; value `i` has key hash `i`.
fn write(values: &[Vec<u8>]) -> (Vec<u8>, Vec<Pointer>) {
    let dir = MemoryDir::default();
    let mut writer = ValueWriter::create(&dir, NUMBER).unwrap();
    let append = |(hash, value): (u64, &Vec<u8>)| {
        let (front, back) = value.split_at(value.len() / 3);
        writer.append(hash, &[front, back]).unwrap()
    };
    let pointers = (0..).zip(values).map(append).collect();
    writer.sync().unwrap();
    let bytes = dir.bytes(NAME).unwrap();
    assert_eq!(bytes.len() as u64, writer.bytes());
    (bytes, pointers)
}

/// Reads a value from its file and from the file's bytes, which must give the same result.
fn read_both(
    file: &dyn ReadFile,
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes)?;
    let mut mapped = out.clone();
    let found = value_of(&bytes, number, pointer, key_hash, Check::Now, &mut mapped);
    let read = read_value(file, number, pointer, key_hash, out);
    let text = |result: &Result<()>| result.as_ref().map_err(ToString::to_string).copied();
    assert_eq!(text(&found), text(&read));
    assert_eq!(&mapped, out);
    match raw_value_in(&bytes, number, pointer, key_hash, Check::Now) {
        Ok(Some(range)) => assert_eq!(&bytes[range], out),
        // Raw values lie where they can be borrowed.
        Ok(None) => assert_ne!(pointer.codec, 0),
        Err(error) => assert_eq!(Err(error.to_string()), text(&read)),
    }
    read
}

fn scan(bytes: &[u8]) -> Result<Vec<(Scanned, Vec<u8>)>> {
    let file = MemoryBytes(bytes.to_vec());
    let mut scan = ValueScan::new(&file, NUMBER)?;
    let mut found = Vec::new();
    let mut value = Vec::new();
    while let Some(scanned) = scan.advance(&mut value)? {
        found.push((scanned, value.clone()));
    }
    Ok(found)
}

fn samples() -> Vec<Vec<u8>> {
    let mut noise = Noise::new(3);
    [9000, 0, 1, 8, 8193].map(|len| noise.bytes(len)).to_vec()
}

#[test]
fn values_come_back_through_their_pointers() {
    let values = samples();
    let (bytes, pointers) = write(&values);
    let file = MemoryBytes(bytes.clone());
    let mut out = vec![7; 100_000];
    for ((hash, value), pointer) in (0u64..).zip(&values).zip(&pointers) {
        assert!(pointer.offset.is_multiple_of(8));
        read_both(&file, NUMBER, pointer, hash, &mut out).unwrap();
        assert_eq!(&out, value);
        assert_eq!(Pointer::decode(&pointer.encode()).unwrap(), *pointer);
    }
    let scanned = scan(&bytes).unwrap();
    assert_eq!(scanned.len(), values.len());
    for (at, (scanned, value)) in scanned.iter().enumerate() {
        assert_eq!(
            (scanned.pointer, scanned.key_hash),
            (pointers[at], at as u64)
        );
        assert_eq!(*value, values[at]);
    }
}

#[test]
fn a_pointer_answers_for_its_own_key_place_and_file_only() {
    let values = vec![vec![5; 100], vec![5; 100]];
    let (bytes, pointers) = write(&values);
    let file = MemoryBytes(bytes.clone());
    let mut out = Vec::new();
    let mut refused = |number, pointer: &Pointer, hash| {
        let error = fails(
            read_both(&file, number, pointer, hash, &mut out),
            ErrorKind::Corruption,
        );
        assert_eq!(error.file_offset(), Some(pointer.offset));
        assert!(out.is_empty());
        error
    };
    let good = pointers[0];
    assert_eq!(refused(NUMBER, &good, 1).file_name(), Some(NAME));
    refused(FileNumber(13), &good, 0);
    let mut changed = |change: &dyn Fn(&mut Pointer)| {
        let mut pointer = good;
        change(&mut pointer);
        refused(pointer.file, &pointer, 0);
    };
    changed(&|pointer| pointer.file = FileNumber(13));
    changed(&|pointer| pointer.crc ^= 1);
    changed(&|pointer| pointer.raw_len = 99);
    for offset in [
        pointers[1].offset,
        0,
        4,
        bytes.len() as u64,
        u64::MAX - 7,
        u64::MAX,
    ] {
        changed(&|pointer| pointer.offset = offset);
    }
    for len in [99, 1 << 20, 1 << 30, (1 << 30) + 1, u32::MAX] {
        changed(&|pointer| (pointer.len, pointer.raw_len) = (len, len));
    }
}

#[test]
fn an_unknown_codec_is_too_new() {
    let (bytes, pointers) = write(&samples());
    let mut newer = pointers[0];
    newer.codec = 2;
    let file = MemoryBytes(bytes);
    fails(
        read_both(&file, NUMBER, &newer, 0, &mut Vec::new()),
        ErrorKind::FormatTooNew,
    );
    fails(Pointer::decode(&newer.encode()), ErrorKind::FormatTooNew);
}

#[test]
fn malformed_pointers_are_errors() {
    let (_, pointers) = write(&samples());
    let encoded = pointers[0].encode();
    for len in 0..encoded.len() {
        Pointer::decode(&encoded[..len]).unwrap_err();
    }
    Pointer::decode(&[&encoded[..], &[0]].concat()).unwrap_err();
    for at in 29..32 {
        let mut changed = encoded;
        changed[at] = 1;
        fails(Pointer::decode(&changed), ErrorKind::Corruption);
    }
}

#[test]
fn every_changed_byte_of_a_pointer_or_value_is_noticed() {
    let (bytes, pointers) = write(&[vec![0; 200], vec![1; 50]]);
    let file = MemoryBytes(bytes.clone());
    let pointer = pointers[0];
    let mut out = Vec::new();
    for at in 0..POINTER_BYTES {
        for damage in [1u8, 8, 0x80, 0xff] {
            let mut changed = pointer.encode();
            changed[at] ^= damage;
            let result = Pointer::decode(&changed)
                .and_then(|pointer| read_both(&file, NUMBER, &pointer, 0, &mut out));
            assert!(result.is_err(), "pointer byte {at} ^ {damage}");
        }
    }
    let start = usize::try_from(pointer.offset).unwrap() + RECORD_HEADER_BYTES;
    for at in start..start + 200 {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        let file = MemoryBytes(changed);
        read_both(&file, NUMBER, &pointer, 0, &mut out).unwrap_err();
        read_both(&file, NUMBER, &pointers[1], 1, &mut out).unwrap();
    }
}

#[test]
fn a_scan_notices_every_changed_byte_and_every_cut() {
    let (bytes, _) = write(&[vec![3; 61], vec![], vec![4; 9]]);
    for at in 0..bytes.len() {
        for damage in (0..8).map(|bit| 1u8 << bit).chain([0xff]) {
            let mut changed = bytes.clone();
            changed[at] ^= damage;
            let error = scan(&changed).unwrap_err();
            assert!(error.file_offset().unwrap() <= at as u64);
            assert_eq!(error.file_name(), Some(NAME));
        }
    }
    let whole = scan(&bytes).unwrap().len();
    for len in 0..bytes.len() {
        let shorter = scan(&bytes[..len]).map_or(0, |found| found.len());
        assert!(shorter < whole);
    }
}

#[test]
fn a_newer_file_is_too_new_and_another_one_is_corrupt() {
    let newer = header::encode_version(NUMBER, 2);
    fails(scan(&newer), ErrorKind::FormatTooNew);
    let other = header::encode(FileNumber(11));
    fails(scan(&other), ErrorKind::Corruption);
}

#[test]
fn noise_never_panics_nor_allocates_what_is_not_there() {
    for seed in 0..2000 {
        let mut noise = Noise::new(seed);
        let len = noise.below(300);
        let mut bytes = header::encode(NUMBER).to_vec();
        bytes.extend(noise.bytes(len));
        assert!(len == 0 || scan(&bytes).is_err(), "seed {seed}");
        let encoded = noise.bytes(POINTER_BYTES);
        assert!(Pointer::decode(&encoded).is_err());
    }
}

#[test]
fn nothing_is_appended_after_a_failure() {
    let dir = MemoryDir::default();
    let mut writer = ValueWriter::create(&dir, NUMBER).unwrap();
    let kept = writer.append(1, &[b"kept"]).unwrap();
    dir.fail(Some("append"));
    writer.append(2, &[b"lost"]).unwrap_err();
    dir.fail(None);
    fails(writer.append(3, &[b"never"]), ErrorKind::Io);
    let file: Arc<dyn ReadFile> = dir.open_read(NAME).unwrap();
    let mut out = Vec::new();
    read_both(&*file, NUMBER, &kept, 1, &mut out).unwrap();
    assert_eq!(out, b"kept");
    dir.take_calls();
    writer.syncer().sync().unwrap();
    assert_eq!(dir.take_calls(), ["sync 000012.val"]);
}

/// Returns a value with blocks that shrink and some that do not.
fn mixed(blocks: &[bool], rest: usize) -> Vec<u8> {
    let mut noise = Noise::new(9);
    let mut value = Vec::new();
    for shrinks in blocks {
        if *shrinks {
            value.extend(b"sixteen letters.".repeat(4096));
        } else {
            value.extend(noise.bytes(1 << 16));
        }
    }
    value.resize(value.len() + rest, 7);
    value
}

/// Returns a file with one value in codec 1, and the pointer to it.
fn write_encoded(value: &[u8]) -> (Vec<u8>, Pointer) {
    let dir = MemoryDir::default();
    let mut writer = ValueWriter::create(&dir, NUMBER).unwrap();
    let mut encoder = ValueEncoder::default();
    let stored = encoder.encode(value).unwrap();
    assert!(stored.len() <= value.len() - value.len() / 8);
    let pointer = writer.append_encoded(5, stored, value.len()).unwrap();
    (dir.bytes(NAME).unwrap(), pointer)
}

#[test]
fn encoded_values_come_back_whatever_was_in_the_buffer() {
    let values = [
        mixed(&[], 9000),
        mixed(&[true], 0),
        mixed(&[true], 1),
        mixed(&[true, false, true], 60_000),
        mixed(&[true, true, true, true, false, false], 5),
    ];
    let mut out = Vec::new();
    for value in &values {
        let (bytes, pointer) = write_encoded(value);
        assert_eq!(Pointer::decode(&pointer.encode()).unwrap(), pointer);
        read_both(&MemoryBytes(bytes.clone()), NUMBER, &pointer, 5, &mut out).unwrap();
        assert!(out == *value, "{} bytes", value.len());
        read_stored(&MemoryBytes(bytes.clone()), NUMBER, &pointer, 5, &mut out).unwrap();
        assert_eq!(out.len(), usize::try_from(pointer.len).unwrap());
        let again = ValueWriter::create(&MemoryDir::default(), NUMBER).unwrap();
        let copy = { again }.append_encoded(5, &out, value.len()).unwrap();
        assert_eq!(copy, pointer, "a copy at the same place");
        let found = scan(&bytes).unwrap();
        assert!(found.len() == 1 && found[0].1 == *value);
        assert_eq!(found[0].0.pointer, pointer);
    }
}

#[test]
fn what_would_save_little_is_not_encoded() {
    let mut encoder = ValueEncoder::default();
    let mut noise = Noise::new(4);
    assert_eq!(encoder.encode(&noise.bytes(100_000)), None);
    assert_eq!(encoder.encode(&mixed(&[false; 5], 0)), None);
    // Overall, an eighth would be saved, but not in the part that is tried.
    let value = mixed(&[false, false, false, false, true, true], 0);
    assert_eq!(encoder.encode(&value), None);
    assert_eq!(encoder.encode(&[]), None);
    assert!(encoder.encode(&mixed(&[true], 0)).is_some());
}

/// With a valid checksum, every length and block of an encoded value is still checked.
#[test]
fn malformed_blocks_are_corruption() {
    let value = mixed(&[true, false], 3000);
    let dir = MemoryDir::default();
    let mut writer = ValueWriter::create(&dir, NUMBER).unwrap();
    let mut encoder = ValueEncoder::default();
    let good = encoder.encode(&value).unwrap().to_vec();
    let second = u32::from_le_bytes(good[..4].try_into().unwrap());
    let second = 4 + usize::try_from(second).unwrap();
    let cut = good[..good.len() - 1].to_vec();
    let mut bad = vec![cut, [&good[..], b"x"].concat()];
    for at in [0, 1, 2, 3, second, second + 2, second + 3] {
        for flip in [1, 0x80] {
            let mut changed = good.clone();
            changed[at] ^= flip;
            bad.push(changed);
        }
    }
    let append = |stored: &Vec<u8>| writer.append_encoded(5, stored, value.len()).unwrap();
    let pointers: Vec<Pointer> = bad.iter().map(append).collect();
    let file = MemoryBytes(dir.bytes(NAME).unwrap());
    for pointer in pointers {
        let result = read_both(&file, NUMBER, &pointer, 5, &mut Vec::new());
        let error = fails(result, ErrorKind::Corruption);
        assert_eq!(error.file_offset(), Some(pointer.offset));
    }
    scan(&file.0).unwrap_err();
}

/// A mapped value is decoded before its checksum is compared.
#[test]
fn changed_bytes_of_an_encoded_value_are_noticed_and_leave_nothing() {
    let (bytes, pointer) = write_encoded(&mixed(&[true, false], 3000));
    let begin = usize::try_from(pointer.value_at()).unwrap();
    let end = begin + usize::try_from(pointer.len).unwrap();
    for at in (begin..end).step_by(41) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let mut out = vec![7; 10];
        let error = fails(
            read_both(&MemoryBytes(changed), NUMBER, &pointer, 5, &mut out),
            ErrorKind::Corruption,
        );
        assert_eq!(error.file_offset(), Some(pointer.offset));
        assert!(out.is_empty());
    }
    // The maximum length that the blocks could hold, far more than these do.
    let raw_len = pointer.len / 5 * (64 << 10);
    let lying = Pointer { raw_len, ..pointer };
    let mut out = Vec::new();
    value_of(&bytes, NUMBER, &lying, 5, Check::Now, &mut out).unwrap_err();
    assert!(out.is_empty() && out.capacity() < usize::try_from(raw_len).unwrap() / 4);
}

/// Nothing is allocated for an unbacked claim: a value has at least five bytes for each 64 KiB.
#[test]
fn a_pointer_cannot_promise_more_than_blocks_can_hold() {
    let (bytes, pointer) = write_encoded(&mixed(&[true], 0));
    let file = MemoryBytes(bytes);
    for raw_len in [0, pointer.len, 1 << 30, u32::MAX] {
        let lying = Pointer { raw_len, ..pointer };
        fails(
            read_both(&file, NUMBER, &lying, 5, &mut Vec::new()),
            ErrorKind::Corruption,
        );
        fails(Pointer::decode(&lying.encode()), ErrorKind::Corruption);
    }
}

proptest! {
    #[test]
    fn any_values_round_trip(values in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..200), 0..12)) {
        let (bytes, pointers) = write(&values);
        let scanned = scan(&bytes).unwrap();
        prop_assert_eq!(scanned.len(), values.len());
        for ((scanned, found), (pointer, value)) in scanned.iter().zip(pointers.iter().zip(&values)) {
            prop_assert_eq!(scanned.pointer, *pointer);
            prop_assert_eq!(found, value);
        }
    }
}

/// A buffer of exactly the value's length once grew to twice that at its last block.
#[test]
fn a_buffer_takes_no_more_room_than_its_value() {
    let value = vec![b'x'; 200_000];
    let (bytes, pointer) = write_encoded(&value);
    let mut out = Vec::new();
    value_of(&bytes, NUMBER, &pointer, 5, Check::Now, &mut out).unwrap();
    assert_eq!(out, value);
    assert!(out.capacity() <= value.len() + cairndb_kernel::codec::DECODE_SLACK);
}

/// The claims of a pointer are checked against its codec before anything is allocated.
#[test]
fn a_pointer_claims_no_more_than_its_codec_can_have() {
    let good = Pointer {
        file: NUMBER,
        offset: 64,
        len: 20_480,
        raw_len: 20_480 * 255,
        crc: 0,
        codec: CODEC_BLOCKS,
    };
    assert_eq!(Pointer::decode(&good.encode()).unwrap(), good);
    let raw = |offset| Pointer {
        offset,
        raw_len: good.len,
        codec: CODEC_RAW,
        ..good
    };
    Pointer::decode(&raw(64).encode()).unwrap();
    let longer = Pointer {
        raw_len: good.raw_len + 1,
        ..good
    };
    for bad in [longer, raw(0), raw(8), raw(56), raw(68)] {
        fails(Pointer::decode(&bad.encode()), ErrorKind::Corruption);
    }
}
