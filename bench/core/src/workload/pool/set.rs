//! Values of one kind, and the stream in which a writer takes them.

use std::sync::Arc;

/// Number of bytes that values are cut from.
pub(super) const POOL_BYTES: usize = 1 << 20;
/// The seed of the pool, as in LevelDB's program.
pub(super) const POOL_SEED: u32 = 301;

/// Maximum value size: LevelDB requires a value to be shorter than the pool.
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
    /// Consecutive values of this length.
    Equal(usize),
    /// The end offset of each value.
    Ends(Vec<usize>),
}

impl ValueSet {
    /// Creates values of one length, cut consecutively from `bytes`.
    ///
    /// # Panics
    /// If not even one value fits; the flag parser rejects such lengths.
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

    /// Creates consecutive values with the end offsets `ends`.
    pub(super) fn listed(bytes: Arc<[u8]>, ends: Vec<usize>) -> Self {
        Self {
            bytes,
            count: ends.len(),
            shape: Shape::Ends(ends),
        }
    }

    /// Returns the number of distinct values.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns value `ordinal`.
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

    /// Returns the size of the longest value in bytes.
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

/// A stream of the values of one writer, in order.
#[derive(Clone, Debug)]
pub struct ValueStream<'p> {
    set: &'p ValueSet,
    next: usize,
}

impl<'p> ValueStream<'p> {
    /// Creates a stream that starts at the first value.
    pub const fn new(set: &'p ValueSet) -> Self {
        Self { set, next: 0 }
    }

    /// Returns the ordinal and the bytes of the next value.
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
