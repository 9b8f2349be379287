//! Choice of the value files to empty, as a pure function of a version.
//!
//! Values that tables point to are live; the rest of a file is dead. The emptiest files free the
//! most space per copied byte. Headers and padding count with their values; otherwise files of
//! short compressed values would be emptied forever.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::state::version::census::{Census, FileUsage};
use crate::state::version::{TableHandle, Version};

/// Minimum ratio of live to dead bytes in an idle database, unless [`SLACK_BYTES`] allows more dead
/// bytes.
const ALIVE_SHARE: u64 = 5;
/// Number of dead bytes allowed regardless of the live bytes, including log and manifest. An idle
/// database may have 8 MB; half a million bytes of these are left for tables. For value files
/// shorter than the default length it is one [`SLACK_SHARE`]th of that length.
const SLACK_BYTES: u64 = 7_500_000;
const SLACK_SHARE: u64 = 32;
/// Minimum fraction of a value file to free: freeing less costs more than it is worth.
const LEAST_SHARE: u64 = 128;
/// Maximum ratio of rewritten table bytes to freed bytes.
const REWRITTEN_MAX: u64 = 8;

/// Limit on dead bytes of value files while the database is idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    slack: u64,
    beside: u64,
    least: u64,
}

impl Allowance {
    /// Returns the limit for value files of length `regular`, with `beside` bytes of log and
    /// manifest.
    pub(crate) fn new(regular: u64, beside: u64) -> Allowance {
        Allowance {
            slack: SLACK_BYTES.min(regular / SLACK_SHARE),
            beside,
            least: regular / LEAST_SHARE,
        }
    }

    /// Returns the limit for `alive` live bytes.
    pub(crate) fn dead_max(&self, alive: u64) -> u64 {
        let all = (alive / ALIVE_SHARE).max(self.slack);
        all.saturating_sub(self.beside).max(self.least)
    }

    /// Returns whether files must be emptied when `dead` of `bytes` are dead. The threshold is a
    /// little below the limit, so that the mutable memtable may hide an eighth more before it has
    /// to be flushed.
    pub(crate) fn is_much(&self, dead: u64, bytes: u64) -> bool {
        let max = self.dead_max(bytes.saturating_sub(dead));
        dead > max - max / 8
    }

    /// Returns whether emptying continues. It continues down to three quarters of the limit;
    /// otherwise every few deletions would start it again.
    fn is_still_much(&self, dead: u64, bytes: u64) -> bool {
        let max = self.dead_max(bytes.saturating_sub(dead));
        dead > max - max / 4
    }
}

/// Returns whether emptying `victims` frees enough for the tables that have to be rewritten.
pub(crate) fn is_worth_it(version: &Version, victims: &BTreeSet<u64>, gain: u64) -> bool {
    let points = |table: &&Arc<TableHandle>| {
        let mut refs = table.record.value_refs.iter();
        refs.any(|(file, _)| victims.contains(file))
    };
    let tables = version.tables().filter(points);
    let rewritten: u64 = tables.map(|table| table.record.bytes).sum();
    rewritten <= gain.saturating_mul(REWRITTEN_MAX)
}

/// Chooses the files of `census` to empty, the emptiest first, until few enough bytes are dead or a
/// round has enough to copy.
pub(crate) fn choose(census: &mut Census, value_file: u64, allowance: &Allowance) -> BTreeSet<u64> {
    let limit = value_file.max(census.pointing);
    let (mut bytes, mut dead) = (census.bytes(), census.dead());
    let emptiness = |file: &FileUsage| {
        let share = u128::from(file.dead()) << 32;
        share / u128::from(file.bytes.max(1))
    };
    census
        .files
        .sort_by_key(|file| std::cmp::Reverse(emptiness(file)));
    let (mut victims, mut copied) = (BTreeSet::new(), 0u64);
    for file in &census.files {
        let fits = victims.is_empty() || copied.saturating_add(file.live) <= limit;
        if file.dead() == 0 || !allowance.is_still_much(dead, bytes) || !fits {
            break;
        }
        victims.insert(file.file);
        copied = copied.saturating_add(file.live);
        dead -= file.dead();
        bytes -= file.dead();
    }
    victims
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns files of 100 bytes with `alive` live bytes each, numbered from 1.
    fn census(live: &[u64], pointing: u64) -> Census {
        let files = (1..).zip(live).map(|(file, live)| FileUsage {
            file,
            bytes: 100,
            live: *live,
        });
        Census {
            files: files.collect(),
            pointing,
            last_run: 0,
        }
    }

    fn chosen(live: &[u64], pointing: u64, value_file: u64) -> Vec<u64> {
        // A fifth of the live bytes, or 8 bytes.
        let allowance = Allowance {
            slack: 8,
            beside: 0,
            least: 1,
        };
        let victims = choose(&mut census(live, pointing), value_file, &allowance);
        victims.into_iter().collect()
    }

    #[test]
    fn the_emptiest_files_are_taken_until_little_is_dead() {
        assert_eq!(chosen(&[90, 10, 90, 50], 0, 1000), [2, 4]);
        // A tenth of the rest is dead.
        assert_eq!(chosen(&[90, 10, 90, 90], 0, 1000), [2]);
        assert_eq!(chosen(&[90, 90, 90], 0, 1000), []);
        assert_eq!(chosen(&[], 0, 1000), []);
    }

    #[test]
    fn full_files_stay_whatever_the_others_are() {
        assert_eq!(chosen(&[88, 88, 1], 0, 1000), [3]);
        assert_eq!(chosen(&[70, 70, 70], 0, 1000), [1, 2]);
    }

    #[test]
    fn a_round_ends_at_a_value_file_or_what_all_pointers_take() {
        let files = [50, 40, 50, 60];
        assert_eq!(chosen(&files, 0, 90), [1, 2]);
        assert_eq!(chosen(&files, 140, 90), [1, 2, 3]);
        // At least one is chosen.
        assert_eq!(chosen(&files, 0, 0), [2]);
    }

    /// A damaged manifest may contain anything.
    #[test]
    fn more_alive_than_there_is_counts_as_nothing_dead() {
        assert_eq!(chosen(&[u64::MAX, 100, 10], u64::MAX, 1000), [3]);
    }
}
