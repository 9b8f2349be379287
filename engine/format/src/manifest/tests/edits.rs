//! Tests of encoded edits.

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::{ErrorKind, SEQ_MAX};
use proptest::option::of;
use proptest::prelude::*;

use super::super::*;
use crate::testing::{Noise, fails};

pub(super) fn full() -> VersionEdit {
    VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        merge_operator: Some("example.append".to_owned()),
        next_file: Some(42),
        last_seq: Some(1_000_000),
        added_tables: vec![
            TableRecord {
                file: 17,
                run: 3,
                section: 0,
                smallest: b"apple".to_vec(),
                largest: b"pear".to_vec(),
                seq_min: 5,
                seq_max: 900,
                entries: 250,
                deletes: 3,
                bytes: 65_536,
                raw_bytes: 130_000,
                checksum: 0xdead_beef,
                value_refs: vec![(20, 90_000), (21, 8192)],
                deferred: false,
                large_encoded: false,
                hidden: HiddenVersions::default(),
                loose_bounds: false,
                ranges_applied: 800,
                seq_limit: Some(700),
            },
            TableRecord::default(),
        ],
        removed_tables: vec![9, 8],
        moved_tables: vec![(10, 3)],
        runs: Some(vec![3, 1]),
        added_segments: vec![SegmentRecord {
            segment: 4,
            file: 30,
            salt: 0x0102_0304_0506_0708,
            bytes: 4 << 20,
            start_seq: 901,
        }],
        retired_segments: vec![2, 3],
        added_values: vec![22],
        settled_values: vec![22, 23],
        value_sizes: vec![(21, 1 << 28)],
        value_dead: vec![(20, 9000)],
        removed_values: vec![19],
        clean_close: Some(CleanClose {
            last_seq: 1_000_000,
            log_ends: vec![(4, 512)],
        }),
        created_keyspaces: vec![
            KeyspaceRecord {
                number: 1,
                name: "a".to_owned(),
                ..KeyspaceRecord::default()
            },
            KeyspaceRecord {
                number: 1 << 31,
                name: "été".to_owned(),
                comparator: Some("example.reverse".to_owned()),
                merge_operator: Some("example.append".to_owned()),
                compression: Some(0),
                value_bytes: Some(1000),
            },
        ],
        dropped_keyspaces: vec![7, u32::MAX],
        deleted_ranges: Vec::new(),
        ..history_fields()
    }
}

fn history_fields() -> VersionEdit {
    VersionEdit {
        incarnations: vec![
            Incarnation {
                number: 1 << 61,
                after: 0,
            },
            Incarnation {
                number: 1,
                after: 900,
            },
        ],
        kept_segments: Some(vec![KeptSegment {
            segment: 3,
            end: 1 << 20,
            first_values: 20,
        }]),
        leases: Some(vec![Lease {
            name: "search".to_owned(),
            seq: 900,
            bytes_max: 1 << 30,
        }]),
        keyspace_events: [(901, true), (950, false)]
            .map(|(seq, created)| KeyspaceEvent {
                seq,
                number: 2,
                created,
                time_ms: 1_764_500_000_000 + seq,
                name: "a".to_owned(),
            })
            .to_vec(),
        ..VersionEdit::default()
    }
}

fn encoded(edit: &VersionEdit) -> Vec<u8> {
    let mut out = Vec::new();
    edit.encode(&mut out);
    out
}

fn field(tag: u64, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, tag);
    put_bytes(&mut out, body);
    out
}

#[test]
fn a_full_edit_survives() {
    let edit = full();
    assert_eq!(VersionEdit::decode(&encoded(&edit)).unwrap(), edit);
    assert!(!edit.is_empty());
}

#[test]
fn an_empty_edit_has_no_bytes_but_empty_runs_have() {
    assert!(encoded(&VersionEdit::default()).is_empty());
    assert!(VersionEdit::decode(&[]).unwrap().is_empty());
    let edit = VersionEdit {
        runs: Some(Vec::new()),
        ..VersionEdit::default()
    };
    assert_eq!(VersionEdit::decode(&encoded(&edit)).unwrap(), edit);
}

#[test]
fn unknown_fields_are_skipped_if_even_and_refused_if_odd() {
    let mut bytes = encoded(&full());
    bytes.extend(field(40, b"advice"));
    bytes.extend(field(40, b"more of it"));
    assert_eq!(VersionEdit::decode(&bytes).unwrap(), full());
    for tag in [41, 43] {
        let more = [&bytes[..], &field(tag, b"law")].concat();
        fails(VersionEdit::decode(&more), ErrorKind::FormatTooNew);
    }
}

