//! `cairn tables`: the tables of a database, run by run.

use std::collections::BTreeMap;

use cairndb::Error;
use cairndb_base::FileNumber;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name::{self, FileKind};
use cairndb_format::table::TableFacts;

use super::manifest::table_row;
use super::pages;
use super::state::ManifestState;
use crate::escape::escaped;
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{InspectedDir, not_a};
use crate::orders;

/// Prints all tables, or the pages and entries of `file`.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    if let Some(found) = file {
        let Some(FileKind::Table(number)) = FileKind::parse(found) else {
            return Err(not_a(found, "table"));
        };
        let opened = source.named_file(found)?;
        let state = ManifestState::read(source, printer)?;
        let name = state.comparator.as_deref();
        return pages::print(&opened, number, name, (0, true), printer);
    }
    let state = ManifestState::read(source, printer)?;
    let Some(manifest) = state.manifest else {
        return print_without_manifest(source, printer);
    };
    let runs = by_run(&state);
    let tables = || state.tables.values();
    let comparator = state.comparator.as_deref().unwrap_or("unknown");
    let row = Row::new("database")
        .text("manifest", name::manifest(manifest))
        .text("comparator", escaped(comparator.as_bytes()))
        .number("runs", runs.len() as u64)
        .number("tables", tables().count() as u64)
        .number("bytes", tables().map(|table| table.bytes).sum())
        .number("last_seq", state.last_seq);
    printer.row(0, &row)?;
    for (run, tables) in runs {
        let row = Row::new("run")
            .number("run", run)
            .number("tables", tables.len() as u64)
            .number("bytes", tables.iter().map(|table| table.bytes).sum())
            .number("entries", tables.iter().map(|table| table.entries).sum());
        printer.row(0, &row)?;
        for table in tables {
            print_table(source, &state, table, printer)?;
        }
    }
    Ok(())
}

/// Returns the runs that have tables, newest first, with their tables in the order of the keys.
/// Runs that no edit orders, because one is lost, come last.
fn by_run(state: &ManifestState) -> Vec<(u64, Vec<&TableRecord>)> {
    let mut groups: BTreeMap<u64, Vec<&TableRecord>> = BTreeMap::new();
    for table in state.tables.values() {
        groups.entry(table.run).or_default().push(table);
    }
    let order = state.comparator.as_deref().and_then(orders::find);
    if let Some(order) = order {
        for tables in groups.values_mut() {
            tables.sort_by(|a, b| {
                let sections = a.section.cmp(&b.section);
                sections.then_with(|| order.compare(&a.smallest, &b.smallest))
            });
        }
    }
    let mut take = |run: u64| Some((run, groups.remove(&run)?));
    let mut runs: Vec<_> = state.runs.iter().filter_map(|run| take(*run)).collect();
    runs.extend(groups);
    runs
}

/// Prints one table, and compares its file with the manifest.
fn print_table(
    source: &InspectedDir,
    state: &ManifestState,
    table: &TableRecord,
    printer: &mut Printer,
) -> Result<()> {
    printer.row(1, &table_row("table", table))?;
    let number = FileNumber(table.file);
    let found = name::table(number);
    let wrong = |what: &'static str| Error::corruption(what).file(found.clone()).offset(0);
    let Some(file) = source.file(&found)? else {
        if is_replaced(source, table.file)? {
            return printer.row(2, &Row::new("removed").text("file", found));
        }
        return printer.damage(2, wrong("a table that the manifest names is missing"));
    };
    match TableFacts::read(&file, number) {
        Err(error) => printer.damage(2, error)?,
        Ok(facts) if facts.summary.checksum != table.checksum => {
            printer.damage(2, wrong("the table is not the one that the manifest names"))?;
        }
        Ok(_) if file.size() != table.bytes => {
            let what = "the table has another length than the manifest states";
            printer.damage(2, wrong(what))?;
        }
        Ok(_) => {}
    }
    if printer.style().entries {
        pages::print_data(&file, number, state.comparator.as_deref(), printer)?;
    }
    Ok(())
}

/// Returns whether the process that has the database open has replaced the table meanwhile.
fn is_replaced(source: &InspectedDir, table: u64) -> Result<bool> {
    if !source.is_live {
        return Ok(false);
    }
    let Ok(number) = source.current() else {
        return Ok(false);
    };
    let (state, _) = ManifestState::of(source, FileNumber(number))?;
    Ok(!state.tables.contains_key(&table))
}

/// Prints what the tables in the directory say about themselves.
fn print_without_manifest(source: &InspectedDir, printer: &mut Printer) -> Result<()> {
    for found in source.names()? {
        let Some(FileKind::Table(number)) = FileKind::parse(&found) else {
            continue;
        };
        let Some(file) = source.file(&found)? else {
            continue;
        };
        let shown = printer.style().entries;
        pages::print(&file, number, None, (1, shown), printer)?;
    }
    Ok(())
}
