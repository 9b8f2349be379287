//! What the flags mean: engines, plans, where things go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench_core::plan::Plan;
use bench_core::settings::{MEMORY_BYTES_DEFAULT, Memory, Variant};

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
        let libraries = engines::LIBRARY_FLAGS
            .iter()
            .filter_map(|&(engine, flag)| Some((engine, PathBuf::from(given.given(flag)?))))
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

/// The names of a list.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

/// The engine a name stands for.
fn picked<'n>(name: &'n str, given: &Given) -> &'n str {
    let (either, two) = engines::EITHER;
    if name == either {
        two[usize::from(given.is_on("use_lsm"))]
    } else {
        name
    }
}

/// The engines, and whether they were named.
fn engine_list(given: &Given, table: bool) -> Result<(Vec<String>, bool), String> {
    let all = || {
        engines::NAMES
            .iter()
            .map(|name| (*name).to_owned())
            .collect()
    };
    let either = engines::EITHER.0;
    let text = given.given("engine");
    if given.given("use_lsm").is_some() && !names(text.unwrap_or("")).any(|name| name == either) {
        return Err(format!(
            "--use_lsm picks one of two trees: it goes with --engine={either}"
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
        if !engines::NAMES.contains(&name) {
            let near = engines::NAMES
                .iter()
                .min_by_key(|known| distance(name, known))
                .filter(|known| distance(name, known) <= 3);
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(format!(
                "--engine={name}: {}, {either} or all is allowed{hint}",
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

/// The part of a plan that comes from the flags alone.
fn plan(given: &Given) -> Result<Plan, String> {
    let num = given.count("num");
    let or_num = |name| u64::try_from(given.number(name)).unwrap_or(num);
    let use_existing_db = given.is_on("use_existing_db");
    let small = |name| usize::try_from(given.count(name)).unwrap_or(0);
    let uncompressed = given
        .given("compression_type")
        .is_some_and(|codec| codec.eq_ignore_ascii_case("none"));
    Ok(Plan {
        engine: String::new(),
        library: None,
        benchmarks: given
            .text("benchmarks")
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
        resume_at: 0,
        lost: Vec::new(),
        db: PathBuf::new(),
        num,
        reads: or_num("reads"),
        writes: or_num("writes"),
        deletes: or_num("deletes"),
        threads: u32::try_from(given.count("threads")).unwrap_or(1),
        value_size: small("value_size"),
        compression_ratio: given.text("compression_ratio").parse().unwrap_or(0.5),
        key_prefix: key_prefix(given)?,
        seed: u32::try_from(given.count("seed")).unwrap_or(0),
        shuffle: given.is_on("shuffle"),
        duration: given.count("duration"),
        batch_size: given.chosen("batch_size").unwrap_or(0),
        readwritepercent: u32::try_from(given.count("readwritepercent")).unwrap_or(0),
        mergereadpercent: u32::try_from(given.count("mergereadpercent")).unwrap_or(0),
        sync: given.is_on("sync"),
        variant: variant(given),
        memory: memory(given, use_existing_db),
        compression: given.is_on("compression") && !uncompressed,
        bloom_bits: u32::try_from(given.number("bloom_bits")).ok(),
        block_size: given.chosen("block_size"),
        max_file_size: given.chosen("max_file_size"),
        open_files: u32::try_from(given.number("open_files"))
            .ok()
            .filter(|&files| files > 0),
        use_existing_db,
        histogram: given.is_on("histogram"),
        statistics: given.is_on("statistics"),
        verify: given.is_on("verify"),
        progress: true,
        round: 1,
        suite: None,
        section: None,
    })
}

/// Bytes of the constant part of keys, given directly or through the whole length.
fn key_prefix(given: &Given) -> Result<usize, String> {
    let small = |name| usize::try_from(given.count(name)).unwrap_or(0);
    match given.chosen("key_size") {
        Some(_) if given.given("key_prefix").is_some() => {
            Err("--key_size and --key_prefix both set the length of keys: give one".into())
        }
        Some(_) => Ok(small("key_size") - bench_core::key::DIGITS),
        None => Ok(small("key_prefix")),
    }
}

fn variant(given: &Given) -> Variant {
    if given.text("variant") == Variant::Seed.word() {
        Variant::Seed
    } else {
        Variant::Fair
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
