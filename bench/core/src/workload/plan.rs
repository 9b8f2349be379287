//! The plan of one child process: every flag that reaches the measured code, as plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::workload::definition::Reading;
use crate::workload::rate::Rate;
use crate::workload::settings::{Memory, Variant};

/// The data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Data {
    /// LevelDB's pool.
    #[default]
    Synthetic,
    /// JSON records that share structure across values but not within one.
    Json,
    /// Keys and values of random bytes: nothing compresses, and keys share no long prefix.
    Random,
    /// LevelDB's pool, cut into values whose sizes follow the Pareto distribution of `mixgraph`.
    Pareto,
    /// The user's own records.
    File {
        /// Lines of `key<TAB>value`.
        path: PathBuf,
        /// Mean size of its keys in bytes.
        key_bytes: usize,
    },
}

impl Data {
    /// Returns the data set of a word that names no file.
    pub fn named(word: &str) -> Option<Self> {
        let known = [Self::Synthetic, Self::Json, Self::Random, Self::Pareto];
        known.into_iter().find(|data| data.word() == word)
    }

    /// Returns the word used in the result record; for a file, its own name.
    pub fn word(&self) -> String {
        match self {
            Self::Synthetic => "synthetic".into(),
            Self::Json => "json".into(),
            Self::Random => "random".into(),
            Self::Pareto => "pareto".into(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }
}

/// The program whose keys and draws are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// 16 digits, drawn by a Lehmer generator.
    #[default]
    #[serde(alias = "leveldb")]
    LevelDb,
    /// The index in eight bytes, padded with `0`, drawn by a Mersenne twister.
    #[serde(alias = "rocksdb")]
    RocksDb,
}

/// The program whose lines are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// LevelDB's.
    #[default]
    #[serde(alias = "leveldb")]
    LevelDb,
    /// RocksDB's.
    #[serde(alias = "rocksdb")]
    RocksDb,
}

/// The distribution of random keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// All keys equally often.
    Uniform,
    /// A few keys very often, spread over all keys.
    Zipfian,
    /// The last keys most often.
    Latest,
}

/// The interval of progress lines in RocksDB's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    /// Number of operations between two checks, at least 1.
    pub ops: u64,
    /// Minimum number of seconds between two lines.
    pub seconds: u64,
}

/// The work of a process that reads the store of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reader {
    /// What it does.
    pub reading: Reading,
    /// Number of keys of the model that follows the plan on its standard input.
    pub keys: usize,
    /// Whether answers are compared with the model.
    pub judged: bool,
}

impl Distribution {
    /// The words used in flags and suites.
    pub const WORDS: &[&str] = &["uniform", "zipfian", "latest"];
}

/// A program that measures an engine, and the engine's name there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The name.
    pub engine: String,
}

