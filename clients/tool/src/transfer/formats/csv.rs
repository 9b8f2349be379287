//! CSV of two fields, key and value, after RFC 4180, with a header line `key,value`; or of any
//! columns, two of which the caller names.
//!
//! A field holds text with the tool's escapes, hexadecimal digits or Base64, or the bytes as they
//! are. A field with a delimiter, a quote or the end of a line in it is put in quotes, which are
//! doubled within. A file whose first line is not the header is read too,
//! unless columns are named.
//!
//! A stray quote may swallow any number of lines. A record whose quotes or columns are wrong is
//! therefore taken for its first line alone, and reading goes on with the second. Every line is
//! looked at three times at most: a record that reaches past its first line has an odd number of
//! quotes there, and ends at the next line with an odd number, so no two such records have more
//! than one line in common.

use memchr::{memchr, memchr2, memchr3};

use super::encoder::{Encoder, check_lengths};
use crate::coding::Coding;
use crate::escape::typed;
use crate::failure::{Failure, Result};
use crate::transfer::input::Input;
use crate::transfer::source::{EntrySource, Step};

/// The first line, if no columns are named.
const HEADER: [&str; 2] = ["key", "value"];

/// What the fields of a file are.
#[derive(Clone, Debug)]
pub(crate) struct CsvForm {
    /// How fields are written; `None` takes them as they are.
    pub(crate) coding: Option<Coding>,
    pub(crate) delimiter: u8,
    /// The names of the columns of keys and values.
    pub(crate) columns: Option<[String; 2]>,
}

impl CsvForm {
    fn header(&self) -> [&[u8]; 2] {
        match &self.columns {
            Some(names) => names.each_ref().map(String::as_bytes),
            None => HEADER.map(str::as_bytes),
        }
    }
}

/// Writes CSV.
pub(crate) struct CsvEncoder {
    pub(crate) form: CsvForm,
    pub(crate) field: Vec<u8>,
}

impl CsvEncoder {
    fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Some(coding) = self.form.coding else {
            return append_field(bytes, self.form.delimiter, out);
        };
        self.field.clear();
        coding.append(bytes, &mut self.field);
        append_field(&self.field, self.form.delimiter, out);
    }
}

fn append_field(field: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    if memchr3(delimiter, b'"', b'\n', field).is_none() && memchr(b'\r', field).is_none() {
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
    fn begin(&mut self, _: u64, _: bool, out: &mut Vec<u8>) {
        let ([key, value], delimiter) = (self.form.header(), self.form.delimiter);
        append_field(key, delimiter, out);
        out.push(delimiter);
        append_field(value, delimiter, out);
        out.push(b'\n');
    }

    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.append(key, out);
        out.push(self.form.delimiter);
        self.append(value, out);
        out.push(b'\n');
    }
}

/// Reads CSV.
pub(crate) struct CsvSource {
    input: Input,
    form: CsvForm,
    is_first: bool,
    layout: Layout,
    /// Key, value, and a field of another column, without quotes.
    fields: [Vec<u8>; 3],
    key: Vec<u8>,
    value: Vec<u8>,
    /// Bytes of the lines in which the end of a record was looked for.
    #[cfg(test)]
    examined: u64,
}

/// Where the two fields are in a record.
#[derive(Clone, Copy)]
struct Layout {
    places: [usize; 2],
    /// Number of all fields.
    width: usize,
}

impl CsvSource {
    pub(crate) fn new(input: Input, form: CsvForm) -> CsvSource {
        CsvSource {
            input,
            form,
            is_first: true,
            layout: Layout {
                places: [0, 1],
                width: 2,
            },
            fields: [const { Vec::new() }; 3],
            key: Vec::new(),
            value: Vec::new(),
            #[cfg(test)]
            examined: 0,
        }
    }

    /// Decodes the fields.
    fn decode(&mut self) -> Result<(), String> {
        let coding = self.form.coding;
        let [key, value, _] = &self.fields;
        decode(coding, "key", key, &mut self.key)?;
        decode(coding, "value", value, &mut self.value)?;
        check_lengths(&self.key, &self.value)
    }
}

