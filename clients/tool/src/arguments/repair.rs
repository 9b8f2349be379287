//! Arguments of `repair`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Repair {
    /// Directory of the damaged database: CairnDB's or LevelDB's. It is only read.
    pub(crate) directory: PathBuf,
    /// Directory of the new database, which must be missing or empty.
    #[arg(required_unless_present = "dry_run")]
    pub(crate) target: Option<PathBuf>,
    /// Read everything and print the report, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Fill in keys that no other file has from tables that the manifest does not name. They may
    /// have been deleted since.
    #[arg(long)]
    pub(crate) include_unnamed: bool,
    /// Print the report as a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
