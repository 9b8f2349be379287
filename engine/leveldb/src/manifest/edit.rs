//! Version edits: the records of a manifest.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::{Error, ErrorKind, Result, SEQ_MAX, SeqNo};

use crate::input::Input;
use crate::internal_key::TAG_BYTES;

/// The levels of a LevelDB database.
pub(crate) const LEVELS: usize = 7;

/// The tags of the fields. 8 once referred to large values and is written by no version.
mod tags {
    pub(super) const COMPARATOR: u64 = 1;
    pub(super) const LOG: u64 = 2;
    pub(super) const NEXT_FILE: u64 = 3;
    pub(super) const LAST_SEQ: u64 = 4;
    pub(super) const COMPACT_POINTER: u64 = 5;
    pub(super) const REMOVED_TABLE: u64 = 6;
    pub(super) const NEW_TABLE: u64 = 7;
    pub(super) const PREVIOUS_LOG: u64 = 9;
}

/// A table that an edit adds.
///
/// ```
/// use cairndb_leveldb::{InternalKey, Kind, NewTable, VersionEdit};
/// let mut key = Vec::new();
/// InternalKey { key: b"plum", seq: 1, kind: Kind::Put }.encode(&mut key);
/// let (smallest, largest) = (key.clone(), key);
/// let table = NewTable { level: 1, number: 5, size: 180, smallest, largest };
/// let edit = VersionEdit { added: vec![table], ..VersionEdit::default() };
/// let mut bytes = Vec::new();
/// edit.encode(&mut bytes);
/// assert_eq!(VersionEdit::decode(&bytes)?.added[0].number, 5);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// Its level: 0 to 6.
    pub level: usize,
    /// The number in its name.
    pub number: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its first internal key, encoded.
    pub smallest: Vec<u8>,
    /// Its last internal key, encoded.
    pub largest: Vec<u8>,
}

/// One record of a manifest. Fields that it does not mention are empty.
///
/// ```
/// use cairndb_leveldb::VersionEdit;
/// let edit = VersionEdit { next_file: Some(9), ..VersionEdit::default() };
/// let mut bytes = Vec::new();
/// edit.encode(&mut bytes);
/// assert_eq!(bytes, [3, 9]);
/// assert_eq!(VersionEdit::decode(&bytes)?, edit);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The name of the comparator.
    pub comparator: Option<String>,
    /// Logs with smaller numbers are not needed any more.
    pub log: Option<u64>,
    /// A log that is needed too, or 0: databases of the first versions have one.
    pub previous_log: Option<u64>,
    /// No file has this number or a larger one.
    pub next_file: Option<u64>,
    /// The sequence number of the latest write that is in a table.
    pub last_seq: Option<SeqNo>,
    /// Level and internal key at which the next compaction begins.
    pub compact_pointers: Vec<(usize, Vec<u8>)>,
    /// Level and number of the tables that are not needed any more.
    pub removed: Vec<(usize, u64)>,
    /// The tables that are.
    pub added: Vec<NewTable>,
}

impl VersionEdit {
    /// Decodes a record.
    ///
    /// # Errors
    /// `FormatTooNew` if a tag is unknown; `Corruption` if a field is malformed or a level does not
    /// exist.
    pub fn decode(bytes: &[u8]) -> Result<VersionEdit> {
        let mut input = Input::new(bytes);
        let mut edit = VersionEdit::default();
        while !input.is_empty() {
            match input.varint32("the tag of a field")?.into() {
                tags::COMPARATOR => edit.comparator = Some(comparator(&mut input)?),
                tags::LOG => edit.log = Some(input.varint("a log's number")?),
                tags::PREVIOUS_LOG => edit.previous_log = Some(input.varint("a log's number")?),
                tags::NEXT_FILE => edit.next_file = Some(input.varint("a file's number")?),
                tags::LAST_SEQ => edit.last_seq = Some(sequence_number(&mut input)?),
                tags::COMPACT_POINTER => {
                    let pointer = (level(&mut input)?, internal_key(&mut input)?.to_vec());
                    edit.compact_pointers.push(pointer);
                }
                tags::REMOVED_TABLE => {
                    let removed = (level(&mut input)?, input.varint("a table's number")?);
                    edit.removed.push(removed);
                }
                tags::NEW_TABLE => edit.added.push(new_table(&mut input)?),
                tag => {
                    let message = "a version edit has a field that LevelDB does not write; \
                        another store or a newer version wrote it";
                    return Err(Error::new(ErrorKind::FormatTooNew, message)
                        .expected("a tag of 1 to 7, or 9")
                        .found(tag));
                }
            }
        }
        Ok(edit)
    }

