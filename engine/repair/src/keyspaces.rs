//! The keyspaces of the source: what its manifests state, and how keys are ordered in each section.
//!
//! Entries of a dropped keyspace are left out. A keyspace that no readable manifest names keeps its
//! entries under an invented name, unless its keys have an order of which nothing is known.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairndb_base::coding::{keyspace_prefix, split_keyspace};
use cairndb_base::limits::{COMPARED_KEYSPACE_MIN, KEYSPACE_BYTES};
use cairndb_base::{ByKeyspace, Comparator, Error, KeyspaceOrders, Order, Result};
use cairndb_files::{TableClass, TableClasses};
use cairndb_format::manifest::KeyspaceRecord;
use cairndb_format::table::Compression;

use crate::described::Described;
use crate::report::KeySpan;

/// Number of sections.
pub(crate) const SECTIONS: usize = 3;

/// Comparators by name, as the caller registered them.
pub(crate) type Comparators = BTreeMap<String, Arc<dyn Comparator>>;

/// What becomes of the entries of a keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They are kept.
    Kept,
    /// It was dropped.
    Dropped,
    /// They are lost: nothing is known of their order.
    Lost,
}

/// The keyspaces of the source.
#[derive(Debug)]
pub(crate) struct Keyspaces {
    orders: [Order; SECTIONS],
    /// Those that manifests name.
    records: BTreeMap<u32, KeyspaceRecord>,
    described: Option<Described>,
}

impl Keyspaces {
    /// Returns the keyspaces that the manifest describes; `order` is that of the default one.
    ///
    /// # Errors
    /// `InvalidArgument` with the name of a comparator that is not among `comparators`.
    pub(crate) fn new(
        order: &Order,
        comparators: &Comparators,
        described: Option<&Described>,
    ) -> Result<Keyspaces> {
        let records = described.map(|described| described.keyspaces.clone());
        let records = records.unwrap_or_default();
        let mut by_number = BTreeMap::new();
        for (number, record) in &records {
            if let Some(name) = &record.comparator {
                let found = comparators.get(name).ok_or_else(|| {
                    Error::invalid(
                        "a keyspace has a comparator that is not registered; register it to \
                         repair the database",
                    )
                    .expected(format_args!("{name:?} of keyspace {:?}", record.name))
                    .found(format_args!("{:?}", comparators.keys()))
                })?;
                by_number.insert(*number, Arc::clone(found));
            }
        }
        let compared = ByKeyspace(Arc::new(ByNumber(by_number)));
        Ok(Keyspaces {
            orders: [
                order.clone(),
                Order::Bytewise,
                Order::Custom(Arc::new(compared)),
            ],
            records,
            described: described.cloned(),
        })
    }

    /// Returns the order of the stored keys of a section.
    pub(crate) fn order(&self, section: u8) -> &Order {
        &self.orders[usize::from(section)]
    }

    /// Returns the section of a log's entry.
    pub(crate) fn section_of(in_keyspace: bool, key: &[u8]) -> u8 {
        if in_keyspace {
            1 + u8::from(number_of(key) >= COMPARED_KEYSPACE_MIN)
        } else {
            0
        }
    }

    pub(crate) fn is_named(&self, number: u32) -> bool {
        self.records.contains_key(&number)
    }

    pub(crate) fn fate(&self, number: u32) -> Fate {
        let is_dropped = |it: &Described| it.is_dropped(number);
        if self.is_named(number) {
            Fate::Kept
        } else if self.described.as_ref().is_some_and(is_dropped) {
            Fate::Dropped
        } else if number >= COMPARED_KEYSPACE_MIN || !is_number(number) {
            Fate::Lost
        } else {
            Fate::Kept
        }
    }

    /// Returns the section of a table without a meta block, whose bounds in the order of `section`
    /// are known: whether these are keys of keyspaces that exist or existed.
    pub(crate) fn are_keys_of(&self, section: u8, keys: &KeySpan, met: &BTreeSet<u32>) -> bool {
        let is_key = |key: &Option<Vec<u8>>| {
            let key = key.as_deref().unwrap_or_default();
            let number = number_of(key);
            let is_known = is_number(number)
                && (self.fate(number) == Fate::Dropped
                    || self.is_named(number)
                    || met.contains(&number));
            is_known && Keyspaces::section_of(true, key) == section
        };
        is_key(&keys.first) && is_key(&keys.last)
    }

