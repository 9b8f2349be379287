//! The text of LMDB's `mdb_dump` and Berkeley DB's `db_dump`, version 3.
//!
//! A header of lines `name=value` ends with `HEADER=END`. A line for each key and each value begins
//! with a space, and `DATA=END` ends the section. In the form `bytevalue` the bytes are hexadecimal
//! digits; in the form `print` printable characters stand for themselves, and other bytes are a
//! backslash with two digits. A dump of several databases has a section for each.

use data_encoding::HEXLOWER_PERMISSIVE;
use memchr::memchr;

use super::encoder::{Encoder, check_lengths};
use super::families::Families;
use crate::coding::Coding;
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::transfer::contents::Contents;
use crate::transfer::input::Input;
use crate::transfer::source::{EntrySource, Step};

const HEADER_END: &[u8] = b"HEADER=END";
const DATA_END: &[u8] = b"DATA=END";

/// Longest key of LMDB, as it is built by default.
const LMDB_KEY_BYTES_MAX: usize = 511;

/// The form of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    ByteValue,
    Print,
}

/// The store whose program loads a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Lmdb,
    BerkeleyDb,
}

impl Store {
    /// Returns why the store cannot hold a key.
    pub(crate) fn refusal(self, key: &[u8]) -> Option<&'static str> {
        match (self, key.len()) {
            (Store::Lmdb, 0) => Some("LMDB holds no empty keys"),
            (Store::Lmdb, len) if len > LMDB_KEY_BYTES_MAX => {
                Some("LMDB holds keys of at most 511 bytes")
            }
            _ => None,
        }
    }
}

/// Bytes that an entry may take in LMDB's map.
pub(crate) fn lmdb_bytes(key: &[u8], value: &[u8]) -> u64 {
    /// What precedes an entry in a page, and its place there.
    const ENTRY_BYTES: u64 = 16;
    // Pages are half full at worst, and long values take whole pages.
    let bytes = key.len() as u64 + value.len() as u64 + ENTRY_BYTES;
    if bytes < 2048 {
        2 * bytes
    } else {
        bytes + 2 * 4096
    }
}

/// Writes a dump of one section.
pub(crate) struct DumpEncoder(pub(crate) Store, pub(crate) Form);

impl DumpEncoder {
    fn line(&self, bytes: &[u8], out: &mut Vec<u8>) {
        out.push(b' ');
        match self.1 {
            Form::ByteValue => Coding::Hex.append(bytes, out),
            Form::Print => append_print(bytes, out),
        }
        out.push(b'\n');
    }
}

/// Appends the form `print`. A backslash becomes digits too: older versions of `mdb_load` do not
/// know a doubled one.
fn append_print(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b' '..=b'~' if *byte != b'\\' => out.push(*byte),
            _ => {
                out.push(b'\\');
                Coding::Hex.append(&[*byte], out);
            }
        }
    }
}

impl Encoder for DumpEncoder {
    fn begin(&mut self, room: u64, _: bool, out: &mut Vec<u8>) {
        let form = match self.1 {
            Form::ByteValue => "bytevalue",
            Form::Print => "print",
        };
        let own = match self.0 {
            // LMDB's map must hold what is loaded, and the pages that a transaction replaces.
            Store::Lmdb => {
                let bytes = (2 * room)
                    .saturating_add(16 << 20)
                    .next_multiple_of(1 << 20);
                format!("mapsize={bytes}")
            }
            Store::BerkeleyDb => "db_pagesize=4096".to_owned(),
        };
        let header = format!("VERSION=3\nformat={form}\ntype=btree\n{own}\nHEADER=END\n");
        out.extend_from_slice(header.as_bytes());
    }

    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.line(key, out);
        self.line(value, out);
    }

    fn end(&mut self, _: &Contents, out: &mut Vec<u8>) {
        out.extend_from_slice(DATA_END);
        out.push(b'\n');
    }
}

/// The section that is read.
#[derive(Default)]
struct Section {
    form: Form,
    /// Whether a key may have several values.
    has_duplicates: bool,
    prefix: Vec<u8>,
    /// Whether the entries are passed over.
    is_skipped: bool,
    last_key: Option<Vec<u8>>,
}

