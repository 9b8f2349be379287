//! Runs a list, and shortens it if it fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::config::Config;
use crate::op::Turn;
use crate::runner::{list, run_list};

/// Maximum number of runs for a reduction. After them, the shortest list so far is printed.
const REDUCTIONS_MAX: usize = 600;

/// Runs `ops`. A panic counts as a failure.
fn attempt(config: &Config, ops: &[Turn]) -> Result<u64, (usize, String)> {
    match catch_unwind(AssertUnwindSafe(|| run_list(config, ops))) {
        Ok(result) => result.map(|answers| answers.last().copied().unwrap_or(0)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err((ops.len(), format!("panic: {}", text.unwrap_or_default())))
        }
    }
}

/// Returns the part that failures with the same cause have in common: the start of the message,
/// without numbers.
fn signature(why: &str) -> String {
    let text = why.split_once(": ").map_or(why, |(_, rest)| rest);
    let letters = text.chars().filter(|letter| letter.is_alphabetic());
    letters.take(30).collect()
}

/// Removes pieces of decreasing length as long as the rest fails for the same reason.
fn reduce(config: &Config, mut ops: Vec<Turn>, mut why: String) -> (Vec<Turn>, String) {
    let mut piece = ops.len() / 2;
    let mut runs = 0;
    while piece > 0 && runs < REDUCTIONS_MAX {
        let mut at = 0;
        while at < ops.len() && runs < REDUCTIONS_MAX {
            let end = (at + piece).min(ops.len());
            let shorter = [&ops[..at], &ops[end..]].concat();
            runs += 1;
            match attempt(config, &shorter) {
                Err((index, error)) if signature(&error) == signature(&why) => {
                    ops = shorter;
                    // Operations after the failing one are irrelevant.
                    ops.truncate(index + 1);
                    why = error;
                }
                _ => at = end,
            }
        }
        piece /= 2;
    }
    (ops, why)
}

/// Runs list `seed` and returns its number of operations.
///
/// # Panics
/// If the database differs from the model. The message has the shortest failing list found.
pub(crate) fn run_or_reduce(seed: u64) -> u64 {
    let config = Config::draw(seed);
    let mut ops = list(&config);
    let (index, why) = match attempt(&config, &ops) {
        Ok(done) => return done,
        Err(failure) => failure,
    };
    eprintln!(
        "list {seed} failed at operation {index}: {why}\nreducing; replay with CAIRN_SEED={seed}"
    );
    ops.truncate(index + 1);
    let (ops, why) = reduce(&config, ops, why);
    let lines: Vec<String> = ops.iter().map(|op| format!("  {op:?}")).collect();
    panic!(
        "list {seed} differs: {why}\n{config:?}\n{} operations left:\n{}\n\
         replay: CAIRN_SEED={seed} cargo test -p cairndb --test model the_database",
        ops.len(),
        lines.join("\n")
    );
}
