//! Arbitrary bytes as each file and each part of a file of our format.

use std::sync::Arc;

use cairndb_base::{FileNumber, Order};
use cairndb_format::batch;
use cairndb_format::log::{
    Found, SegmentHeader, SegmentReader, SegmentSalvage, Step, header_of_damaged,
};
use cairndb_format::manifest::{ManifestSalvage, VersionEdit, read_manifest};
use cairndb_format::name;
use cairndb_format::table::{Salvaged, TableFacts, TableSalvage, is_table_number};
use cairndb_format::value_file::{Pointer, ValueScan, read_value};

use super::one_file;

/// The number of every file.
const NUMBER: FileNumber = FileNumber(7);

/// Reads `bytes` as a batch, a version edit, a pointer, a log segment, a manifest, a table and a
/// value file. What decodes encodes to itself; readers end, and stay within the bytes.
///
/// # Panics
/// If a property is broken.
pub fn own_files(bytes: &[u8]) {
    parts(bytes);
    log(bytes);
    manifest(bytes);
    table(bytes);
    values(bytes);
}

fn parts(bytes: &[u8]) {
    if let Ok(validated) = batch::validate(bytes) {
        let entries = batch::iter(bytes).expect("it is valid");
        let read = entries.take_while(Result::is_ok).count() as u64;
        let whole = validated.unknown_kind.is_some() || read == validated.count;
        assert!(whole, "a valid batch has as many entries as it claims");
    } else if let Ok(entries) = batch::iter(bytes) {
        let read = entries.take_while(Result::is_ok).count();
        assert!(read <= bytes.len(), "every entry takes bytes");
    }
    if let Ok(edit) = VersionEdit::decode(bytes) {
        let mut again = Vec::new();
        edit.encode(&mut again);
        let decoded = VersionEdit::decode(&again).expect("it was just encoded");
        assert_eq!(decoded, edit, "an edit encodes to itself");
    }
    if let Ok(pointer) = Pointer::decode(bytes) {
        assert_eq!(&pointer.encode()[..], bytes, "a pointer encodes to itself");
    }
}

fn log(bytes: &[u8]) {
    let header = header_of_damaged(bytes).unwrap_or(SegmentHeader {
        segment: 1,
        salt: 7,
        previous_segment: 0,
        previous_end: 0,
        start_seq: 0,
    });
    let mut reader = SegmentReader::new(bytes, &header);
    let mut records = 0usize;
    while let Step::Record(record) = reader.advance() {
        assert!(record.end <= bytes.len() as u64, "a record within the file");
        records += 1;
    }
    let mut salvage = SegmentSalvage::new(bytes, &header);
    let (mut salvaged, mut at) = (0usize, 0);
    while let Some(found) = salvage.advance() {
        let (offset, end) = match found {
            Found::Record(record) => {
                salvaged += 1;
                (record.offset, record.end)
            }
            Found::Gap { offset, end, .. } => (offset, end),
        };
        assert!(at <= offset && offset < end, "steps ascend");
        at = end;
    }
    assert!(salvaged >= records, "salvage finds what a reader finds");
    assert!(at <= bytes.len() as u64, "steps within the file");
}

fn manifest(bytes: &[u8]) {
    let (_env, dir) = one_file(&name::manifest(NUMBER), bytes);
    let _ = read_manifest(&*dir, NUMBER);
    let Ok(mut salvage) = ManifestSalvage::open(&*dir, NUMBER) else {
        return;
    };
    let mut steps = 0usize;
    while let Ok(Some(_)) = salvage.advance() {
        steps += 1;
        assert!(steps <= bytes.len() + 1, "salvage ends");
    }
}

fn table(bytes: &[u8]) {
    let (_env, dir) = one_file(&name::table(NUMBER), bytes);
    let file = dir.open_read(&name::table(NUMBER)).expect("in memory");
    let _ = is_table_number(&file, NUMBER);
    let facts = TableFacts::read(&file, NUMBER).ok();
    let dictionary = facts.map(|facts| facts.dictionary);
    let mut salvage = TableSalvage::new(Arc::clone(&file), NUMBER, &Order::Bytewise, dictionary);
    let (mut key, mut value, mut last) = (Vec::new(), Vec::new(), None);
    while let Ok(Some((page, salvaged))) = salvage.advance() {
        assert!(
            last.replace(page).is_none_or(|last| last < page),
            "pages ascend"
        );
        if let Salvaged::Entries(page) = salvaged {
            for index in 0..page.count() {
                page.key_into(index, &mut key);
                let _ = page.value_into(index, &mut value);
            }
        }
    }
}

fn values(bytes: &[u8]) {
    let (_env, dir) = one_file(&name::value(NUMBER), bytes);
    let file = dir.open_read(&name::value(NUMBER)).expect("in memory");
    let mut value = Vec::new();
    if let Ok(mut scan) = ValueScan::new(&*file, NUMBER) {
        while let Ok(Some(found)) = scan.advance(&mut value) {
            let mut again = Vec::new();
            let (pointer, hash) = (&found.pointer, found.key_hash);
            read_value(&*file, NUMBER, pointer, hash, &mut again).expect("it was scanned");
            assert_eq!(again, value, "a pointer leads to the scanned value");
        }
    }
}
