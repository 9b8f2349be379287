//! The command line: commands, their arguments, and the text of `--help`.
//!
//! The comments of the fields are the help texts.

pub(crate) mod backup;
pub(crate) mod changes;
mod common;
mod elsewhere;
pub(crate) mod examples;
mod store;
pub(crate) mod transfer;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand};

pub(crate) use common::{CodingArguments, KeyspaceArguments, RangeArguments};
pub(crate) use elsewhere::elsewhere;
pub(crate) use store::{Copy, StoreArguments};

/// What follows the list of commands in `cairn --help`.
const AFTER_HELP: &str = "\
Keys and values are printed with the escapes \\\\, \\t, \\n, \\r and \\xNN, and may be written with them.

Exit codes:
  0    done
  1    the key was not found
  2    the command line is wrong
  3    the database is damaged
  4    another process has the database open
  5    any other error, such as a directory without a database
  130  Ctrl-C; the message says whether the same command continues";

/// Looks into a CairnDB database, changes it, and moves data in and out. Commands that only read
/// also read LevelDB's databases.
#[derive(Debug, Parser)]
#[command(
    name = "cairn",
    version,
    after_help = AFTER_HELP,
    max_term_width = 100,
    mut_subcommands = examples::added
)]
pub(crate) struct Arguments {
    /// Order of the keys, if the database names a comparator that `cairn` does not know. With
    /// `bytewise`, all entries of a LevelDB database are sorted in memory.
    #[arg(long, global = true, value_name = "ORDER", value_parser = ["bytewise", "reverse", "idb_cmp1"])]
    pub(crate) comparator: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the value of a key.
    Get(Get),
    /// Set the value of a key, durably.
    Put(Put),
    /// Delete keys or a range of them, durably. A key that does not exist is not an error.
    Delete(Delete),
    /// Print entries in order, one a line: key, tab, value.
    Scan(Scan),
    /// Print the number of entries.
    Count(Count),
    /// Print what the database takes on disk.
    Stats(Stats),
    /// Print the names of the keyspaces besides the default one.
    Keyspaces(Keyspaces),
    /// Create a keyspace.
    CreateKeyspace(CreateKeyspace),
    /// Drop a keyspace with all its entries.
    DropKeyspace(DropKeyspace),
    /// Print the tables: run or level, sizes, entries, keys; of one table, pages and entries.
    Tables(Tables),
    /// Print the log: segments, records, sequence numbers.
    Log(Log),
    /// Print the manifest: every edit of the set of files.
    Manifest(Manifest),
    /// Read the whole database and check it.
    Verify(Verify),
    /// Write what is intact of a damaged database into a new directory, and report what is lost.
    Repair(Repair),
    /// Compact the database, or a range of its keys.
    Compact(Compact),
    /// Make a database that shares the files of this one, through hard links where possible.
    #[command(visible_alias = "checkpoint")]
    Fork(Fork),
    /// Print the keys whose values differ in two databases, a JSON object a line.
    Diff(Diff),
    /// Print what was written after a place or for a lease: every batch, whole and in order.
    Changes(changes::Changes),
    /// Print the leases, for which the log is kept: name, tab, place.
    Leases(changes::Leases),
    /// Drop a lease, so that the log is no longer kept for it.
    DropLease(changes::DropLease),
    /// Copy what a database holds, and what is written to it, to another place.
    Backup(backup::Backup),
    /// Make a database as it was at some moment.
    Restore(backup::Restore),
    /// Print what can be restored: from, to, first place, last place.
    Backups(backup::Backups),
    /// Read all of the backups and check them.
    VerifyBackup(backup::Backups),
    /// Remove backups that are not needed any more.
    Prune(backup::Prune),
    /// Remove the database.
    Destroy(Destroy),
    /// Write all entries, or a range, as one stream with checksums.
    Dump(transfer::Dump),
    /// Read the stream of `dump` into a database.
    Load(transfer::Load),
    /// Write all entries, or a range, in another format.
    Export(transfer::Export),
    /// Read entries in another format into a database.
    Import(transfer::Import),
    /// Copy all entries, or a range, from one store to another, and compare both. An interrupted
    /// copy continues.
    Copy(Copy),
    /// Read commands without the directory, from a prompt or a script on stdin.
    Shell(Shell),
    /// Convert a LevelDB database in place. LevelDB's files stay in `leveldb-original/`.
    Upgrade(Upgrade),
    /// Print the script that completes command lines in bash, zsh or fish.
    Completions(Completions),
    /// Write the manual pages into a directory.
    Man(Man),
}

#[derive(Args, Debug)]
#[command(override_usage = "cairn get [OPTIONS] <DIRECTORY> <KEY>\n       \
                            cairn get [OPTIONS] --store <URL> <KEY>")]
