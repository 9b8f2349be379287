//! The printer of the commands that look into files: rows, entries, and damage.
//!
//! Damage does not end a command. It is printed where it was met, and the first one becomes the
//! failure with which the command ends.

use std::path::Path;

use cairndb::Error;
use cairndb_leveldb::Kind;

use super::row::Row;
use crate::coding::Coding;
use crate::escape::escaped;
use crate::failure::{Failure, Store};
use crate::output::Output;
use crate::terminal::{self, shortened};

/// How files are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) coding: Coding,
    pub(crate) json: bool,
    /// Whether the entries of blocks and records are printed.
    pub(crate) entries: bool,
}

/// Prints rows to stdout.
#[derive(Debug)]
pub(super) struct Printer {
    output: Output,
    style: Style,
    columns: Option<usize>,
    damage: Option<Error>,
    /// Whether nothing was printed yet.
    is_empty: bool,
}

/// An entry of a table or of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) seq: u64,
    pub(super) kind: Kind,
    pub(super) key: &'a [u8],
    pub(super) value: Value<'a>,
}

/// The value of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// A tombstone has none.
    None,
    Bytes(&'a [u8]),
    /// A value in a value file.
    Pointer {
        file: &'a str,
        offset: u64,
        bytes: u64,
    },
}

/// Returns the word for a kind.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Put => "put",
        Kind::Delete => "delete",
        Kind::Merge => "merge",
        Kind::Pointer => "pointer",
    }
}

impl Printer {
    pub(super) fn new(style: Style) -> Result<Printer, Failure> {
        Ok(Printer {
            output: Output::stdout()?,
            style,
            columns: terminal::columns(),
            damage: None,
            is_empty: true,
        })
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Prints a row, as text at a depth.
    pub(super) fn row(&mut self, depth: usize, row: &Row<'_>) -> Result<(), Failure> {
        self.is_empty = false;
        if self.style.json {
            row.append_json(self.style.coding, self.output.buffer());
            return self.output.end_line();
        }
        for line in row.lines(self.style.coding, 2 * depth, self.columns) {
            self.output.line(&line)?;
        }
        Ok(())
    }

    /// Prints a sentence on a terminal if there was no row: a person expects some answer, and a
    /// program none.
    pub(super) fn say_if_empty(&mut self, text: &str) -> Result<(), Failure> {
        match self.columns {
            Some(_) if self.is_empty && !self.style.json => self.output.line(text),
            _ => Ok(()),
        }
    }

    /// Prints an entry: sequence number, kind, key and value, with tabs between them.
    pub(super) fn entry(&mut self, depth: usize, entry: &Entry<'_>) -> Result<(), Failure> {
        if self.style.json {
            return self.json_entry(entry);
        }
        let coding = self.style.coding;
        let mut line =
            format!("{}{} {} ", "  ".repeat(depth), entry.seq, word(entry.kind)).into_bytes();
        coding.append(entry.key, &mut line);
        match entry.value {
            Value::None => {}
            Value::Bytes(bytes) => {
                line.push(b'\t');
                coding.append(bytes, &mut line);
            }
            Value::Pointer {
                file,
                offset,
                bytes,
            } => {
                let text = format!("\t{bytes} bytes in {file} at offset {offset}");
                line.extend_from_slice(text.as_bytes());
            }
        }
        if let Some(columns) = self.columns {
            let text = String::from_utf8_lossy(&line).replace('\t', "  ");
            return self.output.line(&shortened(&text, columns));
        }
        self.output.buffer().append(&mut line);
        self.output.end_line()
    }

    fn json_entry(&mut self, entry: &Entry<'_>) -> Result<(), Failure> {
        let coding = self.style.coding;
        let out = self.output.buffer();
        let head = format!(
            "{{\"type\":\"entry\",\"seq\":{},\"kind\":\"{}\",\"key\":",
            entry.seq,
            word(entry.kind)
        );
        out.extend_from_slice(head.as_bytes());
        coding.append_json(entry.key, out);
        match entry.value {
            Value::None => {}
            Value::Bytes(bytes) => {
                out.extend_from_slice(b",\"value\":");
                coding.append_json(bytes, out);
            }
            Value::Pointer {
                file,
                offset,
                bytes,
            } => {
                let text = format!(
                    ",\"value_file\":\"{file}\",\"value_offset\":{offset},\"value_bytes\":{bytes}"
                );
                out.extend_from_slice(text.as_bytes());
            }
        }
        out.push(b'}');
        self.output.end_line()
    }

    /// Prints damage where it was met, and remembers the first.
    pub(super) fn damage(&mut self, depth: usize, error: Error) -> Result<(), Failure> {
        let file = escaped(error.file_name().unwrap_or_default().as_bytes());
        let row = Row::new("damage")
            .text("file", file)
            .number("offset", error.file_offset().unwrap_or(0))
            .text("reason", escaped(error.message().as_bytes()));
        self.row(depth, &row)?;
        self.damage.get_or_insert(error);
        Ok(())
    }

    /// Writes what is left. Fails if there was damage, with the first one.
    pub(super) fn finish(self, directory: &Path, store: Store) -> Result<(), Failure> {
        self.output.finish()?;
        match self.damage {
            None => Ok(()),
            Some(error) => Err(Failure::Database {
                error,
                directory: directory.to_owned(),
                store,
            }),
        }
    }
}
