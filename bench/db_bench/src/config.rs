//! Interprets the flags: engines, plans, output files.

mod against;
mod key_len;
mod suite_overrides;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_core::flags::Given;
use bench_core::result::outline::Aggregate;
use bench_core::workload::plan::{Data, Distribution, Every, Plan};
use bench_core::workload::pool;
use bench_core::workload::rate::Rate;
use bench_core::workload::settings::{MEMORY_BYTES_DEFAULT, Memory};

use crate::flags::{clock_seed, nearest};
use crate::output::interval_file::IntervalFile;
use crate::resume::Resume;
use crate::{child, engines, machine};

/// Number of operations between two clock reads for `--stats_interval_seconds`, as in RocksDB's
/// program.
const STATS_INTERVAL_OPS: u64 = 1000;

/// Name of the file with a report's records, if no file was named for them.
const RECORDS: &str = "records.jsonl";

/// Everything given on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Engines in the order given.
    pub(crate) engines: Vec<String>,
    /// Whether the engines were requested by name: an absent one is then an error.
    pub(crate) named: bool,
    /// Number of rounds of a list.
    pub(crate) rounds: u32,
    /// Number of rounds of a suite, if given.
    pub(crate) suite_rounds: Option<u32>,
    /// Aggregation of a suite's rounds, if given.
    pub(crate) aggregate: Option<Aggregate>,
    /// Number of entries of a suite, if given.
    pub(crate) num: Option<u64>,
    /// Data set of a suite, if given.
    pub(crate) data: Option<String>,
    /// Time limit of a row, if given.
    pub(crate) row_timeout: Option<Duration>,
    /// File for the JSON lines.
    pub(crate) json: Option<PathBuf>,
    /// Directory for the report.
    pub(crate) report: Option<PathBuf>,
    /// File for the results as CSV.
    pub(crate) csv: Option<PathBuf>,
    /// File for the operations over time.
    pub(crate) intervals: Option<IntervalFile>,
    /// What to do with the run in the JSON file.
    pub(crate) resume: Resume,
    /// Whether a suite prints every row as it ends, and the whole report at the end.
    pub(crate) verbose: bool,
    /// The suite to run instead of the list.
    pub(crate) suite: Option<String>,
    /// Time since the suite was requested; its time limits count from that moment.
    pub(crate) spent: Duration,
    /// The directories of `--db`, or the default one.
    pub(crate) bases: Vec<PathBuf>,
    /// Whether `--db` was given; a single engine then uses that directory itself.
    own_directory: bool,
    /// The seed from the clock, if `--seed=0` was given.
    pub(crate) chosen_seed: Option<u32>,
    /// Allocator library for every child.
    pub(crate) allocator: Option<PathBuf>,
    /// The common plan of all children; engine, library, directory and round are filled in later.
    pub(crate) plan: Plan,
    libraries: Vec<(&'static str, PathBuf)>,
}

impl Config {
    /// Interprets the flags.
    pub(crate) fn new(given: &Given) -> Result<Self, String> {
        let suite = given.given("suite").map(str::to_owned);
        let resume = Resume::of(given);
        let (mut engines, named) = engine_list(given, suite.is_some())?;
        against::add(given, &mut engines)?;
        if suite.is_some() {
            suite_overrides::refuse_what_suites_say(given)?;
        } else if resume != Resume::Never {
            return Err("--resume: only a suite can be resumed; add --suite".into());
        }
        engines::networked::check(&engines, given.given("store"), suite.is_some())?;
        let bases = bases(given, suite.is_some())?;
        let mut plan = plan(given)?;
        let chosen_seed = (plan.seed == 0).then(|| clock_seed::of(machine::now()));
        plan.seed = chosen_seed.unwrap_or(plan.seed);
        let libraries = engines::LIBRARY_FLAGS
            .iter()
            .filter_map(|&(engine, flag)| Some((engine, PathBuf::from(given.given(flag)?))))
            .collect();
        let report = given.given("report").map(PathBuf::from);
        // A report is made from records, so they are stored in the report's directory by default.
        let beside = report.as_ref().map(|dir| dir.join(RECORDS));
        let json = given.given("json").map(PathBuf::from).or(beside);
        if resume != Resume::Never && json.is_none() {
            return Err(
                "--resume needs --json=FILE or --report=DIR, which names the run to resume".into(),
            );
        }
        let own_records = matches!(plan.data, Data::File { .. });
        let rounds = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Self {
            rounds: against::rounds(given).unwrap_or(rounds(given.count("rounds"))),
            suite_rounds: given.chosen("rounds").map(rounds),
            engines,
            named,
            aggregate: given.word("aggregate"),
            num: given.chosen("num").or(own_records.then_some(plan.num)),
            data: given.given("data").map(str::to_owned),
            row_timeout: given.chosen("row_timeout").map(Duration::from_secs),
            json,
            report,
            csv: given.given("csv").map(PathBuf::from),
            intervals: intervals(given),
            resume,
            verbose: given.is_on("verbose"),
            suite,
            spent: spent(given)?,
            bases,
            own_directory: given.given("db").is_some(),
            chosen_seed,
            allocator: allocator(given)?,
            plan,
            libraries,
        })
    }

    /// Returns the plan of one engine and round.
    pub(crate) fn plan_for(&self, engine: &str, round: u32) -> Plan {
        let plan = self.placed(&self.plan, 0, engine, round);
        if self.engines.len() > 1 || !self.own_directory {
            return plan;
        }
        Plan {
            db: self.bases[0].clone(),
            ..plan
        }
    }

    /// Returns a plan for one engine and round, in a separate folder below one of the directories.
    pub(crate) fn placed(&self, plan: &Plan, directory: usize, engine: &str, round: u32) -> Plan {
        let library = self.libraries.iter().find(|(name, _)| *name == engine);
        Plan {
            engine: engine.to_owned(),
            program: engines::programs::of(engine),
            library: library.map(|(_, path)| path.clone()),
            db: self.bases[directory].join(engines::programs::folder(engine)),
            round,
            ..plan.clone()
        }
    }

    /// Returns the engines whose library was named, each with its file.
    pub(crate) fn libraries(&self) -> &[(&'static str, PathBuf)] {
        &self.libraries
    }
}

