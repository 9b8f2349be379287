//! Result of a point read, passed from layer to layer.

/// Presence of a key's value. It is a full word, so that a result containing it is returned in
/// registers: as one byte it was stored and reloaded in each layer, with a load wider than the
/// stores it then had to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presence(usize);

impl Presence {
    pub(crate) const MISSING: Presence = Presence(0);
    pub(crate) const THERE: Presence = Presence(1);
    /// The key has a value, and the encoded pointer was returned. Only callers that may borrow a
    /// large value get this.
    pub(crate) const POINTER: Presence = Presence(2);

    #[inline]
    pub(crate) fn is_there(self) -> bool {
        self != Presence::MISSING
    }
}
