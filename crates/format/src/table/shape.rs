//! The shape of a page under construction: what gives its encoded size, entry by entry.

use cairndb_base::SeqNo;

use super::bits::width_of;
use super::layout::{HEADER_BYTES, ValueMode};

/// Figures over the entries of a page that give its encoded size.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one column is needed"
)]
pub(super) struct Shape {
    pub(super) count: usize,
    pub(super) prefix: usize,
    pub(super) head_bytes: usize,
    pub(super) first_head: u64,
    pub(super) last_head: u64,
    pub(super) key_len_min: usize,
    pub(super) key_len_max: usize,
    pub(super) key_bytes: usize,
    pub(super) tails: usize,
    /// Bytes that all keys end with and that stand once; there are no tails then.
    pub(super) ending: usize,
    pub(super) seq_min: SeqNo,
    pub(super) seq_max: SeqNo,
    pub(super) kind: u8,
    pub(super) kinds_differ: bool,
    pub(super) raw_len: usize,
    pub(super) raws_differ: bool,
    pub(super) stored_len: usize,
    pub(super) stored_differ: bool,
    pub(super) encoded: bool,
    pub(super) values: usize,
}

impl Shape {
    pub(super) fn has_short_heads(&self) -> bool {
        self.key_len_min < self.prefix + self.head_bytes
    }

    pub(super) fn head_width(&self) -> usize {
        width_of(self.last_head - self.first_head)
    }

    pub(super) fn seq_width(&self) -> usize {
        width_of(self.seq_max - self.seq_min)
    }

    /// Bytes of everything but the values.
    pub(super) fn bytes_before_values(&self, mode: ValueMode) -> usize {
        let grouped = mode == ValueMode::Groups;
        let raws = self.raws_differ && (self.encoded || grouped);
        let entry = self.head_width()
            + self.seq_width()
            + usize::from(self.has_short_heads())
            + usize::from(self.kinds_differ)
            + 2 * usize::from(self.tails > 0)
            + 2 * usize::from(raws)
            + 2 * usize::from(self.stored_differ && !grouped);
        HEADER_BYTES + self.prefix + self.ending + self.tails + self.count * entry
    }

    /// Encoded size of a page of entries stored each alone.
    pub(super) fn bytes(&self) -> usize {
        self.bytes_before_values(ValueMode::Each) + self.values
    }

    /// What another entry like these would add. The key of such a one is as long as all others.
    pub(super) fn step(&self) -> Step {
        let width = self.head_width();
        let tail = self
            .key_len_min
            .saturating_sub(self.prefix + self.head_bytes + self.ending);
        let used = self.bytes();
        let more = Shape {
            count: self.count + 1,
            tails: self.tails + tail,
            ..*self
        };
        Step {
            used,
            entry: more.bytes() - used,
            tail,
            head_range: match width {
                0 => 0,
                8.. => u64::MAX,
                _ => (1 << (8 * width)) - 1,
            },
        }
    }
}

/// What a page takes, and what one more entry adds that is like the others but for its head and the length
/// of its stored value: kept so that it need not be made out of the whole shape for each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    /// Bytes of the page.
    pub(super) used: usize,
    /// Bytes that the entry adds beside its stored value.
    pub(super) entry: usize,
    /// Bytes of them behind the head of its key.
    pub(super) tail: usize,
    /// The farthest from the first head that its own may be in the same width.
    pub(super) head_range: u64,
}
