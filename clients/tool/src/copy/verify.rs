//! The comparison at the end of a copy: both stores are read again, within its range.

use cairndb_store::{Read, Scan};

use super::lockstep::{Lockstep, Pair};
use super::pace::Pace;
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::output::counted;
use crate::progress::Progress;
use crate::range::Range;
use crate::store::Opened;
use crate::transfer::Contents;

/// Bytes between two waits.
const STEP_BYTES: u64 = 64 << 10;

/// Compares two stores, and returns what both hold. `total` is about how many bytes that is.
pub(super) fn verify(
    (reader, source): (&dyn Read, &Opened),
    target: &Opened,
    range: &Range,
    total: u64,
    pace: &mut Pace,
) -> Result<Contents> {
    let all = Scan::range(range.bounds());
    let from = reader.scan(&all).map_err(source.failure())?;
    let to = target.scan(&all)?;
    let mut pairs = Lockstep::begin((from, source), (to, target))?;
    let (mut from, mut to) = (Contents::default(), Contents::default());
    let mut first_difference = None;
    // An entry that both hold counts once, as in the copy.
    let (mut progress, mut unspent) = (Progress::begin("comparing"), 0);
    while let Some(pair) = pairs.advance()? {
        let bytes = pair.bytes();
        let (key, is_same) = match pair {
            Pair::Source((key, value)) => {
                from.add(&key, &value);
                (key, false)
            }
            Pair::Target((key, value)) => {
                to.add(&key, &value);
                (key, false)
            }
            Pair::Both {
                entry: (key, value),
                found,
            } => {
                from.add(&key, &value);
                to.add(&key, &found);
                (key, value == found)
            }
        };
        if !is_same && first_difference.is_none() {
            first_difference = Some(escaped(&key));
        }
        progress.entry(|| Some((from.bytes, total)))?;
        unspent += bytes;
        if unspent >= STEP_BYTES {
            pace.spend(std::mem::take(&mut unspent));
        }
    }
    let Some(key) = first_difference else {
        debug_assert_eq!(from, to, "entries that are the same have the same hash");
        return Ok(from);
    };
    let holds = |name: &str, held: &Contents| {
        let entries = counted(held.entries, "entry", "entries");
        format!("{name} holds {entries}, hash {:016x}", held.hash)
    };
    Err(Failure::other(format!(
        "the stores differ after the copy, first at the key \"{key}\": {}; {}; something else has \
         written to one of them: `cairn copy --restart --overwrite` copies what differs",
        holds(&source.name, &from),
        holds(&target.name, &to)
    )))
}