pub(crate) struct Get {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// The key. Write `--` before a key that begins with `-`.
    #[arg(required_unless_present = "store")]
    pub(crate) key: Option<OsString>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    /// Print the bytes of the value as they are, without a newline.
    #[arg(long, conflicts_with_all = ["hex", "base64", "json"])]
    pub(crate) raw: bool,
    /// Print the entry as a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
#[command(
    override_usage = "cairn put [OPTIONS] <DIRECTORY> <KEY> <VALUE>\n       \
                      cairn put [OPTIONS] <DIRECTORY> <KEY> --file <PATH>\n       \
                      cairn put [OPTIONS] --store <URL> <KEY> <VALUE>"
)]
pub(crate) struct Put {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// The key. Write `--` before a key that begins with `-`.
    #[arg(required_unless_present = "store")]
    pub(crate) key: Option<OsString>,
    /// The value; `-` reads its bytes from stdin. The value `-` itself is written `\x2d`.
    #[arg(required_unless_present_any = ["file", "store"])]
    pub(crate) value: Option<OsString>,
    /// Read the bytes of the value from a file.
    #[arg(long, value_name = "PATH", conflicts_with = "value")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    /// Create the database if there is none.
    #[arg(long)]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
#[command(
    override_usage = "cairn delete [OPTIONS] <DIRECTORY> <KEYS>...\n       \
                      cairn delete [OPTIONS] <DIRECTORY> --from <KEY> --to <KEY>\n       \
                      cairn delete [OPTIONS] <DIRECTORY> --prefix <BYTES>\n       \
                      cairn delete [OPTIONS] --store <URL> <KEYS>...",
    mut_arg("store", |store| store.conflicts_with("RangeArguments"))
)]
pub(crate) struct Delete {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// The keys, deleted together or not at all. Write `--` before one that begins with `-`.
    #[arg(
        required_unless_present_any = ["store", "from", "to", "prefix"],
        conflicts_with = "RangeArguments"
    )]
    pub(crate) keys: Vec<OsString>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of the command line are independent of each other"
)]
#[derive(Args, Debug)]
#[command(override_usage = "cairn scan [OPTIONS] <DIRECTORY>\n       \
                            cairn scan [OPTIONS] --store <URL>")]
pub(crate) struct Scan {
    /// Directory of the database: CairnDB's or LevelDB's.
    #[arg(required_unless_present = "store", conflicts_with = "store")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    /// Begin with the last key.
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Print at most this many entries.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Print no values.
    #[arg(long)]
    pub(crate) keys_only: bool,
    /// Print no keys.
    #[arg(long, conflicts_with = "keys_only")]
    pub(crate) values_only: bool,
    /// Print a JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Count {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// Print a JSON object, with the properties of the database unabridged.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Keyspaces {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CreateKeyspace {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Name of the keyspace.
    pub(crate) name: String,
    /// Fold operands with this merge operator: `cairndb.add`, `cairndb.append` or `cairndb.max`.
    #[arg(long, value_name = "OPERATOR")]
    pub(crate) merge_operator: Option<String>,
    /// Create the database if there is none.
    #[arg(long)]
    pub(crate) create: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DropKeyspace {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Name of the keyspace.
    pub(crate) name: String,
    /// Confirm that its entries are to be removed.
    #[arg(long, required = true)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Compact {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Fork {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Directory of the new database, which must be missing or empty.
    pub(crate) target: PathBuf,
    /// Print the numbers of files as a JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// Directory of the database with the values before.
    pub(crate) directory: PathBuf,
    /// Directory of the database with the values after.
    pub(crate) other: PathBuf,
    /// Print only the keys of this keyspace.
    #[arg(long, value_name = "NAME")]
    pub(crate) keyspace: Option<String>,
    /// Print the values too, as `before` and `after`.
    #[arg(long)]
    pub(crate) values: bool,
    /// Print a JSON object a line, as without this option.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Destroy {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Confirm that the database is to be removed.
    #[arg(long, required = true)]
    pub(crate) yes: bool,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of the command line are independent of each other"
)]
#[derive(Args, Debug)]
pub(crate) struct Upgrade {
    /// Directory of the LevelDB database.
    pub(crate) directory: PathBuf,
    /// Print what the conversion would take, and change nothing.
    #[arg(long, conflicts_with = "drop_original")]
    pub(crate) dry_run: bool,
    /// Convert although a log that the manifest names is missing. Every write in it is lost.
    #[arg(long)]
    pub(crate) without_log: bool,
    /// Remove LevelDB's files in `leveldb-original/`, after the conversion or later.
    #[arg(long)]
    pub(crate) drop_original: bool,
    /// Remove them without asking.
    #[arg(long, requires = "drop_original")]
    pub(crate) yes: bool,
}

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

#[derive(Args, Debug)]
pub(crate) struct Shell {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Continue a script after a line that fails. The exit code is that of the first failure.
    #[arg(long)]
    pub(crate) keep_going: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell that reads the script.
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"])
        .try_map(|name| name.parse::<clap_complete::Shell>()))]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Existing directory for the pages: `cairn.1`, and `cairn-get.1` for `cairn get`.
    pub(crate) target: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
        let help = Arguments::command().render_long_help().to_string();
        assert!(help.contains("Exit codes:"), "{help}");
    }
}
