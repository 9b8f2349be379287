//! Crash points and the states that a crash may leave.
//!
//! A [`CrashPoint`] is the disk just before one operation. A [`CrashChoice`] selects the pending
//! units that a crash there keeps. The [`Profile`] defines which choices are legal; an illegal one
//! is weakened to the nearest legal one. The result is a new environment with the disk that a
//! program finds after the crash.

use std::collections::BTreeMap;

use cairndb_env::Background;
use cairndb_env::random::Random;

use crate::content::{Content, SECTOR_BYTES, Sector};
use crate::disk::{Disk, InodeId, Remains};
use crate::op::Op;
use crate::protocol::ManifestReader;
use crate::unit::{self, Unit};

/// The rules for the unsynced changes that a crash may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Nothing.
    Strict,
    /// An ordered journal, like ext4's: name operations are kept in order, a synced file keeps its
    /// name, and a file grows only over bytes that reached the disk. Other data is kept in any
    /// order.
    Ordered,
    /// Any subset, in any order; a file may grow before its data and show zeros, noise or freed
    /// bytes. A rename is atomic, but may be lost or come early. This is the profile that matters.
    Weak,
    /// Only the process dies: everything visible is kept (and stays pending), but a write in
    /// progress may be partly done.
    Kill,
}

/// The content of a gap: a range into which a file grew but whose data did not reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// Random bytes from this seed.
    Noise(u64),
    /// Bytes of other and removed files, preferably of the same kind, chosen by this seed.
    Old(u64),
}

/// The pending units that are kept. Units are numbered in the order in which they were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// None.
    None,
    /// All.
    All,
    /// Only this unit.
    Only(usize),
    /// Only this file unit, but every name operation: data of a new file is only visible if its
    /// name is kept.
    Named(usize),
    /// All but this unit.
    Missing(usize),
    /// This many of the first units.
    Prefix(usize),
    /// The units whose bit is set; units from 64 on are not kept.
    Subset(u64),
    /// Name operations before `late`, and `early`, which came after it; with `between` also those
    /// in between. All data is kept.
    Swapped {
        /// The unit that is lost.
        late: usize,
        /// The later unit that is kept nevertheless.
        early: usize,
        /// Whether the units between them are kept.
        between: bool,
    },
    /// A random subset: each file and the set of names draw their own treatment (none, all, a
    /// prefix, few, half or most), so that whole and torn files occur together.
    Random(u64),
}

/// One crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrashChoice {
    /// The units that are kept. Under [`Profile::Kill`], the pieces of the write in progress.
    pub keep: Keep,
    /// The content of gaps. Only [`Profile::Weak`] has any.
    pub fill: Fill,
}

impl CrashChoice {
    /// Returns a choice that keeps `keep` and fills gaps with zeros.
    pub fn new(keep: Keep) -> CrashChoice {
        let fill = Fill::Zeros;
        CrashChoice { keep, fill }
    }
}

/// Settings that an environment passes on to its crash images.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) background: Background,
    pub(crate) mapping: bool,
    pub(crate) memory_bytes: u64,
    pub(crate) reader: Option<ManifestReader>,
}

/// A write that the crash interrupts, split into the pieces that may be done separately.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) inode: InodeId,
    pub(crate) pieces: Vec<(u64, Vec<u8>)>,
    /// Whether a later piece implies the earlier ones: an append, but not a copy to memory.
    pub(crate) in_order: bool,
}

/// The disk just before one operation: cheap to keep, and independent of what happens later.
#[derive(Clone, Debug)]
pub struct CrashPoint {
    pub(crate) op: Op,
    pub(crate) disk: Disk,
    pub(crate) in_flight: Option<InFlight>,
    pub(crate) settings: Settings,
}

/// The location of a pending unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingUnit {
    /// The unit with this index in a file.
    File(InodeId, usize),
    /// The name operation with this index.
    Name(usize),
}

impl CrashPoint {
    /// Returns the operation that did not happen.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// Returns whether a file whose name contains `name` has bytes at this point that are not
    /// durable.
    pub fn has_pending(&self, name: &str) -> bool {
        let mut inodes = self.disk.inodes.values();
        inodes.any(|inode| inode.name.contains(name) && !inode.pending.is_empty())
    }

    /// Returns the number of pending units, as [`Keep`] numbers them.
    pub fn pending(&self, profile: Profile) -> usize {
        match profile {
            Profile::Strict => 0,
            Profile::Ordered | Profile::Weak => self.places().len(),
            Profile::Kill => self.pieces(),
        }
    }

    /// Returns the disk after this crash.
    pub(crate) fn disk_of(
        &self,
        profile: Profile,
        choice: &CrashChoice,
        places: &[PendingUnit],
    ) -> Disk {
        match profile {
            Profile::Strict => self.power_loss(places, &vec![false; places.len()], Fill::Zeros),
            Profile::Ordered => {
                let mut kept = select(choice.keep, places);
                self.put_in_order(places, &mut kept);
                self.power_loss(places, &kept, Fill::Zeros)
            }
            Profile::Weak => {
                let kept = select(choice.keep, places);
                self.power_loss(places, &kept, choice.fill)
            }
            Profile::Kill => self.kill(choice.keep),
        }
    }

