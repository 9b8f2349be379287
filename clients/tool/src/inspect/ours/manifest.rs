//! `cairn manifest`: the edits of a manifest, one row for each change.

use cairndb_base::FileNumber;
use cairndb_format::manifest::{TableRecord, VersionEdit};
use cairndb_format::name::{self, FileKind};

use super::edits::{Edits, Step};
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

fn print_edits(source: &InspectedDir, number: FileNumber, printer: &mut Printer) -> Result<()> {
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
    let row = match table.ranges_applied {
        0 => row,
        applied => row.number("ranges_applied", applied),
    };
    let row = match table.seq_limit {
        None => row,
        Some(limit) => row.number("seq_limit", limit),
    };
    let row = with_section(row, table.section);
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

fn with_section(row: Row<'_>, section: u8) -> Row<'_> {
    match section {
        0 => row,
        section => row.number("section", section.into()),
    }
}

fn print_edit(edit: &VersionEdit, printer: &mut Printer) -> Result<()> {
    let mut rows = Vec::new();
    let texts = [
        ("comparator", &edit.comparator),
        ("merge_operator", &edit.merge_operator),
    ];
    for (kind, text) in texts {
        let text = text.iter().map(|text| escaped(text.as_bytes()));
        rows.extend(text.map(|text| Row::new(kind).text("name", text)));
    }
    for (kind, number) in [("next_file", edit.next_file), ("last_seq", edit.last_seq)] {
        rows.extend(number.map(|number| Row::new(kind).number("number", number)));
    }
    let added = edit.added_tables.iter();
    rows.extend(added.map(|table| table_row("added_table", table)));
    let file = |kind, number: &u64| Row::new(kind).text("file", name::table(FileNumber(*number)));
    let removed = edit.removed_tables.iter();
    rows.extend(removed.map(|number| file("removed_table", number)));
    let moved = edit.moved_tables.iter();
    rows.extend(moved.map(|(number, run)| file("moved_table", number).number("run", *run)));
    if let Some(runs) = &edit.runs {
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        rows.push(Row::new("runs").text("newest_first", runs.join(" ")));
    }
    append_segments(edit, &mut rows);
    append_values(edit, &mut rows);
    append_keyspaces(edit, &mut rows);
    append_ranges(edit, &mut rows);
    rows.extend(edit.incarnations.iter().map(|it| {
        let row = Row::new("incarnation").number("number", it.number);
        row.number("after", it.after)
    }));
    if let Some(close) = &edit.clean_close {
        rows.push(Row::new("clean_close").number("last_seq", close.last_seq));
        rows.extend(close.log_ends.iter().map(|(segment, end)| {
            let row = Row::new("log_end").number("segment", *segment);
            row.number("offset", *end)
        }));
    }
    rows.iter().try_for_each(|row| printer.row(1, row))
}

fn append_keyspaces(edit: &VersionEdit, rows: &mut Vec<Row<'_>>) {
    for keyspace in &edit.created_keyspaces {
        let row = Row::new("created_keyspace").number("number", keyspace.number.into());
        let mut row = row.text("name", escaped(keyspace.name.as_bytes()));
        let texts = [
            ("comparator", &keyspace.comparator),
            ("merge_operator", &keyspace.merge_operator),
        ];
        for (kind, text) in texts {
            row = match text {
                Some(text) => row.text(kind, escaped(text.as_bytes())),
                None => row,
            };
        }
        rows.push(row);
    }
    let dropped = edit.dropped_keyspaces.iter();
    rows.extend(
        dropped.map(|number| Row::new("dropped_keyspace").number("number", (*number).into())),
    );
}

fn append_ranges<'a>(edit: &'a VersionEdit, rows: &mut Vec<Row<'a>>) {
    for range in &edit.deleted_ranges {
        let row = Row::new("deleted_range").number("seq", range.seq);
        let row = row.bytes("first", &range.start);
        let row = match &*range.end {
            [] => row,
            end => row.bytes("end", end),
        };
        rows.push(with_section(row, range.section));
    }
}

fn append_segments(edit: &VersionEdit, rows: &mut Vec<Row<'_>>) {
    rows.extend(edit.added_segments.iter().map(|segment| {
        Row::new("added_segment")
            .number("segment", segment.segment)
            .text("file", name::log(FileNumber(segment.file)))
            .number("bytes", segment.bytes)
            .number("start_seq", segment.start_seq)
    }));
    let retired = edit.retired_segments.iter();
    rows.extend(retired.map(|segment| Row::new("retired_segment").number("segment", *segment)));
}

fn append_values(edit: &VersionEdit, rows: &mut Vec<Row<'_>>) {
    let file = |kind, number: &u64| Row::new(kind).text("file", name::value(FileNumber(*number)));
    let lists = [
        ("added_value_file", &edit.added_values),
        ("settled_value_file", &edit.settled_values),
        ("removed_value_file", &edit.removed_values),
    ];
    for (kind, numbers) in lists {
        rows.extend(numbers.iter().map(|number| file(kind, number)));
    }
    let sizes = [
        ("complete_value_file", &edit.value_sizes),
        ("more_dead_bytes", &edit.value_dead),
    ];
    for (kind, pairs) in sizes {
        let row = |(number, bytes): &(u64, u64)| file(kind, number).number("bytes", *bytes);
        rows.extend(pairs.iter().map(row));
    }
}
