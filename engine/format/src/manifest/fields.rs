//! Tagged fields: the outer form of edits and of later additions to table records.
//!
//! A field is a varint tag, a varint length and that many bytes. Readers must know every odd tag
//! and refuse the file as too new otherwise. Unknown even tags are skipped.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::{Error, ErrorKind, Result};

use crate::input::Input;

/// Maximum length of the name of a keyspace, comparator or merge operator.
pub(crate) const NAME_BYTES_MAX: usize = 255;

/// Writes fields through one reused buffer.
#[derive(Debug)]
pub(crate) struct FieldWriter<'a> {
    out: &'a mut Vec<u8>,
    body: Vec<u8>,
}

impl<'a> FieldWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> FieldWriter<'a> {
        FieldWriter {
            out,
            body: Vec::new(),
        }
    }

    /// Appends one field whose body `fill` writes.
    pub(crate) fn field(&mut self, tag: u64, fill: impl FnOnce(&mut Vec<u8>)) {
        self.body.clear();
        fill(&mut self.body);
        put_varint(self.out, tag);
        put_bytes(self.out, &self.body);
    }

    /// Appends one field of varints, unless there are none.
    pub(crate) fn varints(&mut self, tag: u64, values: impl IntoIterator<Item = u64>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.field(tag, |body| values.for_each(|value| put_varint(body, value)));
        }
    }
}

/// Returns the next field, or `None` at the end.
pub(crate) fn next_field<'a>(input: &mut Input<'a>) -> Result<Option<(u64, &'a [u8])>> {
    if input.is_empty() {
        return Ok(None);
    }
    let tag = input.varint("a field tag")?;
    let body = input.bytes("a field within the record")?;
    Ok(Some((tag, body)))
}

/// Handles a tag that this version does not know.
pub(crate) fn unknown(tag: u64) -> Result<()> {
    if tag.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::FormatTooNew,
        "manifest has a required field that this version does not know; open it with the version \
         that wrote it",
    )
    .found(format_args!("field tag {tag}")))
}

/// Reads varints until the body ends.
pub(crate) fn varints(body: &[u8]) -> Result<Vec<u64>> {
    let mut input = Input::new(body);
    let mut values = Vec::new();
    while !input.is_empty() {
        values.push(input.varint("a number")?);
    }
    Ok(values)
}

/// Reads pairs of varints until the body ends.
pub(crate) fn pairs(body: &[u8]) -> Result<Vec<(u64, u64)>> {
    let mut input = Input::new(body);
    let mut values = Vec::new();
    while !input.is_empty() {
        values.push((
            input.varint("a number")?,
            input.varint("the second of two numbers")?,
        ));
    }
    Ok(values)
}

/// Reads exactly one varint.
pub(crate) fn single(body: &[u8]) -> Result<u64> {
    let mut input = Input::new(body);
    let value = input.varint("a number")?;
    end(&input)?;
    Ok(value)
}

/// Reads a name.
pub(crate) fn name(body: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(body)
        .ok()
        .filter(|text| text.len() <= NAME_BYTES_MAX);
    text.map(str::to_owned).ok_or_else(|| {
        Error::corruption("name in the manifest is malformed")
            .expected(format_args!("at most {NAME_BYTES_MAX} bytes of UTF-8"))
            .found(format_args!("{} bytes", body.len()))
    })
}

/// Checks that nothing is left.
pub(crate) fn end(input: &Input<'_>) -> Result<()> {
    if input.is_empty() {
        return Ok(());
    }
    Err(input.error("the end of the field"))
}
