//! Key order: bytewise or a user-supplied comparator.
//!
//! The engine treats bytewise order specially: it compares key heads, shortens fences and hashes
//! keys for filters. Under any other order it uses only full keys, unless the comparator declares
//! that keys are equal exactly if their bytes are.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

use crate::coding::split_keyspace;
use crate::hash::hash64;

/// A total order over keys, with a name that is stored in the database.
///
/// Opening a database with a comparator of another name fails. The order must be total and must not
/// change between runs; an inconsistent order causes wrong results but no memory errors.
///
/// ```
/// # use cairndb_base as cairndb;
/// use std::cmp::Ordering;
/// #[derive(Debug)]
/// struct Reverse;
/// impl cairndb::Comparator for Reverse {
///     fn name(&self) -> &str {
///         "example.Reverse"
///     }
///     fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
///         b.cmp(a)
///     }
/// }
/// ```
pub trait Comparator: Debug + Send + Sync {
    /// Returns the name stored in the database, at most 255 bytes of UTF-8.
    fn name(&self) -> &str;
    /// Compares `a` with `b`.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// Returns whether keys that compare equal always have identical bytes. `false` (the default)
    /// disables filters and exact-hit seeks for this order.
    fn equality_is_identity(&self) -> bool {
        false
    }
}

/// The comparators of keyspaces.
pub trait KeyspaceOrders: Debug + Send + Sync {
    /// Compares two keys of keyspace `number`. Those of an unknown one are equal.
    fn compare_in(&self, number: u32, a: &[u8], b: &[u8]) -> Ordering;
}

/// The order of the stored keys of all keyspaces with a comparator: by number, then by that
/// comparator. Equal keys may have different bytes, whatever the comparators declare: which of them
/// are known must not decide the hashes that are stored.
#[derive(Clone, Debug)]
pub struct ByKeyspace(pub Arc<dyn KeyspaceOrders>);

impl Comparator for ByKeyspace {
    fn name(&self) -> &str {
        KEYSPACES_NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (split_keyspace(a), split_keyspace(b)) {
            (Some((number, a)), Some((other, b))) if number == other => {
                self.0.compare_in(number, a, b)
            }
            // A bound of a table may be shorter than a number.
            _ => a.cmp(b),
        }
    }
}

/// The order of one database.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// Unsigned bytewise order, shorter keys first: the default, and the only fast order.
    #[default]
    Bytewise,
    /// A user-supplied comparator.
    Custom(Arc<dyn Comparator>),
}

/// The name of the bytewise order, the same as LevelDB's.
pub const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";

/// The name of the order of all keyspaces with a comparator: by number, then by that comparator.
pub const KEYSPACES_NAME: &str = "cairndb.keyspaces";

impl Order {
    /// Compares `a` with `b`.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => a.cmp(b),
            Order::Custom(comparator) => comparator.compare(a, b),
        }
    }

    /// Returns whether this is the bytewise order.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, Order::Bytewise)
    }

    /// Returns whether filters over key bytes work for this order.
    #[inline]
    pub fn can_hash(&self) -> bool {
        match self {
            Order::Bytewise => true,
            Order::Custom(comparator) => comparator.equality_is_identity(),
        }
    }

    /// Returns a hash that is the same for equal keys: the hash of the key's bytes, or 0 if equal
    /// keys may have different bytes.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        if self.can_hash() { hash64(key) } else { 0 }
    }

    /// Returns the name stored in the manifest.
    pub fn name(&self) -> &str {
        match self {
            Order::Bytewise => BYTEWISE_NAME,
            Order::Custom(comparator) => comparator.name(),
        }
    }
}