/// Returns the age of `--started=FILE`, which a command creates before it builds and installs.
fn spent(given: &Given) -> Result<Duration, String> {
    let Some(file) = given.given("started") else {
        return Ok(Duration::ZERO);
    };
    if given.given("suite").is_none() {
        return Err("--started: only a suite has time limits; add --suite".into());
    }
    let written = std::fs::metadata(file).and_then(|metadata| metadata.modified());
    let written = written.map_err(|error| format!("--started={file}: {error}"))?;
    // A file from the future, after a clock change, counts as one of now.
    Ok(written.elapsed().unwrap_or_default())
}

/// Returns the directories of `--db`. Only suites take several, to compare them.
fn bases(given: &Given, suite: bool) -> Result<Vec<PathBuf>, String> {
    let Some(text) = given.given("db") else {
        return Ok(vec![default_db(suite)]);
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    let list: Vec<PathBuf> = parts.map(PathBuf::from).collect();
    if list.is_empty() {
        return Err("--db=: name a directory".into());
    }
    if suite {
        return Ok(list);
    }
    // A comma may be part of a name, most likely of an existing one.
    let whole = PathBuf::from(text);
    if list.len() > 1 && !whole.is_dir() {
        return Err(format!(
            "--db={text}: only a suite takes several directories; name one, or add --suite"
        ));
    }
    Ok(vec![whole])
}

/// Returns the library of `--allocator`, after a child has actually loaded it.
fn allocator(given: &Given) -> Result<Option<PathBuf>, String> {
    let Some(path) = given.given("allocator").map(PathBuf::from) else {
        return Ok(None);
    };
    // The loader searches for a bare name; a path must mean the same in every child.
    let path = if path.components().count() > 1 {
        path.canonicalize()
            .map_err(|error| format!("--allocator={}: {error}", path.display()))?
    } else {
        path
    };
    child::set_allocator(&path)?;
    Ok(Some(path))
}

/// Default time limit of a row.
pub(crate) const ROW_TIMEOUT_DEFAULT: Duration = Duration::from_mins(10);

/// Returns the default directory: below `$TEST_TMPDIR`, or the user's below the temporary
/// directory. This is LevelDB's choice, but never the directory that LevelDB's own program uses. A
/// suite started in a source tree stays on its disk, because the temporary directory may be in
/// memory.
fn default_db(suite: bool) -> PathBuf {
    if suite && std::env::var_os("TEST_TMPDIR").is_none() && Path::new("target").is_dir() {
        return PathBuf::from("target/db_bench");
    }
    if let Some(base) = std::env::var_os("TEST_TMPDIR") {
        return PathBuf::from(base).join("db_bench");
    }
    let user = rustix::process::geteuid().as_raw();
    Path::new("/tmp").join(format!("db_bench-{user}"))
}

/// Returns the names of a list.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

/// Returns the engine for a name.
fn picked<'n>(name: &'n str, given: &Given) -> &'n str {
    let (either, two) = engines::EITHER;
    if name == either {
        two[usize::from(given.is_on("use_lsm"))]
    } else {
        name
    }
}

