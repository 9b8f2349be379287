//! The run of one plan, from an empty cache to its result.

use std::time::{Duration, Instant};

use bench_core::host::process;

use crate::outcome::{Outcome, Status};
use crate::pass::{self, Tally, Worker};
use crate::plan::Plan;
use crate::subject::{self, Moka, Null, Quick, Subject};

/// Runs a plan on the cache that it names.
pub(crate) fn run(plan: &Plan) -> Result<Outcome, String> {
    let (memory, _) = process::resident();
    let outcome = match plan.cache.as_str() {
        "null" => measure(plan, &Null, memory),
        "lru" => measure(plan, &subject::lru(plan), memory),
        "clock" => measure(plan, &subject::clock(plan), memory),
        "quick_cache" => measure(plan, &Quick::new(plan)?, memory),
        "moka" => measure(plan, &Moka::new(plan), memory),
        other => return Err(format!("{other} is not a cache of this program")),
    };
    Ok(outcome)
}

/// Fills, warms up, measures the rate, then the latencies. `memory` is the memory of the process
/// before the cache was created.
pub(crate) fn measure(plan: &Plan, cache: &impl Subject, memory: Option<u64>) -> Outcome {
    let mut outcome = Outcome::of(plan, subject::title(&plan.cache));
    outcome.shards = cache.shards();
    let mut workers: Vec<Worker> = (0..plan.threads)
        .map(|thread| Worker::new(plan, thread))
        .collect();
    if plan.populate {
        // Twice as many as fit, like RocksDB's program.
        let entries = (2 * plan.cache_bytes).div_ceil(plan.value_bytes);
        pass::populate(cache, &mut workers, entries);
        cache.settle();
        outcome.populated_entries = Some(cache.entries());
        outcome.populated_bytes = Some(cache.usage());
    }
    let mut answers = Answers::default();
    if plan.warmup_ops > 0 {
        answers.judge(&pass::run::<false>(cache, &mut workers, plan.warmup_ops));
    }
    let tally = pass::run::<false>(cache, &mut workers, plan.ops_per_thread);
    answers.judge(&tally);
    rate(&mut outcome, &tally);
    cache.settle();
    (outcome.entries, outcome.usage_bytes) = (Some(cache.entries()), Some(cache.usage()));
    let (now, _) = process::resident();
    outcome.memory_bytes = now
        .zip(memory)
        .map(|(now, before)| now.saturating_sub(before));
    if plan.latency_ops > 0 {
        let timed = pass::run::<true>(cache, &mut workers, plan.latency_ops);
        answers.judge(&timed);
        latencies(&mut outcome, &timed);
    }
    outcome.verified = Some(true);
    answers.verdict(outcome, plan)
}

fn rate(outcome: &mut Outcome, tally: &Tally) {
    outcome.ops = Some(tally.ops);
    outcome.wall_ns = Some(nanos(tally.wall));
    outcome.thread_ns = Some(nanos(tally.thread_time));
    outcome.ops_per_second = per_second(tally.ops, tally.wall);
    outcome.thread_ops_per_second = per_second(tally.ops, tally.thread_time);
    (outcome.lookups, outcome.hits) = (Some(tally.lookups), Some(tally.hits));
    outcome.hit_ratio = ratio(tally.hits, tally.lookups);
    outcome.inserts = Some(tally.inserts);
    (outcome.erases, outcome.erased) = (Some(tally.erases), Some(tally.erased));
}

fn latencies(outcome: &mut Outcome, timed: &Tally) {
    let percentile = |percent| Some(timed.latency.percentile(percent));
    outcome.timed_ops = Some(timed.ops);
    outcome.timed_ops_per_second = per_second(timed.ops, timed.wall);
    outcome.clock_ns = Some(clock_cost());
    outcome.p50_ns = percentile(50.0);
    outcome.p75_ns = percentile(75.0);
    outcome.p99_ns = percentile(99.0);
    outcome.p999_ns = percentile(99.9);
    outcome.p9999_ns = percentile(99.99);
    outcome.max_ns = percentile(100.0);
    outcome.histogram = Some(timed.latency.to_text());
}

/// Returns the median difference of two consecutive clock readings.
fn clock_cost() -> u64 {
    let mut costs: Vec<u64> = (0..1001).map(|_| nanos(Instant::now().elapsed())).collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn per_second(ops: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| float(ops) / time.as_secs_f64())
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts are below 2^53, and the figures are only displayed"
)]
const fn float(number: u64) -> f64 {
    number as f64
}

/// The wrong answers of all passes.
#[derive(Debug, Default)]
struct Answers {
    wrong: u64,
    hits: u64,
    first: Option<String>,
}

impl Answers {
    fn judge(&mut self, tally: &Tally) {
        self.wrong += tally.wrong;
        self.hits += tally.hits;
        self.first = self.first.take().or_else(|| tally.first_wrong.clone());
    }

    /// Fails a run that returned a wrong answer or exceeded its capacity.
    fn verdict(self, outcome: Outcome, plan: &Plan) -> Outcome {
        if self.wrong > 0 {
            let first = self.first.unwrap_or_default();
            let (wrong, hits) = (self.wrong, self.hits);
            return outcome.ended(
                Status::Failed,
                format!("{wrong} of {hits} values found were wrong; first: {first}"),
            );
        }
        let usage = outcome.usage_bytes.unwrap_or(0);
        if usage > plan.cache_bytes {
            let bound = plan.cache_bytes;
            return outcome.ended(
                Status::Failed,
                format!("it holds {usage} bytes where --cache_size allows {bound}"),
            );
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
