//! Model test: compares the database with a `BTreeMap` for each of three keyspaces, over millions
//! of operations and random settings.
//!
//! A *list* consists of settings and about twenty thousand operations, all drawn from one seed. It
//! runs on the database and on the model, and every result is compared. A failing list is reduced
//! and printed with the command that replays it.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_MODEL_OPS` | total number of operations, 20 million by default |
//! | `CAIRN_SEED` | the first seed, 1 by default; if set alone, only that list runs |

#![allow(
    clippy::big_endian_bytes,
    clippy::if_not_else,
    clippy::items_after_statements,
    clippy::manual_is_multiple_of,
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "big-endian keys sort as numbers; operations share one signature"
)]

#[path = "model/config.rs"]
mod config;
#[path = "model/data.rs"]
mod data;
#[path = "model/feed.rs"]
mod feed;
#[path = "model/keyspaces.rs"]
mod keyspaces;
#[path = "model/op.rs"]
mod op;
#[path = "model/oracle.rs"]
mod oracle;
#[path = "model/reader.rs"]
mod reader;
#[path = "model/reduce.rs"]
mod reduce;
#[path = "model/runner.rs"]
mod runner;
#[path = "model/scans.rs"]
mod scans;
#[path = "model/upkeep.rs"]
mod upkeep;

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::testing::setting::setting;

/// Number of operations in a push check: about three minutes on two cores.
const OPS: u64 = 20_000_000;
/// Number of threads. Each runs its own list, so that two cores are busy.
const THREADS: usize = 2;

#[test]
fn the_database_answers_as_a_map_does() {
    let seed = setting("CAIRN_SEED");
    let wanted = setting("CAIRN_MODEL_OPS").unwrap_or(if seed.is_some() { 1 } else { OPS });
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
