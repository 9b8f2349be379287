//! Comparators by name: those that are known, and those that a caller adds.

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb_base::comparator::BYTEWISE_NAME;
use cairndb_base::{Comparator, Order};

use crate::indexed_db::{self, IndexedDbOrder};

/// Before the name of another comparator: its reverse.
const REVERSED: &str = "rev:";

/// The names under which stores and their users have registered the reverse of the bytewise order.
const REVERSED_BYTEWISE: [&str; 2] = [
    "leveldb.ReverseBytewiseComparator",
    "rocksdb.ReverseBytewiseComparator",
];

/// The comparators that a reader finds by the name in the manifest.
///
/// Known are LevelDB's bytewise order, its reverse under the names in common use, Chromium's order
/// of `IndexedDB` keys (`idb_cmp1`), and `rev:` before a known name.
///
/// ```
/// use cairndb_leveldb::Orders;
/// let orders = Orders::default();
/// assert!(orders.find("leveldb.BytewiseComparator").is_some_and(|order| order.is_bytewise()));
/// assert!(orders.find("idb_cmp1").is_some());
/// let reversed = orders.find("rev:leveldb.BytewiseComparator").unwrap();
/// assert!(reversed.compare(b"a", b"b").is_gt());
/// assert!(orders.find("example.unknown").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Orders {
    added: Vec<Arc<dyn Comparator>>,
}

impl Orders {
    /// Adds a comparator under its name, before those that are known.
    #[must_use]
    pub fn with(mut self, comparator: Arc<dyn Comparator>) -> Orders {
        self.added.push(comparator);
        self
    }

    /// The order of this name.
    pub fn find(&self, name: &str) -> Option<Order> {
        if let Some(found) = self.named(name) {
            return Some(found);
        }
        let mut inner = name;
        let mut reversed = false;
        while let Some(rest) = inner.strip_prefix(REVERSED) {
            inner = rest;
            reversed = !reversed;
        }
        let found = self.named(inner)?;
        let name = name.to_owned();
        Some(Order::Custom(Arc::new(ReverseOrder {
            name,
            inner: found,
            reversed,
        })))
    }

    fn named(&self, name: &str) -> Option<Order> {
        if let Some(added) = self.added.iter().rev().find(|added| added.name() == name) {
            return Some(Order::Custom(Arc::clone(added)));
        }
        match name {
            BYTEWISE_NAME => Some(Order::Bytewise),
            indexed_db::NAME => Some(Order::Custom(Arc::new(IndexedDbOrder))),
            _ if REVERSED_BYTEWISE.contains(&name) => Some(Order::Custom(Arc::new(
                ReverseOrder::of(name, Order::Bytewise),
            ))),
            _ => None,
        }
    }
}

/// The reverse of another order, under a name of its own.
///
/// ```
/// use cairndb_leveldb::{Comparator, Order, ReverseOrder};
/// let order = ReverseOrder::of("example.reverse", Order::Bytewise);
/// assert_eq!(order.name(), "example.reverse");
/// assert!(order.compare(b"b", b"a").is_lt());
/// ```
#[derive(Clone, Debug)]
pub struct ReverseOrder {
    name: String,
    inner: Order,
    /// Unset where `rev:` stands twice.
    reversed: bool,
}

impl ReverseOrder {
    /// The reverse of `inner`.
    pub fn of(name: impl Into<String>, inner: Order) -> ReverseOrder {
        ReverseOrder {
            name: name.into(),
            inner,
            reversed: true,
        }
    }
}

impl Comparator for ReverseOrder {
    fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let forward = self.inner.compare(a, b);
        if self.reversed {
            forward.reverse()
        } else {
            forward
        }
    }

    fn equality_is_identity(&self) -> bool {
        self.inner.can_hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversals_nest_and_keep_the_name() {
        let orders = Orders::default();
        let once = orders
            .find("rev:rocksdb.ReverseBytewiseComparator")
            .unwrap();
        assert!(once.compare(b"a", b"b").is_lt());
        assert_eq!(once.name(), "rev:rocksdb.ReverseBytewiseComparator");
        let many = format!("{}{BYTEWISE_NAME}", REVERSED.repeat(100_001));
        assert!(orders.find(&many).unwrap().compare(b"a", b"b").is_gt());
        assert!(orders.find("rev:").is_none());
    }

    #[test]
    fn a_comparator_of_the_caller_comes_first() {
        let own = ReverseOrder::of(BYTEWISE_NAME, Order::Bytewise);
        let orders = Orders::default().with(Arc::new(own));
        assert!(
            orders
                .find(BYTEWISE_NAME)
                .unwrap()
                .compare(b"a", b"b")
                .is_gt()
        );
        let twice = orders.find("rev:leveldb.BytewiseComparator").unwrap();
        assert!(twice.compare(b"a", b"b").is_lt());
    }
}
