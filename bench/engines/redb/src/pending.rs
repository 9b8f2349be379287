//! Changes of a batch, copied into one buffer.

/// Size in bytes from which the changes are moved to the transaction.
const FULL_BYTES: usize = 256 << 10;

/// A change of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'p> {
    /// A key and its new value.
    Put(&'p [u8], &'p [u8]),
    /// A key to be removed.
    Delete(&'p [u8]),
}

/// The changes, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    /// Sizes in bytes of each key and, unless the key is deleted, its value.
    sizes: Vec<(usize, Option<usize>)>,
}

impl Pending {
    /// Adds a put.
    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.sizes.push((key.len(), Some(value.len())));
    }

    /// Adds the removal of a key.
    #[inline]
    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.sizes.push((key.len(), None));
    }

    /// Returns whether there are enough changes to be moved.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes.len() >= FULL_BYTES
    }

    /// Returns whether there are no changes.
    pub(crate) const fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the changes in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Change<'_>> {
        let mut rest = self.bytes.as_slice();
        self.sizes.iter().map(move |&(key_bytes, value_bytes)| {
            let (key, tail) = rest.split_at(key_bytes);
            let Some(value_bytes) = value_bytes else {
                rest = tail;
                return Change::Delete(key);
            };
            let (value, tail) = tail.split_at(value_bytes);
            rest = tail;
            Change::Put(key, value)
        })
    }

    /// Removes all changes.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sizes.clear();
    }
}
