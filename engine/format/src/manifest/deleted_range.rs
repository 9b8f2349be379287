//! Codec of a deleted range in the manifest.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::{Error, Result, SEQ_MAX};

use crate::batch::ends_in_keyspace;
use crate::input::Input;
use crate::manifest::edit::DeletedRange;
use crate::manifest::fields::end;
use crate::manifest::table_record::{key, section};

pub(crate) fn encode(range: &DeletedRange, out: &mut Vec<u8>) {
    put_varint(out, range.section.into());
    put_varint(out, range.seq);
    put_bytes(out, &range.start);
    put_bytes(out, &range.end);
}

pub(crate) fn decode(body: &[u8]) -> Result<DeletedRange> {
    let mut input = Input::new(body);
    let range = DeletedRange {
        section: section(input.varint("a deleted range's section")?)?,
        seq: input.varint("a deleted range's sequence number")?,
        start: key(&mut input, "the first key of a deleted range")?,
        end: key(&mut input, "the end of a deleted range")?,
    };
    end(&input)?;
    let ends = range.section == 0 || ends_in_keyspace(&range.start, &range.end);
    if range.seq <= SEQ_MAX && ends {
        return Ok(range);
    }
    Err(Error::corruption("deleted range is inconsistent")
        .expected("a sequence number in range, and an end in the same keyspace or at its end")
        .found(format_args!(
            "number {}, and an end of {} bytes",
            range.seq,
            range.end.len()
        )))
}