    /// Returns every pending unit, oldest first.
    pub(crate) fn places(&self) -> Vec<PendingUnit> {
        let mut places = Vec::new();
        for (&id, inode) in &self.disk.inodes {
            let units = inode.pending.iter().enumerate();
            places.extend(units.map(|(index, unit)| (unit.seq, PendingUnit::File(id, index))));
        }
        let names = self.disk.names.iter().enumerate();
        places.extend(names.map(|(index, name)| (name.seq, PendingUnit::Name(index))));
        places.sort_unstable_by_key(|&(seq, _)| seq);
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// Returns the pieces of the write in progress.
    pub(crate) fn pieces(&self) -> usize {
        let in_flight = self.in_flight.as_ref();
        in_flight.map_or(0, |write| write.pieces.len())
    }

    /// Returns whether a power loss here can leave a file longer than its data.
    pub(crate) fn can_have_gaps(&self) -> bool {
        let size = |unit: &unit::Pending| matches!(unit.unit, Unit::Size(_));
        let mut inodes = self.disk.inodes.values();
        inodes.any(|inode| inode.pending.iter().any(size))
    }

    /// Weakens a choice to what an ordered journal can leave.
    fn put_in_order(&self, places: &[PendingUnit], kept: &mut [bool]) {
        // Names: a prefix, at least up to what later syncs made durable in the journal.
        let journaled = self.disk.names.iter().rposition(|name| name.journaled);
        let mut whole = true;
        for (place, kept) in places.iter().zip(&mut *kept) {
            if let PendingUnit::Name(index) = *place {
                let forced = journaled.is_some_and(|last| index <= last);
                whole = forced || (whole && *kept);
                *kept = whole;
            }
        }
        // Sizes: only if every sector below reached the disk, as it was when the file had that
        // size.
        let mut kept_sectors = BTreeMap::new();
        for (place, _) in places.iter().zip(&*kept).filter(|&(_, &kept)| kept) {
            if let Some((id, index, Unit::Sector { index: sector, .. })) = self.file_unit(*place) {
                kept_sectors.insert((id, *sector), index);
            }
        }
        let mut latest_sectors = BTreeMap::new();
        for (place, kept) in places.iter().zip(kept) {
            match self.file_unit(*place) {
                Some((id, index, Unit::Sector { index: sector, .. })) => {
                    latest_sectors.insert((id, *sector), index);
                }
                Some((id, _, Unit::Size(len))) => {
                    let first = self.disk.inode(id).durable.len() / SECTOR_BYTES as u64;
                    let end = len.div_ceil(SECTOR_BYTES as u64);
                    *kept &= latest_sectors
                        .range((id, first)..(id, end.max(first)))
                        .all(|(sector, latest)| kept_sectors.get(sector) >= Some(latest));
                }
                Some((_, _, Unit::Zeros { .. })) | None => {}
            }
        }
    }

    fn file_unit(&self, place: PendingUnit) -> Option<(InodeId, usize, &Unit)> {
        match place {
            PendingUnit::File(id, index) => {
                Some((id, index, &self.disk.inode(id).pending[index].unit))
            }
            PendingUnit::Name(_) => None,
        }
    }

    fn power_loss(&self, places: &[PendingUnit], kept: &[bool], fill: Fill) -> Disk {
        let dirs = self.disk.dirs.iter().map(|dir| dir.durable.clone());
        let mut names: Vec<_> = dirs.collect();
        let mut units: BTreeMap<InodeId, Vec<&Unit>> = BTreeMap::new();
        for (place, _) in places.iter().zip(kept).filter(|&(_, &kept)| kept) {
            match *place {
                PendingUnit::Name(index) => {
                    let pending = &self.disk.names[index];
                    pending.op.apply(&mut names[pending.dir]);
                }
                PendingUnit::File(id, index) => {
                    let unit = &self.disk.inode(id).pending[index].unit;
                    units.entry(id).or_default().push(unit);
                }
            }
        }
        let mut contents = BTreeMap::new();
        for &id in names.iter().flat_map(BTreeMap::values) {
            contents.entry(id).or_insert_with(|| {
                let mut content = self.disk.inode(id).durable.clone();
                if let Some(units) = units.get(&id) {
                    let gap = |sector| self.gap_sector(id, sector, fill);
                    unit::apply(&mut content, units.iter().copied(), gap);
                }
                content
            });
        }
        let dirs = self.disk.dirs.iter().zip(names);
        let dirs = dirs.filter(|(dir, _)| !dir.removed);
        self.disk.settle(Remains {
            dirs: dirs.map(|(dir, names)| (dir.path.clone(), names)).collect(),
            contents,
        })
    }

    fn gap_sector(&self, id: InodeId, sector: u64, fill: Fill) -> Option<Sector> {
        match fill {
            Fill::Zeros => None,
            Fill::Noise(seed) => Some(noise(seed ^ (id << 32) ^ sector)),
            Fill::Old(seed) => {
                let stale = self.stale_content(id, sector, seed);
                let stale = stale.map(|content| content.sector(sector));
                Some(stale.unwrap_or_else(|| noise(seed ^ (id << 32) ^ sector)))
            }
        }
    }

    /// Returns another file that reaches this sector, preferably of the same kind: a careless file
    /// system would show its freed or moved blocks.
    fn stale_content(&self, id: InodeId, sector: u64, seed: u64) -> Option<&Content> {
        let others = self.disk.inodes.iter().filter(|&(&other, _)| other != id);
        let others = others.map(|(_, inode)| (&*inode.name, &inode.visible));
        let graves = self.disk.graves.iter();
        let graves = graves.map(|(name, content)| (&**name, content));
        let reach = sector * SECTOR_BYTES as u64;
        let long = graves
            .chain(others)
            .filter(|(_, content)| content.len() > reach);
        let kind = extension(&self.disk.inode(id).name);
        let (same, other): (Vec<_>, Vec<_>) = long.partition(|(name, _)| extension(name) == kind);
        let pool = if same.is_empty() { other } else { same };
        let mut random = Random::new(seed ^ id);
        (!pool.is_empty()).then(|| pool[random.index(pool.len())].1)
    }

    fn kill(&self, keep: Keep) -> Disk {
        let mut disk = self.disk.clone();
        let Some(write) = &self.in_flight else {
            return disk;
        };
        let mut whole = true;
        for (index, (offset, bytes)) in write.pieces.iter().enumerate() {
            let kept = match keep {
                Keep::None => false,
                Keep::All => true,
                Keep::Only(one) | Keep::Named(one) => index == one,
                Keep::Missing(one) => index != one,
                Keep::Prefix(count) => index < count,
                Keep::Subset(bits) => index < 64 && bits >> index & 1 == 1,
                Keep::Swapped { late, early, .. } => index < late || index == early,
                Keep::Random(seed) => Random::new(seed ^ index as u64).below(2) == 0,
            };
            whole &= kept;
            if whole || (kept && !write.in_order) {
                disk.write(write.inode, *offset, bytes);
            }
        }
        disk
    }
}

/// Returns which units a choice keeps.
fn select(keep: Keep, places: &[PendingUnit]) -> Vec<bool> {
    let each = |kept: &dyn Fn(usize) -> bool| (0..places.len()).map(kept).collect();
    match keep {
        Keep::None => each(&|_| false),
        Keep::All => each(&|_| true),
        Keep::Only(one) => each(&|index| index == one),
        Keep::Named(one) => {
            each(&|index| index == one || matches!(places[index], PendingUnit::Name(_)))
        }
        Keep::Missing(one) => each(&|index| index != one),
        Keep::Prefix(count) => each(&|index| index < count),
        Keep::Subset(bits) => each(&|index| index < 64 && bits >> index & 1 == 1),
        Keep::Swapped {
            late,
            early,
            between,
        } => each(&|index| match places[index] {
            PendingUnit::File(..) => true,
            PendingUnit::Name(_) => {
                index < late || index == early || (between && late < index && index < early)
            }
        }),
        Keep::Random(seed) => random_subset(seed, places),
    }
}

/// Returns the part of a name that distinguishes kinds of files.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn noise(seed: u64) -> Sector {
    let mut random = Random::new(seed);
    let mut sector = [0; SECTOR_BYTES];
    for word in sector.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    sector
}

