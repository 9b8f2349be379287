//! `stats`: what a database takes on disk, as bars or as JSON.

pub(super) mod bars;
mod figures;

use serde_json::{Value, json};

use super::leveldb;
use crate::arguments::Stats;
use crate::database::{leveldb_at, open_to_read};
use crate::failure::Failure;
use crate::output::Output;
use figures::Figures;

/// Prints the figures of a database.
pub(super) fn stats(arguments: &Stats) -> Result<(), Failure> {
    let path = &arguments.directory;
    if let Some(dir) = leveldb_at(path) {
        return leveldb::stats(path, &dir, arguments.json);
    }
    let figures = Figures::read(&open_to_read(path)?, path)?;
    let mut output = Output::stdout()?;
    if arguments.json {
        output.json(&json_of(&figures).to_string())?;
    } else {
        bars::print(&figures, &mut output)?;
    }
    output.finish()
}

fn json_of(figures: &Figures) -> Value {
    let files = &figures.files;
    json!({
        "file_bytes": {
            "total": files.total(),
            "tables": files.tables,
            "value_files": files.values,
            "logs": files.logs,
            "manifests": files.manifests,
            "others": files.others,
        },
        "space": figures.space,
        "stats": figures.stats,
        "stalls": figures.stalls,
        "runs": figures.runs,
        "leveldb_original_bytes": figures.original,
    })
}
