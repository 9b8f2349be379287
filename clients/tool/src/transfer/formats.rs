//! The formats: how each writes and reads entries, without a database.

pub(crate) mod csv;
pub(crate) mod encoder;
pub(crate) mod families;
pub(crate) mod json_lines;
pub(crate) mod native;
#[cfg(test)]
mod tests;
pub(crate) mod text_dump;

use std::path::Path;

use crate::failure::Result;
use crate::transfer::input::{Head, Input};
use crate::transfer::source::EntrySource;

use csv::{CsvEncoder, CsvForm, CsvSource};
use encoder::Encoder;
use families::Families;
use json_lines::{JsonForm, JsonSource};
use native::{NativeEncoder, NativeSource};
use text_dump::{DumpEncoder, DumpSource, Form, Store};

/// A format of an export.
#[derive(Clone, Debug)]
pub(crate) enum Format {
    File(FileFormat),
    /// The directory of a LevelDB database.
    LevelDb,
    /// The directory of a RocksDB database, which is only read.
    RocksDb(Families),
}

/// A format that is one file.
#[derive(Clone, Debug)]
pub(crate) enum FileFormat {
    /// The format of `cairn dump`.
    Native,
    JsonLines(JsonForm),
    Csv(CsvForm),
    Dump(Store, Form, Families),
}

impl FileFormat {
    pub(crate) fn encoder(&self) -> Box<dyn Encoder> {
        match self {
            FileFormat::Native => Box::new(NativeEncoder::default()),
            FileFormat::JsonLines(form) => Box::new(*form),
            FileFormat::Csv(form) => Box::new(CsvEncoder {
                form: form.clone(),
                field: Vec::new(),
            }),
            FileFormat::Dump(store, form, _) => Box::new(DumpEncoder(*store, *form)),
        }
    }

    /// Opens a file; `None` is stdin.
    pub(crate) fn source(&self, path: Option<&Path>) -> Result<Box<dyn EntrySource>> {
        let head = match self {
            FileFormat::Csv(_) => Head::Line,
            _ => Head::Start,
        };
        let input = Input::open(path, head)?;
        Ok(match self {
            FileFormat::Native => Box::new(NativeSource::new(input)?),
            FileFormat::JsonLines(form) => Box::new(JsonSource::new(input, *form)),
            FileFormat::Csv(form) => Box::new(CsvSource::new(input, form.clone())),
            FileFormat::Dump(_, _, families) => Box::new(DumpSource::new(input, families.clone())),
        })
    }

    /// The store that loads the file, if it has limits that entries must be checked against first.
    pub(crate) fn store(&self) -> Option<Store> {
        match self {
            FileFormat::Dump(store, _, _) => Some(*store),
            _ => None,
        }
    }

    /// Returns whether a terminal can show the format.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, FileFormat::Native)
    }
}
