//! Values of one kind, and how a writer takes them one after the other.

use std::sync::Arc;

/// Bytes that values are cut from.
pub(super) const POOL_BYTES: usize = 1 << 20;
/// What seeds the pool, as in LevelDB's program.
pub(super) const POOL_SEED: u32 = 301;

/// Largest value the pool can serve: LevelDB demands that a value is shorter than the pool.
pub const VALUE_BYTES_MAX: usize = POOL_BYTES - 1;

/// The values of one kind of row.
#[derive(Clone, Debug)]
pub struct ValueSet {
    bytes: Arc<[u8]>,
    shape: Shape,
    count: usize,
}

#[derive(Clone, Debug)]
enum Shape {
    /// All of this length, one after the other.
    Equal(usize),
    /// Where each ends.
    Ends(Vec<usize>),
}

impl ValueSet {
    /// Values of one length, cut from `bytes` one after the other.
    ///
    /// # Panics
    /// When not one of them fits; the flag parser refuses such lengths.
    pub(super) fn equal(bytes: Arc<[u8]>, value_bytes: usize) -> Self {
        assert!(
            value_bytes <= bytes.len(),
            "value of {value_bytes} bytes from a pool of {}",
            bytes.len()
        );
        let count = bytes.len().checked_div(value_bytes).unwrap_or(1);
        Self {
            bytes,
            shape: Shape::Equal(value_bytes),
            count,
        }
    }

    /// Values that end where `ends` says, one after the other.
    pub(super) fn listed(bytes: Arc<[u8]>, ends: Vec<usize>) -> Self {
        Self {
            bytes,
            count: ends.len(),
            shape: Shape::Ends(ends),
        }
    }

    /// How many distinct values there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Value `ordinal`.
    #[inline]
    pub fn value(&self, ordinal: usize) -> &[u8] {
        match &self.shape {
            Shape::Equal(length) => &self.bytes[ordinal * length..(ordinal + 1) * length],
            Shape::Ends(ends) => {
                let start = if ordinal == 0 { 0 } else { ends[ordinal - 1] };
                &self.bytes[start..ends[ordinal]]
            }
        }
    }

    /// Bytes of the longest.
    pub fn longest(&self) -> usize {
        match &self.shape {
            Shape::Equal(length) => *length,
            Shape::Ends(ends) => {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
                lengths.max().unwrap_or(0)
            }
        }
    }
}

/// Hands out the values of one writer in their order.
#[derive(Clone, Debug)]
pub struct ValueStream<'p> {
    set: &'p ValueSet,
    next: usize,
}

impl<'p> ValueStream<'p> {
    /// A stream that starts at the first value.
    pub const fn new(set: &'p ValueSet) -> Self {
        Self { set, next: 0 }
    }

    /// The next value and its ordinal.
    #[inline]
    pub fn draw(&mut self) -> (usize, &'p [u8]) {
        let ordinal = self.next;
        self.next = if ordinal + 1 == self.set.count {
            0
        } else {
            ordinal + 1
        };
        (ordinal, self.set.value(ordinal))
    }
}