impl EntrySource for CsvSource {
    fn advance(&mut self) -> Result<Step<'_>> {
        loop {
            let first = self.input.line_number() + 1;
            let (mut is_open, delimiter) = (false, self.form.delimiter);
            let record = self.input.record(|line| {
                #[cfg(test)]
                {
                    self.examined += line.len() as u64;
                }
                is_open = goes_on(line, delimiter, is_open);
                is_open
            })?;
            let Some(record) = record else {
                return Ok(Step::End);
            };
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            if record.is_empty() {
                continue;
            }
            let is_first = std::mem::take(&mut self.is_first);
            if is_first && self.form.columns.is_some() {
                let layout = Layout::of_header(record, &self.form);
                let name = self.input.name();
                self.layout = layout.map_err(|reason| {
                    Failure::other(format!("line {first} of {name}: {reason}"))
                })?;
                continue;
            }
            let split = self.layout.split(record, delimiter, &mut self.fields);
            let [key, value, _] = &self.fields;
            if is_first && split.is_ok() && [&**key, value] == self.form.header() {
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
                Ok(()) => Step::Entry(&self.key, &self.value),
                Err(reason) => Step::Bad(Some((first, self.input.line_number())), reason),
            });
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

/// Returns whether a record goes on after a line, which may leave a field in quotes open.
/// `is_open` is what the line before it has returned. A quote where none can be ends the record.
fn goes_on(line: &[u8], delimiter: u8, mut is_open: bool) -> bool {
    let mut rest = line;
    loop {
        if !is_open {
            let (is_quoted, after) = match rest.strip_prefix(b"\"") {
                Some(after) => (true, after),
                None => match memchr2(delimiter, b'"', rest).map(|at| rest.split_at(at)) {
                    Some((_, [found, after @ ..])) if *found == delimiter => (false, after),
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
            [_, found, after @ ..] if *found == delimiter => (is_open, rest) = (false, after),
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
        Some(coding) => coding.decode_into(field, out).map_err(|reason| {
            let hint = match coding {
                Coding::Text => "; --literal takes fields as they are",
                Coding::Hex | Coding::Base64 => "",
            };
            format!("the {name} cannot be read: {reason}{hint}")
        })?,
    }
    Ok(())
}

impl Layout {
    /// Finds the named columns in the header.
    fn of_header(header: &[u8], form: &CsvForm) -> Result<Layout, String> {
        let (mut names, mut rest) = (Vec::new(), Some(header));
        while let Some(text) = rest {
            let mut name = Vec::new();
            let after = take_field(text, form.delimiter, &mut name)?;
            rest = after.strip_prefix(&[form.delimiter]);
            names.push(name);
        }
        let find = |wanted: &[u8]| {
            let at = names.iter().position(|name| name == wanted);
            at.ok_or_else(|| {
                let found: Vec<String> = names.iter().map(|name| typed(name)).collect();
                let (wanted, found) = (typed(wanted), found.join("`, `"));
                match names.len() {
                    1 => format!(
                        "there is no column `{wanted}`, but only `{found}`; --delimiter says which \
                         character is between columns"
                    ),
                    _ => format!("there is no column `{wanted}`; the columns are `{found}`"),
                }
            })
        };
        let ([key, value], width) = (form.header(), names.len());
        let places = [find(key)?, find(value)?];
        Ok(Layout { places, width })
    }

    /// Takes the fields of a record.
    fn split(self, record: &[u8], delimiter: u8, out: &mut [Vec<u8>; 3]) -> Result<(), String> {
        let (mut count, mut rest) = (0, Some(record));
        while let Some(text) = rest.filter(|_| count < self.width) {
            let place = self.places.iter().position(|place| *place == count);
            let field = &mut out[place.unwrap_or(2)];
            rest = take_field(text, delimiter, field)?.strip_prefix(&[delimiter]);
            count += 1;
        }
        if count == self.width && rest.is_none() {
            return Ok(());
        }
        let fields = match self.width {
            2 => "two fields, key and value".to_owned(),
            width => format!("{width} fields, as the header has"),
        };
        let delimiter = match delimiter {
            b',' => "a comma",
            _ => "the delimiter",
        };
        Err(if rest.is_none() {
            format!(
                "a line must have {fields}, and {delimiter} between them; --delimiter says if it \
                 is another character"
            )
        } else {
            format!(
                "a line must have {fields}; put a field with {delimiter} in it in quotes, or name \
                 the columns of a header with --key-column and --value-column"
            )
        })
    }
}

/// Takes a field up to the delimiter after it. Returns what follows the field.
fn take_field<'a>(text: &'a [u8], delimiter: u8, out: &mut Vec<u8>) -> Result<&'a [u8], String> {
    out.clear();
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        let (field, rest) = text.split_at(memchr(delimiter, text).unwrap_or(text.len()));
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
            None => return Ok(rest),
            Some(found) if *found == delimiter => return Ok(rest),
            Some(_) => return Err("text between a closing quote and the delimiter".to_owned()),
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
        let mut source = CsvSource::new(
            input,
            CsvForm {
                coding: None,
                delimiter: b',',
                columns: None,
            },
        );
        let (mut entries, mut bad) = (0, Vec::new());
        loop {
            match source.advance().unwrap() {
                Step::Entry(..) => entries += 1,
                Step::Keyspace(_) => {}
                Step::Bad(lines, _) => bad.extend(lines),
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