/// The treatment of one file, or of the names, in a random subset.
#[derive(Clone, Copy)]
enum Manner {
    Prefix(u64),
    /// Keeps each unit with this chance in 64.
    Chance(u64),
}

fn random_subset(seed: u64, places: &[PendingUnit]) -> Vec<bool> {
    let mut random = Random::new(seed);
    let mut counts: BTreeMap<Option<InodeId>, u64> = BTreeMap::new();
    let group = |place: &PendingUnit| match place {
        PendingUnit::File(id, _) => Some(*id),
        PendingUnit::Name(_) => None,
    };
    for place in places {
        *counts.entry(group(place)).or_default() += 1;
    }
    let draw = |random: &mut Random, group: Option<InodeId>, count: u64| match random.below(8) {
        // Data of a new file is invisible without its name: half of the time all names are kept.
        0..=3 if group.is_none() => Manner::Chance(64),
        0 => Manner::Chance(0),
        1 | 2 => Manner::Chance(64),
        3 => Manner::Chance(4),
        4 => Manner::Chance(60),
        5 => Manner::Chance(32),
        _ => Manner::Prefix(random.below(count + 1)),
    };
    let mut manners: BTreeMap<_, _> = counts
        .into_iter()
        .map(|(group, count)| (group, (draw(&mut random, group, count), 0u64)))
        .collect();
    let mut kept = Vec::with_capacity(places.len());
    for place in places {
        let (manner, so_far) = manners
            .get_mut(&group(place))
            .expect("every group was drawn");
        kept.push(match *manner {
            Manner::Prefix(count) => *so_far < count,
            Manner::Chance(chance) => random.below(64) < chance,
        });
        *so_far += 1;
    }
    kept
}
