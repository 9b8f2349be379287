//! The bounds check that all searches share.

/// Returns the bytes of the first `count` heads; checks the bounds once for every kernel.
#[inline]
pub(super) fn column(heads: &[u8], width: usize, count: usize) -> &[u8] {
    assert!(
        matches!(width, 1 | 2 | 4 | 8),
        "heads are 1, 2, 4 or 8 bytes wide"
    );
    // A count that overflows is larger than any slice.
    &heads[..count.saturating_mul(width)]
}
