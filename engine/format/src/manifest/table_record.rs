//! Codec of a table's record in the manifest.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::limits::STORED_KEY_BYTES_MAX;
use cairndb_base::{Error, ErrorKind, Result, SEQ_MAX};

use crate::input::Input;
use crate::manifest::edit::{HiddenVersions, TableRecord};
use crate::manifest::fields::{FieldWriter, end, next_field, single, unknown};
use crate::table::SECTION_MAX;

/// Field: the table's values are stored raw for now. The tag is even: a reader that does not know
/// it copies the values as they are.
const DEFERRED: u64 = 2;
/// Field: some large values that the table points to are encoded. The tag is odd: a reader that
/// does not know it cannot read them.
const LARGE_ENCODED: u64 = 3;
/// Field: versions that newer ones in the table hide. The tag is even: a reader that does not know
/// it frees them later.
const HIDDEN: u64 = 4;
/// Field: a bound is not a key of the table. The tag is odd: a reader that does not know it would
/// report the table as damaged.
const LOOSE_BOUNDS: u64 = 5;
/// Field: the number up to which deletions of ranges have been applied. The tag is even: a reader
/// that does not know it opens no database that has one.
const RANGES_APPLIED: u64 = 6;
/// Field: the largest sequence number that counts. The tag is odd: a reader that does not know it
/// would show what was written later.
const SEQ_LIMIT: u64 = 15;

pub(crate) fn encode(record: &TableRecord, out: &mut Vec<u8>) {
    debug_assert!(record.seq_min <= record.seq_max && record.deletes <= record.entries);
    for value in [record.file, record.run, record.section.into()] {
        put_varint(out, value);
    }
    put_bytes(out, &record.smallest);
    put_bytes(out, &record.largest);
    let numbers = [
        record.seq_min,
        record.seq_max,
        record.entries,
        record.deletes,
        record.bytes,
        record.raw_bytes,
    ];
    for value in numbers {
        put_varint(out, value);
    }
    out.extend_from_slice(&record.checksum.to_le_bytes());
    put_varint(out, record.value_refs.len() as u64);
    for (file, bytes) in &record.value_refs {
        put_varint(out, *file);
        put_varint(out, *bytes);
    }
    if record.deferred {
        FieldWriter::new(out).field(DEFERRED, |_| {});
    }
    if record.large_encoded {
        FieldWriter::new(out).field(LARGE_ENCODED, |_| {});
    }
    if record.hidden != HiddenVersions::default() {
        let HiddenVersions {
            entries,
            bytes,
            value_bytes,
        } = record.hidden;
        FieldWriter::new(out).varints(HIDDEN, [entries, bytes, value_bytes]);
    }
    if record.loose_bounds {
        FieldWriter::new(out).field(LOOSE_BOUNDS, |_| {});
    }
    let applied = (record.ranges_applied > 0).then_some(record.ranges_applied);
    FieldWriter::new(out).varints(RANGES_APPLIED, applied);
    FieldWriter::new(out).varints(SEQ_LIMIT, record.seq_limit);
}

pub(crate) fn decode(body: &[u8]) -> Result<TableRecord> {
    let mut input = Input::new(body);
    let mut record = TableRecord {
        file: input.varint("a table's file number")?,
        run: input.varint("a table's run")?,
        ..TableRecord::default()
    };
    record.section = section(input.varint("a table's section")?)?;
    record.smallest = key(&mut input, "a table's smallest key")?;
    record.largest = key(&mut input, "a table's largest key")?;
    record.seq_min = input.varint("a table's smallest sequence number")?;
    record.seq_max = input.varint("a table's largest sequence number")?;
    record.entries = input.varint("a table's number of entries")?;
    record.deletes = input.varint("a table's number of deletions")?;
    record.bytes = input.varint("a table's length")?;
    record.raw_bytes = input.varint("a table's length before compression")?;
    record.checksum = input.u32("a table's checksum")?;
    for _ in 0..input.varint("a number of value references")? {
        let file = input.varint("a value file")?;
        record
            .value_refs
            .push((file, input.varint("a number of bytes")?));
    }
    while let Some((tag, body)) = next_field(&mut input)? {
        match tag {
            DEFERRED => {
                end(&Input::new(body))?;
                record.deferred = true;
            }
            LARGE_ENCODED => {
                end(&Input::new(body))?;
                record.large_encoded = true;
            }
            LOOSE_BOUNDS => {
                end(&Input::new(body))?;
                record.loose_bounds = true;
            }
            RANGES_APPLIED => record.ranges_applied = single(body)?,
            SEQ_LIMIT => record.seq_limit = Some(single(body)?),
            HIDDEN => record.hidden = hidden_versions(body)?,
            _ => unknown(tag)?,
        }
    }
    let ordered = record.seq_min <= record.seq_max && record.seq_max <= SEQ_MAX;
    let counted = record.deletes.max(record.hidden.entries) <= record.entries;
    if ordered && counted {
        return Ok(record);
    }
    Err(Error::corruption("table record is inconsistent")
        .expected("ordered sequence numbers, no more deletions or hidden versions than entries")
        .found(format_args!(
            "sequence numbers {} to {}, {} deletions and {} hidden versions of {}",
            record.seq_min, record.seq_max, record.deletes, record.hidden.entries, record.entries
        )))
}

pub(crate) fn section(number: u64) -> Result<u8> {
    let known = u8::try_from(number).ok().filter(|it| *it <= SECTION_MAX);
    known.ok_or_else(|| {
        let message = "table is in a section that this version does not know; open the database \
                       with the version that wrote it";
        Error::new(ErrorKind::FormatTooNew, message)
            .expected(format_args!("at most {SECTION_MAX}"))
            .found(number)
    })
}

fn hidden_versions(body: &[u8]) -> Result<HiddenVersions> {
    let mut input = Input::new(body);
    let hidden = HiddenVersions {
        entries: input.varint("a table's number of hidden versions")?,
        bytes: input.varint("the length of a table's hidden versions")?,
        value_bytes: input.varint("the length of a table's hidden values")?,
    };
    end(&input)?;
    Ok(hidden)
}

pub(crate) fn key(input: &mut Input<'_>, what: &'static str) -> Result<Vec<u8>> {
    let key = input.bytes(what)?;
    if key.len() <= STORED_KEY_BYTES_MAX {
        return Ok(key.to_vec());
    }
    Err(input.error(what))
}
