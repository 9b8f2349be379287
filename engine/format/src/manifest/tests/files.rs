//! Manifests and `CURRENT` as files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::{Access, Mapping, ReadFile};

use super::super::*;
use super::edits::full;
use crate::testing::{MemoryDir, Noise, fails};

const NUMBER: FileNumber = FileNumber(5);
const NAME: &str = "MANIFEST-000005";
const SALT: u64 = 0xfeed_f00d_0bad_cafe;

fn next_file(number: u64) -> VersionEdit {
    VersionEdit {
        next_file: Some(number),
        ..VersionEdit::default()
    }
}

/// Writes a manifest with a base of one edit, then `synced` edits that are synced one by one, then
/// two that are not synced.
fn written(synced: u64) -> (MemoryDir, Vec<u64>) {
    let dir = MemoryDir::default();
    let mut writer = ManifestWriter::create(&dir, NUMBER, SALT, &[full()]).unwrap();
    let mut starts = vec![64];
    for number in 0..synced + 2 {
        starts.push(writer.bytes());
        writer.append(&next_file(100 + number)).unwrap();
        if number < synced {
            writer.sync().unwrap();
        }
    }
    starts.push(writer.bytes());
    (dir, starts)
}

fn read(bytes: &[u8]) -> Result<Manifest> {
    read_manifest(&MemoryDir::with(NAME, bytes), NUMBER)
}

#[test]
fn edits_come_back_in_order() {
    let (dir, starts) = written(3);
    let manifest = read_manifest(&dir, NUMBER).unwrap();
    let expected = std::iter::once(full()).chain((100..105).map(next_file));
    assert_eq!(manifest.edits, expected.collect::<Vec<_>>());
    assert_eq!(manifest.tail, Tail::Clean);
    assert_eq!(manifest.bytes, *starts.last().unwrap());
    assert_eq!(manifest.header, header(SALT, starts[1]));
}

fn header(salt: u64, base_end: u64) -> ManifestHeader {
    ManifestHeader {
        number: NUMBER,
        salt,
        base_end,
    }
}

#[test]
fn creation_syncs_and_appending_does_not() {
    let dir = MemoryDir::default();
    let mut writer = ManifestWriter::create(&dir, NUMBER, SALT, &[next_file(1)]).unwrap();
    assert_eq!(writer.synced_bytes(), writer.bytes());
    let calls = dir.take_calls();
    assert_eq!(calls.first().unwrap(), "create MANIFEST-000005");
    assert_eq!(calls.last().unwrap(), "sync MANIFEST-000005");
    writer.append(&VersionEdit::default()).unwrap();
    assert!(dir.take_calls().is_empty());
    writer.append(&next_file(2)).unwrap();
    let mut calls = dir.take_calls().into_iter();
    assert!(calls.all(|call| call.starts_with("append")));
    assert!(writer.synced_bytes() < writer.bytes());
    writer.syncer().sync().unwrap();
    assert_eq!(writer.synced_bytes(), writer.bytes());
}

/// Returns the number of records that begin at or before `at`, and where the last of them does.
fn last_start(starts: &[u64], at: u64) -> (usize, u64) {
    let count = starts.iter().filter(|start| **start <= at).count();
    let last = count.checked_sub(1);
    (last.unwrap_or(0), last.map_or(0, |last| starts[last]))
}

#[test]
fn every_cut_is_a_torn_tail_or_an_error() {
    let (dir, starts) = written(2);
    let bytes = dir.bytes(NAME).unwrap();
    for len in 0..bytes.len() {
        let result = read(&bytes[..len]);
        if (len as u64) < starts[1] {
            let error = fails(result, ErrorKind::Corruption);
            assert_eq!(error.file_name(), Some(NAME));
            continue;
        }
        let manifest = result.unwrap();
        let (count, offset) = last_start(&starts, len as u64);
        let is_whole = offset == len as u64;
        let tail = if is_whole {
            Tail::Clean
        } else {
            Tail::Torn { offset }
        };
        assert_eq!(
            (manifest.tail, manifest.edits.len()),
            (tail, count),
            "cut at {len}"
        );
    }
}

#[test]
fn every_changed_byte_is_damage_where_a_sync_is_known_and_a_torn_tail_beyond() {
    let (dir, starts) = written(3);
    let bytes = dir.bytes(NAME).unwrap();
    let whole = read(&bytes).unwrap();
    // Records 0 to 3 were synced before the last two were appended.
    let unsynced = starts[4];
    for at in 0..bytes.len() {
        for damage in (0..8).map(|bit| 1u8 << bit).chain([0xff]) {
            let mut changed = bytes.clone();
            changed[at] ^= damage;
            let (kept, offset) = last_start(&starts, at as u64);
            let result = read(&changed);
            assert_eq!(
                result.is_err(),
                (at as u64) < unsynced,
                "byte {at} ^ {damage}"
            );
            match result {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}: {error}");
                    let place = (error.file_name(), error.file_offset());
                    assert_eq!(place, (Some(NAME), Some(offset)));
                }
                Ok(manifest) => {
                    assert_eq!(manifest.tail, Tail::Torn { offset });
                    assert_eq!(manifest.edits, whole.edits[..kept]);
                }
            }
        }
    }
}

