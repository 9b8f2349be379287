//! `cache_bench`: throughput, hit ratio and latency of caches, in the style of RocksDB's program.
//!
//! The parent process reads the flags and prints; each cache and round runs in its own child
//! process, over the same draws. Every value found is compared with the expected value of its key.

mod child;
mod config;
mod draw;
mod flags;
mod machine;
mod outcome;
mod pass;
mod peer;
mod plan;
mod run;
mod subject;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod value;

use std::path::Path;
use std::process::ExitCode;

use bench_core::flags::Given;
use bench_core::result::output::{JsonLines, notify, print};

use crate::config::Config;
use crate::outcome::{Outcome, Status};
use crate::plan::Plan;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == child::WORD) {
        return child::main();
    }
    match begin(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            notify(&format!("{sentence}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Executes the command line; returns false if a run failed.
fn begin(words: &[String]) -> Result<bool, String> {
    let given = Given::parse(&flags::FAMILY, words)?;
    for warning in &given.warnings {
        notify(&format!("warning: {warning}\n"));
    }
    if given.is_on("help") {
        print(&flags::help());
        return Ok(true);
    }
    if given.is_on("version") {
        print(&format!("cache_bench {}\n", env!("CARGO_PKG_VERSION")));
        return Ok(true);
    }
    all(&Config::new(&given)?)
}

/// Runs every cache in every round.
fn all(config: &Config) -> Result<bool, String> {
    let program = find_peer(config)?;
    let mut json = JsonLines::create(config.json.as_deref())?;
    json.line(&machine::Machine::here())?;
    let mut outcomes = Vec::new();
    let total = config.caches.len();
    for round in 0..usize::try_from(config.rounds).unwrap_or(usize::MAX) {
        for place in 0..total {
            // Each round starts with a different cache, so that no cache always runs on a machine
            // warmed by another.
            let cache = &config.caches[(place + round) % total];
            let plan = Plan {
                cache: cache.clone(),
                round: round as u64 + 1,
                ..config.plan.clone()
            };
            let outcome = one(config, &plan, program.as_deref());
            json.line(&outcome)?;
            outcomes.push(outcome);
        }
    }
    print(&table::table(&outcomes));
    Ok(outcomes
        .iter()
        .all(|outcome| outcome.status != Status::Failed))
}

/// Finds RocksDB's program if requested; its absence is an error only if it was named.
fn find_peer(config: &Config) -> Result<Option<std::path::PathBuf>, String> {
    let is_wanted = config
        .caches
        .iter()
        .any(|cache| peer::cache_type(cache).is_some());
    if !is_wanted {
        return Ok(None);
    }
    match peer::find(config.program.as_deref()) {
        Ok(path) => Ok(Some(path)),
        Err(reason) if config.named || config.program.is_some() => Err(reason),
        Err(_) => Ok(None),
    }
}

/// Runs one cache in one round and prints the result.
fn one(config: &Config, plan: &Plan, program: Option<&Path>) -> Outcome {
    let is_peer = peer::cache_type(&plan.cache).is_some();
    let title = if is_peer {
        plan.cache.clone()
    } else {
        subject::title(&plan.cache)
    };
    print(&text::head(plan, &title));
    let skipped = |reason| Outcome::of(plan, title.clone()).ended(Status::Skipped, reason);
    let outcome = match (is_peer, program, peer::obstacle(plan)) {
        (false, ..) => child::measure(plan, config.timeout),
        (true, None, _) => skipped(format!("not installed: Debian package {}", peer::PACKAGE)),
        (true, _, Some(reason)) => skipped(reason),
        (true, Some(program), None) => peer::measure(program, plan, config.timeout),
    };
    print(&text::result(&outcome, plan));
    outcome
}
