//! `stats`: what a database takes on disk, as bars or as JSON.

pub(super) mod bars;
pub(super) mod figures;

use serde_json::json;

use super::leveldb;
use crate::arguments::Stats;
use crate::database::{Purpose, leveldb_at, open_to_read};
use crate::failure::Result;
use crate::output::{Output, print_json};
use figures::Figures;

/// Prints the figures of a database.
pub(super) fn stats(arguments: &Stats) -> Result<()> {
    let path = &arguments.directory;
    if let Some(dir) = leveldb_at(path) {
        return leveldb::stats(path, &dir, arguments.json);
    }
    let figures = Figures::read(&open_to_read(path, Purpose::Show)?, path)?;
    if arguments.json {
        let all = json!({
            "file_bytes": figures.files.json(),
            "space": figures.space,
            "stats": figures.stats,
            "stalls": figures.stalls,
            "runs": figures.runs,
            "keyspaces": figures.keyspaces,
            "leveldb_original_bytes": figures.original,
        });
        return print_json(&all.to_string());
    }
    let mut output = Output::stdout()?;
    bars::print(&figures, &mut output)?;
    output.finish()
}
