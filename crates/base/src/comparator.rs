//! Key order: bytewise, or a comparator supplied by the user.
//!
//! The engine treats bytewise order specially: keys may then be cut into heads, fences shortened
//! and filters hashed. Under any other order only full keys are used, unless the comparator
//! declares that keys are equal exactly if their bytes are.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

use crate::hash::hash64;

/// A total order over keys, with a name that is stored in the database.
///
/// A database opened with a comparator of another name is refused. The order must be total and must
/// not change between runs; an inconsistent one gives wrong answers, never memory errors.
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
    /// The name stored in the database, at most 255 bytes of UTF-8.
    fn name(&self) -> &str;
    /// Compares `a` with `b`.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// Whether keys that compare equal always have identical bytes. `false` (the default) disables
    /// filters and exact-hit seeks for this order.
    fn equality_is_identity(&self) -> bool {
        false
    }
}

/// The order of one database.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// Unsigned byte by byte, shorter first: the default, and the only fast one.
    #[default]
    Bytewise,
    /// A comparator supplied by the user.
    Custom(Arc<dyn Comparator>),
}

/// The name of the bytewise order, LevelDB's own.
pub const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";

impl Order {
    /// Compares `a` with `b`.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => a.cmp(b),
            Order::Custom(comparator) => comparator.compare(a, b),
        }
    }

    /// Whether this is the bytewise order.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, Order::Bytewise)
    }

    /// Whether a filter over key bytes works for this order.
    #[inline]
    pub fn can_hash(&self) -> bool {
        match self {
            Order::Bytewise => true,
            Order::Custom(comparator) => comparator.equality_is_identity(),
        }
    }

    /// A hash that equal keys share: of the key's bytes, or 0 if equal keys may have different
    /// bytes.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        if self.can_hash() { hash64(key) } else { 0 }
    }

    /// The name stored in the manifest.
    pub fn name(&self) -> &str {
        match self {
            Order::Bytewise => BYTEWISE_NAME,
            Order::Custom(comparator) => comparator.name(),
        }
    }
}
