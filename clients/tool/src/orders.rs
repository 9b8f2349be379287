//! Comparators: the ones that `cairn` knows by name, and the one that `--comparator` declares.
//!
//! A database names its comparator. `cairn` finds LevelDB's bytewise order, its reverse, and the
//! order of Chromium's `IndexedDB` keys by that name. Another name needs `--comparator`, which says
//! which of these orders the named comparator has.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use cairndb::env::{Dir, Env, RealEnv};
use cairndb::{Add, Append, Comparator, Max, MergeOperator};
use cairndb_base::comparator::KEYSPACES_NAME;
use cairndb_base::{ByKeyspace, Error, FileNumber, KeyspaceOrders};
use cairndb_format::manifest::{ManifestReader, read_current};
use cairndb_format::name::FileKind;
use cairndb_leveldb::{ManifestSalvage, Order, Orders};

use crate::escape::escaped;
use crate::failure::{Failure, Result};

/// Number of attempts to read a manifest that is replaced meanwhile.
const TRIES: u32 = 20;

/// The order that the command line declares: one for the process, set before the first command.
static DECLARED: OnceLock<Order> = OnceLock::new();

/// The comparator of a database under its own name, in the declared order.
#[derive(Debug)]
struct Declared {
    name: String,
    order: Order,
}

impl Comparator for Declared {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.order.compare(a, b)
    }

    fn equality_is_identity(&self) -> bool {
        self.order.can_hash()
    }
}

/// The names that `--comparator` takes, and those by which the orders are known.
pub(crate) const NAMES: [(&str, &str); 3] = [
    ("bytewise", "leveldb.BytewiseComparator"),
    ("reverse", "rev:leveldb.BytewiseComparator"),
    ("idb_cmp1", "idb_cmp1"),
];

/// Declares the order of comparators that are not known by their name.
pub(crate) fn declare(name: &str) -> Result<()> {
    let known = NAMES.iter().find(|(short, _)| *short == name);
    let order = known.and_then(|(_, full)| Orders::default().find(full));
    let order = order.ok_or_else(|| Failure::usage(format!("no order is called `{name}`")))?;
    DECLARED.get_or_init(|| order);
    Ok(())
}

/// Returns whether the command line declares bytewise order.
pub(crate) fn is_declared_bytewise() -> bool {
    DECLARED.get().is_some_and(Order::is_bytewise)
}

/// Returns the order of the comparator that a database names; `None` if it is not known.
pub(crate) fn find(name: &str) -> Option<Order> {
    if name == KEYSPACES_NAME {
        return Some(Order::Custom(Arc::new(ByKeyspace(Arc::new(Unordered)))));
    }
    let known = Orders::default().find(name);
    known.or_else(|| Some(declared(name, DECLARED.get()?)))
}

/// Stands for the comparators of keyspaces where entries are read as they are stored.
#[derive(Debug)]
struct Unordered;

impl KeyspaceOrders for Unordered {
    fn compare_in(&self, _: u32, _: &[u8], _: &[u8]) -> Ordering {
        Ordering::Equal
    }
}

/// Returns the failure for a comparator that is not known.
pub(crate) fn unknown(name: &str) -> Failure {
    let name = escaped(name.as_bytes());
    Failure::other(format!(
        "the comparator \"{name}\" is not known; `--comparator` says which order it has"
    ))
}

fn declared(name: &str, order: &Order) -> Order {
    let (name, order) = (name.to_owned(), order.clone());
    Order::Custom(Arc::new(Declared { name, order }))
}

/// Returns the comparators for the LevelDB database in `dir`.
pub(crate) fn for_leveldb(dir: &dyn Dir) -> Orders {
    let custom = custom_leveldb(dir).into_iter();
    custom.fold(Orders::default(), Orders::with)
}

fn custom_leveldb(dir: &dyn Dir) -> Option<Arc<dyn Comparator>> {
    let number = cairndb_leveldb::read_current(dir).ok()?;
    custom(&ManifestSalvage::read(dir, number).ok()?.comparator?)
}

