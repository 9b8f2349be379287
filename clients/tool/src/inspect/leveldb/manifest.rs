//! `cairn manifest` over LevelDB's: the edits of a manifest, one row for each change.

use std::sync::Arc;

use cairndb::Error;
use cairndb::env::ReadFile;
use cairndb_leveldb::{
    FileName, InternalKey, LogReader, LogStep, ManifestSalvage, NewTable, VersionEdit,
};

use crate::escape::escaped;
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{InspectedDir, not_a};

/// Prints the edits of `file`, or of the manifest in use.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    let found = match file {
        Some(found) if matches!(FileName::parse(found), Some(FileName::Manifest(_))) => {
            found.to_owned()
        }
        Some(found) => return Err(not_a(found, "manifest")),
        None => match source.manifest_in_use(printer)? {
            Some(number) => FileName::Manifest(number).to_string(),
            None => return Ok(()),
        },
    };
    let opened = source.named_file(&found)?;
    let row = Row::new("manifest").text("file", found.clone());
    printer.row(0, &row.number("bytes", opened.size()))?;
    print_records(
        source,
        opened,
        &found,
        0,
        printer,
        |reader, offset, printer| {
            printer.row(0, &Row::new("edit").number("offset", offset))?;
            match VersionEdit::decode(reader.payload()) {
                Ok(edit) => print_edit(&edit, printer),
                Err(error) => printer.damage(1, error.file(&*found).offset(offset)),
            }
        },
    )
}

/// Prints each record with `print`, and damage at a depth.
pub(super) fn print_records(
    source: &InspectedDir,
    file: Arc<dyn ReadFile>,
    found: &str,
    depth: usize,
    printer: &mut Printer,
    print: impl Fn(&LogReader, u64, &mut Printer) -> Result<()>,
) -> Result<()> {
    let failure = source.failure();
    let mut reader = LogReader::new(file, found);
    loop {
        match reader.advance().map_err(&failure)? {
            LogStep::End => return Ok(()),
            LogStep::Record { offset } => print(&reader, offset, printer)?,
            LogStep::Damage { offset, what } => {
                if !reader.resumes().map_err(&failure)? {
                    return printer.row(depth, &Row::new("torn_end").number("offset", offset));
                }
                printer.damage(depth, Error::corruption(what).file(found).offset(offset))?;
            }
        }
    }
}

/// Reads the manifest in use. Damage of it is printed; `None` if no edit is intact.
pub(super) fn state(
    source: &InspectedDir,
    printer: &mut Printer,
) -> Result<Option<ManifestSalvage>> {
    let read = |number| match ManifestSalvage::read(&*source.dir, number) {
        Ok(mut state) => {
            let damage = std::mem::take(&mut state.damage);
            Ok((Some(state), damage))
        }
        Err(error) => {
            let found = FileName::Manifest(number).to_string();
            let error = Error::corruption(error.message().to_owned());
            Ok((None, vec![error.file(found).offset(0)]))
        }
    };
    Ok(source.read_manifest(printer, read)?.flatten())
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

fn print_edit(edit: &VersionEdit, printer: &mut Printer) -> Result<()> {
    let mut rows = Vec::new();
    let name = edit.comparator.iter();
    let name = name.map(|name| escaped(name.as_bytes()));
    rows.extend(name.map(|name| Row::new("comparator").text("name", name)));
    let numbers = [
        ("log", edit.log),
        ("previous_log", edit.previous_log),
        ("next_file", edit.next_file),
        ("last_seq", edit.last_seq),
    ];
    for (kind, number) in numbers {
        rows.extend(number.map(|number| Row::new(kind).number("number", number)));
    }
    for (level, key) in &edit.compact_pointers {
        let row = Row::new("compact_pointer").number("level", *level as u64);
        rows.push(row.bytes("key", user_key(key)));
    }
    for (level, number) in &edit.removed {
        let row = Row::new("removed_table").text("file", FileName::Table(*number).to_string());
        rows.push(row.number("level", *level as u64));
    }
    rows.extend(edit.added.iter().map(|table| {
        let found = FileName::Table(table.number).to_string();
        table_row("added_table", found, table)
    }));
    rows.iter().try_for_each(|row| printer.row(1, row))
}
