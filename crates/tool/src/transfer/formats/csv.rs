//! CSV of two fields, key and value, after RFC 4180, with a header line `key,value`.
//!
//! A field holds text with the tool's escapes, hexadecimal digits or Base64, or the bytes as they
//! are. A field with a comma, a quote or the end of a line in it is put in quotes, which are
//! doubled within. A file whose first line is not the header is read too.

use memchr::{memchr, memchr_iter, memchr3};

use super::encoder::{Encoder, too_long};
use crate::coding::Coding;
use crate::failure::Failure;
use crate::transfer::contents::Contents;
use crate::transfer::input::Input;
use crate::transfer::source::{BadEntry, EntrySource, Step};

/// The first line.
const HEADER: &[u8] = b"key,value";

/// Writes CSV.
pub(crate) struct CsvEncoder {
    coding: Option<Coding>,
    field: Vec<u8>,
}

impl CsvEncoder {
    pub(crate) fn new(coding: Option<Coding>) -> CsvEncoder {
        CsvEncoder {
            coding,
            field: Vec::new(),
        }
    }

    fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(coding) = self.coding else {
            return append_field(bytes, out);
        };
        self.field.clear();
        coding.append(bytes, &mut self.field);
        append_field(&self.field, out);
    }
}

fn append_field(field: &[u8], out: &mut Vec<u8>) {
    if memchr3(b',', b'"', b'\n', field).is_none() && memchr(b'\r', field).is_none() {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    let mut rest = field;
    while let Some(at) = memchr(b'"', rest) {
        let (head, tail) = rest.split_at(at + 1);
        out.extend_from_slice(head);
        out.push(b'"');
        rest = tail;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

impl Encoder for CsvEncoder {
    fn begin(&mut self, _: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(HEADER);
        out.push(b'\n');
    }

    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.append(key, out);
        out.push(b',');
        self.append(value, out);
        out.push(b'\n');
    }

    fn end(&mut self, _: &Contents, _: &mut Vec<u8>) {}
}

/// Reads CSV.
pub(crate) struct CsvSource {
    input: Input,
    coding: Option<Coding>,
    is_first: bool,
    fields: Fields,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// The two fields of a record, without quotes.
#[derive(Default)]
struct Fields {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl CsvSource {
    pub(crate) fn new(input: Input, coding: Option<Coding>) -> CsvSource {
        CsvSource {
            input,
            coding,
            is_first: true,
            fields: Fields::default(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl EntrySource for CsvSource {
    fn advance(&mut self) -> Result<Step, Failure> {
        loop {
            let first_line = self.input.line_number() + 1;
            let mut is_quoted = false;
            let record = self.input.record(|line| {
                is_quoted ^= memchr_iter(b'"', line).count() % 2 == 1;
                is_quoted
            })?;
            let Some(record) = record else {
                return Ok(Step::End);
            };
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            let is_header = std::mem::take(&mut self.is_first) && record == HEADER;
            if is_header || record.is_empty() {
                continue;
            }
            let parsed = self.fields.split(record).and_then(|()| {
                decode(self.coding, "key", &self.fields.key, &mut self.key)?;
                decode(self.coding, "value", &self.fields.value, &mut self.value)?;
                too_long(&self.key, &self.value).map_or(Ok(()), Err)
            });
            return Ok(match parsed {
                Ok(()) => Step::Entry,
                Err(reason) => Step::Bad(BadEntry {
                    line: first_line,
                    reason,
                }),
            });
        }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn value(&self) -> &[u8] {
        &self.value
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn decode(
    coding: Option<Coding>,
    name: &str,
    field: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    out.clear();
    match coding {
        None => out.extend_from_slice(field),
        Some(coding) => coding
            .decode_into(field, out)
            .map_err(|reason| format!("the {name} cannot be read: {reason}"))?,
    }
    Ok(())
}

impl Fields {
    /// Takes the fields of a record.
    fn split(&mut self, record: &[u8]) -> Result<(), String> {
        let expected = "a line must have two fields, key and value; put a field with a comma in it \
            in quotes";
        let rest = take_field(record, &mut self.key)?;
        let rest = rest.strip_prefix(b",").ok_or(expected)?;
        let rest = take_field(rest, &mut self.value)?;
        if rest.is_empty() {
            Ok(())
        } else {
            Err(expected.to_owned())
        }
    }
}

/// Takes a field up to the comma after it. Returns what follows the field.
fn take_field<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], String> {
    out.clear();
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        let (field, rest) = text.split_at(memchr(b',', text).unwrap_or(text.len()));
        if memchr(b'"', field).is_some() {
            let message = "a quote in a field that does not begin with one; put the field in \
                quotes and double those within";
            return Err(message.to_owned());
        }
        out.extend_from_slice(field);
        return Ok(rest);
    };
    loop {
        let at = memchr(b'"', rest).ok_or("a quote is not closed")?;
        let (head, tail) = rest.split_at(at);
        out.extend_from_slice(head);
        rest = tail.get(1..).unwrap_or(&[]);
        match rest.first() {
            Some(b'"') => {
                out.push(b'"');
                rest = rest.get(1..).unwrap_or(&[]);
            }
            Some(b',') | None => return Ok(rest),
            Some(_) => return Err("text between a closing quote and the comma".to_owned()),
        }
    }
}
