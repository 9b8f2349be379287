//! Internal keys: a user key with the sequence number and the kind of its entry.
//!
//! The last eight bytes hold the *tag*, `sequence number << 8 | kind`. Internal keys are ordered by
//! user key; of one user key the largest tag, which is the newest entry, comes first.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::cmp::Ordering;

use cairndb_base::{Error, Kind, Order, Result, SEQ_MAX, SeqNo};

/// Bytes of the tag.
pub(crate) const TAG_BYTES: usize = 8;

/// The tag before all others of its key.
pub(crate) const TAG_MAX: u64 = tag(SEQ_MAX, Kind::Put);

/// The tag of a sequence number and a kind.
pub(crate) const fn tag(seq: SeqNo, kind: Kind) -> u64 {
    debug_assert!(seq <= SEQ_MAX);
    seq << 8 | kind as u64
}

/// The sequence number of a tag.
pub(crate) const fn seq_of(tag: u64) -> SeqNo {
    tag >> 8
}

/// The kind that LevelDB gives this number; it has two.
pub(crate) fn kind_from(number: u8) -> Option<Kind> {
    Kind::from_u8(number).filter(|kind| matches!(kind, Kind::Delete | Kind::Put))
}

/// The kind of a tag.
///
/// # Errors
/// `Corruption` if LevelDB has no such kind.
pub(crate) fn kind_of(tag: u64) -> Result<Kind> {
    let number = tag.to_le_bytes()[0];
    kind_from(number).ok_or_else(|| {
        Error::corruption("an entry is of no kind that LevelDB writes")
            .expected("0 or 1")
            .found(number)
    })
}

/// An internal key, taken apart.
///
/// ```
/// use cairndb_leveldb::{InternalKey, Kind};
/// let mut bytes = b"plum".to_vec();
/// bytes.extend([1, 7, 0, 0, 0, 0, 0, 0]);
/// let key = InternalKey::decode(&bytes)?;
/// assert_eq!((key.key, key.seq, key.kind), (&b"plum"[..], 7, Kind::Put));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalKey<'a> {
    /// The key as the user knows it.
    pub key: &'a [u8],
    /// The sequence number of the entry.
    pub seq: SeqNo,
    /// `Put` or `Delete`.
    pub kind: Kind,
}

impl<'a> InternalKey<'a> {
    /// Takes an internal key apart.
    ///
    /// # Errors
    /// `Corruption` if it is shorter than eight bytes or of an unknown kind.
    pub fn decode(bytes: &'a [u8]) -> Result<InternalKey<'a>> {
        let (key, tag) = split(bytes)?;
        let (seq, kind) = (seq_of(tag), kind_of(tag)?);
        Ok(InternalKey { key, seq, kind })
    }

    /// Appends the encoded key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append(out, self.key, tag(self.seq, self.kind));
    }
}

/// User key and tag of an internal key.
pub(crate) fn split(bytes: &[u8]) -> Result<(&[u8], u64)> {
    let parts = bytes.split_last_chunk::<TAG_BYTES>();
    let (key, tag) = parts.ok_or_else(|| {
        Error::corruption("an internal key is shorter than its tag")
            .expected("8 bytes or more")
            .found(bytes.len())
    })?;
    Ok((key, u64::from_le_bytes(*tag)))
}

/// Appends an internal key.
pub(crate) fn append(out: &mut Vec<u8>, key: &[u8], tag: u64) {
    out.extend_from_slice(key);
    out.extend_from_slice(&tag.to_le_bytes());
}

/// The order of internal keys.
pub(crate) fn compare(order: &Order, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
    order.compare(a.0, b.0).then(b.1.cmp(&a.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_entries_of_a_key_come_first() {
        let order = Order::Bytewise;
        let (old, new) = (tag(3, Kind::Put), tag(4, Kind::Delete));
        assert_eq!(compare(&order, (b"a", new), (b"a", old)), Ordering::Less);
        assert_eq!(compare(&order, (b"b", new), (b"a", old)), Ordering::Greater);
        assert_eq!(compare(&order, (b"a", old), (b"a", old)), Ordering::Equal);
        assert_eq!(TAG_MAX, u64::MAX - 254);
    }

    #[test]
    fn short_keys_and_unknown_kinds_are_refused() {
        assert!(InternalKey::decode(&[1; 7]).is_err());
        let error = InternalKey::decode(&[2, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
        assert!(error.to_string().contains("found 2"), "{error}");
        let mut bytes = Vec::new();
        let key = InternalKey {
            key: b"",
            seq: SEQ_MAX,
            kind: Kind::Delete,
        };
        key.encode(&mut bytes);
        assert_eq!(InternalKey::decode(&bytes).unwrap(), key);
    }
}
