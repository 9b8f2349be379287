//! Workloads: lists of steps, either all short lists or random long ones.

use std::ops::Range;

use cairndb::{Durability, Job};
use cairndb_env::random::Random;

/// The effect of a write on a key. The runner assigns the ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sets the value to a chunk of this length.
    Put(usize),
    /// Appends a chunk of this length.
    Merge(usize),
    /// Removes the key.
    Delete,
    /// Removes all keys of the keyspace between the key and this one, except the later of the two.
    DeleteRange(u8),
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write one entry with the call for single entries.
    One(u8, Act, Durability),
    /// Write a batch.
    Batch(Vec<(u8, Act)>, Durability),
    /// Write everything to tables and make it durable.
    Flush,
    /// Compact a range of keys to one run.
    Compact(Range<u8>),
    /// Take a snapshot and keep it.
    TakeSnapshot,
    /// Check the oldest snapshot and drop it.
    DropSnapshot,
    /// Close and reopen.
    Reopen,
    /// Run one background job.
    Background(Job),
    /// Compare all contents with the model.
    Read,
    /// Create another database with the same contents, and check it.
    Checkpoint,
    /// Create a keyspace, if it does not exist.
    Create(usize),
    /// Drop a keyspace, if it exists.
    Drop(usize),
}

/// Number of keys in most workloads; keys are numbers below it.
pub const KEYS: u8 = 24;
/// The range of all keys.
pub const ALL_KEYS: Range<u8> = 0..u8::MAX;

/// Maximum number of keys of a keyspace. The numbers of the next keyspace's keys follow.
pub const SPACE: u8 = 85;

/// Returns the number of the keyspace to which a key belongs, 0 for the default one.
pub fn space(number: u8) -> usize {
    usize::from(number / SPACE)
}

/// Returns the bytes of a key, which are the same in each keyspace. Keys form two groups with a
/// common prefix each, and have several lengths.
pub fn key(number: u8) -> Vec<u8> {
    let number = number % SPACE;
    let group = if number.is_multiple_of(3) {
        "pebble"
    } else {
        "slate/"
    };
    let width = usize::from(number % 4) * 3 + 3;
    format!("{group}{number:0width$}").into_bytes()
}

/// Returns the first and the last of two keys, in bytewise order or its reverse.
pub fn ends(reverse: bool, keys: [u8; 2]) -> [Vec<u8>; 2] {
    let mut ends = keys.map(key);
    ends.sort_unstable();
    if reverse {
        ends.reverse();
    }
    ends
}

/// Returns the keys from the first to before the last of two keys.
pub fn between(reverse: bool, keys: [u8; 2]) -> Vec<Vec<u8>> {
    let [first, last] = ends(reverse, keys);
    let is_in = |key: &Vec<u8>| {
        if reverse {
            last < *key && *key <= first
        } else {
            first <= *key && *key < last
        }
    };
    (0..SPACE).map(key).filter(is_in).collect()
}

/// Returns the ten steps of the exhaustive workloads.
fn alphabet() -> [Step; 10] {
    let batch = vec![
        (0, Act::Put(900)),
        (1, Act::Put(40)),
        (2, Act::Delete),
        (3, Act::Merge(300)),
        (4, Act::Put(9000)),
        (SPACE, Act::Put(60)),
    ];
    [
        Step::One(0, Act::Put(1500), Durability::Os),
        Step::One(1, Act::Put(700), Durability::Sync),
        Step::Batch(batch, Durability::Os),
        Step::One(0, Act::DeleteRange(1), Durability::Os),
        Step::Flush,
        Step::Compact(ALL_KEYS),
        Step::TakeSnapshot,
        Step::Reopen,
        Step::Create(1),
        Step::Drop(1),
    ]
}

/// Returns all sequences of up to `length` steps: 1,110 for three. Three steps reproduce nearly
/// every known crash-consistency bug (Mohan et al., "Finding Crash-Consistency Bugs with Bounded
/// Black-Box Crash Testing", OSDI 2018).
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

/// Distribution of random steps: the frequency of each kind, and the number of keys.
#[derive(Clone, Copy, Debug)]
struct Style {
    keys: u8,
    /// Weights of: one entry, batch, flush, compaction, take and drop a snapshot, reopen, read,
    /// checkpoint, the background jobs flush, compact, idle compact, persist, reap, drop values,
    /// and create and drop a keyspace.
    weights: [u64; 17],
    /// Whether most values are at least a kilobyte long.
    large: bool,
    /// Whether some writes are unlogged.
    unlogged: bool,
}

