//! The printer of the commands that look into files: rows, entries, and damage.
//!
//! Damage does not end a command. It is printed where it was met, and the first one becomes the
//! failure with which the command ends.

use std::path::Path;

use cairndb::Error;
use cairndb_base::Kind;
use cairndb_format::name;
use cairndb_format::value_file::Pointer;

use super::row::Row;
use crate::arguments::CodingArguments;
use crate::coding::Coding;
use crate::escape::escaped;
use crate::failure::{Failure, Result, Store};
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

impl Style {
    pub(crate) fn new(coding: CodingArguments, json: bool, entries: bool) -> Style {
        Style {
            coding: coding.into(),
            json,
            entries,
        }
    }
}

/// Returns the word for a kind.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Put => "put",
        Kind::Delete => "delete",
        Kind::Merge => "merge",
        Kind::Pointer => "pointer",
        Kind::RangeDelete => "delete_range",
        Kind::TimeMark => "time",
    }
}

impl Printer {
    pub(super) fn new(style: Style) -> Result<Printer> {
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
    pub(super) fn row(&mut self, depth: usize, row: &Row<'_>) -> Result<()> {
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
    pub(super) fn say_if_empty(&mut self, text: &str) -> Result<()> {
        match self.columns {
            Some(_) if self.is_empty && !self.style.json => self.output.line(text),
            _ => Ok(()),
        }
    }

    /// Prints an entry of a table or of a record: sequence number, kind, key and value, with tabs
    /// between them. A tombstone has no value; a range has its end, if any, in place of one.
    pub(super) fn entry(&mut self, seq: u64, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        let place = (kind == Kind::Pointer).then(|| Pointer::decode(value).ok());
        let place = place.flatten();
        if self.style.json {
            let row = Row::new("entry").number("seq", seq);
            let row = row.text("kind", word(kind)).bytes("key", key);
            return match (kind, place) {
                (Kind::Delete, _) => self.row(2, &row),
                (Kind::RangeDelete, _) if value.is_empty() => self.row(2, &row),
                (Kind::RangeDelete, _) => self.row(2, &row.bytes("end", value)),
                (_, None) => self.row(2, &row.bytes("value", value)),
                (_, Some(place)) => {
                    let row = row.text("value_file", name::value(place.file));
                    let row = row.number("value_offset", place.offset);
                    self.row(2, &row.number("value_bytes", place.raw_len.into()))
                }
            };
        }
        let coding = self.style.coding;
        let mut line = format!("    {seq} {} ", word(kind)).into_bytes();
        coding.append(key, &mut line);
        match (kind, place) {
            (Kind::Delete, _) => {}
            (Kind::RangeDelete, _) if value.is_empty() => {}
            (_, None) => {
                line.push(b'\t');
                coding.append(value, &mut line);
            }
            (_, Some(place)) => {
                let (bytes, file) = (place.raw_len, name::value(place.file));
                let text = format!("\t{bytes} bytes in {file} at offset {}", place.offset);
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

    /// Prints damage where it was met, and remembers the first.
    pub(super) fn damage(&mut self, depth: usize, error: Error) -> Result<()> {
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
    pub(super) fn finish(self, directory: &Path, store: Store) -> Result<()> {
        self.output.finish()?;
        let damage = self.damage.map(Failure::of_files(store, directory));
        damage.map_or(Ok(()), Err)
    }
}
