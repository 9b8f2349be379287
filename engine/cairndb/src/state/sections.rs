//! The sections of a database's keys, and values that exist once for each.
//!
//! Keyspaces share memtables, runs and the log. What differs is how their keys are compared, so the
//! keys are divided into three sections, in this order:
//!
//! 1. the default keyspace, whose keys are stored as they are;
//! 2. all other keyspaces in bytewise order;
//! 3. all keyspaces with a comparator.
//!
//! In the last two a stored key begins with the number of its keyspace, four bytes, big-endian.
//! Numbers are even. The odd number before and the one after it are the ends of a keyspace: no
//! stored key begins with them.
//!
//! Rejected: a tree of memtables and runs for each keyspace, as in RocksDB. A thousand of them
//! would flush a thousand small tables, or the idle ones would hold the log.

use std::cmp::Ordering;
use std::ops::Index;

use cairndb_base::Order;
use cairndb_base::coding::split_keyspace;
use cairndb_base::limits::{COMPARED_KEYSPACE_MIN, KEYSPACE_BYTES};
use cairndb_format::batch::Entry;
use cairndb_format::manifest::TableRecord;

/// A part of the keys, with one order. The numbers are stored on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Section {
    /// The default keyspace.
    #[default]
    Default = 0,
    /// Keyspaces in bytewise order.
    Bytewise = 1,
    /// Keyspaces with a comparator.
    Compared = 2,
}

/// Number of sections.
const SECTIONS: usize = 3;

impl Section {
    pub(crate) const ALL: [Section; SECTIONS] =
        [Section::Default, Section::Bytewise, Section::Compared];

    /// Returns the section of keyspace `number`, which is not the default one.
    pub(crate) fn of_number(number: u32) -> Section {
        if number < COMPARED_KEYSPACE_MIN {
            Section::Bytewise
        } else {
            Section::Compared
        }
    }

    /// Returns the section of a table, which the manifest has checked.
    pub(crate) fn of_table(number: u8) -> Section {
        Section::ALL[usize::from(number)]
    }

    /// Returns the section of a batch's entry.
    #[inline]
    pub(crate) fn of_entry(entry: &Entry<'_>) -> Section {
        if entry.in_keyspace {
            Section::of_number(keyspace_of(entry.key))
        } else {
            Section::Default
        }
    }
}

/// Returns the keyspace of a stored key that is not in the default section. A bound of a table may
/// be shorter than a number; its last bytes then count as 0.
#[inline]
pub(crate) fn keyspace_of(stored: &[u8]) -> u32 {
    if let Some((number, _)) = split_keyspace(stored) {
        return number;
    }
    let mut number = [0; KEYSPACE_BYTES];
    for (place, byte) in number.iter_mut().zip(stored) {
        *place = *byte;
    }
    split_keyspace(&number).map_or(0, |(number, _)| number)
}

/// One value for each section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sections<T>(pub(crate) [T; SECTIONS]);

impl<T> Sections<T> {
    pub(crate) fn from_fn(make: impl FnMut(Section) -> T) -> Sections<T> {
        Sections(Section::ALL.map(make))
    }

    pub(crate) fn map<U>(self, make: impl FnMut(T) -> U) -> Sections<U> {
        Sections(self.0.map(make))
    }

    /// Returns what `make` returns for each value.
    pub(crate) fn each_ref<U>(&self, make: impl FnMut(&T) -> U) -> Sections<U> {
        Sections(self.0.each_ref().map(make))
    }

    pub(crate) fn get_mut(&mut self, section: Section) -> &mut T {
        &mut self.0[section as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<Section> for Sections<T> {
    type Output = T;

    #[inline]
    fn index(&self, section: Section) -> &T {
        &self.0[section as usize]
    }
}

/// The order of each section's keys.
pub(crate) type Orders = Sections<Order>;

impl Orders {
    /// Compares stored keys of any sections.
    pub(crate) fn compare(&self, a: StoredKey<'_>, b: StoredKey<'_>) -> Ordering {
        let sections = a.section.cmp(&b.section);
        sections.then_with(|| self[a.section].compare(a.bytes, b.bytes))
    }
}

/// A key as it is stored, and its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredKey<'k> {
    pub(crate) section: Section,
    pub(crate) bytes: &'k [u8],
}

impl StoredKey<'static> {
    /// A key after all of the default keyspace and before all others.
    pub(crate) const END_OF_DEFAULT: StoredKey<'static> = StoredKey {
        section: Section::Bytewise,
        bytes: &[],
    };
}

impl<'k> StoredKey<'k> {
    /// Returns a key of the default keyspace.
    #[inline]
    pub(crate) fn plain(bytes: &'k [u8]) -> StoredKey<'k> {
        let section = Section::Default;
        StoredKey { section, bytes }
    }

    /// Returns the lower and the upper bound of a table.
    #[inline]
    pub(crate) fn bounds_of(table: &'k TableRecord) -> (StoredKey<'k>, StoredKey<'k>) {
        let section = Section::of_table(table.section);
        let stored = |bytes| StoredKey { section, bytes };
        (stored(&table.smallest), stored(&table.largest))
    }

    /// Returns the key of a batch's entry.
    #[inline]
    pub(crate) fn of_entry(entry: &Entry<'k>) -> StoredKey<'k> {
        StoredKey {
            section: Section::of_entry(entry),
            bytes: entry.key,
        }
    }

    /// Returns the number of the keyspace; 0 for the default one.
    pub(crate) fn keyspace(self) -> u32 {
        match self.section {
            Section::Default => 0,
            _ => keyspace_of(self.bytes),
        }
    }

    /// Returns the user's form of the end of a range that starts at this key: `None` if the range
    /// extends to the end of its keyspace.
    pub(crate) fn end_of_range(self, end: &[u8]) -> Option<&[u8]> {
        match self.section {
            Section::Default => (!end.is_empty()).then_some(end),
            _ => (keyspace_of(end) == self.keyspace()).then(|| &end[KEYSPACE_BYTES..]),
        }
    }

    /// Returns the key that the user knows.
    pub(crate) fn users(self) -> &'k [u8] {
        match self.section {
            Section::Default => self.bytes,
            _ => self.bytes.get(KEYSPACE_BYTES..).unwrap_or_default(),
        }
    }
}
