//! Concurrency test with real threads: many short rounds of writers, readers and upkeep, with a
//! close in the middle.
//!
//! Each writer numbers its writes and spreads them over its keys, so that a reader can derive the
//! number of the last write from the entries it reads, and from that number the state of every
//! other key (`story`). So every scan, `multi_get`, snapshot and checkpoint is checked completely:
//! no missing write, no torn batch, no step backwards. When the database closes, threads that are
//! still working must get `Closed` and no other error. The next open must find everything
//! acknowledged before. It happens immediately, while the threads of the old handle still unwind.
//!
//! Under a sanitizer (`xtask/check.sh tsan`) the same rounds reveal data races that do not affect
//! results.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_ROUNDS` | number of rounds, 24 by default |
//! | `CAIRN_ROUND_PERCENT` | length of a round, 100 by default |
//! | `CAIRN_SEED` | seed of the first round, 1 by default; if set alone, only that round runs |

#![expect(clippy::big_endian_bytes, reason = "big-endian keys sort as numbers")]

#[path = "behaviour/json.rs"]
mod json;
#[path = "threads/readers.rs"]
mod readers;
#[path = "threads/round.rs"]
mod round;
#[path = "threads/story.rs"]
mod story;
#[path = "threads/upkeep.rs"]
mod upkeep;
#[path = "threads/values.rs"]
mod values;

use cairndb_env::testing::setting::setting;

/// Number of rounds in a push check: about ten seconds on two cores.
const ROUNDS: u64 = 24;

/// Length of a round, in percent of its length in a push check.
#[derive(Clone, Copy)]
struct Scale(u64);

impl Scale {
    fn of(self, count: u64) -> u64 {
        count * self.0 / 100
    }
}

#[test]
fn readers_see_moments_while_everything_runs_and_closes() {
    let seed = setting("CAIRN_SEED");
    let rounds = setting("CAIRN_ROUNDS").unwrap_or(if seed.is_some() { 1 } else { ROUNDS });
    let scale = Scale(setting("CAIRN_ROUND_PERCENT").unwrap_or(100));
    let first = seed.unwrap_or(1);
    let mut done = round::Done::default();
    for seed in first..first + rounds {
        match round::run(seed, scale) {
            Ok(round) => done += round,
            Err(why) => {
                panic!("round {seed}: {why}\nreplay: CAIRN_SEED={seed} (as far as threads repeat)")
            }
        }
    }
    println!("{rounds} rounds from seed {first}: {done:?}, nothing out of order");
    assert!(
        done.flushes >= 4 * rounds && done.compactions >= rounds,
        "{done:?}"
    );
}
