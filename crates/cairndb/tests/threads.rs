//! Real threads: writers, readers, upkeep and a close in the middle, many short rounds.
//!
//! Each writer numbers its writes and spreads them so that a reader can tell from what it sees
//! which number was last, and from that what everything else must be (`story`). So every scan,
//! `multi_get`, snapshot and checkpoint is checked whole: no hole, no torn batch, no step back.
//! Whoever still works when the database closes gets `Closed` and nothing else; what was
//! acknowledged before is there at the next opening, at once, while the others still unwind.
//!
//! Under a sanitizer (`xtask/check.sh tsan`) the same rounds show data races that no answer shows.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_ROUNDS` | rounds, 24 by default |
//! | `CAIRN_ROUND_PERCENT` | length of a round, 100 by default |
//! | `CAIRN_SEED` | the first round's seed, 1 by default; alone, the only round that is run |

#![expect(clippy::big_endian_bytes, reason = "keys that order as numbers do")]

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

/// Rounds of a push: some ten seconds of two cores.
const ROUNDS: u64 = 24;

/// How long a round is, in percent of a push's.
#[derive(Clone, Copy)]
struct Scale(u64);

impl Scale {
    fn of(self, count: u64) -> u64 {
        count * self.0 / 100
    }
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

#[test]
fn readers_see_moments_while_everything_runs_and_closes() {
    let seed = variable("CAIRN_SEED");
    let rounds = variable("CAIRN_ROUNDS").unwrap_or(if seed.is_some() { 1 } else { ROUNDS });
    let scale = Scale(variable("CAIRN_ROUND_PERCENT").unwrap_or(100));
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
        done.flushes >= 4 * rounds && done.merges >= rounds,
        "{done:?}"
    );
}
