//! Tie heads: what tells units apart whose fence heads are equal.
//!
//! Eight bytes behind what all keys of a table have in common do not tell the pages of URLs, paths, or ids behind a
//! tenant's name: hundreds begin with the same eight, and a search that looks at their first keys waits for several pages,
//! one after the other. Units that follow each other and share their head are a *tie*. Each has a second number: how many
//! bytes all first keys of the tie have in common behind the head, and the six that follow those. So a tie is searched
//! as the fence is, without looking at a page. Where those tie again there is another level of them.
//!
//! How a key is led by them is in [`tied`](crate::table::index::tie_search). Fences of whole separators lost: they are searched key by key, and what is gained over
//! eight bytes at a fixed place is lost again wherever heads do not tie, which is nearly everywhere. One level lost, too: of
//! keys that are spelled in several parts, as paths are, six bytes more tell half of the pages.
//!
//! Invariant: within a tie, tie heads go up, and where that of one unit is less than a key's its first key is before the
//! key, if the key has the common bytes.

use std::ops::Range;

use cairndb_base::limits::PAGE_BYTES;

use crate::table::index::fence::HEADS_PER_PAGE;
use crate::table::index::first_keys::FirstKeys;
use crate::table::page::bits::{head_of, load, low32};
use crate::table::page::layout::{Flaw, page_kind};

/// Levels that a table may have. URLs and paths of a few parts take two or three.
pub(crate) const LEVELS_MAX: u32 = 8;
/// Bytes of a key in its tie head.
const TIE_BYTES: usize = 6;
/// The bits above those.
const ALIKE_SHIFT: u32 = 48;
const _: () = assert!(8 * TIE_BYTES == ALIKE_SHIFT as usize);
/// More common bytes are not counted; keys that have more may have the same tie head.
pub(crate) const ALIKE_MAX: usize = 0xfffe;
/// The tie head of units of which the writer knew too little.
pub(crate) const UNKNOWN: u64 = u64::MAX;
/// A level is worth its place, 0.2 % of the table, where at least one unit in so many is in a tie.
const UNITS_FOR_ONE_TIED: usize = 16;

/// The tie head of `key`, whose last head ends at `at`, among units that have `alike` bytes in common behind it.
#[inline]
pub(crate) fn tie_head(key: &[u8], at: usize, alike: usize) -> u64 {
    (alike as u64) << ALIKE_SHIFT | head_of(key, at + alike, TIE_BYTES)
}

/// Bytes that the units of a tie have in common behind their last head.
#[inline]
pub(crate) fn alike(tie: u64) -> usize {
    (tie >> ALIKE_SHIFT) as usize
}

/// Where a tie head ends that has `alike` bytes before it and begins behind `at`.
#[inline]
pub(crate) fn end_of(at: usize, alike: usize) -> usize {
    at + alike + TIE_BYTES
}

/// Units that no head so far tells apart.
#[derive(Clone, Debug)]
struct Tie {
    units: Range<usize>,
    /// Where in their first keys the last head ends.
    at: usize,
    /// Bytes in common behind that; `None` where not even six are known of each.
    alike: Option<usize>,
}

/// What is known of a unit's first key.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Bytes shared with the one before it.
    shared: usize,
    /// Bytes that are kept, without end if all are.
    bytes: usize,
    /// Bytes of the key, without end if not all are kept.
    len: usize,
}

