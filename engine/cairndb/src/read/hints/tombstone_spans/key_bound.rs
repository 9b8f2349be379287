//! A key, or the position before or after every key.

use std::cmp::Ordering;

use cairndb_base::Order;

/// Maximum length of a recorded key.
const KEY_BYTES_MAX: usize = 128;

/// A key, or the position before or after every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyBound<'a> {
    First,
    At(&'a [u8]),
    End,
}

impl<'a> KeyBound<'a> {
    pub(super) fn compare(self, other: KeyBound<'a>, order: &Order) -> Ordering {
        match (self, other) {
            (KeyBound::At(a), KeyBound::At(b)) => order.compare(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    pub(super) fn nearer(self, other: KeyBound<'a>, order: &Order) -> KeyBound<'a> {
        if self.compare(other, order).is_lt() {
            self
        } else {
            other
        }
    }

    pub(super) fn farther(self, other: KeyBound<'a>, order: &Order) -> KeyBound<'a> {
        if self.compare(other, order).is_lt() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> u8 {
        match self {
            KeyBound::First => 0,
            KeyBound::At(_) => 1,
            KeyBound::End => 2,
        }
    }

    pub(super) fn is_before(self, other: KeyBound<'a>, order: &Order) -> bool {
        self.compare(other, order).is_lt()
    }

    /// Returns whether the key is too long to be recorded.
    pub(crate) fn is_long(self) -> bool {
        matches!(self, KeyBound::At(key) if key.len() > KEY_BYTES_MAX)
    }
}

/// A [`KeyBound`] that owns its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnedBound {
    First,
    At(Box<[u8]>),
    End,
}

impl OwnedBound {
    pub(super) fn place(&self) -> KeyBound<'_> {
        match self {
            OwnedBound::First => KeyBound::First,
            OwnedBound::At(key) => KeyBound::At(key),
            OwnedBound::End => KeyBound::End,
        }
    }

    pub(super) fn of(place: KeyBound<'_>) -> OwnedBound {
        match place {
            KeyBound::First => OwnedBound::First,
            KeyBound::At(key) => OwnedBound::At(key.into()),
            KeyBound::End => OwnedBound::End,
        }
    }
}
