//! The arguments of `dump`, `load`, `export` and `import`.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::{CodingArguments, KeyspaceArguments, RangeArguments};

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
    /// The same with tabs between fields.
    Tsv,
    /// The stream of `dump`, which `load` reads.
    Dump,
    /// The text of LMDB's `mdb_dump`, which `mdb_load` reads.
    #[value(name = "mdb_dump")]
    MdbDump,
    /// The text of Berkeley DB's `db_dump`, which `db_load` reads.
    #[value(name = "db_dump")]
    DbDump,
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
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
    /// For `csv` and `tsv`: fields are the bytes as they are, without escapes.
    #[arg(long, conflicts_with_all = ["hex", "base64"])]
    pub(crate) literal: bool,
    /// For `csv`: the character between fields, instead of a comma.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// For `csv` and `tsv`: name of the column with the keys. The first line names the columns;
    /// others are passed over.
    #[arg(long, value_name = "NAME")]
    pub(crate) key_column: Option<String>,
    /// For `csv` and `tsv`: name of the column with the values.
    #[arg(long, value_name = "NAME")]
    pub(crate) value_column: Option<String>,
}

/// Reads a delimiter: a character of ASCII that no field and no line begins or ends with.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\\\r\n".contains(byte) => Ok(*byte),
        _ => Err("a delimiter is one character of ASCII, such as `;`, or `\\t`".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct Dump {
    /// Directory of the database: CairnDB's or LevelDB's.
    pub(crate) directory: PathBuf,
    /// File to make; stdout without it.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
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
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
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
    /// The format. By default, the name of the target implies it: .csv, .tsv, .jsonl, .ndjson,
    /// .dump, or a directory for `leveldb`.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatName>,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
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
    /// The format. By default, the name of the source implies it: .csv, .tsv, .jsonl, .ndjson or
    /// .dump; a directory is LevelDB's or RocksDB's.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatName>,
    #[command(flatten)]
    pub(crate) keyspace: KeyspaceArguments,
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// For `jsonl`: numbers, objects, arrays, `true`, `false` and `null` are taken as their JSON
    /// text.
    #[arg(long, conflicts_with_all = ["hex", "base64"])]
    pub(crate) json_values: bool,
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
