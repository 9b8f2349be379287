//! The order of Chromium's `IndexedDB` keys, which its databases name `idb_cmp1`.
//!
//! A key begins with the ids of a database, an object store and an index. What follows depends on
//! them: a type byte with numbers and names for metadata, an encoded script key for the records of
//! a store, two such keys for those of an index. Ids are ordered by number, names by UTF-16 code
//! unit, script keys by type first: numbers, dates, strings, binary keys, arrays.
//!
//! Keys are compared field by field. Bytes that do not form such a key get a place too, so that the
//! order is total over all byte strings: a field that cannot be read is greater than all that can,
//! and of two such fields the remaining bytes decide. Nested arrays are compared without recursion.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::cmp::Ordering;

use cairndb_base::Comparator;
use cairndb_base::coding::get_varint;

/// The name in the manifests of these databases.
pub(crate) const NAME: &str = "idb_cmp1";

/// Index ids below this one mean something else than an index.
const INDEX_ID_MIN: u64 = 30;

/// The order `idb_cmp1`.
///
/// ```
/// use cairndb_leveldb::{Comparator, IndexedDbOrder};
/// // Store 1 of database 1, record data: a number comes before a string.
/// let number = [&[0, 1, 1, 1, 3][..], &2.5f64.to_le_bytes()].concat();
/// let string = [0, 1, 1, 1, 1, 1, 0, b'a'];
/// assert!(IndexedDbOrder.compare(&number, &string).is_lt());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexedDbOrder;

impl Comparator for IndexedDbOrder {
    fn name(&self) -> &str {
        NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let mut pair = Pair {
            a: Fields(a),
            b: Fields(b),
        };
        match pair.key() {
            Ok(()) => Ordering::Equal,
            Err(ordering) => ordering,
        }
    }
}

/// The rest of one key.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(found)
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut at = 0;
        let value = get_varint(self.0, &mut at)?;
        self.0 = self.0.get(at..)?;
        Some(value)
    }

    /// Bytes with a length before them, which counts units of `unit` bytes.
    fn counted(&mut self, unit: usize) -> Option<&'a [u8]> {
        let before = *self;
        let len = self
            .varint()
            .and_then(|len| usize::try_from(len).ok()?.checked_mul(unit));
        let found = len.and_then(|len| self.take(len));
        if found.is_none() {
            *self = before;
        }
        found
    }

    fn double(&mut self) -> Option<Double> {
        let bytes = self.take(8)?;
        Some(Double(f64::from_le_bytes(bytes.try_into().ok()?)))
    }

    /// The ids of database, object store and index: a byte with their widths, then each of them.
    fn prefix(&mut self) -> Option<[u64; 3]> {
        let before = *self;
        let found = self.ids();
        if found.is_none() {
            *self = before;
        }
        found
    }

    fn ids(&mut self) -> Option<[u64; 3]> {
        let widths = self.byte()?;
        let number = |bytes: &[u8]| {
            let mut wide = [0; 8];
            wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(u64::from_le_bytes(wide))
        };
        let width = |bits: u8| usize::from(bits).saturating_add(1);
        let database = number(self.take(width(widths >> 5))?)?;
        let store = number(self.take(width((widths >> 2) & 7))?)?;
        let index = number(self.take(width(widths & 3))?)?;
        Some([database, store, index])
    }

    /// The sequence number of an index record and one, or 0 if it has none.
    fn optional_varint(&mut self) -> Option<u64> {
        if self.0.is_empty() {
            Some(0)
        } else {
            self.varint().map(|value| value.saturating_add(1))
        }
    }
}

/// A number of a script key: equal zeros, and a place for what is not a number.
#[derive(Clone, Copy)]
struct Double(f64);

impl Double {
    fn compare(self, other: Double) -> Ordering {
        let by_value = self.0.partial_cmp(&other.0);
        let by_kind = self.0.is_nan().cmp(&other.0.is_nan());
        by_value.unwrap_or_else(|| by_kind.then(self.0.total_cmp(&other.0)))
    }
}

/// The place of a script key's type among the others.
fn rank(kind: u8) -> u8 {
    match kind {
        // The smallest key of all.
        5 => 0,
        // Number, date, string, binary, array.
        3 => 1,
        2 => 2,
        1 => 3,
        6 => 4,
        4 => 5,
        // The greatest key of all.
        0 => 6,
        _ => 7,
    }
}

/// Two keys that are equal so far. Each comparison returns `Err` with the order once it is known.
struct Pair<'a> {
    a: Fields<'a>,
    b: Fields<'a>,
}

type Compared<T> = Result<T, Ordering>;