/// One engine, one round, one list of workloads over one directory.
///
/// A program that is given a plan must understand all of it; [`Plan::to_text`] leaves out what has
/// its default, so that an older build understands a plan that asks for nothing new.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field for each flag of the command line"
)]
pub struct Plan {
    /// Name of the engine.
    pub engine: String,
    /// The program to start, if it is another one. Only the parent knows it.
    #[serde(skip)]
    pub program: Option<Program>,
    /// An alternative build of its library.
    pub library: Option<PathBuf>,
    /// The URL of the store, for an engine over a network. It may hold a password, so it is passed
    /// on but not printed.
    pub store: Option<String>,
    /// The list, as written after `--benchmarks=`.
    pub benchmarks: Vec<String>,
    /// Entries of the list below this one were run by an earlier process: those that change the
    /// store are repeated without a report, the others are skipped.
    pub resume_at: usize,
    /// Entries of the list that crashed an earlier process. They are not run again, and rows that
    /// read a database that one of them should have created are skipped.
    pub lost: Vec<usize>,
    /// Whether the process kills itself with SIGKILL as soon as the calls of the last entry have
    /// returned, so that another process can check what was acknowledged.
    pub kill: bool,
    /// The database.
    pub db: PathBuf,
    /// `--num`.
    pub num: u64,
    /// `--reads`, resolved.
    pub reads: u64,
    /// `--writes`, resolved.
    pub writes: u64,
    /// `--deletes`, resolved.
    pub deletes: u64,
    /// `--threads`.
    pub threads: u32,
    /// `--value_size`.
    pub value_size: usize,
    /// `--compression_ratio`.
    pub compression_ratio: f64,
    /// Size in bytes of each generated key: at least 16, or 8 for RocksDB's keys; 0 means 16.
    pub key_len: usize,
    /// `--seed`, the base to which the running thread count is added.
    pub seed: u32,
    /// `--distribution`, when given.
    pub distribution: Option<Distribution>,
    /// `--data`.
    pub data: Data,
    /// `--keys`.
    pub keys: Keys,
    /// `--format`.
    pub format: Format,
    /// `--shuffle`.
    pub shuffle: bool,
    /// `--duration` in seconds; 0 for none.
    pub duration: u64,
    /// `--benchmark_write_rate_limit` in bytes per second; 0 for none.
    pub write_rate_limit: u64,
    /// `--benchmark_read_rate_limit` in operations per second; 0 for none.
    pub read_rate_limit: u64,
    /// `--batch_size`, 0 when not given.
    pub batch_size: u64,
    /// `--rate`.
    pub rate: Rate,
    /// `--seek_nexts`.
    pub seek_nexts: u64,
    /// `--reverse_iterator`.
    pub reverse_iterator: bool,
    /// `--keyspaces`: a key is in the one at its index modulo their number; 0 for none with a name.
    pub keyspaces: u32,
    /// `--ranges`.
    pub ranges: u32,
    /// `--readwritepercent`.
    pub readwritepercent: u32,
    /// `--mergereadpercent`.
    pub mergereadpercent: u32,
    /// `--sync`: every write must survive a power loss.
    pub sync: bool,
    /// `--variant`.
    pub variant: Variant,
    /// `--memory_limit`: bytes that the process may use with its page cache; 0 for no limit.
    pub memory_limit: u64,
    /// `--cold`: the database is dropped from the page cache before each row.
    pub cold: bool,
    /// The memory setting and its shares.
    pub memory: Memory,
    /// `--compression`.
    pub compression: bool,
    /// `--bloom_bits`, when given.
    pub bloom_bits: Option<u32>,
    /// `--block_size`, when given.
    pub block_size: Option<u64>,
    /// `--max_file_size`, when given.
    pub max_file_size: Option<u64>,
    /// `--open_files`, when given.
    pub open_files: Option<u32>,
    /// `--use_existing_db`.
    pub use_existing_db: bool,
    /// `--histogram`.
    pub histogram: bool,
    /// `--confidence_interval_only`.
    pub confidence_interval_only: bool,
    /// `--statistics`.
    pub statistics: bool,
    /// `--verify`.
    pub verify: bool,
    /// Whether progress goes to stderr: a bar on a terminal, `... finished N ops` elsewhere.
    pub progress: bool,
    /// The interval of progress lines in RocksDB's format; `None` for LevelDB's.
    pub every: Option<Every>,
    /// `round` of the records.
    pub round: u32,
    /// `suite` of the records.
    pub suite: Option<String>,
    /// `section` of the records.
    pub section: Option<String>,
    /// `variant` of the records, if a suite names the settings.
    pub label: Option<String>,
    /// Whether the settings allow the rows to be ranked.
    pub ranked: bool,
    /// Set if the process does not run the list, but reads the store of the one that does.
    pub reader: Option<Reader>,
}

impl Plan {
    /// Returns the plan as JSON.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn to_text(&self) -> serde_json::Result<String> {
        let mut fields = serde_json::to_value(self)?;
        let defaults = serde_json::to_value(Self::default())?;
        if let (Some(fields), Some(defaults)) = (fields.as_object_mut(), defaults.as_object()) {
            fields.retain(|name, value| defaults.get(name) != Some(value));
        }
        serde_json::to_string(&fields)
    }

    /// Returns the size of each key in bytes, or the mean size.
    pub const fn key_bytes(&self) -> usize {
        match &self.data {
            Data::File { key_bytes, .. } => *key_bytes,
            _ if self.key_len == 0 => crate::workload::key::DIGITS,
            _ => self.key_len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_what_differs_from_the_defaults_and_all_of_it_is_understood() {
        assert_eq!(Plan::default().to_text().expect("text"), "{}");
        let plan = Plan {
            engine: "cairndb".into(),
            num: 7,
            rate: Rate::Percent(50),
            ..Plan::default()
        };
        let text = plan.to_text().expect("text");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
        let newer = text.replace("\"num\"", "\"of_a_later_version\"");
        let error = serde_json::from_str::<Plan>(&newer).expect_err("unknown");
        assert!(error.to_string().contains("of_a_later_version"), "{error}");
    }
}
