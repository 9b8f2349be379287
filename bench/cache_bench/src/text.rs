//! The output: RocksDB's lines, followed by ours.
//!
//! The classic profile prints the lines of 5.x, the modern one those of 7.8 with the hit ratio of
//! later versions. Values that those programs do not report follow in lines of our own.

use std::fmt::Write as _;

use crate::outcome::{Outcome, Status};
use crate::plan::Plan;

const RULE: &str = "----------------------------\n";

/// Appends one line of the header.
fn line(text: &mut String, label: &str, value: impl std::fmt::Display) {
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(text, "{label:<20}: {value}");
}

/// Returns the block printed before a run.
pub(crate) fn head(plan: &Plan, title: &str) -> String {
    let mut text = String::new();
    let is_modern = plan.profile == "modern";
    if is_modern {
        text.push_str(RULE);
    }
    if cfg!(debug_assertions) {
        text.push_str("WARNING: Assertions are enabled; benchmarks unnecessarily slow\n");
    }
    line(&mut text, "Cache", title);
    line(&mut text, "Number of threads", plan.threads);
    line(&mut text, "Ops per thread", plan.ops_per_thread);
    let bits = plan
        .shard_bits
        .map_or_else(|| "-1".to_owned(), |bits| bits.to_string());
    if is_modern {
        line(&mut text, "Cache size", bytes(plan.cache_bytes));
    } else {
        line(&mut text, "Cache size", plan.cache_bytes);
    }
    line(&mut text, "Num shard bits", bits);
    line(&mut text, "Max key", plan.max_key);
    if is_modern {
        line(&mut text, "Resident ratio", plan.resident_ratio);
        line(&mut text, "Skew degree", plan.skew);
    }
    line(&mut text, "Populate cache", u8::from(plan.populate));
    shares(&mut text, plan);
    line(&mut text, "Value bytes", plan.value_bytes);
    line(&mut text, "Seed", plan.seed);
    if plan.lean {
        line(&mut text, "Lean", 1);
    }
    text.push_str(RULE);
    text
}

/// Appends the shares of the operations.
fn shares(text: &mut String, plan: &Plan) {
    let mut share = |label, percent| line(text, label, format_args!("{percent}%"));
    if plan.profile == "modern" || plan.mix.lookup_insert > 0 {
        share("Lookup+Insert pct", plan.mix.lookup_insert);
    }
    share("Insert percentage", plan.mix.insert);
    if plan.mix.blind_insert > 0 {
        share("Blind insert pct", plan.mix.blind_insert);
    }
    share("Lookup percentage", plan.mix.lookup);
    share("Erase percentage", plan.mix.erase);
}

/// Returns the block printed after a run.
pub(crate) fn result(outcome: &Outcome, plan: &Plan) -> String {
    let mut text = String::new();
    for note in &outcome.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    population(&mut text, outcome, plan);
    rate(&mut text, outcome, plan);
    held(&mut text, outcome, plan);
    latency(&mut text, outcome);
    if let Some((word, reason)) = outcome.lost() {
        let _ = writeln!(text, "{}: {word} ({reason})", plan.cache);
    }
    text.push('\n');
    text
}

fn population(text: &mut String, outcome: &Outcome, plan: &Plan) {
    let (Some(entries), Some(charged)) = (outcome.populated_entries, outcome.populated_bytes)
    else {
        return;
    };
    if plan.profile == "modern" {
        let average = charged.checked_div(entries).unwrap_or(0);
        let _ = writeln!(
            text,
            "Population complete ({entries} entries, {average} average charge)"
        );
    }
}

fn rate(text: &mut String, outcome: &Outcome, plan: &Plan) {
    let (Some(rate), Some(wall)) = (outcome.ops_per_second, outcome.wall_ns) else {
        return;
    };
    let (millis, rate) = (wall.saturating_add(500_000) / 1_000_000, whole(rate));
    let seconds = format!("{}.{:03}", millis / 1000, millis % 1000);
    if plan.profile == "modern" {
        let _ = writeln!(
            text,
            "Complete in {seconds} s; Rough parallel ops/sec = {rate}"
        );
    } else {
        let _ = writeln!(text, "Complete in {seconds} s; QPS = {rate}");
    }
    if let Some(thread) = outcome.thread_ops_per_second {
        let _ = writeln!(text, "Thread ops/sec = {}", whole(thread));
    }
    if let Some(ratio) = outcome.hit_ratio {
        let _ = writeln!(text, "Lookup hit ratio: {}", general(ratio));
    }
}

fn held(text: &mut String, outcome: &Outcome, plan: &Plan) {
    if let (Some(entries), Some(usage)) = (outcome.entries, outcome.usage_bytes) {
        let _ = write!(
            text,
            "Entries held: {entries}, charged {} of {}",
            bytes(usage),
            bytes(plan.cache_bytes)
        );
        if let Some(shards) = outcome.shards {
            let _ = write!(text, " in {shards} shards");
        }
        if let Some(memory) = outcome.memory_bytes {
            let _ = write!(text, "; the process grew by {}", bytes(memory));
        }
        text.push('\n');
    }
    if let (Some(true), Status::Ok, Some(hits)) = (outcome.verified, outcome.status, outcome.hits) {
        let _ = writeln!(
            text,
            "Values checked: every one found ({hits} in this pass), none wrong"
        );
    }
}

fn latency(text: &mut String, outcome: &Outcome) {
    let (Some(histogram), Some(ops)) = (&outcome.histogram, outcome.timed_ops) else {
        return;
    };
    if let (Some(clock), Some(rate)) = (outcome.clock_ns, outcome.timed_ops_per_second) {
        let _ = writeln!(
            text,
            "Latency pass of its own: {ops} operations at {} ops/sec; the clock adds about {clock} ns to \
             each, making and checking values is included",
            whole(rate)
        );
    }
    let _ = write!(text, "\nOperation latency (ns):\n{histogram}");
}

/// Returns a number of bytes as RocksDB shows it.
pub(crate) fn bytes(bytes: u64) -> String {
    const NAMES: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let (mut size, mut place) = (float(bytes) / 1024.0, 0);
    while place < NAMES.len() - 1 && size >= 1024.0 {
        size /= 1024.0;
        place += 1;
    }
    format!("{size:.2} {}", NAMES[place])
}

/// Returns a number as `printf` shows it with `%g`: six significant digits, no trailing zeros.
pub(crate) fn general(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let bare = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", bare(digits), exponent.abs());
    }
    let places = usize::try_from(5 - exponent).unwrap_or(0);
    bare(&format!("{number:.places$}"))
}

/// Returns a rate without its fraction, as RocksDB prints it.
pub(crate) fn whole(rate: f64) -> String {
    format!("{:.0}", rate.floor())
}

#[expect(clippy::cast_precision_loss, reason = "the figures are only displayed")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
