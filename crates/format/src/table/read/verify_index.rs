//! Verification of a table's index: fence, tie heads and first keys, against the data pages.

use cairndb_base::Result;

use crate::table::index::fence;
use crate::table::index::key_pages::KeyPage;
use crate::table::index::tie_build;
use crate::table::page::bits::low32;
use crate::table::read::open::Table;

/// A unit's entry in the fence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence {
    pub(crate) head: u64,
    /// The first page of the unit.
    pub(crate) page: u32,
}

/// The index of a table.
#[derive(Debug)]
pub(crate) struct Index {
    /// One for each unit.
    pub(crate) fences: Vec<Fence>,
    /// Tie heads of all units, level by level.
    ties: Vec<Vec<u64>>,
    /// The first keys of all units, if they are listed; `None` for long ones.
    keys: Vec<Option<Vec<u8>>>,
}

impl Table {
    /// Reads the whole index.
    pub(crate) fn verify_index(&self) -> Result<Index> {
        Ok(Index {
            fences: self.verify_fence()?,
            ties: self.verify_ties()?,
            keys: self.verify_key_pages()?,
        })
    }

    /// Compares the index entries of a unit with its first key, `key`. `before` is the first key of
    /// the previous unit.
    pub(crate) fn verify_unit(
        &self,
        index: &Index,
        unit: usize,
        key: &[u8],
        before: &[u8],
    ) -> Result<()> {
        let fence = index.fences[unit];
        let damage = |message| {
            let error = self.pages.damage(fence.page, message);
            Err(error.found(format_args!("unit {unit}")))
        };
        let head = self.suffix_of(key).map(|suffix| self.head_of(suffix, key));
        if head != Ok(fence.head) {
            return damage("fence head differs from the page's");
        }
        let alike = |other: Option<usize>| {
            let other = other.and_then(|other| index.fences.get(other));
            other.is_some_and(|other| other.head == fence.head)
        };
        let neighbours = (alike(unit.checked_sub(1)), alike(unit.checked_add(1)));
        if !self.ties_are_right(&index.ties, unit, neighbours, key, before) {
            return damage("tie head differs from the page's");
        }
        match index.keys.get(unit) {
            Some(Some(listed)) if listed != key => damage("first key differs from the listed one"),
            _ => Ok(()),
        }
    }

    /// Heads and page numbers of all units.
    fn verify_fence(&self) -> Result<Vec<Fence>> {
        let mut fences = Vec::with_capacity(self.meta.units as usize);
        for index in 0..self.meta.fence_pages() {
            let number = self.meta.fence_at() + index;
            let bytes = self.pages.read_unchecked(number, 1)?;
            let place = self.fence_place(index);
            self.pages
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
        let (tops, _) = self.meta.top.as_chunks::<8>();
        let heads = fences.iter().step_by(fence::BLOCK_HEADS);
        if tops.len() != heads.len()
            || tops
                .iter()
                .zip(heads)
                .any(|(top, fence)| u64::from_le_bytes(*top) != fence.head)
        {
            let meta_at = self.meta.block_at();
            return Err(self
                .pages
                .damage(meta_at, "meta block disagrees with the fence"));
        }
        Ok(fences)
    }

    /// Whether the tie heads of a unit that begins with `key` are right. The unit before it begins
    /// with `before`. `neighbours` says whether the unit has the head of the previous unit, and of
    /// the next.
    fn ties_are_right(
        &self,
        levels: &[Vec<u64>],
        unit: usize,
        neighbours: (bool, bool),
        key: &[u8],
        before: &[u8],
    ) -> bool {
        let (mut with_before, mut with_after) = neighbours;
        let mut at = self.meta.head_end();
        for level in levels {
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

    /// Tie heads of all units, level by level.
    fn verify_ties(&self) -> Result<Vec<Vec<u64>>> {
        let units = self.meta.units;
        let mut levels = Vec::new();
        for level in 0..self.meta.tie_levels {
            let mut ties = Vec::new();
            for index in 0..tie_build::pages_of_level(units) {
                let number = self.meta.ties_at(level) + index;
                let bytes = self.pages.read_unchecked(number, 1)?;
                self.pages.check(number, &bytes, |bytes| {
                    tie_build::validate(bytes, level, index, units)
                })?;
                let slots = 0..tie_build::units_of(index, units).len();
                ties.extend(slots.map(|slot| fence::head_at(&bytes, slot)));
            }
            levels.push(ties);
        }
        Ok(levels)
    }

    /// The first keys of all units, if they are listed; `None` for long ones.
    fn verify_key_pages(&self) -> Result<Vec<Option<Vec<u8>>>> {
        let mut keys = Vec::new();
        for index in 0..self.meta.key_pages {
            let number = self.meta.keys_at() + index;
            let bytes = self.pages.read_unchecked(number, 1)?;
            let page = KeyPage { bytes: &bytes };
            self.pages
                .check(number, &bytes, |_| page.validate(self.meta.units))?;
            if page.first() as usize != keys.len() {
                return Err(self.pages.damage(number, "key page lists other units"));
            }
            let listed = (0..page.count()).map(|slot| page.key(slot).map(<[u8]>::to_vec));
            keys.extend(listed);
        }
        if self.meta.key_pages > 0 && keys.len() != self.meta.units as usize {
            let last = self.meta.block_at() - 1;
            return Err(self.pages.damage(last, "key pages do not list all units"));
        }
        Ok(keys)
    }
}
