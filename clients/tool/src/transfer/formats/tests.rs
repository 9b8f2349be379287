//! Tests of the formats without a database: golden bytes, and texts at the ends of the buffer.

use cairndb::{Compression, KeyspaceOptions};
use cairndb_base::hash64;

use super::*;
use crate::coding::Coding;
use crate::transfer::contents::Contents;
use crate::transfer::source::{KeyspaceSpec, Step};

/// Encodes entries.
fn encoded(format: &FileFormat, entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut encoder, mut out) = (format.encoder(), Vec::new());
    let mut contents = Contents::default();
    encoder.begin(0, false, &mut out);
    for (key, value) in entries {
        encoder.entry(key, value, &mut out);
        contents.add(key, value);
    }
    encoder.end(&contents, &mut out);
    out
}

fn json(coding: Coding) -> FileFormat {
    FileFormat::JsonLines(JsonForm {
        coding,
        takes_json: false,
    })
}

fn csv(coding: Option<Coding>, delimiter: u8) -> FileFormat {
    FileFormat::Csv(CsvForm {
        coding,
        delimiter,
        columns: None,
    })
}

/// Decodes a file; bad lines are `None`.
fn decoded(format: &FileFormat, bytes: &[u8]) -> Vec<Option<(Vec<u8>, Vec<u8>)>> {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let mut source = format.source(Some(&path)).unwrap();
    let mut entries = Vec::new();
    loop {
        match source.advance().unwrap() {
            Step::Entry(key, value) => entries.push(Some((key.to_vec(), value.to_vec()))),
            Step::Bad(..) => entries.push(None),
            Step::Keyspace(_) => {}
            Step::End => break,
        }
    }
    assert_eq!(
        source.progress(),
        Some((bytes.len() as u64, bytes.len() as u64))
    );
    entries
}

/// The bytes of a golden file.
fn golden(text: &str) -> Vec<u8> {
    let digits = text.lines().filter_map(|line| line.split('#').next());
    let pairs = digits.flat_map(str::split_whitespace);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

#[test]
fn a_dump_has_the_golden_bytes() {
    let expected = golden(include_str!("../../../../../testdata/golden/dump-v1.hex"));
    let entries: [(&[u8], &[u8]); 2] = [(b"apple", b"red"), (b"pear", b"")];
    assert_eq!(encoded(&FileFormat::Native, &entries), expected);
    let found = decoded(&FileFormat::Native, &expected);
    let entries = entries.map(|(key, value)| Some((key.to_vec(), value.to_vec())));
    assert_eq!(found, entries);
}

#[test]
fn a_dump_with_keyspaces_has_the_golden_bytes() {
    let text = include_str!("../../../../../testdata/golden/dump-v2.hex");
    let (mut encoder, mut out) = (FileFormat::Native.encoder(), Vec::new());
    let mut contents = Contents::default();
    encoder.begin(0, true, &mut out);
    encoder.entry(b"apple", b"red", &mut out);
    contents.add(b"apple", b"red");
    let options = KeyspaceOptions::new()
        .comparator("example.order")
        .compression(Compression::None)
        .value_bytes(8);
    let name = "stones".to_owned();
    let spec = KeyspaceSpec { name, options };
    encoder.keyspace(&spec, &mut out);
    encoder.entry(b"apple", b"", &mut out);
    contents.add_in(hash64(b"stones"), b"apple", b"");
    encoder.end(&contents, &mut out);
    assert_eq!(out, golden(text));
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("file");
    std::fs::write(&path, out).unwrap();
    let mut source = FileFormat::Native.source(Some(&path)).unwrap();
    let mut steps = Vec::new();
    loop {
        steps.push(match source.advance().unwrap() {
            Step::Keyspace(Some(found)) => {
                assert_eq!(format!("{found:?}"), format!("{spec:?}"));
                found.name
            }
            Step::Entry(key, value) => format!("{key:?}{value:?}"),
            Step::End => break,
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[1], "stones");
}

#[test]
fn every_length_around_the_buffer_comes_back() {
    let formats = [
        FileFormat::Native,
        json(Coding::Text),
        csv(Some(Coding::Text), b','),
        csv(None, b','),
        csv(None, b'\t'),
        FileFormat::Dump(Store::Lmdb, Form::ByteValue, Families::default()),
        FileFormat::Dump(Store::BerkeleyDb, Form::Print, Families::default()),
    ];
    for format in formats {
        for len in [0, 1, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10] {
            for len in [len, len + 1, len + 3] {
                let long = vec![b'\n'; len];
                let entries: [(&[u8], &[u8]); 3] = [(b"a", b"1"), (b"b", &long), (b"c", b"\"")];
                let found = decoded(&format, &encoded(&format, &entries));
                let entries = entries.map(|(key, value)| Some((key.to_vec(), value.to_vec())));
                assert!(found == entries, "{format:?} {len}");
            }
        }
    }
}

#[test]
fn a_last_line_needs_no_newline() {
    let csv = csv(Some(Coding::Hex), b',');
    let entry = |key: &[u8], value: &[u8]| Some((key.to_vec(), value.to_vec()));
    assert_eq!(
        decoded(&csv, b"61,62\n63,"),
        [entry(b"a", b"b"), entry(b"c", b"")]
    );
    assert_eq!(decoded(&csv, b"6,62\n\n,\n"), [None, entry(b"", b"")]);
    let json = json(Coding::Base64);
    let line = b"{\"key\":\"YQ==\",\"value\":\"\"}";
    assert_eq!(decoded(&json, line), [entry(b"a", b"")]);
}
