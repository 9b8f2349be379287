//! Pending units of persistence: what a write leaves for the disk to do later.
//!
//! A unit is a whole sector as it was after one piece of one write, or one extension of a file. A
//! crash keeps any subset of them that its profile allows. Sectors are cumulative: a disk writes
//! back what the page cache holds, so of several units of one sector the latest kept one wins and
//! contains all earlier ones. A kept size without its sectors exposes a gap.

use std::sync::Arc;

use crate::content::{Content, SECTOR_BYTES, Sector};

/// The step in which sizes become durable on their own, because allocation goes page by page.
const SIZE_STEP_BYTES: u64 = 4096;
/// Number of units for the zeros of a new log: enough for some of them to be lost.
const ZEROS_UNITS: u64 = 4;

/// One change of one file that is not yet durable.
#[derive(Clone, Debug)]
pub(crate) enum Unit {
    /// The content of a sector after a piece of a write.
    Sector { index: u64, bytes: Arc<Sector> },
    /// Zeros in these sectors of a file that was extended with zeros.
    Zeros { first: u64, end: u64 },
    /// The new length of the file.
    Size(u64),
}

/// A unit and its position in the order of all units of the disk.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) seq: u64,
    pub(crate) unit: Unit,
}

/// Writes `bytes` to `visible` at `offset` and passes the resulting units to `keep`.
pub(crate) fn write(visible: &mut Content, offset: u64, bytes: &[u8], mut keep: impl FnMut(Unit)) {
    if bytes.is_empty() {
        return;
    }
    let old_len = visible.len();
    visible.write(offset, bytes);
    let end = offset + bytes.len() as u64;
    let sector_bytes = SECTOR_BYTES as u64;
    for index in offset / sector_bytes..end.div_ceil(sector_bytes) {
        let bytes = Arc::new(visible.sector(index));
        keep(Unit::Sector { index, bytes });
    }
    if end > old_len {
        let first = old_len / SIZE_STEP_BYTES + 1;
        for step in first..end.div_ceil(SIZE_STEP_BYTES) {
            keep(Unit::Size(step * SIZE_STEP_BYTES));
        }
        keep(Unit::Size(end));
    }
}

/// Extends `visible` with zeros up to `len` and passes the resulting units to `keep`.
pub(crate) fn grow(visible: &mut Content, len: u64, mut keep: impl FnMut(Unit)) {
    let sector_bytes = SECTOR_BYTES as u64;
    let (first, end) = (visible.len() / sector_bytes, len.div_ceil(sector_bytes));
    visible.set_len(len);
    let step = (end - first).div_ceil(ZEROS_UNITS).max(1);
    let mut at = first;
    while at < end {
        let next = (at + step).min(end);
        keep(Unit::Zeros {
            first: at,
            end: next,
        });
        at = next;
    }
    keep(Unit::Size(len));
}

/// Applies units, in order, to what a disk holds. `gap` supplies each sector that a size exposes
/// and no unit fills; `None` stands for zeros.
pub(crate) fn apply<'a>(
    durable: &mut Content,
    units: impl Iterator<Item = &'a Unit> + Clone,
    mut gap: impl FnMut(u64) -> Option<Sector>,
) {
    let old_len = durable.len();
    let sizes = units.clone().filter_map(|unit| match unit {
        Unit::Size(len) => Some(*len),
        Unit::Sector { .. } | Unit::Zeros { .. } => None,
    });
    let new_len = sizes.max().unwrap_or(0).max(old_len);
    durable.set_len(new_len);
    let sector_bytes = SECTOR_BYTES as u64;
    for index in old_len.div_ceil(sector_bytes)..new_len.div_ceil(sector_bytes) {
        let arrived = |unit: &Unit| matches!(unit, Unit::Zeros { first, end } if (*first..*end).contains(&index));
        if units.clone().any(arrived) {
            continue;
        }
        if let Some(sector) = gap(index) {
            durable.put_sector(index, &sector);
        }
    }
    for unit in units {
        if let Unit::Sector { index, bytes } = unit {
            durable.put_sector(*index, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units_of(visible: &mut Content, offset: u64, bytes: &[u8]) -> Vec<Unit> {
        let mut units = Vec::new();
        write(visible, offset, bytes, |unit| units.push(unit));
        units
    }

    fn describe(units: &[Unit]) -> Vec<(char, u64)> {
        let describe = |unit: &Unit| match unit {
            Unit::Sector { index, .. } => ('s', *index),
            Unit::Zeros { first, .. } => ('z', *first),
            Unit::Size(len) => ('l', *len),
        };
        units.iter().map(describe).collect()
    }

    #[test]
    fn a_write_makes_a_unit_of_each_sector_and_growth_step() {
        let mut visible = Content::of(&[1; 500]);
        assert_eq!(describe(&units_of(&mut visible, 100, &[2; 12])), [('s', 0)]);
        let grown = units_of(&mut visible, 500, &[3; 13]);
        assert_eq!(describe(&grown), [('s', 0), ('s', 1), ('l', 513)]);
        let far = units_of(&mut visible, 513, &vec![4; 9000]);
        let sizes: Vec<_> = describe(&far)[18..].to_vec();
        assert_eq!(sizes, [('l', 4096), ('l', 8192), ('l', 9513)]);
        assert!(units_of(&mut visible, 0, &[]).is_empty());
    }

    #[test]
    fn zeros_arrive_in_part() {
        let (mut visible, mut units) = (Content::default(), Vec::new());
        grow(&mut visible, 4000, |unit| units.push(unit));
        let expected = [('z', 0), ('z', 2), ('z', 4), ('z', 6), ('l', 4000)];
        assert_eq!(describe(&units), expected);
        units.remove(1);
        let mut disk = Content::default();
        apply(&mut disk, units.iter(), |_| Some([9; SECTOR_BYTES]));
        let expected = [[0; 1024].as_slice(), &[9; 1024], &[0; 1952]].concat();
        assert!(disk.to_vec() == expected);
    }

    #[test]
    fn the_latest_kept_sector_wins_and_contains_the_earlier() {
        let mut visible = Content::of(&[0; 512]);
        let mut units = units_of(&mut visible, 0, &[1; 4]);
        units.extend(units_of(&mut visible, 4, &[2; 4]));
        let mut disk = Content::of(&[0; 512]);
        apply(&mut disk, units[1..].iter(), |_| None);
        assert_eq!(disk.to_vec()[..9], [1, 1, 1, 1, 2, 2, 2, 2, 0]);
        let mut disk = Content::of(&[0; 512]);
        apply(&mut disk, units[..1].iter(), |_| None);
        assert_eq!(disk.to_vec()[..9], [1, 1, 1, 1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_size_without_data_exposes_a_gap_and_data_without_size_nothing() {
        let mut visible = Content::default();
        let units = units_of(&mut visible, 0, &[7; 1200]);
        let mut disk = Content::default();
        apply(&mut disk, units[..3].iter(), |_| None);
        assert_eq!(disk.len(), 0);
        let kept = [units[1].clone(), units[3].clone()];
        apply(&mut disk, kept.iter(), |_| Some([9; SECTOR_BYTES]));
        let expected = [[9; 512].as_slice(), &[7; 512], &[9; 176]].concat();
        assert_eq!(disk.to_vec(), expected);
    }
}
