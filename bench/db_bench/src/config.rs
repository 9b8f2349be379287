//! What the flags mean: engines, plans, where things go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_core::plan::{Data, Distribution, Format, Keys, Plan};
use bench_core::pool;
use bench_core::settings::{MEMORY_BYTES_DEFAULT, Memory};

use crate::engines;
use crate::flags::{Given, distance};

/// Everything the command line said.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Engines in the order of the first round.
    pub(crate) engines: Vec<String>,
    /// Whether they were asked for by name: an absent one is then an error.
    pub(crate) named: bool,
    /// Rounds.
    pub(crate) rounds: u32,
    /// Time limit of a row.
    pub(crate) row_timeout: Duration,
    /// Where the JSON lines go.
    pub(crate) json: Option<PathBuf>,
    /// The suite to run instead of the list.
    pub(crate) suite: Option<String>,
    /// The directory of `--db`, or the usual one.
    pub(crate) base: PathBuf,
    /// What every child is told; the engine, its library, directory and round are filled in.
    pub(crate) plan: Plan,
    libraries: Vec<(&'static str, PathBuf)>,
}

impl Config {
    /// The meaning of the flags.
    pub(crate) fn new(given: &Given) -> Result<Self, String> {
        let suite = given.given("suite").map(str::to_owned);
        let (engines, named) = engine_list(given, suite.is_some())?;
        let quick = suite.as_deref() == Some("quick");
        let row_timeout = match given.chosen("row_timeout") {
            Some(seconds) => seconds,
            None if quick => 60,
            None => given.count("row_timeout"),
        };
        let base = given
            .given("db")
            .map_or_else(|| default_db(suite.is_some()), PathBuf::from);
        let mut plan = plan(given)?;
        if quick && given.given("num").is_none() {
            plan = counted(plan, QUICK_NUM);
        }
        let libraries = [("leveldb", "leveldb_lib"), ("lmdb", "lmdb_lib")]
            .into_iter()
            .filter_map(|(engine, flag)| Some((engine, PathBuf::from(given.given(flag)?))))
            .collect();
        let rounds = if suite.is_some() {
            given.chosen("rounds").unwrap_or(3)
        } else {
            given.count("rounds")
        };
        Ok(Self {
            engines,
            named,
            rounds: u32::try_from(rounds).unwrap_or(1),
            row_timeout: Duration::from_secs(row_timeout),
            json: given.given("json").map(PathBuf::from),
            suite,
            base,
            plan,
            libraries,
        })
    }

    /// The plan of one engine and round.
    pub(crate) fn plan_for(&self, engine: &str, round: u32) -> Plan {
        let several = self.engines.len() > 1 || self.suite.is_some();
        let db = if several {
            self.base.join(engine)
        } else {
            self.base.clone()
        };
        let library = self.libraries.iter().find(|(name, _)| *name == engine);
        Plan {
            engine: engine.to_owned(),
            library: library.map(|(_, path)| path.clone()),
            db,
            round,
            ..self.plan.clone()
        }
    }

    /// The engines in the order of a round, which starts with another one each time.
    pub(crate) fn rotated(&self, round: u32) -> Vec<String> {
        let mut order = self.engines.clone();
        let count = order.len().max(1);
        order.rotate_left((round as usize - 1) % count);
        order
    }
}

/// Entries of the suite `quick`.
const QUICK_NUM: u64 = 100_000;

/// The plan with another number of keys, for counts that follow it.
fn counted(plan: Plan, num: u64) -> Plan {
    let follow = |count: u64| if count == plan.num { num } else { count };
    let (reads, writes, deletes) = (
        follow(plan.reads),
        follow(plan.writes),
        follow(plan.deletes),
    );
    Plan {
        num,
        reads,
        writes,
        deletes,
        ..plan
    }
}

/// LevelDB's choice: `$TEST_TMPDIR`, or a directory of the user's below the temporary one. A suite
/// started in a source tree stays on its disk: the temporary directory may be no disk at all.
fn default_db(suite: bool) -> PathBuf {
    if suite && std::env::var_os("TEST_TMPDIR").is_none() && Path::new("target").is_dir() {
        return PathBuf::from("target/db_bench");
    }
    let base = std::env::var_os("TEST_TMPDIR").map_or_else(
        || {
            let user = rustix::process::geteuid().as_raw();
            Path::new("/tmp").join(format!("leveldbtest-{user}"))
        },
        PathBuf::from,
    );
    base.join("dbbench")
}

/// The engines, and whether they were named.
fn engine_list(given: &Given, table: bool) -> Result<(Vec<String>, bool), String> {
    let all = || {
        engines::NAMES
            .iter()
            .map(|name| (*name).to_owned())
            .collect()
    };
    let Some(text) = given.given("engine") else {
        return Ok(if table {
            (all(), false)
        } else {
            (vec![given.text("engine").to_owned()], true)
        });
    };
    if text == "all" {
        return Ok((all(), false));
    }
    let mut list: Vec<String> = Vec::new();
    for name in text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        if !engines::NAMES.contains(&name) {
            let near = engines::NAMES
                .iter()
                .min_by_key(|known| distance(name, known))
                .filter(|known| distance(name, known) <= 3);
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(format!(
                "--engine={name}: {} or all is allowed{hint}",
                engines::NAMES.join(", ")
            ));
        }
        if !list.iter().any(|known| known == name) {
            list.push(name.to_owned());
        }
    }
    if list.is_empty() {
        Err("--engine=: name at least one engine".into())
    } else {
        Ok((list, true))
    }
}

