//! The arguments of commands on a store that a URL names.

use std::path::PathBuf;

use clap::Args;

use super::common::{CodingArguments, RangeArguments};

/// The store in place of a directory.
#[derive(Args, Debug)]
pub(crate) struct StoreArguments {
    /// Use the store at this URL instead of a directory: `file:PATH`, `etcd://HOSTS/PREFIX`,
    /// `postgres://USER@HOST/DATABASE/TABLE` or `tikv://HOSTS/KEYSPACE`.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Copy {
    /// Store to read: `file:PATH`, `etcd://HOSTS/PREFIX`, `postgres://USER@HOST/DATABASE/TABLE` or
    /// `tikv://HOSTS/KEYSPACE`.
    #[arg(value_name = "FROM-URL")]
    pub(crate) source: String,
    /// Store to write. A database in files is created if there is none.
    #[arg(value_name = "TO-URL")]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
    /// File for the position of an interrupted copy, instead of one beside the database or in the
    /// working directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Replace what the target holds: entries that the source does not hold are deleted, within
    /// the range.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Forget an interrupted copy into the same target, and begin again.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Save the position after this many bytes of entries.
    #[arg(long, value_name = "BYTES", default_value_t = 8_000_000)]
    pub(crate) save_every: u64,
    /// Copy and compare at most this many bytes of entries a second.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rate_limit: Option<u64>,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}
