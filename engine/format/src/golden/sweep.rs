//! Sweep over every byte of every golden file: each is changed in every way that a single byte is
//! likely to change.

use super::*;

/// Returns damaged variants of a byte: each single bit flipped, all zeros, all ones, and the byte
/// plus one. Changes without effect are omitted.
fn damages(byte: u8) -> impl Iterator<Item = u8> {
    let flips = (0..8).map(move |bit| byte ^ (1 << bit));
    flips
        .chain([0, 0xff, byte.wrapping_add(1)])
        .filter(move |changed| *changed != byte)
}

/// Calls `check` with each damaged copy of `bytes`, and returns the number of copies.
fn sweep(bytes: &[u8], mut check: impl FnMut(usize, &[u8])) -> usize {
    let mut changed = bytes.to_vec();
    let mut count = 0;
    for at in 0..bytes.len() {
        for damage in damages(bytes[at]) {
            changed[at] = damage;
            check(at, &changed);
            count += 1;
        }
        changed[at] = bytes[at];
    }
    count
}

/// Returns offset, sequence number and payload of each record, or the error of the header.
fn log_contents(bytes: &[u8]) -> Result<Vec<(u64, u64, Vec<u8>)>, ErrorKind> {
    let header = SegmentHeader::decode(bytes).map_err(|error| error.kind())?;
    let mut reader = SegmentReader::new(bytes, &header);
    let mut found = Vec::new();
    while let Step::Record(record) = reader.advance() {
        found.push((record.offset, record.seq, record.payload.to_vec()));
    }
    Ok(found)
}

#[test]
fn every_damage_to_a_log_segment_is_noticed_where_it_matters() {
    let bytes = parse(LOG);
    let whole = log_contents(&bytes).unwrap();
    let count = sweep(&bytes, |at, changed| {
        let hit = whole.iter().position(|(offset, _, payload)| {
            let start = usize::try_from(*offset).unwrap();
            (start..start + log::RECORD_HEADER_BYTES + payload.len()).contains(&at)
        });
        match (log_contents(changed), hit) {
            (Err(kind), _) => {
                assert!(at < log::HEADER_BYTES);
                assert_eq!(kind, ErrorKind::Corruption);
            }
            (Ok(found), Some(hit)) => {
                assert_eq!(found, whole[..hit], "byte {at}");
                // The third record states that the bytes up to 544, the first record, are durable.
                let from = whole[hit].0;
                let later = log::find_later_synced(changed, &SEGMENT, from);
                assert_eq!(later, (hit == 0).then_some((whole[2].0, 544)), "byte {at}");
            }
            // Padding and bytes after the last record are not part of the log.
            (Ok(found), None) => {
                assert!(at >= log::HEADER_BYTES);
                assert_eq!(found, whole, "byte {at}");
            }
        }
    });
    assert!(count > 5000);
}

#[test]
fn every_damage_to_a_manifest_is_noticed() {
    notices_damage(MANIFEST_1);
    notices_damage(MANIFEST);
}

fn notices_damage(manifest: &str) {
    let bytes = parse(manifest);
    let whole = read_manifest(&bytes).unwrap();
    // The last record was appended after everything before it had been synced.
    let mut unsynced = Vec::new();
    edits()[2].encode(&mut unsynced);
    let synced = bytes.len() - unsynced.len() - 16;
    let count = sweep(&bytes, |at, changed| match read_manifest(changed) {
        Err(error) => {
            assert!(at < synced, "byte {at}: {error}");
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert_eq!(error.file_name(), Some("MANIFEST-000005"));
            assert!(error.file_offset().unwrap() <= at as u64);
        }
        Ok(manifest) => {
            assert!(at >= synced, "byte {at}");
            let offset = synced as u64;
            assert_eq!(manifest.tail, Tail::Torn { offset });
            assert_eq!(manifest.edits, whole.edits[..2]);
        }
    });
    assert!(count > 2000);
}

#[test]
fn every_damage_to_a_value_file_is_noticed() {
    let bytes = parse(VALUES);
    let (_, pointers) = values();
    let mut out = Vec::new();
    sweep(&bytes, |at, changed| {
        let error = scan_values(changed).unwrap_err();
        assert_eq!(error.file_name(), Some("000012.val"));
        let file = MemoryBytes(changed.to_vec());
        let result = read_value(&file, VALUE_NUMBER, &pointers[0], VALUE_HASHES[0], &mut out);
        let value = 64 + 24..64 + 24 + 22;
        assert_eq!(result.is_err(), value.contains(&at), "byte {at}");
    });
}

#[test]
fn every_damage_to_current_is_noticed() {
    sweep(&parse(CURRENT), |at, changed| {
        match manifest::read_current(&MemoryDir::with("CURRENT", changed)) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption),
            // Another digit gives another name, but a manifest's header contains its own number.
            Ok(number) => {
                assert!((9..15).contains(&at));
                assert_ne!(number, Some(MANIFEST_NUMBER));
            }
        }
    });
}

#[test]
fn damaged_contents_under_a_right_checksum_never_panic() {
    // Simulates a forger or a bug in a writer: every byte of a payload is changed, and the checksum
    // recomputed.
    for edit in edits() {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        sweep(&bytes, |at, changed| {
            if let Ok(found) = VersionEdit::decode(changed) {
                assert_ne!(found, edit, "byte {at}: two encodings of one edit");
            }
        });
    }
    let payload = parse(BATCH);
    let whole: Vec<_> = batch::iter(&payload).unwrap().map(Result::unwrap).collect();
    sweep(&payload, |at, changed| {
        let valid = batch::validate(changed).is_ok_and(|found| found.unknown_kind.is_none());
        let read = batch::iter(changed).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(valid, read.is_ok(), "byte {at}");
        assert!(!read.is_ok_and(|entries| entries == whole), "byte {at}");
    });
}

#[test]
fn every_cut_is_noticed_or_leaves_a_prefix() {
    let log = parse(LOG);
    let whole = log_contents(&log).unwrap();
    for len in 0..log.len() {
        if let Ok(found) = log_contents(&log[..len]) {
            assert!(whole.starts_with(&found), "cut at {len}");
        }
    }
    let values = parse(VALUES);
    for len in 0..values.len() {
        let found = scan_values(&values[..len]).unwrap_or(0);
        assert!(found < 3, "cut at {len}");
    }
    let current = parse(CURRENT);
    for len in 0..current.len() {
        manifest::read_current(&MemoryDir::with("CURRENT", &current[..len])).unwrap_err();
    }
}
