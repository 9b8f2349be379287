//! The arguments of `dump`, `load`, `export` and `import`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::{CodingArguments, RangeArguments};

/// A format of `export` and `import`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// The directory of a LevelDB database.
    Leveldb,
    /// The directory of a RocksDB database; import only.
    Rocksdb,
    /// A JSON object a line, as `scan --json` prints them.
    Jsonl,
    /// Two fields, key and value, after RFC 4180.
    Csv,
    /// The text of LMDB's `mdb_dump`, which `mdb_load` reads.
    #[value(name = "mdb_dump")]
    MdbDump,
    /// The text of Berkeley DB's `db_dump`, which `db_load` reads.
    #[value(name = "db_dump")]
    DbDump,
}

/// How much is saved, and when.
#[derive(Args, Debug)]
pub(crate) struct ResumeArguments {
    /// Forget an interrupted command of the same target, and begin again.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Save the position after this many bytes of entries.
    #[arg(long, value_name = "BYTES", default_value_t = 64_000_000)]
    pub(crate) save_every: u64,
}

/// How a text holds keys and values.
#[derive(Args, Debug)]
pub(crate) struct TextArguments {
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
    /// For `csv`: fields are the bytes as they are, without escapes.
    #[arg(long, conflicts_with_all = ["hex", "base64"])]
    pub(crate) literal: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Dump {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// File to make; stdout without it.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    #[command(flatten)]
    pub(crate) coding: CodingArguments,
    #[command(flatten)]
    pub(crate) resume: ResumeArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Load {
    /// Directory of the database, which is created if there is none.
    pub(crate) directory: PathBuf,
    /// File to read; stdin without it.
    pub(crate) file: Option<PathBuf>,
    /// Add to the entries of the database, and replace those with the same keys.
    #[arg(long)]
    pub(crate) add: bool,
    #[command(flatten)]
    pub(crate) resume: ResumeArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// File or, for `leveldb`, directory to make; stdout without it.
    pub(crate) target: Option<PathBuf>,
    /// The format.
    #[arg(long, value_enum)]
    pub(crate) format: FormatName,
    #[command(flatten)]
    pub(crate) range: RangeArguments,
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// For `mdb_dump` and `db_dump`: write the form `print` instead of `bytevalue`.
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) resume: ResumeArguments,
}

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Directory of the database, which is created if there is none.
    pub(crate) directory: PathBuf,
    /// File or, for `leveldb` and `rocksdb`, directory to read; stdin without it.
    pub(crate) source: Option<PathBuf>,
    /// The format.
    #[arg(long, value_enum)]
    pub(crate) format: FormatName,
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// Add to the entries of the database, and replace those with the same keys.
    #[arg(long)]
    pub(crate) add: bool,
    /// Pass over lines that do not parse, and print their numbers.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// For `rocksdb`, `mdb_dump` and `db_dump`: import only this column family or database, with a
    /// prefix before each key: the name and `/`, unless another one is given. Repeatable.
    #[arg(long, value_name = "NAME[=PREFIX]")]
    pub(crate) family: Vec<OsString>,
    #[command(flatten)]
    pub(crate) resume: ResumeArguments,
}
