//! The arguments of `backup`, `restore`, `backups`, `verify-backup` and `prune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Where backups are.
#[derive(Args, Debug)]
pub(crate) struct At {
    /// Where the backups are: a directory, or a URL such as `s3://BUCKET/PREFIX`.
    pub(crate) place: String,
    /// Write and read at most this many bytes a second.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) bandwidth: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) at: At,
    /// Go on until Ctrl-C or SIGTERM, after which the rest is sent. The database need not be open;
    /// programs may open and close it meanwhile.
    #[arg(long)]
    pub(crate) follow: bool,
    /// How often changes are sent.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        requires = "follow",
        value_parser = humantime::parse_duration
    )]
    pub(crate) interval: Duration,
    /// Send the tables that the place does not have after so many bytes of changes, so that a
    /// restore has fewer changes to apply. Default: 256 MiB.
    #[arg(long, value_name = "BYTES")]
    pub(crate) base_bytes: Option<u64>,
    /// Send only changes after the first time.
    #[arg(long, conflicts_with = "base_bytes")]
    pub(crate) changes_only: bool,
    /// Keep at most this many bytes of the log while the place cannot be reached. Default: 4 GiB.
    #[arg(long, value_name = "BYTES")]
    pub(crate) log_bytes: Option<u64>,
    /// Take the place over from a program that seems to write to it.
    #[arg(long)]
    pub(crate) take_over: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) at: At,
    /// Directory of the new database: missing or empty.
    pub(crate) directory: PathBuf,
    /// The moment: a sequence number or place, as `changes` prints it, or a time such as
    /// 2026-11-30T08:15:00Z. Default: the newest one.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) to: Option<String>,
    /// Restore only this keyspace; may be repeated. `""` is the default one.
    #[arg(long, value_name = "NAME")]
    pub(crate) keyspace: Vec<String>,
    /// Do nothing if the directory has a database.
    #[arg(long)]
    pub(crate) if_missing: bool,
    /// Do not read the new database to count its entries and hash them.
    #[arg(long)]
    pub(crate) unread: bool,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Backups {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) at: At,
    /// Keep all moments of this age or younger, such as 30d.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        required_unless_present = "bases"
    )]
    pub(crate) age: Option<Duration>,
    /// Keep at least so many bases, and all moments after the oldest of them.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) bases: u64,
    /// Only print what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
