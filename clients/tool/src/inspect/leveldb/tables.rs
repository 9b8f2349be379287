//! `cairn tables` over LevelDB's: the tables, level by level.
//!
//! LevelDB's manifest states neither entries nor tombstones of a table, so they are counted, block
//! by block. Versions that a newer one in the same table hides are counted as hidden.

use std::sync::Arc;

use cairndb::Error;
use cairndb::env::ReadFile;
use cairndb_leveldb::{
    FileName, Kind, ManifestSalvage, NewTable, Order, SalvagedBlock, TableSalvage, TableStep,
};

use super::manifest::{state, table_row};
use crate::escape::escaped;
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{InspectedDir, not_a};
use crate::orders;

/// Prints all tables, or the blocks and entries of `file`.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    if let Some(found) = file {
        let name = FileName::parse(found);
        if !matches!(name, Some(FileName::Table(_) | FileName::OldTable(_))) {
            return Err(not_a(found, "table"));
        }
        let opened = source.named_file(found)?;
        let comparator = state(source, printer)?.and_then(|state| state.comparator);
        let order = order_of(comparator.as_deref())?;
        return print_alone(source, opened, found, &order, (0, true), printer);
    }
    let Some(state) = state(source, printer)? else {
        return print_without_manifest(source, printer);
    };
    let tables = || state.tables.values();
    let comparator = state.comparator.as_deref();
    let name = comparator.unwrap_or("unknown");
    let row = Row::new("database")
        .text("manifest", FileName::Manifest(state.number).to_string())
        .text("comparator", escaped(name.as_bytes()))
        .number("tables", tables().count() as u64)
        .number("bytes", tables().map(|table| table.size).sum())
        .number("last_seq", state.last_seq);
    printer.row(0, &row)?;
    let order = order_of(comparator)?;
    for level in 0..=tables().map(|table| table.level).max().unwrap_or(0) {
        let tables: Vec<_> = tables().filter(|table| table.level == level).collect();
        if tables.is_empty() {
            continue;
        }
        let row = Row::new("level")
            .number("level", level as u64)
            .number("tables", tables.len() as u64)
            .number("bytes", tables.iter().map(|table| table.size).sum());
        printer.row(0, &row)?;
        for table in tables {
            print_table(source, table, &order, printer)?;
        }
    }
    Ok(())
}

/// Returns the order of the keys. Blocks can only be verified in it.
fn order_of(comparator: Option<&str>) -> Result<Order> {
    match comparator {
        None => Ok(Order::Bytewise),
        Some(name) => orders::find(name).ok_or_else(|| orders::unknown(name)),
    }
}

fn print_table(
    source: &InspectedDir,
    table: &NewTable,
    order: &Order,
    printer: &mut Printer,
) -> Result<()> {
    let mut found = FileName::Table(table.number).to_string();
    let mut file = source.file(&found)?;
    if file.is_none() {
        let old = FileName::OldTable(table.number).to_string();
        file = source.file(&old)?;
        if file.is_some() {
            found = old;
        }
    }
    printer.row(1, &table_row("table", found.clone(), table))?;
    let Some(file) = file else {
        if is_replaced(source, table.number) {
            return printer.row(2, &Row::new("removed").text("file", found));
        }
        let error = Error::corruption("a table that the manifest names is missing");
        return printer.damage(2, error.file(found).offset(0));
    };
    if file.size() < table.size {
        let error = Error::corruption("the table is shorter than the manifest states");
        printer.damage(2, error.file(&*found).offset(file.size()))?;
    }
    let entries = printer.style().entries;
    let counts = read(source, file, &found, order, entries, printer)?;
    printer.row(2, &counts.row())
}

/// Returns whether the process that has the database open has replaced the table meanwhile.
fn is_replaced(source: &InspectedDir, table: u64) -> bool {
    let state = || ManifestSalvage::read(&*source.dir, source.current().ok()?).ok();
    source.is_live && state().is_some_and(|state| !state.tables.contains_key(&table))
}

/// What the blocks of a table hold.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    blocks: u64,
    entries: u64,
    tombstones: u64,
    hidden: u64,
    seqs: Option<(u64, u64)>,
}

impl Counts {
    fn row(&self) -> Row<'static> {
        let (min, max) = self.seqs.unwrap_or((0, 0));
        Row::new("contents")
            .number("blocks", self.blocks)
            .number("entries", self.entries)
            .number("tombstones", self.tombstones)
            .number("hidden_versions", self.hidden)
            .number("seq_min", min)
            .number("seq_max", max)
    }
}

/// Reads all blocks, and prints them and their entries if `shown`.
fn read(
    source: &InspectedDir,
    file: Arc<dyn ReadFile>,
    found: &str,
    order: &Order,
    shown: bool,
    printer: &mut Printer,
) -> Result<Counts> {
    let failure = source.failure();
    let mut salvage = TableSalvage::new(file, found, order).map_err(&failure)?;
    if let Some(error) = salvage.index_error() {
        printer.damage(2, error.clone())?;
    }
    let mut counts = Counts::default();
    let mut last_key: Option<Vec<u8>> = None;
    while let Some(step) = salvage.advance().map_err(&failure)? {
        match step {
            TableStep::Damage { error, .. } => printer.damage(2, error)?,
            TableStep::Block(block) => {
                counts.blocks += 1;
                if shown {
                    let row = Row::new("block").number("number", counts.blocks);
                    printer.row(1, &row.bytes("first", block.key()))?;
                }
                read_block(block, &mut counts, &mut last_key, shown, printer)?;
            }
        }
    }
    Ok(counts)
}

fn read_block(
    mut block: SalvagedBlock,
    counts: &mut Counts,
    last_key: &mut Option<Vec<u8>>,
    shown: bool,
    printer: &mut Printer,
) -> Result<()> {
    while block.valid() {
        counts.entries += 1;
        counts.tombstones += u64::from(block.kind() == Kind::Delete);
        let seq = block.seq();
        let (min, max) = counts.seqs.unwrap_or((seq, seq));
        counts.seqs = Some((min.min(seq), max.max(seq)));
        if last_key.as_deref() == Some(block.key()) {
            counts.hidden += 1;
        } else {
            let key = last_key.get_or_insert_default();
            key.clear();
            key.extend_from_slice(block.key());
        }
        if shown {
            printer.entry(seq, block.kind(), block.key(), block.value())?;
        }
        block.next();
    }
    Ok(())
}

fn print_without_manifest(source: &InspectedDir, printer: &mut Printer) -> Result<()> {
    let entries = printer.style().entries;
    for found in source.names()? {
        let name = FileName::parse(&found);
        if let Some(FileName::Table(_) | FileName::OldTable(_)) = name
            && let Some(file) = source.file(&found)?
        {
            let order = &Order::Bytewise;
            print_alone(source, file, &found, order, (1, entries), printer)?;
        }
    }
    Ok(())
}

/// Prints a table of which the manifest says nothing, and its blocks and entries if `shown`.
fn print_alone(
    source: &InspectedDir,
    file: Arc<dyn ReadFile>,
    found: &str,
    order: &Order,
    (depth, shown): (usize, bool),
    printer: &mut Printer,
) -> Result<()> {
    let row = Row::new("table").text("file", found.to_owned());
    printer.row(depth, &row.number("bytes", file.size()))?;
    let counts = read(source, file, found, order, shown, printer)?;
    printer.row(depth + 1, &counts.row())
}
