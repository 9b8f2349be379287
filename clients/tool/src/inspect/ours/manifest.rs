//! `cairn manifest`: the edits of a manifest, one row for each change.

use cairndb_base::FileNumber;
use cairndb_format::manifest::{TableRecord, VersionEdit};
use cairndb_format::name::{self, FileKind};

use super::edits::{Edits, Step};
use crate::escape::escaped;
use crate::failure::Failure;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{InspectedDir, not_a};

/// Prints the edits of `file`, or of the manifest in use.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let number = match file {
        Some(found) => match FileKind::parse(found) {
            Some(FileKind::Manifest(number)) => {
                source.named_file(found)?;
                Some(number)
            }
            _ => return Err(not_a(found, "manifest")),
        },
        None => source.manifest_in_use(printer)?.map(FileNumber),
    };
    match number {
        Some(number) => print_edits(source, number, printer),
        None => Ok(()),
    }
}

fn print_edits(
    source: &InspectedDir,
    number: FileNumber,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let failure = source.failure();
    let found = name::manifest(number);
    let bytes = source.dir.size_of(&found).map_err(&failure)?.unwrap_or(0);
    printer.row(
        0,
        &Row::new("manifest")
            .text("file", found)
            .number("bytes", bytes),
    )?;
    let mut edits = Edits::open(&*source.dir, number).map_err(&failure)?;
    while let Some(step) = edits.advance().map_err(&failure)? {
        match step {
            Step::Edit(offset, edit) => {
                printer.row(0, &Row::new("edit").number("offset", offset))?;
                print_edit(&edit, printer)?;
            }
            Step::Torn(offset) => printer.row(0, &Row::new("torn_end").number("offset", offset))?,
            Step::Damage(error) => printer.damage(0, error)?,
        }
    }
    Ok(())
}

/// Returns the row of a table.
pub(super) fn table_row<'a>(kind: &'static str, table: &'a TableRecord) -> Row<'a> {
    let row = Row::new(kind)
        .text("file", name::table(FileNumber(table.file)))
        .number("run", table.run)
        .number("bytes", table.bytes)
        .number("raw_bytes", table.raw_bytes)
        .number("entries", table.entries)
        .number("tombstones", table.deletes)
        .number("hidden_versions", table.hidden.entries)
        .number("hidden_bytes", table.hidden.bytes)
        .number("seq_min", table.seq_min)
        .number("seq_max", table.seq_max)
        .bytes("first", &table.smallest)
        .bytes("last", &table.largest);
    let large: u64 = table.value_refs.iter().map(|(_, bytes)| bytes).sum();
    let row = match large {
        0 => row,
        large => row.number("value_file_bytes", large),
    };
    if table.deferred {
        return row.text("values", "stored raw until the database is idle");
    }
    row
}

fn print_edit(edit: &VersionEdit, printer: &mut Printer) -> Result<(), Failure> {
    let texts = [
        ("comparator", &edit.comparator),
        ("merge_operator", &edit.merge_operator),
    ];
    for (kind, text) in texts {
        if let Some(text) = text {
            printer.row(1, &Row::new(kind).text("name", escaped(text.as_bytes())))?;
        }
    }
    let numbers = [("next_file", edit.next_file), ("last_seq", edit.last_seq)];
    for (kind, number) in numbers {
        if let Some(number) = number {
            printer.row(1, &Row::new(kind).number("number", number))?;
        }
    }
    for table in &edit.added_tables {
        printer.row(1, &table_row("added_table", table))?;
    }
    for number in &edit.removed_tables {
        let found = name::table(FileNumber(*number));
        printer.row(1, &Row::new("removed_table").text("file", found))?;
    }
    for (number, run) in &edit.moved_tables {
        let row = Row::new("moved_table").text("file", name::table(FileNumber(*number)));
        printer.row(1, &row.number("run", *run))?;
    }
    if let Some(runs) = &edit.runs {
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        printer.row(1, &Row::new("runs").text("newest_first", runs.join(" ")))?;
    }
    print_segments(edit, printer)?;
    print_values(edit, printer)?;
    let Some(close) = &edit.clean_close else {
        return Ok(());
    };
    printer.row(
        1,
        &Row::new("clean_close").number("last_seq", close.last_seq),
    )?;
    for (segment, end) in &close.log_ends {
        let row = Row::new("log_end").number("segment", *segment);
        printer.row(1, &row.number("offset", *end))?;
    }
    Ok(())
}

fn print_segments(edit: &VersionEdit, printer: &mut Printer) -> Result<(), Failure> {
    for segment in &edit.added_segments {
        let row = Row::new("added_segment")
            .number("segment", segment.segment)
            .text("file", name::log(FileNumber(segment.file)))
            .number("bytes", segment.bytes)
            .number("start_seq", segment.start_seq);
        printer.row(1, &row)?;
    }
    for segment in &edit.retired_segments {
        printer.row(1, &Row::new("retired_segment").number("segment", *segment))?;
    }
    Ok(())
}

fn print_values(edit: &VersionEdit, printer: &mut Printer) -> Result<(), Failure> {
    let found = |number: &u64| name::value(FileNumber(*number));
    let lists = [
        ("added_value_file", &edit.added_values),
        ("settled_value_file", &edit.settled_values),
        ("removed_value_file", &edit.removed_values),
    ];
    for (kind, numbers) in lists {
        for number in numbers {
            printer.row(1, &Row::new(kind).text("file", found(number)))?;
        }
    }
    let sizes = [
        ("complete_value_file", &edit.value_sizes),
        ("more_dead_bytes", &edit.value_dead),
    ];
    for (kind, pairs) in sizes {
        for (number, bytes) in pairs {
            let row = Row::new(kind).text("file", found(number));
            printer.row(1, &row.number("bytes", *bytes))?;
        }
    }
    Ok(())
}