impl<'a> Pair<'a> {
    /// Reads a field of both keys. One that cannot be read is the greater.
    fn read<T>(&mut self, read: impl Fn(&mut Fields<'a>) -> Option<T>) -> Compared<(T, T)> {
        match (read(&mut self.a), read(&mut self.b)) {
            (Some(a), Some(b)) => Ok((a, b)),
            (Some(_), None) => Err(Ordering::Less),
            (None, Some(_)) => Err(Ordering::Greater),
            (None, None) => Err(self.a.0.cmp(self.b.0)),
        }
    }

    /// A field that has an order of its own. Returns the value that both keys share.
    fn same<T: Ord>(&mut self, read: impl Fn(&mut Fields<'a>) -> Option<T>) -> Compared<T> {
        let (a, b) = self.read(read)?;
        decide(a.cmp(&b))?;
        Ok(a)
    }

    fn string(&mut self) -> Compared<()> {
        self.same(|fields| fields.counted(2)).map(drop)
    }

    fn rest(&mut self) -> Compared<()> {
        decide(self.a.0.cmp(self.b.0))
    }

    fn key(&mut self) -> Compared<()> {
        match self.same(Fields::prefix)? {
            [0, _, _] => self.global(),
            [_, 0, _] => self.database(),
            // Records, their existence, and the blobs of a store.
            [_, _, 1..=3] => {
                self.present()?;
                self.script_key()
            }
            [_, _, index] if index >= INDEX_ID_MIN => {
                self.present()?;
                self.index_record()
            }
            _ => self.rest(),
        }
    }

    /// A key may end after its ids; then it is the smallest.
    fn present(&mut self) -> Compared<()> {
        match (self.a.0.is_empty(), self.b.0.is_empty()) {
            (true, true) => Err(Ordering::Equal),
            (a, b) => decide(b.cmp(&a)),
        }
    }

    /// Metadata of all databases.
    fn global(&mut self) -> Compared<()> {
        match self.same(Fields::byte)? {
            0..=6 => Ok(()),
            // A free database id.
            100 => self.same(Fields::varint).map(drop),
            // Origin and name of a database.
            201 => {
                self.string()?;
                self.string()
            }
            _ => self.rest(),
        }
    }

    /// Metadata of one database.
    fn database(&mut self) -> Compared<()> {
        match self.same(Fields::byte)? {
            0..=5 => Ok(()),
            // A property of an object store.
            50 => {
                self.same(Fields::varint)?;
                self.same(Fields::byte).map(drop)
            }
            // A property of an index.
            100 => {
                self.same(Fields::varint)?;
                self.same(Fields::varint)?;
                self.same(Fields::byte).map(drop)
            }
            // A free object store id, a free index id.
            150 => self.same(Fields::varint).map(drop),
            151 => {
                self.same(Fields::varint)?;
                self.same(Fields::varint).map(drop)
            }
            // The name of an object store, of an index.
            200 => self.string(),
            201 => {
                self.same(Fields::varint)?;
                self.string()
            }
            _ => self.rest(),
        }
    }

    /// Index key, sequence number, primary key; the sequence number counts last.
    fn index_record(&mut self) -> Compared<()> {
        self.script_key()?;
        let (a, b) = self.read(Fields::optional_varint)?;
        match (self.a.0.is_empty(), self.b.0.is_empty()) {
            (true, true) => return Ok(()),
            (at_end, other) if at_end != other => return decide(other.cmp(&at_end)),
            _ => self.script_key()?,
        }
        decide(a.cmp(&b))
    }

    /// One script key. Of an array first the elements that both have decide, then their number; the
    /// arrays that are open at the moment are kept on a stack of their own.
    fn script_key(&mut self) -> Compared<()> {
        // Elements still to be compared, and the order of the lengths.
        let mut open: Vec<(u64, Ordering)> = Vec::new();
        loop {
            let (a, b) = self.read(Fields::byte)?;
            decide(rank(a).cmp(&rank(b)))?;
            match a {
                0 | 5 => {}
                1 => self.string()?,
                6 => self.same(|fields| fields.counted(1)).map(drop)?,
                2 | 3 => {
                    let (a, b) = self.read(Fields::double)?;
                    decide(a.compare(b))?;
                }
                4 => {
                    let (a, b) = self.read(Fields::varint)?;
                    open.push((a.min(b), a.cmp(&b)));
                }
                _ => {
                    decide(a.cmp(&b))?;
                    self.rest()?;
                }
            }
            // Ends the arrays that are complete.
            loop {
                let Some((left, lengths)) = open.last_mut() else {
                    return Ok(());
                };
                if let Some(fewer) = left.checked_sub(1) {
                    *left = fewer;
                    break;
                }
                decide(*lengths)?;
                open.pop();
            }
        }
    }
}

fn decide(ordering: Ordering) -> Compared<()> {
    if ordering.is_eq() {
        Ok(())
    } else {
        Err(ordering)
    }
}

#[cfg(test)]
mod tests;