/// Returns the engines, and whether they were named.
fn engine_list(given: &Given, table: bool) -> Result<(Vec<String>, bool), String> {
    let all = || engines::unnamed().map(str::to_owned).collect();
    let either = engines::EITHER.0;
    let text = given.given("engine");
    if given.given("use_lsm").is_some() && !names(text.unwrap_or("")).any(|name| name == either) {
        return Err(format!(
            "--use_lsm selects one of two trees; it needs --engine={either}"
        ));
    }
    let Some(text) = text else {
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
    for name in names(text).map(|name| picked(name, given)) {
        if !engines::names().any(|known| known == name) {
            let hint = nearest(name, engines::names());
            let names: Vec<&str> = engines::names().collect();
            return Err(format!(
                "--engine={name}: {}, {either} or all is allowed{hint}",
                names.join(", ")
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

/// Returns the rate of `--rate`.
fn rate(given: &Given) -> Result<Rate, String> {
    let Some(text) = given.given("rate") else {
        return Ok(Rate::Closed);
    };
    let refuse =
        || format!("--rate={text}: give operations per second, or a percentage such as 50%");
    Rate::parse(text).ok_or_else(refuse)
}

/// Returns the data set; for a file also the number of records and their mean size.
fn data(given: &Given) -> Result<(Data, Option<pool::FileShape>), String> {
    if let Some(data) = Data::named(given.text("data")) {
        return Ok((data, None));
    }
    let path = PathBuf::from(given.text("data"));
    let shape = pool::examine(&path).map_err(|fault| fault.to_string())?;
    for sized in ["value_size", "key_size", "key_prefix", "keys"] {
        if given.given(sized).is_some() {
            let path = path.display();
            return Err(format!(
                "--{sized}: keys and values come from --data={path}"
            ));
        }
    }
    let key_bytes = shape.key_bytes;
    Ok((Data::File { path, key_bytes }, Some(shape)))
}

/// Returns the number of keys; a file has no more keys than lines.
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

/// Returns `--distribution`, and refuses a combination with `--shuffle` that contradicts it.
fn distribution(given: &Given) -> Result<Option<Distribution>, String> {
    let distribution = given.word("distribution");
    if given.is_on("shuffle") && distribution.is_some_and(|it| it != Distribution::Uniform) {
        return Err(format!(
            "--shuffle takes every key once, but --distribution={} takes some more often; use only one",
            given.text("distribution")
        ));
    }
    Ok(distribution)
}

/// Returns the part of a plan that depends only on the flags.
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
        format: given.word("format").unwrap_or_default(),
        progress: true,
        every: every(given),
        round: 1,
        ranked: true,
        ..Plan::default()
    };
    Ok(stored(given, drawn(given, counted_as(given, plan)?)?))
}

/// Returns `--report_interval_seconds` and `--report_file`.
fn intervals(given: &Given) -> Option<IntervalFile> {
    let seconds = usize::try_from(given.count("report_interval_seconds")).unwrap_or(0);
    (seconds > 0).then(|| IntervalFile {
        path: PathBuf::from(given.text("report_file")),
        seconds,
    })
}

/// Returns `--stats_interval` and `--stats_interval_seconds`; the latter alone reads the clock
/// every thousand operations.
fn every(given: &Given) -> Option<Every> {
    let (ops, seconds) = (
        given.count("stats_interval"),
        given.count("stats_interval_seconds"),
    );
    (ops > 0 || seconds > 0).then_some(Every {
        ops: if ops > 0 { ops } else { STATS_INTERVAL_OPS },
        seconds,
    })
}

/// Returns an integer that the table of flags keeps small.
fn small(given: &Given, name: &str) -> u32 {
    u32::try_from(given.count(name)).unwrap_or(0)
}

/// Adds the data, and the numbers derived from it, to the plan.
fn counted_as(given: &Given, plan: Plan) -> Result<Plan, String> {
    let (data, shape) = data(given)?;
    let num = key_count(given, shape)?;
    let or_num = |name| u64::try_from(given.number(name)).unwrap_or(num);
    let size = |name| usize::try_from(given.count(name)).unwrap_or(0);
    Ok(Plan {
        num,
        reads: or_num("reads"),
        writes: or_num("writes"),
        deletes: or_num("deletes"),
        value_size: shape.map_or_else(|| size("value_size"), |shape| shape.value_bytes),
        compression_ratio: given.text("compression_ratio").parse().unwrap_or(0.5),
        key_len: key_len::of(given)?,
        data,
        ..plan
    })
}

/// Adds threads, operation counts and key draws to the plan.
fn drawn(given: &Given, plan: Plan) -> Result<Plan, String> {
    Ok(Plan {
        threads: small(given, "threads"),
        seed: small(given, "seed"),
        distribution: distribution(given)?,
        keys: given.word("keys").unwrap_or_default(),
        shuffle: given.is_on("shuffle"),
        duration: given.count("duration"),
        write_rate_limit: given.count("benchmark_write_rate_limit"),
        read_rate_limit: given.count("benchmark_read_rate_limit"),
        batch_size: given.chosen("batch_size").unwrap_or(0),
        rate: rate(given)?,
        seek_nexts: given.count("seek_nexts"),
        reverse_iterator: given.is_on("reverse_iterator"),
        keyspaces: small(given, "keyspaces"),
        ranges: small(given, "ranges"),
        readwritepercent: small(given, "readwritepercent"),
        mergereadpercent: small(given, "mergereadpercent"),
        ..plan
    })
}

/// Adds the settings of the stores to the plan.
fn stored(given: &Given, plan: Plan) -> Plan {
    let uncompressed = given
        .given("compression_type")
        .is_some_and(|codec| codec.eq_ignore_ascii_case("none"));
    Plan {
        store: given.given("store").map(str::to_owned),
        sync: given.is_on("sync"),
        memory_limit: given.chosen("memory_limit").unwrap_or(0),
        cold: given.is_on("cold"),
        variant: given.word("variant").unwrap_or_default(),
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

/// Returns the shares of the memory if at least one was given, else the split of the total.
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