/// A balanced mix of all steps.
const MIXED: [u64; 17] = [44, 12, 3, 2, 2, 2, 1, 4, 1, 8, 7, 2, 7, 3, 2, 6, 2];
/// Long logs of several segments, rarely flushed.
const LOGS: [u64; 17] = [150, 30, 1, 0, 2, 2, 1, 2, 0, 4, 4, 1, 4, 2, 1, 6, 1];
/// Many keys in runs of several tables, compacted in parts.
const TABLES: [u64; 17] = [120, 40, 6, 6, 2, 2, 1, 2, 1, 12, 12, 1, 10, 4, 1, 6, 1];

/// Returns `length` random steps.
pub fn random(random: &mut Random, length: usize) -> Vec<Step> {
    let (weights, keys, large) = match random.below(4) {
        0 | 1 => (MIXED, KEYS, false),
        2 => (LOGS, KEYS, true),
        _ => (TABLES, SPACE, true),
    };
    let unlogged = random.below(3) == 0;
    let style = Style {
        keys,
        weights,
        large,
        unlogged,
    };
    let spaces = [Step::Create(1), Step::Create(2)].into_iter();
    let spaces = spaces.filter(|_| random.below(4) > 0).collect::<Vec<_>>();
    let steps = (spaces.len()..length).map(|_| style.step(random));
    let steps = steps.collect::<Vec<_>>();
    [spaces, steps].concat()
}

impl Style {
    fn step(&self, random: &mut Random) -> Step {
        let mut left = random.below(self.weights.iter().sum());
        let passed = self.weights.iter().take_while(|&&weight| {
            let passes = left >= weight;
            left = left.saturating_sub(weight);
            passes
        });
        match passed.count() {
            0 => Step::One(self.key(random), self.act(random), self.durability(random)),
            1 => {
                // With many keys some batches are longer than what a flush takes.
                let long = self.keys > KEYS && random.below(25) == 0;
                let count = 1 + random.index(if long { 60 } else { 6 });
                let entries = (0..count).map(|_| (self.key(random), self.act(random)));
                Step::Batch(entries.collect(), self.durability(random))
            }
            2 => Step::Flush,
            3 => Step::Compact(self.range(random)),
            4 => Step::TakeSnapshot,
            5 => Step::DropSnapshot,
            6 => Step::Reopen,
            7 => Step::Read,
            8 => Step::Checkpoint,
            9 => Step::Background(Job::Flush),
            10 => Step::Background(Job::Compact),
            11 => Step::Background(Job::IdleCompact),
            12 => Step::Background(Job::Persist),
            13 => Step::Background(Job::Reap),
            14 => Step::Background(Job::DropValues),
            15 => Step::Create(1 + random.index(2)),
            _ => Step::Drop(1 + random.index(2)),
        }
    }

    fn key(&self, random: &mut Random) -> u8 {
        let few = self.keys == KEYS && random.below(2) == 0;
        let limit = if few { 5 } else { self.keys };
        let space = [0, 0, 1, 2][random.index(4)];
        SPACE * space + u8::try_from(random.below(u64::from(limit))).unwrap_or(0)
    }

    fn range(&self, random: &mut Random) -> Range<u8> {
        if random.below(2) == 0 {
            return ALL_KEYS;
        }
        let from = self.key(random);
        from..from.saturating_add(3)
    }

    fn act(&self, random: &mut Random) -> Act {
        match random.below(20) {
            0..=8 if !self.large => Act::Put(24 + random.index(600)),
            0..=13 => Act::Put(1000 + random.index(3000)),
            14 => Act::Put(8192 + random.index(6000)),
            15 => Act::Merge(24 + random.index(400)),
            16..19 => Act::Delete,
            _ => Act::DeleteRange(self.key(random)),
        }
    }

    fn durability(&self, random: &mut Random) -> Durability {
        match random.below(10) {
            0..=1 => Durability::Sync,
            2..=3 if self.unlogged => Durability::None,
            _ => Durability::Os,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_short_workloads_are_generated_and_keys_differ() {
        assert_eq!(all_short(2).len(), 110);
        assert_eq!(all_short(3).len(), 1110);
        let keys: std::collections::BTreeSet<_> = (0..200).map(|n| (space(n), key(n))).collect();
        assert_eq!(keys.len(), 200);
    }
}
