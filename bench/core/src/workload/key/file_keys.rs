//! The sorted keys of a data file in one contiguous buffer.

/// Keys in ascending order, each once.
#[derive(Clone, Debug, Default)]
pub struct KeyList {
    text: Vec<u8>,
    /// The end offset of each key.
    ends: Vec<usize>,
}

impl KeyList {
    /// Creates a list of these keys, which must ascend.
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k [u8]>) -> Self {
        let mut list = Self::default();
        for key in keys {
            debug_assert!(
                list.ends.is_empty() || list.key(list.ends.len() as u64 - 1) < key,
                "keys ascend"
            );
            list.text.extend_from_slice(key);
            list.ends.push(list.text.len());
        }
        list
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the total size of the keys in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the key at this index; empty beyond the last.
    #[inline]
    pub fn key(&self, index: u64) -> &[u8] {
        let Some((at, &end)) = usize::try_from(index)
            .ok()
            .and_then(|at| Some((at, self.ends.get(at)?)))
        else {
            return &[];
        };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..end]
    }

    /// Returns the index of a key.
    pub fn index_of(&self, key: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.ends.len() as u64);
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_they_are_and_nowhere_else() {
        let keys: [&[u8]; 4] = [b"a", b"ab", b"b\0c", b"zz"];
        let list = KeyList::new(keys);
        assert_eq!((list.len(), list.bytes()), (4, 8));
        for (at, key) in keys.into_iter().enumerate() {
            assert_eq!(list.key(at as u64), key);
            assert_eq!(list.index_of(key), Some(at as u64));
        }
        assert_eq!(list.key(4), b"");
        for other in [&b""[..], b"aa", b"b", b"zzz"] {
            assert_eq!(list.index_of(other), None);
        }
    }
}
