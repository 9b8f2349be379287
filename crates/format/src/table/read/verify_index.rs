//! Reads what leads to the units of a table - fence, tie heads, first keys - and compares it with them.

use cairndb_base::Result;

use crate::table::index::fence;
use crate::table::index::key_pages::KeyPage;
use crate::table::index::tie_build;
use crate::table::page::bits::low32;
use crate::table::read::open::Table;

/// What the fence says of a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence {
    pub(crate) head: u64,
    /// The first page of the unit.
    pub(crate) page: u32,
}

/// What leads to units.
#[derive(Debug)]
pub(crate) struct Index {
    /// Of each unit.
    pub(crate) fences: Vec<Fence>,
    /// Tie heads of all units, level by level.
    ties: Vec<Vec<u64>>,
    /// The first keys of all units, but for long ones, where they are listed.
    keys: Vec<Option<Vec<u8>>>,
}

impl Table {
    /// Reads it all.
    pub(crate) fn verify_index(&self) -> Result<Index> {
        Ok(Index {
            fences: self.verify_fence()?,
            ties: self.verify_ties()?,
            keys: self.verify_key_pages()?,
        })
    }

    /// Compares what is said of a unit with its first key, `key`; `before` is that of the unit before it.
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
            return damage("fence head is not that of the page");
        }
        let alike = |other: Option<usize>| {
            let other = other.and_then(|other| index.fences.get(other));
            other.is_some_and(|other| other.head == fence.head)
        };
        let neighbours = (alike(unit.checked_sub(1)), alike(unit.checked_add(1)));
        if !self.ties_are_right(&index.ties, unit, neighbours, key, before) {
            return damage("tie head is not that of the page");
        }
        match index.keys.get(unit) {
            Some(Some(listed)) if listed != key => {
                damage("first key is not the one that is listed")
            }
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

    /// Whether the tie heads of a unit that begins with `key`, and the one before it with `before`, are right. `neighbours` says
    /// whether it has the head of the unit before it, and of that behind it.
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
            let told = tie != tie_build::UNKNOWN;
            let right = if !with_before && !with_after {
                tie == 0
            } else if told {
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
            with_before = told && of_before == Some(tie);
            with_after = told && of_after == Some(tie);
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

    /// The first keys of all units, but for long ones, where they are listed.
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
