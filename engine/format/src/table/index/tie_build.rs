//! Tie heads: index of units that the fence cannot distinguish because their heads are equal.
//!
//! Eight bytes after the table's common prefix do not distinguish the pages of URLs, paths, or ids
//! that follow a tenant's name. Hundreds of pages begin with the same eight bytes, and a search
//! that compares their first keys waits for several pages, one after the other. Consecutive units
//! with equal heads are a *tie*. Each has a second number, which combines the number of bytes that
//! all first keys of the tie share after the head with the six bytes that follow. A tie is thus
//! searched like the fence, without reading a data page. Units that tie again have another level of
//! tie heads.
//!
//! [`tie_search`](crate::table::index::tie_search) is the search. Rejected: fences of whole
//! separators, because they are searched key by key, which costs more than it gains wherever heads
//! do not tie, which is nearly everywhere. Also rejected: a single level, because in keys made of
//! several parts, such as paths, six more bytes distinguish only half of the pages.
//!
//! Invariant: within a tie, tie heads ascend. If a unit's tie head is less than a key's, the unit's
//! first key is less than the key, provided that the key has the common bytes.

use std::ops::Range;

use cairndb_base::limits::PAGE_BYTES;

use crate::table::index::fence::HEADS_PER_PAGE;
use crate::table::index::first_keys::FirstKeys;
use crate::table::page::bits::{head_of, load, low32};
use crate::table::page::layout::{Flaw, page_kind};

/// Maximum number of levels in a table. URLs and paths of a few parts take two or three.
pub(crate) const LEVELS_MAX: u32 = 8;
/// Number of key bytes in a tie head.
const TIE_BYTES: usize = 6;
/// Shift of the number of common bytes, which is stored above the key bytes.
const ALIKE_SHIFT: u32 = 48;
const _: () = assert!(8 * TIE_BYTES == ALIKE_SHIFT as usize);
/// Maximum number of common bytes; keys that share more may have equal tie heads.
pub(crate) const ALIKE_MAX: usize = 0xfffe;
/// Tie head of a unit if the writer kept too little of its first key.
pub(crate) const UNKNOWN: u64 = u64::MAX;
/// A level, which takes 0.2 % of the table, is written if at least one unit in this many is in a
/// tie.
const UNITS_FOR_ONE_TIED: usize = 16;

/// Returns the tie head of `key` among units that share `alike` bytes after their last head, which
/// ends at `at`.
#[inline]
pub(crate) fn tie_head(key: &[u8], at: usize, alike: usize) -> u64 {
    (alike as u64) << ALIKE_SHIFT | head_of(key, at + alike, TIE_BYTES)
}

/// Returns the number of bytes that the units of a tie share after their last head.
#[inline]
pub(crate) fn alike(tie: u64) -> usize {
    (tie >> ALIKE_SHIFT) as usize
}

/// Returns the end of a tie head that starts at `at` and has `alike` common bytes.
#[inline]
pub(crate) fn end_of(at: usize, alike: usize) -> usize {
    at + alike + TIE_BYTES
}

/// Units that no head so far distinguishes.
#[derive(Clone, Debug)]
struct Tie {
    units: Range<usize>,
    /// End of the last head in the units' first keys.
    at: usize,
    /// Number of bytes that the units share after that; `None` if fewer than six are known of some
    /// key.
    alike: Option<usize>,
}

/// Known properties of a unit's first key.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Number of bytes shared with the previous key.
    shared: usize,
    /// Number of bytes that are kept; unbounded if all are.
    bytes: usize,
    /// Length of the key; unbounded if not all bytes are kept.
    len: usize,
}

/// Returns the tie heads of all units, level by level; 0 for units that are in no tie. Returns no
/// levels if too few units are in a tie. `prefix` is the number of bytes common to all keys of the
/// table.
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
        let known_ties = ties.iter().filter(|tie| tie.alike.is_some());
        let units: usize = known_ties.map(|tie| tie.units.len()).sum();
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

/// Returns one level of tie heads.
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
    /// Adds the subsets of the tie's units whose `heads`, which end at `at`, are equal.
    fn split(&self, heads: &[u64], at: usize, known: &[Known], out: &mut Vec<Tie>) {
        let mut start = self.units.start;
        for same in heads[self.units.clone()].chunk_by(|a, b| a == b) {
            let units = start..start + same.len();
            start = units.end;
            if units.len() < 2 {
                continue;
            }
            let known = &known[units.clone()];
            // All keys end here: they are versions of one key, and no head can distinguish them.
            if known.iter().all(|known| known.len <= at) {
                continue;
            }
            let bytes = known.iter().map(|known| known.bytes).min();
            let last_start = bytes.unwrap_or(0).saturating_sub(TIE_BYTES);
            // The bytes that the first key shares with its predecessor, which is outside the tie,
            // do not count.
            let shared = known[1..].iter().map(|known| known.shared).min();
            let common = shared.unwrap_or(0).min(last_start).saturating_sub(at);
            out.push(Tie {
                units,
                at,
                alike: (last_start >= at).then_some(common.min(ALIKE_MAX)),
            });
        }
    }
}

/// Returns the number of pages that one level of tie heads takes for this many units.
pub(crate) fn pages_of_level(units: u32) -> u32 {
    units.div_ceil(low32(HEADS_PER_PAGE))
}

/// Returns the units whose tie heads are on page `index` of a level, in a table with `units`.
pub(crate) fn units_of(index: u32, units: u32) -> Range<u32> {
    let per_page = low32(HEADS_PER_PAGE);
    let first = index.saturating_mul(per_page).min(units);
    first..first.saturating_add(per_page).min(units)
}

/// Checks page `index` of a level of tie heads of a table with `units` before its first use.
/// Whether they ascend within each tie can only be checked together with the fence.
pub(crate) fn validate(bytes: &[u8], level: u32, index: u32, units: u32) -> Result<(), Flaw> {
    let field = |at, width| load(bytes, at, width, 0);
    if bytes.len() != PAGE_BYTES || field(4, 1) != u64::from(page_kind::TIES) {
        return Err(Flaw::Damaged("page is not a page of tie heads"));
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