    /// Appends the record, its fields in the order in which LevelDB writes them.
    ///
    /// # Panics
    /// If a table is of a level that LevelDB does not have.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Some(name) = &self.comparator {
            put_varint(out, tags::COMPARATOR);
            put_bytes(out, name.as_bytes());
        }
        let numbers = [
            (tags::LOG, self.log),
            (tags::PREVIOUS_LOG, self.previous_log),
            (tags::NEXT_FILE, self.next_file),
            (tags::LAST_SEQ, self.last_seq),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                put_varint(out, tag);
                put_varint(out, number);
            }
        }
        for (level, key) in &self.compact_pointers {
            put_varint(out, tags::COMPACT_POINTER);
            put_varint(out, *level as u64);
            put_bytes(out, key);
        }
        for (level, number) in &self.removed {
            put_varint(out, tags::REMOVED_TABLE);
            put_varint(out, *level as u64);
            put_varint(out, *number);
        }
        for table in &self.added {
            assert!(table.level < LEVELS, "LevelDB has seven levels");
            put_varint(out, tags::NEW_TABLE);
            put_varint(out, table.level as u64);
            put_varint(out, table.number);
            put_varint(out, table.size);
            put_bytes(out, &table.smallest);
            put_bytes(out, &table.largest);
        }
    }
}

fn comparator(input: &mut Input<'_>) -> Result<String> {
    let name = input.bytes("a comparator's name")?;
    let text = str::from_utf8(name).map(str::to_owned);
    text.map_err(|_| input.error("a comparator's name in UTF-8"))
}

fn sequence_number(input: &mut Input<'_>) -> Result<SeqNo> {
    let seq = input.varint("a sequence number")?;
    if seq > SEQ_MAX {
        return Err(input.error("a sequence number of 56 bits"));
    }
    Ok(seq)
}

fn level(input: &mut Input<'_>) -> Result<usize> {
    let level = usize::try_from(input.varint32("a level")?).unwrap_or(usize::MAX);
    if level >= LEVELS {
        return Err(
            Error::corruption("a version edit names a level that LevelDB does not have")
                .expected("0 to 6")
                .found(level),
        );
    }
    Ok(level)
}

fn internal_key<'a>(input: &mut Input<'a>) -> Result<&'a [u8]> {
    let key = input.bytes("an internal key")?;
    if key.len() < TAG_BYTES {
        return Err(input.error("an internal key of 8 bytes or more"));
    }
    Ok(key)
}

fn new_table(input: &mut Input<'_>) -> Result<NewTable> {
    Ok(NewTable {
        level: level(input)?,
        number: input.varint("a table's number")?,
        size: input.varint("a table's size")?,
        smallest: internal_key(input)?.to_vec(),
        largest: internal_key(input)?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits() -> [VersionEdit; 2] {
        let first = VersionEdit {
            comparator: Some("leveldb.BytewiseComparator".to_owned()),
            log: Some(3),
            previous_log: Some(0),
            next_file: Some(u64::MAX),
            last_seq: Some(SEQ_MAX),
            ..VersionEdit::default()
        };
        let table = NewTable {
            level: 6,
            number: 12,
            size: 1 << 40,
            smallest: vec![0; 8],
            largest: vec![0xff; 300],
        };
        let second = VersionEdit {
            compact_pointers: vec![(1, b"k\x01\0\0\0\0\0\0\0".to_vec())],
            removed: vec![(0, 7), (6, 1 << 50)],
            added: vec![table],
            ..VersionEdit::default()
        };
        [first, second]
    }

    fn encoded(edit: &VersionEdit) -> Vec<u8> {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        bytes
    }

    #[test]
    fn edits_come_back() {
        for edit in edits() {
            assert_eq!(VersionEdit::decode(&encoded(&edit)).unwrap(), edit);
        }
        assert_eq!(VersionEdit::decode(&[]).unwrap(), VersionEdit::default());
    }

    #[test]
    fn a_cut_edit_is_an_error_or_an_edit_with_fewer_fields() {
        for edit in edits() {
            let bytes = encoded(&edit);
            for len in 0..bytes.len() {
                if let Ok(found) = VersionEdit::decode(&bytes[..len]) {
                    assert!(bytes.starts_with(&encoded(&found)), "cut at {len}");
                }
            }
        }
    }

    #[test]
    fn what_leveldb_does_not_write_is_refused() {
        let wrong: [&[u8]; 7] = [
            &[8, 0],
            &[10, 0],
            &[1, 1, 0xff],
            &[6, 7, 1],
            &[5, 0, 7, 0, 0, 0, 0, 0, 0, 0],
            &[4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ];
        for bytes in wrong {
            assert!(VersionEdit::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