#[test]
fn table_records_grow_at_their_end() {
    let mut plain = Vec::new();
    let unlimited = TableRecord {
        seq_limit: None,
        ..full().added_tables[0].clone()
    };
    table_record::encode(&unlimited, &mut plain);
    let decode = |more: &[Vec<u8>]| {
        let body = [&plain[..], &more.concat()].concat();
        let edit = VersionEdit::decode(&field(9, &body));
        edit.map(|edit| edit.added_tables[0].clone())
    };
    let mut expected = unlimited;
    assert_eq!(decode(&[field(8, b"later")]).unwrap(), expected);
    for reserved in [7, 9, 11, 13, 17] {
        fails(
            decode(&[field(reserved, b"later")]),
            ErrorKind::FormatTooNew,
        );
    }
    expected.deferred = true;
    assert_eq!(decode(&[field(2, b"")]).unwrap(), expected);
    expected.large_encoded = true;
    let encoded = decode(&[field(2, b""), field(3, b"")]);
    assert_eq!(encoded.unwrap(), expected);
    assert!(decode(&[field(5, b"")]).unwrap().loose_bounds);
    let hidden = decode(&[field(4, &[3, 90, 7])]).unwrap().hidden;
    assert_eq!(
        (hidden.entries, hidden.bytes, hidden.value_bytes),
        (3, 90, 7)
    );
    // More of them than entries.
    fails(
        decode(&[field(4, &[0xff, 0x7f, 90, 7])]),
        ErrorKind::Corruption,
    );
    fails(decode(&[field(2, b"1")]), ErrorKind::Corruption);
    for section in [1, 2, 3, 127] {
        plain[2] = section;
        let decoded = VersionEdit::decode(&field(9, &plain));
        if section > 2 {
            fails(decoded, ErrorKind::FormatTooNew);
        } else {
            assert_eq!(decoded.unwrap().added_tables[0].section, section);
        }
    }
}

#[test]
fn repeated_or_unordered_fields_are_corruption() {
    let (first, second) = (field(5, &[1]), field(7, &[1]));
    VersionEdit::decode(&[&first[..], &second].concat()).unwrap();
    for pair in [[&first[..], &first], [&second, &first]] {
        fails(VersionEdit::decode(&pair.concat()), ErrorKind::Corruption);
    }
}

#[test]
fn impossible_values_are_corruption() {
    let table = |change: fn(&mut TableRecord)| {
        let mut record = full().added_tables[0].clone();
        change(&mut record);
        // Encoded by hand, since the writer refuses such records.
        let (seq_min, seq_max, deletes) = (record.seq_min, record.seq_max, record.deletes);
        let mut body = vec![17, 3, 0, 0, 0];
        for value in [seq_min, seq_max, record.entries, deletes, 1, 1] {
            put_varint(&mut body, value);
        }
        body.extend([0; 5]);
        field(9, &body)
    };
    VersionEdit::decode(&table(|_| {})).unwrap();
    let bad = [
        table(|record| record.seq_min = record.seq_max + 1),
        table(|record| record.seq_max = SEQ_MAX + 1),
        table(|record| record.deletes = record.entries + 1),
        field(1, &[b'x'; 256]),
        field(1, &[0xff]),
        field(5, &[]),
        field(5, &[1, 1]),
        field(5, &[0x80]),
        field(7, &[0xff; 9]),
        field(11, &[0x80]),
        field(13, &[1]),
        field(17, &[1, 2, 3]),
        field(27, &[]),
        field(27, &[1, 2]),
        field(9, &[0; 14]),
        field(31, &[0]),
        field(34, &[1]),
        field(34, &[0, 1]),
        field(34, &[1, 9, 2, 8]),
        field(35, &[1, 9]),
        field(35, &[2, 9, 0, 1, 9, 0]),
        field(36, b"\x02n"),
        field(36, b"\x01\xff\x01\x01"),
        field(38, b"\x01\x02\x02\x01n"),
        field(38, b"\x01\x00\x01\x01n"),
        field(38, b"\x01\x02\x01\x01n1"),
        field(31, &[0x80, 0x80, 0x80, 0x80, 0x10]),
        vec![5],
        vec![5, 2, 1],
        vec![0, 0],
        vec![0x80],
    ];
    for bytes in bad {
        fails(VersionEdit::decode(&bytes), ErrorKind::Corruption);
    }
    VersionEdit::decode(&field(1, &[b'x'; 255])).unwrap();
}

