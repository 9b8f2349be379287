//! `cairn log` over LevelDB's: the logs, record by record.

use cairndb::Error;
use cairndb_leveldb::{FileName, LogReader, WriteBatch};

use super::manifest::{print_records, state};
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{InspectedDir, not_a};

/// Prints all logs, or `file` with its entries.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    if let Some(found) = file {
        if !matches!(FileName::parse(found), Some(FileName::Log(_))) {
            return Err(not_a(found, "log"));
        }
        return print_log(source, found, None, true, printer);
    }
    let state = state(source, printer)?;
    let mut numbers = Vec::new();
    for found in source.names()? {
        if let Some(FileName::Log(number)) = FileName::parse(&found) {
            numbers.push((number, found));
        }
    }
    numbers.sort_unstable();
    let entries = printer.style().entries;
    for (number, found) in numbers {
        let word = state.as_ref().map(|state| {
            let live =
                state.log.is_none_or(|log| number >= log) || Some(number) == state.previous_log;
            if live { "live" } else { "obsolete" }
        });
        print_log(source, &found, word, entries, printer)?;
    }
    Ok(())
}

fn print_log(
    source: &InspectedDir,
    found: &str,
    word: Option<&'static str>,
    entries: bool,
    printer: &mut Printer,
) -> Result<()> {
    let file = source.named_file(found)?;
    let row = Row::new("log")
        .text("file", found.to_owned())
        .number("bytes", file.size());
    let row = match word {
        Some(word) => row.text("state", word),
        None => row,
    };
    printer.row(0, &row)?;
    print_records(
        source,
        file,
        found,
        1,
        printer,
        |reader, offset, printer| print_record(reader, offset, entries, printer),
    )
}

fn print_record(
    reader: &LogReader,
    offset: u64,
    entries: bool,
    printer: &mut Printer,
) -> Result<()> {
    let placed = |error: Error| error.file(reader.name()).offset(offset);
    let batch = match WriteBatch::decode(reader.payload()) {
        Ok(batch) => batch,
        Err(error) => return printer.damage(1, placed(error)),
    };
    let row = Row::new("record")
        .number("offset", offset)
        .number("seq", batch.seq())
        .number("entries", batch.count().into())
        .number("bytes", reader.payload().len() as u64);
    printer.row(1, &row)?;
    for operation in batch.iter() {
        let operation = match operation {
            Ok(operation) => operation,
            Err(error) => return printer.damage(2, placed(error)),
        };
        if !entries {
            continue;
        }
        let (seq, kind) = (operation.seq, operation.kind);
        printer.entry(seq, kind, operation.key, operation.value)?;
    }
    Ok(())
}
