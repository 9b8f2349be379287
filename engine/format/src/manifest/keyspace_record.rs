//! Codec of a keyspace's record in the manifest.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::limits::{COMPARED_KEYSPACE_MIN, KEYSPACE_NAME_BYTES_MAX};
use cairndb_base::{Error, Result};

use crate::input::Input;
use crate::manifest::edit::KeyspaceRecord;
use crate::manifest::fields::{FieldWriter, name, next_field, single, unknown, varints};

/// Field: name of the comparator.
const COMPARATOR: u64 = 1;
/// Field: name of the merge operator.
const MERGE_OPERATOR: u64 = 3;
/// Field: compression of values. The tag is even: a reader that does not know it writes values as
/// it likes.
const COMPRESSION: u64 = 4;
/// Field: expected size of a value, advice to writers.
const VALUE_BYTES: u64 = 6;

pub(crate) fn encode(record: &KeyspaceRecord, out: &mut Vec<u8>) {
    debug_assert!(check(record).is_ok());
    put_varint(out, record.number.into());
    put_bytes(out, record.name.as_bytes());
    let mut to = FieldWriter::new(out);
    for (tag, name) in [
        (COMPARATOR, &record.comparator),
        (MERGE_OPERATOR, &record.merge_operator),
    ] {
        if let Some(name) = name {
            to.field(tag, |body| body.extend_from_slice(name.as_bytes()));
        }
    }
    to.varints(COMPRESSION, record.compression.map(u64::from));
    to.varints(VALUE_BYTES, record.value_bytes);
}

pub(crate) fn decode(body: &[u8]) -> Result<KeyspaceRecord> {
    let mut input = Input::new(body);
    let mut record = KeyspaceRecord {
        number: number(input.varint("a keyspace's number")?)?,
        name: name(input.bytes("a keyspace's name")?)?,
        ..KeyspaceRecord::default()
    };
    while let Some((tag, body)) = next_field(&mut input)? {
        match tag {
            COMPARATOR => record.comparator = Some(name(body)?),
            MERGE_OPERATOR => record.merge_operator = Some(name(body)?),
            COMPRESSION => {
                let number = u8::try_from(single(body)?).ok();
                record.compression = Some(number.ok_or_else(|| input.error("a compression"))?);
            }
            VALUE_BYTES => record.value_bytes = Some(single(body)?),
            _ => unknown(tag)?,
        }
    }
    check(&record)?;
    Ok(record)
}

/// Reads keyspace numbers until the body ends.
pub(crate) fn numbers(body: &[u8]) -> Result<Vec<u32>> {
    varints(body)?.into_iter().map(number).collect()
}

fn number(number: u64) -> Result<u32> {
    let found = u32::try_from(number).ok().filter(|number| *number > 0);
    found.ok_or_else(|| {
        Error::corruption("keyspace has an impossible number")
            .expected("1 to 2^32 - 1")
            .found(number)
    })
}

fn check(record: &KeyspaceRecord) -> Result<()> {
    let len = record.name.len();
    if len == 0 || len > KEYSPACE_NAME_BYTES_MAX {
        return Err(Error::corruption("keyspace has an impossible name")
            .expected(format_args!(
                "1 to {KEYSPACE_NAME_BYTES_MAX} bytes of UTF-8"
            ))
            .found(format_args!("{len} bytes")));
    }
    let compared = record.number >= COMPARED_KEYSPACE_MIN;
    if compared != record.comparator.is_some() {
        return Err(
            Error::corruption("keyspace's number does not suit its comparator")
                .expected("a number from 2^31 on exactly if it has a comparator")
                .found(format_args!(
                    "number {} and comparator {:?}",
                    record.number, record.comparator
                )),
        );
    }
    Ok(())
}
