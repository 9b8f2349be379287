//! `dump`, `load`, `export` and `import`: from the arguments to what `transfer` takes.

use std::path::Path;

use crate::arguments::transfer::{Dump, Export, FormatName, Import, Load, TextArguments};
use crate::coding::Coding;
use crate::failure::{Failure, Result};
use crate::range::Range;
use crate::transfer;
use crate::transfer::formats::csv::CsvForm;
use crate::transfer::formats::families::Families;
use crate::transfer::formats::json_lines::JsonForm;
use crate::transfer::formats::text_dump::{Form, Store};
use crate::transfer::formats::{FileFormat, Format};
use crate::transfer::inferred;
use crate::transfer::leveldb::LevelDbSource;
use crate::transfer::rocksdb::RocksDatabase;
use crate::transfer::target::absolute;

/// Writes the native stream.
pub(super) fn dump(arguments: &Dump) -> Result<()> {
    let request = transfer::export::Export {
        directory: &arguments.directory,
        keyspace: arguments.keyspace.name(),
        range: Range::read(&arguments.range, arguments.coding.into())?,
        format_name: "dump".to_owned(),
        inferred: String::new(),
        target: arguments.file.as_deref(),
        resume: &arguments.resume,
    };
    transfer::export(&request, &FileFormat::Native)
}

/// Reads the native stream.
pub(super) fn load(arguments: &Load) -> Result<()> {
    let path = given(arguments.file.as_deref());
    let mut source = FileFormat::Native.source(path)?;
    let request = transfer::import::Import {
        directory: &arguments.directory,
        keyspace: arguments.keyspace.name(),
        what: format!("dump {}", source_key(path)),
        source_name: source_name(path),
        inferred: String::new(),
        add: arguments.add,
        skip_bad: false,
        resume: &arguments.resume,
    };
    transfer::import(&request, &mut *source)
}

/// Exports to another format.
pub(super) fn export(arguments: &Export) -> Result<()> {
    let target = given(arguments.target.as_deref());
    let (name, inferred) = named(arguments.format, || inferred::of_export(target))?;
    let choice = Choice {
        name,
        text: &arguments.text,
        json_values: false,
        print: arguments.print,
        families: Families::default(),
    };
    let format = choice.format()?;
    let request = transfer::export::Export {
        directory: &arguments.directory,
        keyspace: arguments.keyspace.name(),
        range: Range::read(&arguments.range, arguments.text.coding.into())?,
        format_name: format!("{format:?}"),
        inferred,
        target,
        resume: &arguments.resume,
    };
    match &format {
        Format::File(format) => transfer::export(&request, format),
        Format::LevelDb => transfer::leveldb::export(&request),
        Format::RocksDb(_) => Err(Failure::usage(
            "the format rocksdb can be imported, but not exported",
        )),
    }
}

/// Imports from another format.
pub(super) fn import(arguments: &Import) -> Result<()> {
    let path = given(arguments.source.as_deref());
    let (name, inferred) = named(arguments.format, || inferred::of_import(path))?;
    let choice = Choice {
        name,
        text: &arguments.text,
        json_values: arguments.json_values,
        print: false,
        families: Families::read(&arguments.family)?,
    };
    let format = choice.format()?;
    let request = transfer::import::Import {
        directory: &arguments.directory,
        keyspace: arguments.keyspace.name(),
        what: format!("{format:?} {}", source_key(path)),
        source_name: source_name(path),
        inferred,
        add: arguments.add,
        skip_bad: arguments.skip_bad,
        resume: &arguments.resume,
    };
    let directory = || {
        let message = "the format is a directory; name the one to read";
        path.ok_or_else(|| Failure::usage(message))
    };
    match format {
        Format::File(format) => transfer::import(&request, &mut *format.source(path)?),
        Format::LevelDb => transfer::import(&request, &mut LevelDbSource::open(directory()?)?),
        Format::RocksDb(families) => {
            let database = RocksDatabase::open(directory()?, &families)?;
            transfer::import(&request, &mut database.source())
        }
    }
}

/// Returns a format, and what a report adds about one that was not named.
fn named(
    given: Option<FormatName>,
    inferred: impl FnOnce() -> Result<FormatName>,
) -> Result<(FormatName, String)> {
    if let Some(name) = given {
        return Ok((name, String::new()));
    }
    let name = inferred()?;
    Ok((name, format!(" as {name}")))
}

/// A format, and the options that only some formats have.
struct Choice<'a> {
    name: FormatName,
    text: &'a TextArguments,
    json_values: bool,
    print: bool,
    families: Families,
}

impl Choice<'_> {
    /// Returns the format, if it has the options that were given.
    fn format(self) -> Result<Format> {
        let (name, text) = (self.name, self.text);
        let is_csv = matches!(name, FormatName::Csv | FormatName::Tsv);
        let is_dump = matches!(name, FormatName::MdbDump | FormatName::DbDump);
        let has_families = is_dump || name == FormatName::Rocksdb;
        let options = [
            ("--print", self.print, is_dump),
            ("--family", !self.families.is_empty(), has_families),
            ("--json-values", self.json_values, name == FormatName::Jsonl),
            ("--literal", text.literal, is_csv),
            (
                "--delimiter",
                text.delimiter.is_some(),
                name == FormatName::Csv,
            ),
            ("--key-column", text.key_column.is_some(), is_csv),
            ("--value-column", text.value_column.is_some(), is_csv),
        ];
        if let Some((option, ..)) = options.iter().find(|(_, given, fits)| *given && !fits) {
            return Err(Failure::usage(format!(
                "{option} is not an option of the format {name}"
            )));
        }
        let coding = Coding::from(text.coding);
        let form = [Form::ByteValue, Form::Print][usize::from(self.print)];
        Ok(Format::File(match name {
            FormatName::Leveldb => return Ok(Format::LevelDb),
            FormatName::Rocksdb => return Ok(Format::RocksDb(self.families)),
            FormatName::Dump => FileFormat::Native,
            FormatName::Jsonl => FileFormat::JsonLines(JsonForm {
                coding,
                takes_json: self.json_values,
            }),
            FormatName::Csv => FileFormat::Csv(csv(text, b',')?),
            FormatName::Tsv => FileFormat::Csv(csv(text, b'\t')?),
            FormatName::MdbDump => FileFormat::Dump(Store::Lmdb, form, self.families),
            FormatName::DbDump => FileFormat::Dump(Store::BerkeleyDb, form, self.families),
        }))
    }
}

fn csv(text: &TextArguments, delimiter: u8) -> Result<CsvForm> {
    let name = |given: &Option<String>, usual: &str| given.as_deref().unwrap_or(usual).to_owned();
    let columns = [
        name(&text.key_column, "key"),
        name(&text.value_column, "value"),
    ];
    if columns[0] == columns[1] {
        let message = "the column of the keys is also that of the values; name two columns";
        return Err(Failure::usage(message));
    }
    let are_named = text.key_column.is_some() || text.value_column.is_some();
    Ok(CsvForm {
        coding: (!text.literal).then(|| text.coding.into()),
        delimiter: text.delimiter.unwrap_or(delimiter),
        columns: are_named.then_some(columns),
    })
}

/// Returns the path of a file; `-` is stdin.
pub(super) fn given(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

fn source_name(path: Option<&Path>) -> String {
    path.map_or("stdin".to_owned(), |path| path.display().to_string())
}

fn source_key(path: Option<&Path>) -> String {
    path.map_or("stdin".to_owned(), absolute)
}