    /// Returns the record of a keyspace. One that no manifest names gets an invented name.
    fn record(&self, number: u32) -> KeyspaceRecord {
        if let Some(record) = self.records.get(&number).filter(|it| !it.name.is_empty()) {
            return record.clone();
        }
        let mut name = format!("keyspace-{number}");
        while self.records.values().any(|record| record.name == name) {
            name.push('_');
        }
        KeyspaceRecord {
            name,
            number,
            ..self.records.get(&number).cloned().unwrap_or_default()
        }
    }

    /// Returns the records of the keyspaces of the new database; `met` have entries, but may have
    /// no name.
    pub(crate) fn kept(&self, met: &BTreeSet<u32>) -> Vec<KeyspaceRecord> {
        let met = met.iter().filter(|it| self.fate(**it) == Fate::Kept);
        let numbers: BTreeSet<u32> = self.records.keys().chain(met).copied().collect();
        let kept = numbers.into_iter().map(|number| self.record(number));
        kept.collect()
    }

    /// Returns the span of all keys of a keyspace, as stored.
    pub(crate) fn whole(number: u32) -> KeySpan {
        let end = |number: u32| Some(keyspace_prefix(number).to_vec());
        let section = 1 + u8::from(number >= COMPARED_KEYSPACE_MIN);
        let (first, last) = (number.saturating_sub(1), number.saturating_add(1));
        KeySpan::between(section, end(first), end(last))
    }

    /// Turns a span of stored keys into one of the users' keys. `None` if all of them were in
    /// dropped keyspaces.
    pub(crate) fn named(&self, keys: &KeySpan, met: &BTreeSet<u32>) -> Option<KeySpan> {
        if keys.section == 0 {
            return Some(keys.clone());
        }
        let (low, high) = match keys.section {
            1 => (1, COMPARED_KEYSPACE_MIN - 1),
            _ => (COMPARED_KEYSPACE_MIN, u32::MAX),
        };
        let end = |key: &Option<Vec<u8>>, open| key.as_deref().map_or(open, number_of);
        let ends = [end(&keys.first, low), end(&keys.last, high)];
        let known = self.records.keys().chain(met).chain(&ends).copied();
        let touched: BTreeSet<u32> = known
            .filter(|number| ends[0] <= *number && *number <= ends[1])
            .filter(|number| is_number(*number) && self.fate(*number) != Fate::Dropped)
            .collect();
        let users = |key: &Option<Vec<u8>>, number: Option<&u32>| {
            let (found, users) = split_keyspace(key.as_deref()?)?;
            (Some(&found) == number).then(|| users.to_vec())
        };
        let is_bounded = keys.first.is_some() && keys.last.is_some();
        (!touched.is_empty() || !is_bounded).then(|| KeySpan {
            first: users(&keys.first, touched.first()),
            last: users(&keys.last, touched.last()),
            keyspaces: touched.iter().map(|it| self.record(*it).name).collect(),
            section: 0,
        })
    }
}

impl TableClasses for Keyspaces {
    fn class_of(&self, stored: &[u8], usual: Compression) -> TableClass {
        TableClass::of(self.records.get(&number_of(stored)), usual)
    }
}

/// The comparators of keyspaces, by their numbers.
#[derive(Debug)]
struct ByNumber(BTreeMap<u32, Arc<dyn Comparator>>);

impl KeyspaceOrders for ByNumber {
    fn compare_in(&self, number: u32, a: &[u8], b: &[u8]) -> Ordering {
        let comparator = self.0.get(&number);
        comparator.map_or(Ordering::Equal, |comparator| comparator.compare(a, b))
    }
}

/// Returns the number at the start of a stored key. A bound may be shorter; its last bytes count as
/// 0.
pub(crate) fn number_of(stored: &[u8]) -> u32 {
    let mut number = [0; KEYSPACE_BYTES];
    for (place, byte) in number.iter_mut().zip(stored) {
        *place = *byte;
    }
    split_keyspace(&number).map_or(0, |(number, _)| number)
}

/// Returns whether keyspaces may have this number.
fn is_number(number: u32) -> bool {
    number > 0 && number.is_multiple_of(2)
}
