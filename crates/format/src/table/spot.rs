//! What the straight way leads to: a page where a key is likely to stand, or what a get of it says.
//!
//! Invariant: a page without the key answers for the table only if the key cannot stand elsewhere.

use cairndb_base::limits::PAGE_BYTES;

use super::open::Found;

/// A page's bytes, whose length the compiler knows.
pub(super) type PageBytes = [u8; PAGE_BYTES];

/// A data page that has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'t> {
    pub(super) page: &'t PageBytes,
    pub(super) number: u32,
    /// No other page can hold the key; else none can if its place is behind an entry of this one and before another.
    pub(super) certain: bool,
}

impl Spot<'_> {
    /// Whether no page before this one can have newer versions of the key of an entry.
    #[inline]
    pub(super) fn is_newest(&self, index: usize) -> bool {
        self.certain || index > 0
    }

    /// What a get makes of a page that has not the very key, of whose `count` entries that at `index` is the first not
    /// before it.
    #[inline]
    pub(super) fn without<'t>(&self, index: usize, count: usize) -> Straight<'t> {
        if self.certain || (index > 0 && index < count) {
            Straight::Answer(None)
        } else {
            Straight::Unknown
        }
    }
}

/// What the straight way leads to.
#[derive(Debug)]
pub(super) enum Straight<'t> {
    /// The newest version of the key, or that the table has none.
    Answer(Option<Found>),
    /// The table is likely to have it in this page, if at all, and the page is of another sort.
    Page(Spot<'t>),
    /// Where it would be only the general way knows.
    Unknown,
}
