//! CSV of two fields, key and value, after RFC 4180, with a header line `key,value`.
//!
//! A field holds text with the tool's escapes, hexadecimal digits or Base64, or the bytes as they
//! are. A field with a comma, a quote or the end of a line in it is put in quotes, which are
//! doubled within. A file whose first line is not the header is read too.
//!
//! A stray quote may swallow any number of lines. A record whose quotes or columns are wrong is
//! therefore taken for its first line alone, and reading goes on with the second. Every line is
//! looked at three times at most: a record that reaches past its first line has an odd number of
//! quotes there, and ends at the next line with an odd number, so no two such records have more
//! than one line in common.

use memchr::{memchr, memchr2, memchr3};

use super::encoder::{Encoder, too_long};
use crate::coding::Coding;
use crate::failure::Failure;
use crate::transfer::contents::Contents;
use crate::transfer::input::Input;
use crate::transfer::source::{BadEntry, EntrySource, Step};

/// The first line.
const HEADER: [&[u8]; 2] = [b"key", b"value"];

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
        out.extend_from_slice(&HEADER.join(&b","[..]));
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
    /// Bytes of the lines in which the end of a record was looked for.
    #[cfg(test)]
    examined: u64,
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
            #[cfg(test)]
            examined: 0,
        }
    }

    /// Decodes the fields.
    fn decode(&mut self) -> Result<(), String> {
        decode(self.coding, "key", &self.fields.key, &mut self.key)?;
        decode(self.coding, "value", &self.fields.value, &mut self.value)?;
        too_long(&self.key, &self.value).map_or(Ok(()), Err)
    }
}

impl EntrySource for CsvSource {
    fn advance(&mut self) -> Result<Step, Failure> {
        loop {
            let first = self.input.line_number() + 1;
            let mut is_open = false;
            let record = self.input.record(|line| {
                #[cfg(test)]
                {
                    self.examined += line.len() as u64;
                }
                is_open = goes_on(line, is_open);
                is_open
            })?;
            let Some(record) = record else {
                return Ok(Step::End);
            };
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            if record.is_empty() {
                continue;
            }
            let split = self.fields.split(record);
            let is_header = split.is_ok() && [&*self.fields.key, &self.fields.value] == HEADER;
            if std::mem::take(&mut self.is_first) && is_header {
                continue;
            }
            let parsed = match split {
                Ok(()) => self.decode(),
                Err(reason) => {
                    self.input.give_back();
                    Err(reason)
                }
            };
            return Ok(match parsed {
                Ok(()) => Step::Entry,
                Err(reason) => {
                    let lines = Some((first, self.input.line_number()));
                    Step::Bad(BadEntry { lines, reason })
                }
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

/// Returns whether a record goes on after a line, which may leave a field in quotes open.
/// `is_open` is what the line before it has returned. A quote where none can be ends the record.
fn goes_on(line: &[u8], mut is_open: bool) -> bool {
    let mut rest = line;
    loop {
        if !is_open {
            let (is_quoted, after) = match rest.strip_prefix(b"\"") {
                Some(after) => (true, after),
                None => match memchr2(b',', b'"', rest).map(|at| rest.split_at(at)) {
                    Some((_, [b',', after @ ..])) => (false, after),
                    _ => return false,
                },
            };
            (is_open, rest) = (is_quoted, after);
            continue;
        }
        let Some(at) = memchr(b'"', rest) else {
            return true;
        };
        match rest.split_at(at).1 {
            [_, b'"', after @ ..] => rest = after,
            [_, b',', after @ ..] => (is_open, rest) = (false, after),
            _ => return false,
        }
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::transfer::input::Head;

    /// Reads a text. Returns the entries, the bad lines, and the bytes that were examined.
    fn read(text: &[u8]) -> (u64, Vec<(u64, u64)>, u64) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let input = Input::open(Some(file.path()), Head::Line).unwrap();
        let mut source = CsvSource::new(input, None);
        let (mut entries, mut bad) = (0, Vec::new());
        loop {
            match source.advance().unwrap() {
                Step::Entry => entries += 1,
                Step::Bad(found) => bad.extend(found.lines),
                Step::End => return (entries, bad, source.examined),
            }
        }
    }

    #[test]
    fn the_work_is_linear_whatever_the_quotes_are() {
        const LINES: usize = 16_000;
        let all = |line: &str| line.repeat(LINES);
        let texts = [
            ("one value", format!("k,\"{}\"\n", all("a\n"))),
            ("never closed", format!("k,\"{}", all("a,b\n"))),
            ("all open", all("k,\"v\n")),
            ("all open, with a quote", all("k,\"\"\"v\n")),
            ("all pairs", format!("k,\"\n{}", all("k,\"\"\n"))),
            ("all stray", format!("k,\"\n{}", all("k,5\" and 6\"\n"))),
            ("open and whole", all("k,\"v\na,b\na,b\n\"c\",\"d\"\n")),
            ("closed and opened", format!("k,\"\n{}", all("a\",\"b\n"))),
            ("too many columns", all("k,\"a\nb\",c\n")),
        ];
        for (name, text) in texts {
            let (entries, bad, examined) = read(text.as_bytes());
            let len = text.len() as u64;
            assert!(examined <= 3 * len, "{name}: {examined} of {len}");
            let lines = text.lines().count() as u64;
            let bad_lines: u64 = bad.iter().map(|(first, last)| last + 1 - first).sum();
            assert!(entries + bad_lines <= lines, "{name}");
            assert!(entries + bad_lines > 0, "{name}");
        }
    }

    #[test]
    fn a_record_ends_where_its_quotes_do() {
        for (text, entries, bad) in [
            ("a,\"1\n2\"\nb,3\n", 2, &[][..]),
            ("\"a\n\",\"1\n\n2\"\r\nb,3\n", 2, &[]),
            ("a,\"1\nb,2\nc,3", 2, &[(1, 1)]),
            ("a,\"1\nb,\"2\nc,\"3", 0, &[(1, 1), (2, 2), (3, 3)]),
            ("a,1\nb,\"2\n\n\nc,3\n", 2, &[(2, 2)]),
            ("a,\"x\ny\",z\nb,2\n", 1, &[(1, 1), (2, 2)]),
        ] {
            let found = read(text.as_bytes());
            assert_eq!((found.0, &*found.1), (entries, bad), "{text}");
        }
    }
}
