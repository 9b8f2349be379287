//! The whole index of a table, for its verification: fence, tie heads and first keys, compared with
//! the data pages.

use cairndb_base::Result;

use crate::table::index::fence;
use crate::table::index::key_pages::KeyPage;
use crate::table::index::tie_build;
use crate::table::page::bits::low32;
use crate::table::read::open::Table;

/// A unit's entry in the fence.
#[derive(Clone, Copy, Debug)]
struct Fence {
    head: u64,
    /// The first page of the unit.
    page: u32,
}

/// The index of a table, read from the file.
#[derive(Debug)]
pub(crate) struct WholeIndex {
    /// Fence entries, one per unit.
    fences: Vec<Fence>,
    /// Tie heads of all units, level by level.
    ties: Vec<Vec<u64>>,
    /// The first keys of all units, if they are listed; `None` for long ones.
    keys: Vec<Option<Vec<u8>>>,
}

impl WholeIndex {
    /// Reads all pages of the index and checks each of them.
    pub(crate) fn read(table: &Table) -> Result<WholeIndex> {
        Ok(WholeIndex {
            fences: read_fence(table)?,
            ties: read_ties(table)?,
            keys: read_key_pages(table)?,
        })
    }

    /// Returns the number of units that the fence lists.
    pub(crate) fn units(&self) -> usize {
        self.fences.len()
    }

    /// Returns the first page of a unit.
    pub(crate) fn page_of(&self, unit: usize) -> u32 {
        self.fences[unit].page
    }

    /// Compares the index entries of a unit with its first key, `key`. `before` is the first key of
    /// the previous unit.
    pub(crate) fn check_unit(
        &self,
        table: &Table,
        unit: usize,
        key: &[u8],
        before: &[u8],
    ) -> Result<()> {
        let fence = self.fences[unit];
        let damage = |message| {
            let error = table.pages.damage(fence.page, message);
            Err(error.found(format_args!("unit {unit}")))
        };
        if table.meta.fence_head(key, &table.order) != Ok(fence.head) {
            return damage("fence head differs from the page's");
        }
        if !self.ties_are_right(table.meta.head_end(), unit, key, before) {
            return damage("tie head differs from the page's");
        }
        match self.keys.get(unit) {
            Some(Some(listed)) if listed != key => damage("first key differs from the listed one"),
            _ => Ok(()),
        }
    }

    /// Returns whether a unit and `other`, if given, have the same head.
    fn heads_are_alike(&self, unit: usize, other: Option<usize>) -> bool {
        let other = other.and_then(|other| self.fences.get(other));
        other.is_some_and(|other| other.head == self.fences[unit].head)
    }

    /// Returns whether the tie heads of a unit that begins with `key` are correct. Fence heads end
    /// at `at` in a key. The unit before this one begins with `before`.
    fn ties_are_right(&self, mut at: usize, unit: usize, key: &[u8], before: &[u8]) -> bool {
        let mut with_before = self.heads_are_alike(unit, unit.checked_sub(1));
        let mut with_after = self.heads_are_alike(unit, unit.checked_add(1));
        for level in &self.ties {
            let tie = level[unit];
            let of_before = with_before.then(|| level[unit - 1]);
            let of_after = with_after.then(|| level[unit + 1]);
            let alike = tie_build::alike(tie);
            let known = tie != tie_build::UNKNOWN;
            let right = if !with_before && !with_after {
                tie == 0
            } else if known {
                let common = at + alike;
                let has_common = |key: &[u8]| alike == 0 || key.len() >= common;
                alike <= tie_build::ALIKE_MAX
                    && tie == tie_build::tie_head(key, at, alike)
                    && has_common(key)
                    && of_before.is_none_or(|other| {
                        tie_build::alike(other) == alike
                            && (alike == 0 || before.get(..common) == key.get(..common))
                    })
            } else {
                of_before.is_none_or(|other| other == tie)
            };
            if !right {
                return false;
            }
            with_before = known && of_before == Some(tie);
            with_after = known && of_after == Some(tie);
            at = tie_build::end_of(at, alike);
        }
        true
    }
}

/// Reads the heads and page numbers of all units.
fn read_fence(table: &Table) -> Result<Vec<Fence>> {
    let mut fences = Vec::with_capacity(table.meta.units as usize);
    for index in 0..table.meta.fence_pages() {
        let number = table.meta.fence_at() + index;
        let bytes = table.pages.read_unchecked(number, 1)?;
        let place = table.meta.fence_place(index);
        table
            .pages
            .check(number, &bytes, |bytes| fence::validate(bytes, &place))?;
        for slot in 0..place.count {
            let page = if place.numbered {
                fence::number_at(&bytes, slot)
            } else {
                low32(fences.len())
            };
            fences.push(Fence {
                head: fence::head_at(&bytes, slot),
                page,
            });
        }
    }
    let (tops, _) = table.meta.top.as_chunks::<8>();
    let heads = fences.iter().step_by(fence::BLOCK_HEADS);
    if tops.len() != heads.len()
        || tops
            .iter()
            .zip(heads)
            .any(|(top, fence)| u64::from_le_bytes(*top) != fence.head)
    {
        let meta_at = table.meta.block_at();
        return Err(table
            .pages
            .damage(meta_at, "meta block disagrees with the fence"));
    }
    Ok(fences)
}

/// Reads the tie heads of all units, level by level.
fn read_ties(table: &Table) -> Result<Vec<Vec<u64>>> {
    let units = table.meta.units;
    let mut levels = Vec::new();
    for level in 0..table.meta.tie_levels {
        let mut ties = Vec::new();
        for index in 0..tie_build::pages_of_level(units) {
            let number = table.meta.ties_at(level) + index;
            let bytes = table.pages.read_unchecked(number, 1)?;
            table.pages.check(number, &bytes, |bytes| {
                tie_build::validate(bytes, level, index, units)
            })?;
            let slots = 0..tie_build::units_of(index, units).len();
            ties.extend(slots.map(|slot| fence::head_at(&bytes, slot)));
        }
        levels.push(ties);
    }
    Ok(levels)
}

/// Reads the first keys of all units, if they are listed; `None` for long ones.
fn read_key_pages(table: &Table) -> Result<Vec<Option<Vec<u8>>>> {
    let mut keys = Vec::new();
    for index in 0..table.meta.key_pages {
        let number = table.meta.keys_at() + index;
        let bytes = table.pages.read_unchecked(number, 1)?;
        let page = KeyPage { bytes: &bytes };
        table
            .pages
            .check(number, &bytes, |_| page.validate(table.meta.units))?;
        if page.first() as usize != keys.len() {
            return Err(table.pages.damage(number, "key page lists other units"));
        }
        let listed = (0..page.count()).map(|slot| page.key(slot).map(<[u8]>::to_vec));
        keys.extend(listed);
    }
    if table.meta.key_pages > 0 && keys.len() != table.meta.units as usize {
        let last = table.meta.block_at() - 1;
        return Err(table.pages.damage(last, "key pages do not list all units"));
    }
    Ok(keys)
}
