//! Arguments of the commands that look into files: `tables`, `log` and `manifest`.

use std::path::PathBuf;

use clap::Args;

use super::common::CodingArguments;

#[derive(Args, Debug)]
pub(crate) struct Tables {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// Name of one table, such as `000012.tbl`: print its pages and their entries.
    pub(crate) file: Option<String>,
    /// Print the pages and entries of every table.
    #[arg(long)]
    pub(crate) entries: bool,
    /// Print a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Log {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// Name of one file of the log, such as `000002.log`: print its records with their entries.
    pub(crate) file: Option<String>,
    /// Print the entries of every record.
    #[arg(long)]
    pub(crate) entries: bool,
    /// Print a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Manifest {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// Name of a manifest, such as `MANIFEST-000007`, instead of the one in use.
    pub(crate) file: Option<String>,
    /// Print a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}
