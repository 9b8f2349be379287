//! The database against a `BTreeMap`: millions of operations over random settings, no difference.
//!
//! A *list* is a setting drawn from a seed and some twenty thousand operations drawn from the same
//! seed. It runs on the database and on the model, and every answer is compared. A list that fails
//! is reduced and printed with the line that replays it.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_MODEL_OPS` | operations in all, 20 million by default |
//! | `CAIRN_SEED` | the first seed, 1 by default; alone, the only list that is run |

#![allow(
    clippy::big_endian_bytes,
    clippy::if_not_else,
    clippy::items_after_statements,
    clippy::manual_is_multiple_of,
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "keys that order as numbers do; operations of one shape"
)]

#[path = "model/config.rs"]
mod config;
#[path = "model/data.rs"]
mod data;
#[path = "model/op.rs"]
mod op;
#[path = "model/oracle.rs"]
mod oracle;
#[path = "model/reduce.rs"]
mod reduce;
#[path = "model/runner.rs"]
mod runner;
#[path = "model/scans.rs"]
mod scans;
#[path = "model/upkeep.rs"]
mod upkeep;

use std::sync::atomic::{AtomicU64, Ordering};

/// Operations of a push: about three minutes of two cores.
const OPS: u64 = 20_000_000;
/// Threads: one list each, so that two cores are busy.
const THREADS: usize = 2;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

#[test]
fn the_database_answers_as_a_map_does() {
    let seed = variable("CAIRN_SEED");
    let wanted = variable("CAIRN_MODEL_OPS").unwrap_or(if seed.is_some() { 1 } else { OPS });
    let next = AtomicU64::new(seed.unwrap_or(1));
    let done = AtomicU64::new(0);
    let first = next.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(usize::try_from(wanted).unwrap_or(THREADS)) {
            scope.spawn(|| {
                while done.load(Ordering::Relaxed) < wanted {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let ops = reduce::run_or_reduce(seed);
                    done.fetch_add(ops, Ordering::Relaxed);
                }
            });
        }
    });
    let lists = next.into_inner() - first;
    println!(
        "{} operations in {lists} lists from seed {first}: no difference",
        done.into_inner()
    );
}
