//! `dump`, `load`, `export` and `import`: from the arguments to what `transfer` takes.

use std::path::Path;

use crate::arguments::transfer::{Dump, Export, FormatName, Import, Load, TextArguments};
use crate::coding::Coding;
use crate::failure::Failure;
use crate::range::Range;
use crate::transfer;
use crate::transfer::formats::FileFormat;
use crate::transfer::formats::families::Families;
use crate::transfer::formats::text_dump::{Form, Store};
use crate::transfer::import::absolute;

/// Writes the native stream.
pub(super) fn dump(arguments: &Dump) -> Result<(), Failure> {
    transfer::export(&transfer::export::Export {
        directory: arguments.directory.clone(),
        range: Range::read(&arguments.range, arguments.coding.into())?,
        format_name: "dump".to_owned(),
        format: FileFormat::Native,
        target: arguments.file.clone(),
        restart: arguments.resume.restart,
        save_bytes: arguments.resume.save_every,
    })
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
    let format = file_format(arguments.format, &arguments.text, form, Families::default())?;
    transfer::export(&transfer::export::Export {
        directory: arguments.directory.clone(),
        range: Range::read(&arguments.range, arguments.text.coding.into())?,
        format_name: format!("{format:?}"),
        format,
        target: arguments.target.clone(),
        restart: arguments.resume.restart,
        save_bytes: arguments.resume.save_every,
    })
}

/// Imports from another format.
pub(super) fn import(arguments: &Import) -> Result<(), Failure> {
    let families = Families::read(&arguments.family)?;
    if !families.is_empty() && !is_dump(arguments.format) {
        return Err(not_for("--family", arguments.format));
    }
    let format = file_format(arguments.format, &arguments.text, Form::ByteValue, families)?;
    let path = given(arguments.source.as_deref());
    let mut source = format.source(path)?;
    let request = transfer::import::Import {
        directory: arguments.directory.clone(),
        what: format!("{format:?} {}", source_key(path)),
        source_name: source_name(path),
        add: arguments.add,
        restart: arguments.resume.restart,
        skip_bad: arguments.skip_bad,
        save_bytes: arguments.resume.save_every,
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

fn file_format(
    format: FormatName,
    text: &TextArguments,
    form: Form,
    families: Families,
) -> Result<FileFormat, Failure> {
    let coding = Coding::from(text.coding);
    if text.literal && format != FormatName::Csv {
        return Err(not_for("--literal", format));
    }
    Ok(match format {
        FormatName::Jsonl => FileFormat::JsonLines(coding),
        FormatName::Csv => FileFormat::Csv((!text.literal).then_some(coding)),
        FormatName::MdbDump => FileFormat::Dump(Store::Lmdb, form, families),
        FormatName::DbDump => FileFormat::Dump(Store::BerkeleyDb, form, families),
    })
}

/// Returns the path of a file; `-` is stdin.
fn given(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

fn source_name(path: Option<&Path>) -> String {
    path.map_or("stdin".to_owned(), |path| path.display().to_string())
}

fn source_key(path: Option<&Path>) -> String {
    path.map_or("stdin".to_owned(), absolute)
}
