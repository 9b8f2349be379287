//! The pages of one table, and their entries. Each page is verified alone, so that damage to one
//! leaves the others readable.

use std::sync::Arc;

use cairndb::env::ReadFile;
use cairndb_base::FileNumber;
use cairndb_format::name;
use cairndb_format::table::{Salvaged, SalvagedPage, TableFacts, TableSalvage};

use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::orders;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Returns the row of what a table says about itself.
fn facts_row(found: String, bytes: u64, facts: &TableFacts) -> Row<'_> {
    let summary = &facts.summary;
    Row::new("table")
        .text("file", found)
        .number("bytes", bytes)
        .number("raw_bytes", summary.raw_bytes)
        .number("entries", summary.entries)
        .number("tombstones", summary.deletes)
        .number("seq_min", summary.seq_min)
        .number("seq_max", summary.seq_max)
        .number("data_pages", facts.data_pages.into())
        .number("dictionary_bytes", facts.dictionary.bytes().len() as u64)
        .text("comparator", escaped(facts.order.as_bytes()))
        .bytes("first", &summary.smallest)
        .bytes("last", &summary.largest)
}

/// Prints what a table says about itself, and its pages and entries if `shown`. `comparator` is the
/// one that the manifest names.
pub(super) fn print(
    file: &Arc<dyn ReadFile>,
    number: FileNumber,
    comparator: Option<&str>,
    (depth, shown): (usize, bool),
    printer: &mut Printer,
) -> Result<()> {
    let found = name::table(number);
    match TableFacts::read(file, number) {
        Ok(facts) => printer.row(depth, &facts_row(found, file.size(), &facts))?,
        Err(error) => {
            let row = Row::new("table").text("file", found);
            printer.row(depth, &row.number("bytes", file.size()))?;
            printer.damage(depth + 1, error)?;
        }
    }
    if shown {
        print_data(file, number, comparator, printer)?;
    }
    Ok(())
}

/// Prints the data pages of a table. The damage of its meta block has been printed.
pub(super) fn print_data(
    file: &Arc<dyn ReadFile>,
    number: FileNumber,
    comparator: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    let facts = TableFacts::read(file, number).ok();
    let named = comparator.or(facts.as_ref().map(|facts| &*facts.order));
    let named = named.unwrap_or("leveldb.BytewiseComparator");
    let order = orders::find(named).ok_or_else(|| orders::unknown(named))?;
    let dictionary = facts.as_ref().map(|facts| Arc::clone(&facts.dictionary));
    let mut salvage = TableSalvage::new(Arc::clone(file), number, &order, dictionary);
    let data_pages = facts.map_or(salvage.pages(), |facts| facts.data_pages);
    let mut in_index = false;
    while let Some((at, found)) = salvage
        .advance()
        .map_err(|error| Failure::other(error.to_string()))?
    {
        if at >= data_pages {
            break;
        }
        match found {
            Salvaged::Entries(page) => print_page(at, &page, printer)?,
            Salvaged::Index { .. } => in_index = true,
            // The later pages of a meta block have no checksum of their own.
            Salvaged::Damaged { .. } if in_index => {}
            Salvaged::Damaged { error } => printer.damage(1, error)?,
        }
    }
    Ok(())
}

fn print_page(at: u32, page: &SalvagedPage, printer: &mut Printer) -> Result<()> {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    page.key_into(0, &mut first);
    page.key_into(page.count() - 1, &mut last);
    let row = Row::new("page")
        .number("number", at.into())
        .number("offset", u64::from(at) * PAGE_BYTES)
        .number("bytes", u64::from(page.pages()) * PAGE_BYTES)
        .number("entries", page.count() as u64)
        .bytes("first", &first)
        .bytes("last", &last);
    printer.row(1, &row)?;
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for index in 0..page.count() {
        page.key_into(index, &mut key);
        let mark = page.mark(index);
        if let Err(error) = page.value_into(index, &mut value) {
            printer.damage(2, error)?;
            continue;
        }
        printer.entry(mark.seq, mark.kind, &key, &value)?;
    }
    Ok(())
}
