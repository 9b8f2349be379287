//! The comparison at the end: one line per cache, over all rounds.

use std::fmt::Write as _;

use bench_core::result::outline::Aggregate;
use bench_core::result::spread::Spread;

use crate::outcome::Outcome;
use crate::text::{bytes, general, whole};

/// The titles of the columns.
const HEAD: &str = "cache                     ops/sec         lowest .. highest  hit ratio  \
    timed ops/s    P50 ns    P99 ns  P99.9 ns     memory\n";

/// Returns the lines of all caches, in the order of their first runs; empty for a single result.
pub(crate) fn table(outcomes: &[Outcome]) -> String {
    if outcomes.len() < 2 {
        return String::new();
    }
    let mut text = HEAD.to_owned();
    let mut seen: Vec<&str> = Vec::new();
    for outcome in outcomes {
        let name = name(outcome);
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let rounds: Vec<&Outcome> = outcomes
            .iter()
            .filter(|other| self::name(other) == name)
            .collect();
        row(&mut text, name, &rounds);
    }
    text.push_str(
        "ops/sec: median of the rounds, without a clock around each operation but for RocksDB's own program;\n\
         timed ops/s: with one, in the pass that gives the latencies: compare RocksDB's rows with these.\n",
    );
    text
}

fn name(outcome: &Outcome) -> &str {
    outcome.plan.as_ref().map_or("", |plan| plan.cache.as_str())
}

fn row(text: &mut String, name: &str, rounds: &[&Outcome]) {
    if let Some((word, reason)) = rounds.iter().find_map(|outcome| outcome.lost()) {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "{name:<20} {word}: {reason}");
        return;
    }
    let of = |of: fn(&Outcome) -> Option<f64>| {
        Spread::of(rounds.iter().filter_map(|it| of(it)), Aggregate::Median)
    };
    let dash = || "-".to_owned();
    let shown = |it: Option<Spread>| it.map_or_else(dash, |it| whole(it.middle));
    let rates = of(|outcome| outcome.ops_per_second);
    let spread = match rates.filter(|_| rounds.len() > 1) {
        Some(rates) => format!("{} .. {}", whole(rates.low), whole(rates.high)),
        None => "one round".to_owned(),
    };
    let hits = of(|it| it.hit_ratio).map_or_else(dash, |it| general(round(it.middle)));
    let memory = rounds
        .iter()
        .filter_map(|outcome| outcome.memory_bytes)
        .max();
    let _ = writeln!(
        text,
        "{name:<20} {:>12} {spread:>25} {hits:>10} {:>12} {:>9} {:>9} {:>9} {:>10}",
        shown(rates),
        shown(of(|outcome| outcome.timed_ops_per_second)),
        shown(of(|outcome| outcome.p50_ns)),
        shown(of(|outcome| outcome.p99_ns)),
        shown(of(|outcome| outcome.p999_ns)),
        memory.map_or_else(dash, bytes),
    );
}

/// Rounds to four digits after the decimal point.
fn round(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::has;

    use super::*;
    use crate::outcome::Status;
    use crate::testing::plan;

    fn outcome(cache: &str, rate: f64) -> Outcome {
        let mut plan = plan();
        cache.clone_into(&mut plan.cache);
        Outcome {
            ops_per_second: Some(rate),
            hit_ratio: Some(0.123_45),
            memory_bytes: Some(1 << 20),
            ..Outcome::of(&plan, cache.to_owned())
        }
    }

    #[test]
    fn rounds_of_a_cache_are_one_line_with_their_spread() {
        let outcomes = [
            outcome("lru", 100.0),
            outcome("moka", 7.0),
            outcome("lru", 300.0),
            outcome("moka", 9.0),
            outcome("lru", 201.0),
            outcome("moka", 8.0),
        ];
        let text = table(&outcomes);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines[1], "lru 201 100 .. 300 0.1235 - - - - 1.00 MB");
        assert_eq!(lines[2], "moka 8 7 .. 9 0.1235 - - - - 1.00 MB");
    }

    #[test]
    fn one_failed_round_fails_the_line() {
        let failed = outcome("lru", 5.0).ended(Status::Failed, "a wrong value");
        let skipped = outcome("moka", 5.0).ended(Status::Skipped, "not there");
        let text = table(&[outcome("lru", 4.0), failed, skipped]);
        has(&text, "\nlru                  FAILED: a wrong value\n");
        has(&text, "\nmoka                 skipped: not there\n");
        assert_eq!(table(&[outcome("lru", 4.0)]), "");
    }
}