#[test]
fn noise_behind_the_last_record_is_a_torn_tail() {
    let (dir, starts) = written(3);
    for seed in 0..500 {
        let mut bytes = dir.bytes(NAME).unwrap();
        let mut noise = Noise::new(seed);
        let len = 1 + noise.below(3000);
        let mut tail = noise.bytes(len);
        if seed.is_multiple_of(3) {
            tail.fill(0);
        }
        bytes.extend(tail);
        let manifest = read(&bytes).unwrap();
        let offset = *starts.last().unwrap();
        assert_eq!(manifest.tail, Tail::Torn { offset }, "seed {seed}");
        assert_eq!(manifest.edits.len(), 6);
    }
}

#[test]
fn a_record_elsewhere_is_no_record() {
    let (dir, starts) = written(1);
    let bytes = dir.bytes(NAME).unwrap();
    let last = usize::try_from(starts[2]).unwrap()..usize::try_from(starts[3]).unwrap();
    let copied = [&bytes[..], &bytes[last]].concat();
    let offset = bytes.len() as u64;
    assert_eq!(read(&copied).unwrap().tail, Tail::Torn { offset });
    let renamed = MemoryDir::with("MANIFEST-000006", &bytes);
    fails(
        read_manifest(&renamed, FileNumber(6)),
        ErrorKind::Corruption,
    );
}

#[test]
fn a_newer_manifest_is_refused() {
    let header = header(1, 64);
    for version in [1, 2] {
        read(&header.encode_with(version, 0)).unwrap();
    }
    for (version, features) in [(0, 0), (3, 0), (1, 1), (2, 1), (2, 1 << 63)] {
        fails(
            read(&header.encode_with(version, features)),
            ErrorKind::FormatTooNew,
        );
    }
    for base_end in [0, 63, 65, u64::MAX] {
        fails(
            read(&ManifestHeader { base_end, ..header }.encode()),
            ErrorKind::Corruption,
        );
    }
}

#[test]
fn large_edits_are_read_through_a_small_buffer() {
    let dir = MemoryDir::default();
    let mut writer = ManifestWriter::create(&dir, NUMBER, SALT, &[]).unwrap();
    let mut edits = Vec::new();
    for count in [1, 60_000, 1, 200_000, 3] {
        let mut edit = VersionEdit::default();
        edit.removed_tables.extend(0..count);
        writer.append(&edit).unwrap();
        edits.push(edit);
    }
    assert_eq!(read_manifest(&dir, NUMBER).unwrap().edits, edits);
}

#[test]
fn hostile_lengths_cost_no_more_than_linear_time() {
    let mut bytes = header(1, 64).encode().to_vec();
    // Each byte of the tail starts a frame of about half a megabyte that claims everything up to
    // 0x0707 was synced.
    let len: usize = 1 << 20;
    bytes.resize(len, 7);
    for at in (64..len - 16).step_by(11) {
        bytes[at + 4..at + 16].copy_from_slice(&[0, 0, 8, 0, 65, 0, 0, 0, 0, 0, 0, 0]);
    }
    let manifest = read(&bytes).unwrap();
    assert_eq!(manifest.tail, Tail::Torn { offset: 64 });
}

#[test]
fn a_failed_append_or_sync_ends_a_manifest() {
    for failing in ["append", "sync"] {
        let dir = MemoryDir::default();
        let mut writer = ManifestWriter::create(&dir, NUMBER, SALT, &[full()]).unwrap();
        let base = writer.bytes();
        dir.fail(Some(failing));
        let failed = writer.append(&next_file(1)).and_then(|()| writer.sync());
        fails(failed, ErrorKind::Io);
        dir.fail(None);
        dir.take_calls();
        writer.append(&next_file(2)).unwrap_err();
        // Edits before a failed append can be synced; a failed sync is not retried.
        assert_eq!(writer.sync().is_ok(), failing == "append");
        assert_eq!(writer.syncer().sync().is_ok(), failing == "append");
        assert_eq!(dir.take_calls().is_empty(), failing == "sync");
        assert_eq!(writer.synced_bytes(), base);
    }
}

