//! Keys copied into one buffer.

/// Keys, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct KeyRun {
    bytes: Vec<u8>,
    /// The end offset of each key.
    ends: Vec<usize>,
}

impl KeyRun {
    /// Adds a key.
    #[inline]
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Returns the key added last, or no bytes.
    #[inline]
    pub(super) fn last(&self) -> &[u8] {
        &self.bytes[self.start(self.ends.len().saturating_sub(1))..]
    }

    /// Removes the key added last.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.ends.pop().is_some() {
            self.bytes.truncate(self.start(self.ends.len()));
        }
    }

    /// Returns the keys in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let places = self.ends.iter().enumerate();
        places.map(|(at, &end)| &self.bytes[self.start(at)..end])
    }

    /// Returns the offset of the key at a position.
    #[inline]
    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_in_order_without_those_taken_off() {
        let mut keys = KeyRun::default();
        assert_eq!(keys.last(), b"");
        keys.pop();
        for key in [&b"one"[..], b"", b"three", b"four"] {
            keys.push(key);
            assert_eq!(keys.last(), key);
            if key.len() == 5 {
                keys.pop();
            }
        }
        let all: Vec<&[u8]> = keys.iter().collect();
        assert_eq!(all, [&b"one"[..], b"", b"four"]);
    }
}
