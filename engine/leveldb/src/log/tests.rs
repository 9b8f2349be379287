//! The log both ways, the torn ends that crashes leave, and damage within.

use std::path::Path;
use std::sync::Arc;

use cairndb_env::{Background, Dir, Env, MemEnv, ReadFile};

use super::*;
use crate::checksum::masked;

const NAME: &str = "000003.log";

fn directory() -> Arc<dyn Dir> {
    let env = MemEnv::new(Background::Stepped);
    env.open_dir(Path::new("db"), true).unwrap()
}

fn file(bytes: &[u8]) -> Arc<dyn ReadFile> {
    let dir = directory();
    dir.create(NAME).unwrap().append(bytes).unwrap();
    dir.open_read(NAME).unwrap()
}

fn bytes_of(file: &dyn ReadFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn write(payloads: &[Vec<u8>]) -> Vec<u8> {
    let dir = directory();
    let mut writer = LogWriter::new(dir.create(NAME).unwrap());
    for payload in payloads {
        writer.append(payload).unwrap();
    }
    bytes_of(&*dir.open_read(NAME).unwrap())
}

/// Offset, what is wrong, and whether an intact piece follows.
type Damage = (u64, &'static str, bool);

/// The payloads, and whether each damage is followed by an intact piece.
fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<Damage>) {
    let mut reader = LogReader::new(file(bytes), NAME);
    let (mut payloads, mut damages) = (Vec::new(), Vec::new());
    loop {
        match reader.advance().unwrap() {
            LogStep::Record { .. } => payloads.push(reader.payload().to_vec()),
            LogStep::Damage { offset, what } => {
                damages.push((offset, what, reader.resumes().unwrap()));
            }
            LogStep::End => return (payloads, damages),
        }
    }
}

fn payloads() -> Vec<Vec<u8>> {
    let lengths = [0, 1, 100, 32_700, 40, 32_761, 100_000, 7, 0, 32_754, 0, 5];
    let payload = |(index, len): (usize, &usize)| vec![u8::try_from(index).unwrap() + 1; *len];
    lengths.iter().enumerate().map(payload).collect()
}

#[test]
fn records_of_every_length_come_back() {
    for room in 0..20 {
        let mut all = payloads();
        // Ends a block with `room` bytes left.
        all.insert(0, vec![0; BLOCK_BYTES - HEADER_BYTES - room]);
        let bytes = write(&all);
        assert_eq!(read(&bytes), (all, vec![]), "{room} bytes left");
    }
}

#[test]
fn a_cut_file_has_a_torn_end_and_all_records_before_it() {
    let all = payloads();
    let bytes = write(&all);
    let ends = (0..=all.len()).map(|count| write(&all[..count]).len());
    let ends: Vec<usize> = ends.collect();
    for len in (0..bytes.len()).filter(|len| len % 97 == 0 || len % BLOCK_BYTES < 9) {
        let (found, damages) = read(&bytes[..len]);
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        assert_eq!(found, all[..whole], "cut at {len}");
        let is_end = damages.len() <= 1 && damages.iter().all(|damage| !damage.2);
        assert!(is_end, "cut at {len}: {damages:?}");
    }
}

#[test]
fn a_damaged_byte_costs_its_block_and_shows_as_damage_within() {
    let all = vec![vec![1; 100]; 2000];
    let bytes = write(&all);
    for at in [0, 4, 5, 6, 7, 500, 40_000, 70_001] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        let (found, damages) = read(&changed);
        assert!((1001..2000).contains(&found.len()), "byte {at}");
        let (offset, _, resumes) = damages[0];
        assert!(resumes && offset <= at as u64, "byte {at}: {damages:?}");
    }
}

#[test]
fn zeros_after_the_last_record_are_a_torn_end() {
    let mut bytes = write(&[b"kept".to_vec()]);
    bytes.resize(3 * BLOCK_BYTES + 50, 0);
    let (found, damages) = read(&bytes);
    assert_eq!(found, [b"kept"]);
    assert!(damages.iter().all(|damage| !damage.2), "{damages:?}");
    assert_eq!(damages[0].0, 11);
}

fn piece(kind: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap().to_le_bytes();
    let checksum = masked(&[kind], payload).to_le_bytes();
    [&checksum[..], &len, &[kind], payload].concat()
}

#[test]
fn pieces_in_the_wrong_order_are_damage() {
    let one = [
        (MIDDLE, "m"),
        (FIRST, "f"),
        (FULL, "one"),
        (9, "?"),
        (FIRST, ""),
    ];
    let two = [
        (FULL, "two"),
        (LAST, "l"),
        (FIRST, "thr"),
        (MIDDLE, ""),
        (LAST, "ee"),
    ];
    let pieces = [one, two].concat().into_iter();
    let bytes: Vec<u8> = pieces
        .flat_map(|(kind, text)| piece(kind, text.as_bytes()))
        .collect();
    let (found, damages) = read(&bytes);
    assert_eq!(found, [&b"one"[..], b"two", b"three"]);
    let what: Vec<&str> = damages.iter().map(|damage| damage.1).collect();
    let expected = [
        "has no beginning",
        "has no end",
        "is of unknown type",
        "has no beginning",
    ];
    assert_eq!(what, expected.map(|what| format!("a record {what}")));
}
