//! The directories that held the databases.

use serde_json::Value;

use crate::document::{Block, Cell, Grid, Line};
use crate::input::{Machine, words};
use crate::number;

/// Field of a machine's line that lists the directories.
pub(crate) const FACT: &str = "directories";

/// Columns of the table of directories: each fact's field and heading.
const COLUMNS: [(&str, &str); 6] = [
    ("path", "Databases in"),
    ("file_system", "File system"),
    ("device", "Device"),
    ("mount_options", "Mount options"),
    ("write_cache", "Disk write cache"),
    ("free_bytes", "Free at the start"),
];

/// Returns a line for each directory, if the machine's line lists them.
pub(super) fn grid(machine: &Machine) -> Option<Block> {
    let places = machine.facts.get(FACT)?.as_array()?;
    let lines: Vec<Line> = places.iter().map(line).collect();
    let head = COLUMNS.map(|(_, title)| title.to_owned()).to_vec();
    (!lines.is_empty()).then_some(Block::Grid(Grid { head, lines }))
}

fn line(place: &Value) -> Line {
    let cell = |(name, _): (&str, &str)| {
        let value = place.get(name);
        if name.ends_with("_bytes") {
            return Cell::number(value.and_then(Value::as_u64).map(number::memory));
        }
        Cell::reported(value.and_then(words))
    };
    Line::Cells(COLUMNS.map(cell).to_vec())
}