/// The data set; of a file also how many records there are, and their mean size.
fn data(given: &Given) -> Result<(Data, Option<pool::FileShape>), String> {
    match given.text("data") {
        "synthetic" => Ok((Data::Synthetic, None)),
        "json" => Ok((Data::Json, None)),
        path => {
            let path = PathBuf::from(path);
            let shape = pool::examine(&path).map_err(|fault| fault.to_string())?;
            for sized in ["value_size", "key_size", "key_prefix", "keys"] {
                if given.given(sized).is_some() {
                    return Err(format!(
                        "--{sized}: keys and values come from --data={}",
                        path.display()
                    ));
                }
            }
            let key_bytes = shape.key_bytes;
            Ok((Data::File { path, key_bytes }, Some(shape)))
        }
    }
}

/// The number of keys: a file has no more than its lines.
fn key_count(given: &Given, shape: Option<pool::FileShape>) -> Result<u64, String> {
    let records = shape.map(|shape| shape.records);
    match (given.chosen("num"), records) {
        (None, Some(records)) => Ok(records),
        (Some(num), Some(records)) if num > records => Err(format!(
            "--num={num}: a whole number from 1 to {records} is allowed, the lines of --data={}",
            given.text("data")
        )),
        _ => Ok(given.count("num")),
    }
}

/// `--distribution`, which says more than `--shuffle` can do.
fn distribution(given: &Given) -> Result<Option<Distribution>, String> {
    let Some(word) = given.given("distribution") else {
        return Ok(None);
    };
    let distribution = match word {
        "zipfian" => Distribution::Zipfian,
        "latest" => Distribution::Latest,
        _ => Distribution::Uniform,
    };
    if given.is_on("shuffle") && distribution != Distribution::Uniform {
        return Err(format!(
            "--shuffle takes every key once and --distribution={word} some more often: give one"
        ));
    }
    Ok(Some(distribution))
}

/// The part of a plan that comes from the flags alone.
fn plan(given: &Given) -> Result<Plan, String> {
    let plan = Plan {
        benchmarks: given
            .text("benchmarks")
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
        use_existing_db: given.is_on("use_existing_db"),
        histogram: given.is_on("histogram"),
        confidence_interval_only: given.is_on("confidence_interval_only"),
        statistics: given.is_on("statistics"),
        verify: given.is_on("verify"),
        format: match given.text("format") {
            "rocksdb" => Format::RocksDb,
            _ => Format::LevelDb,
        },
        progress: true,
        round: 1,
        ..Plan::default()
    };
    Ok(stored(given, drawn(given, counted_as(given, plan)?)?))
}

/// A whole number that the table of flags keeps small.
fn small(given: &Given, name: &str) -> u32 {
    u32::try_from(given.count(name)).unwrap_or(0)
}

/// The plan with its data and the numbers that follow from it.
fn counted_as(given: &Given, plan: Plan) -> Result<Plan, String> {
    let (data, shape) = data(given)?;
    let num = key_count(given, shape)?;
    let or_num = |name| u64::try_from(given.number(name)).unwrap_or(num);
    let size = |name| usize::try_from(given.count(name)).unwrap_or(0);
    let key_prefix = match given.chosen("key_size") {
        Some(_) if given.given("key_prefix").is_some() => {
            return Err("--key_size and --key_prefix both set the length of keys: give one".into());
        }
        Some(_) => size("key_size") - bench_core::key::DIGITS,
        None => size("key_prefix"),
    };
    Ok(Plan {
        num,
        reads: or_num("reads"),
        writes: or_num("writes"),
        deletes: or_num("deletes"),
        value_size: shape.map_or_else(|| size("value_size"), |shape| shape.value_bytes),
        compression_ratio: given.text("compression_ratio").parse().unwrap_or(0.5),
        key_prefix,
        data,
        ..plan
    })
}

/// The plan with who draws what and how often.
fn drawn(given: &Given, plan: Plan) -> Result<Plan, String> {
    Ok(Plan {
        threads: small(given, "threads"),
        seed: small(given, "seed"),
        distribution: distribution(given)?,
        keys: match given.text("keys") {
            "rocksdb" => Keys::RocksDb,
            _ => Keys::LevelDb,
        },
        shuffle: given.is_on("shuffle"),
        duration: given.count("duration"),
        batch_size: given.chosen("batch_size").unwrap_or(0),
        seek_nexts: given.count("seek_nexts"),
        readwritepercent: small(given, "readwritepercent"),
        mergereadpercent: small(given, "mergereadpercent"),
        ..plan
    })
}

/// The plan with what the stores are told.
fn stored(given: &Given, plan: Plan) -> Plan {
    let uncompressed = given
        .given("compression_type")
        .is_some_and(|codec| codec.eq_ignore_ascii_case("none"));
    Plan {
        sync: given.is_on("sync"),
        memory: memory(given, plan.use_existing_db),
        compression: given.is_on("compression") && !uncompressed,
        bloom_bits: u32::try_from(given.number("bloom_bits")).ok(),
        block_size: given.chosen("block_size"),
        max_file_size: given.chosen("max_file_size"),
        open_files: u32::try_from(given.number("open_files"))
            .ok()
            .filter(|&files| files > 0),
        ..plan
    }
}

/// Shares where both or one were given, else the split of the total.
fn memory(given: &Given, reading: bool) -> Memory {
    let total = given.chosen("memory");
    let split = Memory::split(total.unwrap_or(MEMORY_BYTES_DEFAULT), reading);
    match (
        given.chosen("write_buffer_size"),
        given.chosen("cache_size"),
    ) {
        (None, None) => split,
        (Some(write), Some(cache)) => Memory::shares(write, cache),
        (Some(write), None) => Memory::shares(
            write,
            total.map_or(split.cache_bytes, |total| total.saturating_sub(write)),
        ),
        (None, Some(cache)) => Memory::shares(
            total.map_or(split.write_bytes, |total| total.saturating_sub(cache)),
            cache,
        ),
    }
}