/// Returns the comparator of the database at `path`, of either store, if `cairn` knows it and it is
/// not the bytewise one. Errors are met again, and reported, when the database is opened.
pub(crate) fn of_database(path: &Path) -> Option<Arc<dyn Comparator>> {
    let dir = RealEnv::new().open_dir(path, false).ok()?;
    for _ in 0..TRIES {
        let current = read_current(&*dir).ok().flatten();
        if let Some(name) = comparator_of(&*dir, current) {
            return custom(&name);
        }
        // A process that has the database open for writing may have replaced the manifest.
        if read_current(&*dir).ok().flatten() == current {
            break;
        }
    }
    custom_leveldb(&*dir)
}

/// Returns the comparator that the manifest in use names.
fn comparator_of(dir: &dyn Dir, current: Option<FileNumber>) -> Option<String> {
    // A damaged database may have lost `CURRENT` or the manifest in use.
    let mut others = manifests(dir);
    others.sort_unstable();
    let others = others.into_iter().rev().map(FileNumber);
    current.into_iter().chain(others).find_map(|number| {
        let mut reader = ManifestReader::open(dir, number).ok()?;
        loop {
            // Edits with tables only may come first.
            if let Some(name) = reader.advance().ok()??.comparator {
                return Some(name);
            }
        }
    })
}

/// What the keyspaces of a database name.
#[derive(Debug, Default)]
pub(crate) struct OfKeyspaces {
    /// The comparators that `cairn` knows.
    pub(crate) comparators: Vec<Arc<dyn Comparator>>,
    /// The merge operators that it does not know.
    pub(crate) operators: Vec<Arc<dyn MergeOperator>>,
}

/// Returns what the manifests of the database at `path` name, and the known orders, which a new
/// keyspace may have. Errors are met again, and reported, when the database is opened.
pub(crate) fn of_keyspaces(path: &Path) -> OfKeyspaces {
    let mut found = OfKeyspaces::default();
    let mut names: BTreeSet<String> = NAMES.map(|(_, full)| full.to_owned()).into();
    let mut operators = BTreeSet::new();
    if let Ok(dir) = RealEnv::new().open_dir(path, false) {
        for number in manifests(&*dir) {
            let Ok(mut reader) = ManifestReader::open(&*dir, FileNumber(number)) else {
                continue;
            };
            while let Ok(Some(edit)) = reader.advance() {
                for keyspace in edit.created_keyspaces {
                    names.extend(keyspace.comparator);
                    operators.extend(keyspace.merge_operator);
                }
            }
        }
    }
    found.comparators = names.iter().filter_map(|name| custom(name)).collect();
    for known in [&Add as &dyn MergeOperator, &Append, &Max] {
        operators.remove(known.name());
    }
    let unknown = operators
        .into_iter()
        .map(|name| Arc::new(Unknown(name)) as _);
    found.operators = unknown.collect();
    found
}

/// A merge operator that `cairn` does not know: what was not merged can be read.
#[derive(Debug)]
struct Unknown(String);

impl MergeOperator for Unknown {
    fn name(&self) -> &str {
        &self.0
    }

    fn merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> cairndb::Result<Vec<u8>> {
        Err(
            Error::invalid("the key has operands of a merge operator that cairn does not know")
                .found(self.0.escape_debug()),
        )
    }
}

fn manifests(dir: &dyn Dir) -> Vec<u64> {
    let names = dir.list().unwrap_or_default();
    let numbers = names
        .iter()
        .filter_map(|found| match FileKind::parse(found)? {
            FileKind::Manifest(number) => Some(number.0),
            _ => None,
        });
    numbers.collect()
}

/// Returns the order of the keys of the CairnDB database at `path`.
pub(crate) fn order_of(path: &Path) -> Order {
    of_database(path).map_or(Order::Bytewise, Order::Custom)
}

fn custom(name: &str) -> Option<Arc<dyn Comparator>> {
    match find(name)? {
        Order::Custom(comparator) => Some(comparator),
        Order::Bytewise => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_an_order() {
        for (short, full) in NAMES {
            let order = Orders::default().find(full).expect(short);
            let declared = declared("example.order", &order);
            assert_eq!(declared.name(), "example.order");
            let (a, b) = (b"\0\0\0\0\x01a", b"\0\0\0\0\x01b");
            assert_eq!(declared.compare(a, b), order.compare(a, b));
        }
        assert!(declare("other").is_err());
        assert!(find("example.order").is_none());
    }
}
