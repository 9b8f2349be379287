//! Whether a point read found a value, or the place of one, as it is told from floor to floor.

/// Whether a key has a value: a word and not a `bool`, for a result of which goes up in registers. As one of one byte it
/// was stored and loaded again at each floor, by a load wider than the stores that had to wait for them: 5 ns of a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presence(usize);

impl Presence {
    pub(crate) const MISSING: Presence = Presence(0);
    pub(crate) const THERE: Presence = Presence(1);
    /// There, behind the encoded pointer that was found; told to who lends what is large, and to nobody above.
    pub(crate) const POINTER: Presence = Presence(2);

    #[inline]
    pub(crate) fn is_there(self) -> bool {
        self != Presence::MISSING
    }
}
