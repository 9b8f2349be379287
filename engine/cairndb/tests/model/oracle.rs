//! The model of a keyspace: a sorted map, and copies of it for snapshots.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cairndb::Comparator;

use crate::config::{Operator, Order};
use crate::op::Change;

/// A key that compares in the order of the list.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) bytes: Arc<[u8]>,
    order: Order,
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.order.compare(&self.bytes, &other.bytes)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// The entry of a key: the key's bytes as they were last written, and the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Arc<[u8]>,
    pub(crate) value: Arc<[u8]>,
}

/// The contents of the model at one moment.
pub(crate) type Map = BTreeMap<Key, Entry>;

/// The model. A clone shares the map until one of the two is modified.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    map: Arc<Map>,
    pub(crate) order: Order,
    pub(crate) operator: Operator,
}

impl Oracle {
    pub(crate) fn new(order: Order, operator: Operator) -> Oracle {
        Oracle {
            map: Arc::default(),
            order,
            operator,
        }
    }

    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    pub(crate) fn key(&self, bytes: &Arc<[u8]>) -> Key {
        Key {
            bytes: Arc::clone(bytes),
            order: self.order,
        }
    }

    pub(crate) fn get(&self, bytes: &Arc<[u8]>) -> Option<&[u8]> {
        self.map.get(&self.key(bytes)).map(|entry| &*entry.value)
    }

    pub(crate) fn put(&mut self, bytes: &Arc<[u8]>, value: Vec<u8>) {
        let entry = Entry {
            key: Arc::clone(bytes),
            value: value.into(),
        };
        let key = self.key(bytes);
        Arc::make_mut(&mut self.map).insert(key, entry);
    }

    /// Applies `change`, whose keys are `bytes` and, for a range, `to`.
    pub(crate) fn change(&mut self, bytes: &Arc<[u8]>, to: &Arc<[u8]>, change: Change) {
        match change {
            Change::DeleteRange(..) => self.delete_range(bytes, Some(to)),
            Change::Put(_, value) => self.put(bytes, value.bytes()),
            Change::Delete(_) => self.delete(bytes),
            Change::Merge(_, operand) => self.merge(bytes, &operand.bytes()),
        }
    }

    pub(crate) fn delete(&mut self, bytes: &Arc<[u8]>) {
        let key = self.key(bytes);
        Arc::make_mut(&mut self.map).remove(&key);
    }

    pub(crate) fn delete_range(&mut self, from: &Arc<[u8]>, to: Option<&Arc<[u8]>>) {
        let to = match to {
            // As an end, the empty key stands for none, and no key comes before it.
            Some(to) if to.is_empty() => return,
            Some(to) => Bound::Excluded(to),
            None => Bound::Unbounded,
        };
        let keys = self.range(Bound::Included(from), to);
        let keys: Vec<_> = keys.map(|entry| Arc::clone(&entry.key)).collect();
        for key in &keys {
            self.delete(key);
        }
    }

    pub(crate) fn merge(&mut self, bytes: &Arc<[u8]>, operand: &[u8]) {
        let old = self.get(bytes).unwrap_or_default();
        let counter = |bytes: &[u8]| {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        };
        let number = match self.operator {
            Operator::None => return,
            Operator::Append => return self.put(bytes, [old, operand].concat()),
            Operator::Add => counter(old).wrapping_add(counter(operand)),
            Operator::Max => counter(old).max(counter(operand)),
        };
        self.put(bytes, number.to_le_bytes().to_vec());
    }

    /// Returns a double-ended iterator over the entries between two bounds. It is empty if the
    /// bounds are reversed.
    pub(crate) fn range(
        &self,
        low: Bound<&Arc<[u8]>>,
        high: Bound<&Arc<[u8]>>,
    ) -> impl DoubleEndedIterator<Item = &Entry> {
        let (low, high) = (low.map(|key| self.key(key)), high.map(|key| self.key(key)));
        let empty = match (&low, &high) {
            (Bound::Excluded(low), Bound::Excluded(high)) => low >= high,
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => low > high,
            _ => false,
        };
        let found = (!empty).then(|| self.map.range((low, high)));
        found.into_iter().flatten().map(|(_, entry)| entry)
    }
}
