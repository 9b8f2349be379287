//! `cairn manifest` over LevelDB's: the edits of a manifest, one row for each change.

use cairndb::Error;
use cairndb_leveldb::{
    FileName, InternalKey, LogReader, LogStep, ManifestSalvage, NewTable, VersionEdit, read_current,
};

use crate::escape::escaped;
use crate::failure::Failure;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{ATTEMPTS_MAX, InspectedDir, not_a};

/// Prints the edits of `file`, or of the manifest in use.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let found = match file {
        Some(found) if matches!(FileName::parse(found), Some(FileName::Manifest(_))) => {
            found.to_owned()
        }
        Some(found) => return Err(not_a(found, "manifest")),
        None => match manifest_in_use(source, printer)? {
            Some(number) => FileName::Manifest(number).to_string(),
            None => return Ok(()),
        },
    };
    let opened = source.named_file(&found)?;
    let row = Row::new("manifest").text("file", found.clone());
    printer.row(0, &row.number("bytes", opened.size()))?;
    let failure = source.failure();
    let mut reader = LogReader::new(opened, &*found);
    loop {
        match reader.advance().map_err(&failure)? {
            LogStep::End => return Ok(()),
            LogStep::Record { offset } => {
                printer.row(0, &Row::new("edit").number("offset", offset))?;
                match VersionEdit::decode(reader.payload()) {
                    Ok(edit) => print_edit(&edit, printer)?,
                    Err(error) => printer.damage(1, error.file(&*found).offset(offset))?,
                }
            }
            LogStep::Damage { offset, what } => {
                if !reader.resumes().map_err(&failure)? {
                    return printer.row(0, &Row::new("torn_end").number("offset", offset));
                }
                let error = Error::corruption(what);
                printer.damage(0, error.file(&*found).offset(offset))?;
            }
        }
    }
}

/// Returns the manifest that `CURRENT` names or, if `CURRENT` is damaged or missing, the newest
/// one.
fn manifest_in_use(source: &InspectedDir, printer: &mut Printer) -> Result<Option<u64>, Failure> {
    match read_current(&*source.dir) {
        Ok(number) => return Ok(Some(number)),
        Err(error) => printer.damage(
            0,
            Error::corruption(error.message().to_owned())
                .file("CURRENT")
                .offset(0),
        )?,
    }
    let names = source.names()?;
    let numbers = names
        .iter()
        .filter_map(|found| match FileName::parse(found) {
            Some(FileName::Manifest(number)) => Some(number),
            _ => None,
        });
    Ok(numbers.max())
}

/// Reads the manifest in use. Damage of it is printed; `None` if no edit is intact.
pub(super) fn state(
    source: &InspectedDir,
    printer: &mut Printer,
) -> Result<Option<ManifestSalvage>, Failure> {
    for attempt in 1.. {
        let Some(number) = manifest_in_use(source, printer)? else {
            return Ok(None);
        };
        let read = ManifestSalvage::read(&*source.dir, number);
        // The manifest may have been replaced since `CURRENT` was read.
        let moved = source.is_live && read_current(&*source.dir).ok() != Some(number);
        if read.is_err() && moved && attempt < ATTEMPTS_MAX {
            continue;
        }
        return match read {
            Ok(state) => {
                let damage = state.damage.iter().cloned();
                damage
                    .into_iter()
                    .try_for_each(|error| printer.damage(0, error))?;
                Ok(Some(state))
            }
            Err(error) => {
                let found = FileName::Manifest(number).to_string();
                let error = Error::corruption(error.message().to_owned());
                printer.damage(0, error.file(found).offset(0))?;
                Ok(None)
            }
        };
    }
    Ok(None)
}

/// Returns the user key of an internal key.
pub(super) fn user_key(internal: &[u8]) -> &[u8] {
    InternalKey::decode(internal).map_or(internal, |key| key.key)
}

/// Returns the row of a table.
pub(super) fn table_row<'a>(kind: &'static str, found: String, table: &'a NewTable) -> Row<'a> {
    Row::new(kind)
        .text("file", found)
        .number("level", table.level as u64)
        .number("bytes", table.size)
        .bytes("first", user_key(&table.smallest))
        .bytes("last", user_key(&table.largest))
}

fn print_edit(edit: &VersionEdit, printer: &mut Printer) -> Result<(), Failure> {
    if let Some(name) = &edit.comparator {
        let row = Row::new("comparator").text("name", escaped(name.as_bytes()));
        printer.row(1, &row)?;
    }
    let numbers = [
        ("log", edit.log),
        ("previous_log", edit.previous_log),
        ("next_file", edit.next_file),
        ("last_seq", edit.last_seq),
    ];
    for (kind, number) in numbers {
        if let Some(number) = number {
            printer.row(1, &Row::new(kind).number("number", number))?;
        }
    }
    for (level, key) in &edit.compact_pointers {
        let row = Row::new("compact_pointer").number("level", *level as u64);
        printer.row(1, &row.bytes("key", user_key(key)))?;
    }
    for (level, number) in &edit.removed {
        let row = Row::new("removed_table").text("file", FileName::Table(*number).to_string());
        printer.row(1, &row.number("level", *level as u64))?;
    }
    for table in &edit.added {
        let found = FileName::Table(table.number).to_string();
        printer.row(1, &table_row("added_table", found, table))?;
    }
    Ok(())
}