#[test]
fn keyspaces_have_a_number_a_name_and_fields_that_suit() {
    let decode = |number: u32, name: &[u8], fields: &[Vec<u8>]| {
        let mut body = Vec::new();
        put_varint(&mut body, number.into());
        put_bytes(&mut body, name);
        let edit = VersionEdit::decode(&field(29, &[body, fields.concat()].concat()))?;
        Ok(edit.created_keyspaces[0].clone())
    };
    let (order, compared) = (field(1, b"order"), 1 << 31);
    for (number, name, fields, message) in [
        (0, &b"n"[..], &[][..], "impossible number"),
        (1, b"", &[], "impossible name"),
        (1, &[b'n'; 256], &[], "malformed"),
        (1, b"\xff", &[], "malformed"),
        (1, b"n", std::slice::from_ref(&order), "suit its comparator"),
        (compared, b"n", &[], "suit its comparator"),
        (1, b"n", &[field(4, &[0xff, 2])], "malformed"),
        (1, b"n", &[field(6, b"")], "malformed"),
    ] {
        let error = fails(decode(number, name, fields), ErrorKind::Corruption);
        assert!(error.to_string().contains(message), "{error}");
    }
    let newer = decode(1, b"n", &[field(5, b"law")]);
    fails(newer, ErrorKind::FormatTooNew);
    let advised = [order, field(2, b"advice"), field(4, &[9])];
    let found = decode(compared, &[b'n'; 255], &advised).unwrap();
    assert_eq!(found.comparator.as_deref(), Some("order"));
    assert_eq!((found.compression, found.value_bytes), (Some(9), None));
}

#[test]
fn noise_never_panics_and_what_decodes_encodes_again() {
    let whole = encoded(&full());
    for seed in 0..20_000 {
        let mut noise = Noise::new(seed);
        let mut bytes = whole.clone();
        for _ in 0..=noise.below(4) {
            let at = noise.below(bytes.len());
            bytes[at] = noise.next_u32().to_le_bytes()[0] >> noise.below(8);
        }
        bytes.truncate(1 + noise.below(bytes.len() * 2));
        if let Ok(edit) = VersionEdit::decode(&bytes) {
            let again = VersionEdit::decode(&encoded(&edit)).unwrap();
            assert_eq!(again, edit, "seed {seed}");
        }
    }
}

fn numbers() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..5)
}

fn pairs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((any::<u64>(), any::<u64>()), 0..5)
}

fn table() -> impl Strategy<Value = TableRecord> {
    let key = || prop::collection::vec(any::<u8>(), 0..40);
    let seqs = (0..=SEQ_MAX, 0..=SEQ_MAX);
    let counts = (any::<u64>(), any::<u64>());
    let rest = (any::<u32>(), any::<[bool; 3]>(), 0..=2_u8);
    (any::<[u64; 4]>(), key(), key(), seqs, counts, rest, pairs()).prop_map(
        |(numbers, smallest, largest, seqs, counts, rest, value_refs)| TableRecord {
            file: numbers[0],
            run: numbers[1],
            section: rest.2,
            smallest,
            largest,
            seq_min: seqs.0.min(seqs.1),
            seq_max: seqs.0.max(seqs.1),
            entries: counts.0.max(counts.1),
            deletes: counts.0.min(counts.1),
            bytes: numbers[2],
            raw_bytes: numbers[3],
            checksum: rest.0,
            value_refs,
            deferred: rest.1[0],
            large_encoded: rest.1[1],
            hidden: HiddenVersions {
                entries: counts.0.min(counts.1),
                bytes: numbers[2],
                value_bytes: numbers[3],
            },
            loose_bounds: rest.1[2],
            ranges_applied: seqs.0,
            seq_limit: rest.1[0].then_some(seqs.1),
        },
    )
}

fn segment() -> impl Strategy<Value = SegmentRecord> {
    (any::<[u64; 4]>(), 0..=SEQ_MAX).prop_map(|(numbers, start_seq)| SegmentRecord {
        segment: numbers[0],
        file: numbers[1],
        salt: numbers[2],
        bytes: numbers[3],
        start_seq,
    })
}

fn keyspace() -> impl Strategy<Value = KeyspaceRecord> {
    let numbers = (1..1_u32 << 31, of(any::<u8>()), of(any::<u64>()));
    (numbers, ".{1,60}", of(".{0,40}"), of(".{0,40}")).prop_map(
        |((number, compression, value_bytes), name, comparator, merge_operator)| KeyspaceRecord {
            number: number | u32::from(comparator.is_some()) << 31,
            name,
            comparator,
            merge_operator,
            compression,
            value_bytes,
        },
    )
}

fn deleted_range() -> impl Strategy<Value = DeletedRange> {
    let key = || prop::collection::vec(any::<u8>(), 1..40);
    (0..=2_u8, 0..=SEQ_MAX, key(), key()).prop_map(|(section, seq, start, end)| {
        let number: &[u8] = if section == 0 { b"" } else { b"\0\0\0\x02" };
        let [start, end] = [start, end].map(|key| [number, &key].concat());
        DeletedRange {
            section,
            seq,
            start,
            end,
        }
    })
}

