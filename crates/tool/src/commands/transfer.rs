//! `dump`, `load`, `export` and `import`: from the arguments to what `transfer` takes.

use std::path::Path;

use crate::arguments::transfer::{Dump, Export, FormatName, Import, Load, TextArguments};
use crate::coding::Coding;
use crate::failure::Failure;
use crate::range::Range;
use crate::transfer;
use crate::transfer::formats::families::Families;
use crate::transfer::formats::text_dump::{Form, Store};
use crate::transfer::formats::{FileFormat, Format};
use crate::transfer::leveldb::LevelDbSource;
use crate::transfer::rocksdb::RocksDatabase;
use crate::transfer::source::EntrySource;
use crate::transfer::target::absolute;

/// Writes the native stream.
pub(super) fn dump(arguments: &Dump) -> Result<(), Failure> {
    let request = transfer::export::Export {
        directory: arguments.directory.clone(),
        range: Range::read(&arguments.range, arguments.coding.into())?,
        format_name: "dump".to_owned(),
        target: arguments.file.clone(),
        restart: arguments.resume.restart,
        save_bytes: arguments.resume.save_every,
    };
    transfer::export(&request, &FileFormat::Native)
}

/// Reads the native stream.
pub(super) fn load(arguments: &Load) -> Result<(), Failure> {
    let path = given(arguments.file.as_deref());
    let mut source = FileFormat::Native.source(path)?;
    let request = transfer::import::Import {
        directory: arguments.directory.clone(),
        what: format!("dump {}", source_key(path)),
        source_name: source_name(path),
        add: arguments.add,
        restart: arguments.resume.restart,
        skip_bad: false,
        save_bytes: arguments.resume.save_every,
    };
    transfer::import(&request, &mut *source)
}

/// Exports to another format.
pub(super) fn export(arguments: &Export) -> Result<(), Failure> {
    let form = if arguments.print {
        Form::Print
    } else {
        Form::ByteValue
    };
    if arguments.print && !is_dump(arguments.format) {
        return Err(not_for("--print", arguments.format));
    }
    let format = format(arguments.format, &arguments.text, form, Families::default())?;
    let request = transfer::export::Export {
        directory: arguments.directory.clone(),
        range: Range::read(&arguments.range, arguments.text.coding.into())?,
        format_name: format!("{format:?}"),
        target: arguments.target.clone(),
        restart: arguments.resume.restart,
        save_bytes: arguments.resume.save_every,
    };
    match &format {
        Format::File(format) => transfer::export(&request, format),
        Format::LevelDb => transfer::leveldb::export(&request),
    }
}

/// Imports from another format.
pub(super) fn import(arguments: &Import) -> Result<(), Failure> {
    let families = Families::read(&arguments.family)?;
    let has_families = is_dump(arguments.format) || arguments.format == FormatName::Rocksdb;
    if !families.is_empty() && !has_families {
        return Err(not_for("--family", arguments.format));
    }
    if arguments.text.literal && arguments.format != FormatName::Csv {
        return Err(not_for("--literal", arguments.format));
    }
    let path = given(arguments.source.as_deref());
    let what = format!("{:?} {:?} {families:?}", arguments.format, arguments.text);
    let request = transfer::import::Import {
        directory: arguments.directory.clone(),
        what: format!("{what} {}", source_key(path)),
        source_name: source_name(path),
        add: arguments.add,
        restart: arguments.resume.restart,
        skip_bad: arguments.skip_bad,
        save_bytes: arguments.resume.save_every,
    };
    let directory = || {
        path.ok_or_else(|| {
            let message = "the format is a directory; name the one to read";
            Failure::Usage(message.to_owned())
        })
    };
    if arguments.format == FormatName::Rocksdb {
        let database = RocksDatabase::open(directory()?, &families)?;
        return transfer::import(&request, &mut database.source());
    }
    let format = format(arguments.format, &arguments.text, Form::ByteValue, families)?;
    let mut source: Box<dyn EntrySource> = match format {
        Format::File(format) => format.source(path)?,
        Format::LevelDb => Box::new(LevelDbSource::open(directory()?)?),
    };
    transfer::import(&request, &mut *source)
}

fn is_dump(format: FormatName) -> bool {
    matches!(format, FormatName::MdbDump | FormatName::DbDump)
}

fn not_for(option: &str, format: FormatName) -> Failure {
    Failure::Usage(format!(
        "{option} is not an option of the format {format:?}"
    ))
}

fn format(
    name: FormatName,
    text: &TextArguments,
    form: Form,
    families: Families,
) -> Result<Format, Failure> {
    let coding = Coding::from(text.coding);
    if text.literal && name != FormatName::Csv {
        return Err(not_for("--literal", name));
    }
    Ok(Format::File(match name {
        FormatName::Leveldb => return Ok(Format::LevelDb),
        FormatName::Rocksdb => {
            let message = "the format rocksdb can be imported, but not exported";
            return Err(Failure::Usage(message.to_owned()));
        }
        FormatName::Jsonl => FileFormat::JsonLines(coding),
        FormatName::Csv => FileFormat::Csv((!text.literal).then_some(coding)),
        FormatName::MdbDump => FileFormat::Dump(Store::Lmdb, form, families),
        FormatName::DbDump => FileFormat::Dump(Store::BerkeleyDb, form, families),
    }))
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