/// Reads a dump.
pub(crate) struct DumpSource {
    input: Input,
    families: Families,
    /// Whether a header was read whose section has not ended.
    in_data: bool,
    /// The names of the databases so far.
    names: Vec<Vec<u8>>,
    section: Section,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl DumpSource {
    pub(crate) fn new(input: Input, families: Families) -> DumpSource {
        DumpSource {
            input,
            families,
            in_data: false,
            names: Vec::new(),
            section: Section::default(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    fn failure(&self, reason: &str) -> Failure {
        let (name, line) = (self.input.name(), self.input.line_number());
        Failure::other(format!("line {line} of {name}: {reason}"))
    }

    fn cut_off(&self) -> Failure {
        let name = self.input.name();
        Failure::other(format!(
            "{name} ends before `DATA=END`: the dump is incomplete; write it again"
        ))
    }

    /// Reads a header. Returns whether there is one.
    fn read_header(&mut self) -> Result<bool> {
        let mut section = Section::default();
        let (mut has_version, mut database) = (false, Vec::new());
        loop {
            let Some(line) = self.input.line()? else {
                if !has_version && !self.names.is_empty() {
                    return Ok(false);
                }
                return Err(Failure::other(format!(
                    "{} is no dump: there is no line `HEADER=END`",
                    self.input.name()
                )));
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line == HEADER_END && has_version {
                break;
            }
            let equals = line.iter().position(|byte| *byte == b'=');
            let (name, value) = line.split_at(equals.unwrap_or(line.len()));
            let value = value.get(1..).unwrap_or(&[]);
            if name == b"database" {
                database = value.to_vec();
                continue;
            }
            let taken = section.take(name, value, has_version);
            has_version = true;
            taken.map_err(|reason| self.failure(&reason))?;
        }
        self.begin_section(section, database)?;
        Ok(true)
    }

    fn begin_section(&mut self, mut section: Section, database: Vec<u8>) -> Result<()> {
        if self.families.is_empty() {
            if !self.names.is_empty() {
                return Err(self.failure(
                    "a second database begins; pass --family NAME for each database to import",
                ));
            }
        } else {
            match self.families.find(&database) {
                Some(family) => section.prefix.clone_from(&family.prefix),
                None => section.is_skipped = true,
            }
        }
        self.names.push(database);
        self.section = section;
        self.in_data = true;
        Ok(())
    }

    /// Reads a key and its value; `None` is the end of the section.
    fn read_entry(&mut self) -> Result<Option<Result<(), String>>> {
        let Some(line) = self.input.line()? else {
            return Err(self.cut_off());
        };
        if line.strip_suffix(b"\r").unwrap_or(line) == DATA_END {
            return Ok(None);
        }
        let form = self.section.form;
        self.key.clear();
        self.key.extend_from_slice(&self.section.prefix);
        let key = decode(line, form, &mut self.key);
        if key.is_err() && line.first() != Some(&b' ') {
            // Something between entries: the next line may be a key.
            return Ok(Some(key));
        }
        let Some(line) = self.input.line()? else {
            return Err(self.cut_off());
        };
        if line.strip_suffix(b"\r").unwrap_or(line) == DATA_END {
            self.in_data = false;
            return Ok(Some(Err("the last key has no value".to_owned())));
        }
        self.value.clear();
        let value = decode(line, form, &mut self.value);
        if key.is_ok() && value.is_ok() && self.section.has_duplicates {
            if self.section.last_key.as_ref() == Some(&self.key) {
                let key = escaped(&self.key);
                return Ok(Some(Err(format!(
                    "the key \"{key}\" has another value, and CairnDB holds one value for a key"
                ))));
            }
            self.section.last_key = Some(self.key.clone());
        }
        let checked = |()| check_lengths(&self.key, &self.value);
        Ok(Some(key.and(value).and_then(checked)))
    }
}

impl Section {
    /// Takes a line of the header. Lines with other names describe pages and maps, which do not
    /// matter here.
    fn take(&mut self, name: &[u8], value: &[u8], has_version: bool) -> Result<(), String> {
        match (name, value) {
            (b"VERSION", b"3") => {}
            (b"VERSION", _) => {
                let found = escaped(value);
                return Err(format!("the dump has version {found}, and only 3 is known"));
            }
            _ if !has_version => {
                return Err("a dump begins with `VERSION=3`; check the format".to_owned());
            }
            (b"format", b"bytevalue") => self.form = Form::ByteValue,
            (b"format", b"print") => self.form = Form::Print,
            (b"type", b"btree" | b"hash") | (b"keys", b"1") => {}
            (b"keys", _) => return Err("the dump has no keys; write it with `-k`".to_owned()),
            (b"format" | b"type", _) => {
                let (name, found) = (escaped(name), escaped(value));
                return Err(format!("the {name} `{found}` cannot be imported"));
            }
            (b"duplicates" | b"dupsort", value) => self.has_duplicates |= value == b"1",
            _ => {}
        }
        Ok(())
    }
}

impl EntrySource for DumpSource {
    fn advance(&mut self) -> Result<Step<'_>> {
        loop {
            if !self.in_data && !self.read_header()? {
                let (source, names) = (self.input.name(), &self.names);
                self.families.check(source, "database", names)?;
                return Ok(Step::End);
            }
            let first = self.input.line_number() + 1;
            match self.read_entry()? {
                None => self.in_data = false,
                Some(_) if self.section.is_skipped => {}
                Some(Ok(())) => return Ok(Step::Entry(&self.key, &self.value)),
                Some(Err(reason)) => {
                    // The line that ends the section is no part of a key without a value.
                    let last = self.input.line_number() - u64::from(!self.in_data);
                    return Ok(Step::Bad(Some((first, last)), reason));
                }
            }
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

/// Appends the bytes of a line.
fn decode(line: &[u8], form: Form, out: &mut Vec<u8>) -> Result<(), String> {
    let text = line
        .strip_prefix(b" ")
        .ok_or("a line must begin with a space, or be `DATA=END`")?;
    match form {
        Form::ByteValue => {
            let digits = text.strip_suffix(b"\r").unwrap_or(text);
            if digits.len() % 2 == 1 {
                return Err("an odd number of hexadecimal digits".to_owned());
            }
            Coding::Hex.decode_into(digits, out)
        }
        Form::Print => decode_print(text, out),
    }
}

fn decode_print(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        let (head, tail) = rest.split_at(at);
        out.extend_from_slice(head);
        let len = if tail.get(1) == Some(&b'\\') {
            out.push(b'\\');
            2
        } else {
            let digits = tail.get(1..3).unwrap_or(&[]);
            let byte = HEXLOWER_PERMISSIVE.decode(digits).unwrap_or_default();
            let [byte] = *byte else {
                return Err(
                    "a backslash must be followed by another one or by two hexadecimal digits; \
                     `mdb_dump -p` of LMDB 0.9.24 and older does not escape it: dump without `-p`"
                        .to_owned(),
                );
            };
            out.push(byte);
            3
        };
        rest = tail.get(len..).unwrap_or(&[]);
    }
    out.extend_from_slice(rest);
    Ok(())
}