/// The tie heads of all units, level by level: 0 for those that are in no tie. None where too few are in one. The table's keys
/// have `prefix` bytes in common.
pub(crate) fn levels_of(keys: &FirstKeys, heads: &[u64], prefix: usize) -> Vec<Vec<u64>> {
    let mut known = Vec::with_capacity(heads.len());
    keys.walk(|key| {
        known.push(Known {
            shared: key.shared,
            bytes: if key.whole {
                usize::MAX
            } else {
                key.start.len()
            },
            len: if key.whole {
                key.start.len()
            } else {
                usize::MAX
            },
        });
    });
    let all = Tie {
        units: 0..heads.len(),
        at: prefix,
        alike: Some(0),
    };
    let mut levels = Vec::new();
    let mut ties = Vec::new();
    all.split(heads, prefix + 8, &known, &mut ties);
    while levels.len() < LEVELS_MAX as usize {
        let told = ties.iter().filter(|tie| tie.alike.is_some());
        let units: usize = told.map(|tie| tie.units.len()).sum();
        if ties.is_empty() || units * UNITS_FOR_ONE_TIED < heads.len() {
            break;
        }
        let level = level_of(keys, &ties, heads.len());
        let mut deeper = Vec::new();
        for tie in &ties {
            if let Some(alike) = tie.alike {
                tie.split(&level, end_of(tie.at, alike), &known, &mut deeper);
            }
        }
        levels.push(level);
        ties = deeper;
    }
    levels
}

/// One level of tie heads.
fn level_of(keys: &FirstKeys, ties: &[Tie], units: usize) -> Vec<u64> {
    let mut level = Vec::with_capacity(units);
    let mut ties = ties.iter().peekable();
    keys.walk(|key| {
        let unit = level.len();
        while ties.next_if(|tie| tie.units.end <= unit).is_some() {}
        let tie = ties.peek().filter(|tie| tie.units.contains(&unit));
        level.push(tie.map_or(0, |tie| match tie.alike {
            Some(alike) => tie_head(key.start, tie.at, alike),
            None => UNKNOWN,
        }));
    });
    level
}

impl Tie {
    /// Adds those of its units that have the same of these `heads`, which end at `at`.
    fn split(&self, heads: &[u64], at: usize, known: &[Known], out: &mut Vec<Tie>) {
        let mut start = self.units.start;
        for same in heads[self.units.clone()].chunk_by(|a, b| a == b) {
            let units = start..start + same.len();
            start = units.end;
            if units.len() < 2 {
                continue;
            }
            let known = &known[units.clone()];
            // Keys that have all ended, versions of one: no head tells them apart.
            if known.iter().all(|known| known.len <= at) {
                continue;
            }
            let bytes = known.iter().map(|known| known.bytes).min();
            let told = bytes.unwrap_or(0).saturating_sub(TIE_BYTES);
            // What the first shares with the one before it, which is in no tie with it, says nothing.
            let shared = known[1..].iter().map(|known| known.shared).min();
            let common = shared.unwrap_or(0).min(told).saturating_sub(at);
            out.push(Tie {
                units,
                at,
                alike: (told >= at).then_some(common.min(ALIKE_MAX)),
            });
        }
    }
}

/// Pages of one level of tie heads that so many units have.
pub(crate) fn pages_of_level(units: u32) -> u32 {
    units.div_ceil(low32(HEADS_PER_PAGE))
}

/// The units whose tie heads are on page `index` of a level, in a table with `units`.
pub(crate) fn units_of(index: u32, units: u32) -> Range<u32> {
    let per_page = low32(HEADS_PER_PAGE);
    let first = index.saturating_mul(per_page).min(units);
    first..first.saturating_add(per_page).min(units)
}

/// Checks page `index` of a level of the tie heads of a table with `units` before its first use. That they go up within each
/// tie shows only beside the fence.
pub(crate) fn validate(bytes: &[u8], level: u32, index: u32, units: u32) -> Result<(), Flaw> {
    let field = |at, width| load(bytes, at, width, 0);
    if bytes.len() != PAGE_BYTES || field(4, 1) != u64::from(page_kind::TIES) {
        return Err(Flaw::Damaged("page is not one of tie heads"));
    }
    let expected = units_of(index, units);
    let (first, count) = (field(8, 4), field(6, 2));
    if field(5, 1) != u64::from(level)
        || first != u64::from(expected.start)
        || count != expected.len() as u64
    {
        return Err(Flaw::Damaged(
            "page of tie heads is not the one expected here",
        ));
    }
    Ok(())
}
