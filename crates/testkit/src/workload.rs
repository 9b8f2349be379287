//! Workloads: lists of steps, all short ones or random long ones.

use std::ops::Range;

use cairndb::{Durability, Job};
use cairndb_env::random::Random;

/// What a write does to a key; the runner hands out the ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Set it to a chunk of this length.
    Put(usize),
    /// Append a chunk of this length.
    Merge(usize),
    /// Remove it.
    Delete,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// One entry by the call for single entries.
    One(u8, Act, Durability),
    /// A batch.
    Batch(Vec<(u8, Act)>, Durability),
    /// Everything to tables, durable.
    Flush,
    /// Everything in a range of keys to one run.
    Compact(Range<u8>),
    /// Take a snapshot and keep it.
    TakeSnapshot,
    /// Read the oldest snapshot and let it go.
    DropSnapshot,
    /// Close and open.
    Reopen,
    /// One background job.
    Background(Job),
    /// Compare all contents with the model.
    Read,
    /// Another database with the same contents.
    Checkpoint,
}

/// Keys are numbers below this.
pub const KEYS: u8 = 24;

/// The bytes of a key: two groups with a common prefix each, of several lengths.
pub fn key(number: u8) -> Vec<u8> {
    let group = if number.is_multiple_of(3) {
        "pebble"
    } else {
        "slate/"
    };
    let width = usize::from(number % 4) * 3 + 3;
    format!("{group}{number:0width$}").into_bytes()
}

/// The eight steps of the exhaustive workloads.
fn alphabet() -> [Step; 8] {
    let batch = vec![
        (0, Act::Put(900)),
        (1, Act::Put(40)),
        (2, Act::Delete),
        (3, Act::Merge(300)),
        (4, Act::Put(9000)),
    ];
    [
        Step::One(0, Act::Put(1500), Durability::Os),
        Step::One(1, Act::Put(700), Durability::Sync),
        Step::Batch(batch, Durability::Os),
        Step::One(0, Act::Delete, Durability::Os),
        Step::Flush,
        Step::Compact(0..KEYS),
        Step::TakeSnapshot,
        Step::Reopen,
    ]
}

/// All sequences of up to `length` steps: 584 of up to three (Mohan et al., "Finding
/// Crash-Consistency Bugs with Bounded Black-Box Crash Testing", OSDI 2018: that many steps
/// reproduce nearly every known bug).
pub fn all_short(length: usize) -> Vec<Vec<Step>> {
    let mut all: Vec<Vec<Step>> = vec![Vec::new()];
    let mut first = 0;
    for _ in 0..length {
        let end = all.len();
        for index in first..end {
            for step in alphabet() {
                let mut longer = all[index].clone();
                longer.push(step);
                all.push(longer);
            }
        }
        first = end;
    }
    all.remove(0);
    all
}

/// `length` random steps.
pub fn random(random: &mut Random, length: usize) -> Vec<Step> {
    let unlogged = random.below(3) == 0;
    (0..length).map(|_| step(random, unlogged)).collect()
}

fn step(random: &mut Random, unlogged: bool) -> Step {
    match random.below(100) {
        0..=43 => Step::One(
            key_number(random),
            act(random),
            durability(random, unlogged),
        ),
        44..=55 => {
            let count = 1 + random.index(6);
            let entries = (0..count).map(|_| (key_number(random), act(random)));
            Step::Batch(entries.collect(), durability(random, unlogged))
        }
        56..=58 => Step::Flush,
        59..=60 => Step::Compact(range(random)),
        61..=62 => Step::TakeSnapshot,
        63..=64 => Step::DropSnapshot,
        65 => Step::Reopen,
        66..=69 => Step::Read,
        70 => Step::Checkpoint,
        71..=78 => Step::Background(Job::Flush),
        79..=85 => Step::Background(Job::Merge),
        86..=87 => Step::Background(Job::IdleMerge),
        88..=94 => Step::Background(Job::Persist),
        95..=97 => Step::Background(Job::Reap),
        _ => Step::Background(Job::DropValues),
    }
}

fn key_number(random: &mut Random) -> u8 {
    let limit = if random.below(2) == 0 { 5 } else { KEYS };
    u8::try_from(random.below(u64::from(limit))).unwrap_or(0)
}

fn range(random: &mut Random) -> Range<u8> {
    if random.below(2) == 0 {
        return 0..KEYS;
    }
    let from = key_number(random);
    from..from.saturating_add(3).min(KEYS)
}

fn act(random: &mut Random) -> Act {
    match random.below(20) {
        0..=8 => Act::Put(24 + random.index(600)),
        9..=13 => Act::Put(1000 + random.index(3000)),
        14 => Act::Put(8192 + random.index(6000)),
        15 => Act::Merge(24 + random.index(400)),
        _ => Act::Delete,
    }
}

fn durability(random: &mut Random, unlogged: bool) -> Durability {
    match random.below(10) {
        0..=1 => Durability::Sync,
        2..=3 if unlogged => Durability::None,
        _ => Durability::Os,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_workloads_are_all_and_keys_differ() {
        assert_eq!(all_short(2).len(), 72);
        assert_eq!(all_short(3).len(), 584);
        let keys: std::collections::BTreeSet<_> = (0..KEYS).map(key).collect();
        assert_eq!(keys.len(), usize::from(KEYS));
    }
}
