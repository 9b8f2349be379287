//! The parsed and checked command line.

use std::path::PathBuf;
use std::time::Duration;

use bench_core::flags::{Given, nearest};

use crate::flags::{NAMES, Profile};
use crate::plan::{Mix, Plan};

/// The settings of a command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// Names of caches, in order.
    pub(crate) caches: Vec<String>,
    /// Whether the caches were named individually rather than by `all`.
    pub(crate) named: bool,
    /// Number of rounds of each cache.
    pub(crate) rounds: u64,
    /// The file for results.
    pub(crate) json: Option<PathBuf>,
    /// RocksDB's program, if it was named.
    pub(crate) program: Option<PathBuf>,
    /// Time limit of one run.
    pub(crate) timeout: Duration,
    /// The plan of every run; the cache and the round are filled in later.
    pub(crate) plan: Plan,
}

impl Config {
    /// Interprets the given flags.
    pub(crate) fn new(given: &Given) -> Result<Self, String> {
        let profile = Profile::of(given);
        let caches = caches(given)?;
        let path = |name| {
            given
                .given(name)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        };
        Ok(Self {
            named: given.text("cache") != "all",
            caches,
            rounds: count(profile, given, "rounds"),
            json: path("json"),
            program: path("rocksdb_cache_bench"),
            timeout: Duration::from_secs(count(profile, given, "timeout")),
            plan: plan(profile, given)?,
        })
    }
}

/// Returns a flag as a non-negative integer; the table guarantees that it parses.
fn count(profile: Profile, given: &Given, name: &str) -> u64 {
    profile.text(given, name).parse().unwrap_or(0)
}

/// Returns the caches that a command line names.
fn caches(given: &Given) -> Result<Vec<String>, String> {
    if let (Some("lru_cache"), true) = (given.given("cache_type"), given.is_on("use_clock_cache")) {
        return Err(
            "--cache_type=lru_cache and --use_clock_cache name two caches: give only one"
                .to_owned(),
        );
    }
    let typed = match given.given("cache_type") {
        Some("lru_cache") => Some(("cache_type=lru_cache", "lru")),
        Some("clock_cache") => Some(("cache_type=clock_cache", "clock")),
        Some(_) => Some(("cache_type=hyper_clock_cache", "clock")),
        None if given.is_on("use_clock_cache") => Some(("use_clock_cache", "clock")),
        None => None,
    };
    let list = match (typed, given.given("cache")) {
        (Some((flag, _)), Some(cache)) => {
            return Err(format!(
                "--{flag} and --cache={cache} both name a cache: give only one"
            ));
        }
        (Some((_, cache)), None) => cache,
        (None, _) => given.text("cache"),
    };
    if list == "all" {
        return Ok(NAMES.iter().map(|&name| name.to_owned()).collect());
    }
    let mut caches: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if !NAMES.contains(&name) {
            let hint = nearest(name, NAMES.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let allowed = NAMES.join(", ");
            return Err(format!("--cache={name}: {allowed} or all is allowed{hint}"));
        }
        if caches.iter().any(|known| known == name) {
            return Err(format!("--cache={list}: {name} is named twice"));
        }
        caches.push(name.to_owned());
    }
    Ok(caches)
}

fn plan(profile: Profile, given: &Given) -> Result<Plan, String> {
    let count = |name| count(profile, given, name);
    let (cache_bytes, value_bytes) = (count("cache_size"), count("value_bytes"));
    let resident_ratio: f64 = profile
        .text(given, "resident_ratio")
        .parse()
        .unwrap_or(0.25);
    // The classic profile takes the number of keys from a flag; it derives it only on request.
    let is_derived = given.given("max_key").is_none()
        && (profile == Profile::Modern || given.given("resident_ratio").is_some());
    let max_key = if is_derived {
        keys(cache_bytes, resident_ratio, value_bytes)
    } else {
        count("max_key")
    };
    let ops_per_thread = count("ops_per_thread");
    let latency_ops = match given.text("latency_ops").parse() {
        _ if !given.is_on("histograms") => 0,
        Ok(ops) => ops,
        // Negative means a tenth.
        Err(_) => (ops_per_thread / 10).max(1),
    };
    Ok(Plan {
        round: 1,
        profile: profile.word().to_owned(),
        threads: count("threads"),
        cache_bytes,
        shard_bits: profile.text(given, "num_shard_bits").parse().ok(),
        max_key,
        resident_ratio,
        value_bytes,
        skew: profile.text(given, "skew").parse().unwrap_or(0),
        mix: mix(profile, given)?,
        hold: profile == Profile::Modern,
        lean: given.is_on("lean"),
        populate: profile.text(given, "populate_cache") == "1",
        warmup_ops: count("warmup_ops"),
        ops_per_thread,
        latency_ops,
        seed: match count("seed") {
            0 => chosen_seed(),
            seed => seed,
        },
        ..Plan::default()
    })
}

/// Returns the number of keys of which this ratio fits in the cache, computed as in RocksDB.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "RocksDB's own arithmetic; sizes are below 2^50 and the ratio is positive"
)]
fn keys(cache_bytes: u64, resident_ratio: f64, value_bytes: u64) -> u64 {
    ((cache_bytes as f64 / resident_ratio / value_bytes as f64) as u64).max(1)
}

/// Returns a seed from the clock.
fn chosen_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |since| u64::from(since.subsec_nanos()).max(1))
}

fn mix(profile: Profile, given: &Given) -> Result<Mix, String> {
    let names = ["lookup_insert", "insert", "blind_insert", "lookup", "erase"];
    let names = names.map(|name| format!("{name}_percent"));
    let percents = names.each_ref().map(|name| count(profile, given, name));
    let sum: u64 = percents.iter().sum();
    if sum != 100 {
        let each = names.iter().zip(percents);
        let each: Vec<String> = each.map(|(name, it)| format!("{name}={it}")).collect();
        let (each, profile) = (each.join(" "), profile.word());
        return Err(format!(
            "Percentages must add to 100: {each} add to {sum} (--profile={profile})"
        ));
    }
    let [lookup_insert, insert, blind_insert, lookup, erase] = percents;
    #[rustfmt::skip]
    let mix = Mix { lookup_insert, insert, blind_insert, lookup, erase };
    Ok(mix)
}

#[cfg(test)]
mod tests;