#[test]
fn current_names_a_manifest_and_nothing_else() {
    let dir = MemoryDir::default();
    assert_eq!(read_current(&dir).unwrap(), None);
    install_current(&dir, NUMBER).unwrap();
    assert_eq!(dir.bytes("CURRENT").unwrap(), b"MANIFEST-000005\n");
    assert_eq!(read_current(&dir).unwrap(), Some(NUMBER));
    install_current(&dir, FileNumber(u64::MAX)).unwrap();
    assert_eq!(read_current(&dir).unwrap(), Some(FileNumber(u64::MAX)));
    let bad = "/\n/MANIFEST-000005/MANIFEST-000005\n\n/MANIFEST-000005\r\n/ MANIFEST-000005\n/\
               MANIFEST-00005\n/MANIFEST-0000005\n/MANIFEST-\n/MANIFEST-18446744073709551616\n/\
               manifest-000005\n/000005.log\n";
    let others: [&[u8]; 4] = [
        b"../MANIFEST-000005\n",
        b"MANIFEST-../../5\n",
        b"\xff\xfe\n",
        &[b'M'; 5000],
    ];
    for text in bad.split('/').map(str::as_bytes).chain(others) {
        let error = fails(
            read_current(&MemoryDir::with("CURRENT", text)),
            ErrorKind::Corruption,
        );
        assert_eq!(error.file_name(), Some("CURRENT"));
    }
}

#[test]
fn current_is_replaced_in_the_one_safe_order() {
    let dir = MemoryDir::default();
    install_current(&dir, NUMBER).unwrap();
    let calls = "create 000005.tmp, append 000005.tmp 16, sync 000005.tmp, sync dir, \
                 rename 000005.tmp CURRENT, sync dir";
    assert_eq!(dir.take_calls().join(", "), calls);
    for step in ["create", "append", "sync 000006", "rename", "sync dir"] {
        let dir = MemoryDir::with("CURRENT", b"MANIFEST-000005\n");
        dir.fail(Some(step));
        install_current(&dir, FileNumber(6)).unwrap_err();
        let found = read_current(&dir).unwrap();
        assert_eq!(found, Some(FileNumber(5)), "{step}");
    }
}

/// Checks how LevelDB's log reader and version edit parser read the header.
#[test]
fn leveldb_reads_the_header_as_a_comparator_it_does_not_have() {
    let header = header(SALT, 64).encode();
    let stored = u32::from_le_bytes(header[..4].try_into().unwrap());
    let crc = stored.wrapping_sub(0xa282_ead8).rotate_left(15);
    assert_eq!(crc, crate::checksum::crc32c(&header[6..]));
    let len = usize::from(u16::from_le_bytes(header[4..6].try_into().unwrap()));
    assert_eq!(7 + len, HEADER_BYTES);
    assert_eq!(header[6], 1, "a full record");
    let (tag, name) = (header[7], &header[9..]);
    assert_eq!((tag, usize::from(header[8])), (1, name.len()));
    assert!(name.starts_with(b"CairnDB manifest"));
}

/// A file whose second read fails.
#[derive(Debug)]
struct FailsOnce {
    bytes: Vec<u8>,
    reads: AtomicU32,
}

impl ReadFile for FailsOnce {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        if self.reads.fetch_add(1, Ordering::Relaxed) == 1 {
            return Err(Error::new(ErrorKind::Io, "not now"));
        }
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.bytes[start..][..out.len()]);
        Ok(())
    }

    fn map(&self, _len: u64, _access: Access) -> Result<Option<Mapping>> {
        Ok(None)
    }

    fn advise(&self, _offset: u64, _len: u64, _wanted: bool) {}
}

/// Zeros where nothing had been read once looked like a torn tail to a caller that retried.
#[test]
fn an_error_while_reading_is_not_the_end_for_who_asks_again() {
    // The first edit has a different length each time, so that the failing read begins in every
    // part of a record.
    for shift in 0..64 {
        let dir = MemoryDir::default();
        let mut writer = ManifestWriter::create(&dir, NUMBER, SALT, &[]).unwrap();
        let first = VersionEdit {
            removed_values: vec![1; 1 + 8 * shift],
            ..VersionEdit::default()
        };
        let many = VersionEdit {
            removed_values: (1 << 40..(1 << 40) + 100).collect(),
            ..VersionEdit::default()
        };
        writer.append(&first).unwrap();
        for _ in 0..500 {
            writer.append(&many).unwrap();
        }
        let bytes = dir.bytes(NAME).unwrap();
        assert!(bytes.len() > 300_000, "longer than one read");
        let reads = AtomicU32::new(0);
        let file = Arc::new(FailsOnce { bytes, reads });
        let mut reader = ManifestReader::new(file, NUMBER).unwrap();
        let (mut edits, mut errors) = (0, 0);
        loop {
            match reader.advance() {
                Ok(Some(_)) => edits += 1,
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io);
                    errors += 1;
                }
            }
        }
        assert_eq!((edits, errors), (501, 1), "{shift}");
        assert_eq!(reader.tail(), Tail::Clean);
    }
}