fn incarnations() -> impl Strategy<Value = Vec<Incarnation>> {
    prop::collection::vec((1..=u64::MAX, 0..=SEQ_MAX), 0..4).prop_map(|mut pairs| {
        pairs.sort_by_key(|(_, after)| *after);
        let pairs = pairs.into_iter();
        pairs
            .map(|(number, after)| Incarnation { number, after })
            .collect()
    })
}

type History = (
    Option<Vec<KeptSegment>>,
    Option<Vec<Lease>>,
    Vec<KeyspaceEvent>,
);

fn history() -> impl Strategy<Value = History> {
    let kept = any::<[u64; 3]>().prop_map(|[segment, end, first_values]| {
        vec![KeptSegment {
            segment,
            end,
            first_values,
        }]
    });
    let lease = (".{0,40}", any::<[u64; 2]>());
    let lease = lease.prop_map(|(name, [seq, bytes_max])| Lease {
        name,
        seq,
        bytes_max,
    });
    let event = (any::<[u64; 2]>(), 1..=u32::MAX, any::<bool>(), ".{0,40}");
    let event = event.prop_map(|([seq, time_ms], number, created, name)| KeyspaceEvent {
        seq,
        number,
        created,
        time_ms,
        name,
    });
    let leases = of(prop::collection::vec(lease, 0..3));
    (of(kept), leases, prop::collection::vec(event, 0..3))
}

fn edit() -> impl Strategy<Value = VersionEdit> {
    let names = (of(".{0,40}"), of(".{0,40}"));
    let singles = (of(any::<u64>()), of(0..=SEQ_MAX));
    let tables = prop::collection::vec(table(), 0..4);
    let lists = (numbers(), pairs(), of(numbers()));
    let segments = (prop::collection::vec(segment(), 0..3), numbers());
    let values = (numbers(), pairs(), pairs(), numbers(), numbers());
    let close = of((0..=SEQ_MAX, pairs()));
    let dropped = prop::collection::vec(1..=u32::MAX, 0..5);
    let ranges = prop::collection::vec(deleted_range(), 0..3);
    let keyspaces = prop::collection::vec(keyspace(), 0..3);
    let keyspaces = (keyspaces, dropped, ranges, incarnations(), history());
    (
        names, singles, tables, lists, segments, values, close, keyspaces,
    )
        .prop_map(
            |(names, singles, added_tables, lists, segments, values, close, keyspaces)| {
                VersionEdit {
                    comparator: names.0,
                    merge_operator: names.1,
                    next_file: singles.0,
                    last_seq: singles.1,
                    added_tables,
                    removed_tables: lists.0,
                    moved_tables: lists.1,
                    runs: lists.2,
                    added_segments: segments.0,
                    retired_segments: segments.1,
                    added_values: values.0,
                    value_sizes: values.1,
                    value_dead: values.2,
                    removed_values: values.3,
                    settled_values: values.4,
                    clean_close: close
                        .map(|(last_seq, log_ends)| CleanClose { last_seq, log_ends }),
                    created_keyspaces: keyspaces.0,
                    dropped_keyspaces: keyspaces.1,
                    deleted_ranges: keyspaces.2,
                    incarnations: keyspaces.3,
                    kept_segments: keyspaces.4.0,
                    leases: keyspaces.4.1,
                    keyspace_events: keyspaces.4.2,
                }
            },
        )
}

proptest! {
    #[test]
    fn any_edit_round_trips(edit in edit()) {
        let bytes = encoded(&edit);
        prop_assert_eq!(VersionEdit::decode(&bytes).unwrap(), edit.clone());
        prop_assert_eq!(encoded(&edit), bytes);
    }

    #[test]
    fn a_divided_edit_says_the_same(edit in edit(), bytes in 0_usize..100) {
        let mut pieces = edit.clone().divided(bytes);
        let fits = |piece: &VersionEdit| {
            piece.added_tables.len() <= 1 || piece.table_bytes() <= bytes
        };
        prop_assert!(pieces.iter().all(fits));
        let mut whole = pieces.pop().unwrap();
        for piece in pieces.into_iter().rev() {
            let mut tables = piece.added_tables.clone();
            prop_assert_eq!(&VersionEdit { added_tables: Vec::new(), ..piece }, &VersionEdit::default());
            tables.append(&mut whole.added_tables);
            whole.added_tables = tables;
        }
        prop_assert_eq!(whole, edit);
    }
}
