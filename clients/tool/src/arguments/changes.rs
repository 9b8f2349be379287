//! The arguments of `changes`, `leases` and `drop-lease`.

use std::path::PathBuf;

use clap::Args;

use super::common::CodingArguments;

#[derive(Args, Debug)]
pub(crate) struct Changes {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Begin after this place, which an earlier change had. Default: what the lease has not printed
    /// or, without a lease, now.
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<String>,
    /// Keep the log under this name from what was printed on, also when nobody reads it.
    #[arg(long, value_name = "NAME")]
    pub(crate) lease: Option<String>,
    /// Keep at most this many bytes for a new lease. Past that it falls off. Default: 1 GiB.
    #[arg(long, value_name = "BYTES", requires = "lease")]
    pub(crate) lease_bytes: Option<u64>,
    /// Print a change once no loss of power takes it back (`sync`), or as soon as readers see it
    /// (`os`).
    #[arg(long, value_name = "LEVEL", default_value = "sync", value_parser = ["os", "sync"])]
    pub(crate) durability: String,
    /// Wait for more changes, until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Print a JSON object a line for each change.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Leases {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DropLease {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Name of the lease.
    pub(crate) name: String,
}
