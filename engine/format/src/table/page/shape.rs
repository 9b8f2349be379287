//! Shape of a page under construction: running figures that give its encoded size after every
//! entry.

use cairndb_base::SeqNo;

use crate::table::page::bits::width_of;
use crate::table::page::layout::{HEADER_BYTES, ValueMode};

/// Running figures over the entries of a page, from which its encoded size follows.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one column is needed"
)]
pub(crate) struct Shape {
    pub(crate) count: usize,
    pub(crate) prefix: usize,
    pub(crate) head_bytes: usize,
    pub(crate) first_head: u64,
    pub(crate) last_head: u64,
    pub(crate) key_len_min: usize,
    pub(crate) key_len_max: usize,
    pub(crate) key_bytes: usize,
    pub(crate) tails: usize,
    /// Number of bytes that all keys end with, stored once; there are no tails then.
    pub(crate) ending: usize,
    pub(crate) seq_min: SeqNo,
    pub(crate) seq_max: SeqNo,
    pub(crate) kind: u8,
    pub(crate) kinds_differ: bool,
    pub(crate) raw_len: usize,
    pub(crate) raws_differ: bool,
    pub(crate) stored_len: usize,
    pub(crate) stored_differ: bool,
    pub(crate) encoded: bool,
    pub(crate) values: usize,
}

impl Shape {
    pub(crate) fn has_short_heads(&self) -> bool {
        self.key_len_min < self.prefix + self.head_bytes
    }

    pub(crate) fn head_width(&self) -> usize {
        width_of(self.last_head - self.first_head)
    }

    pub(crate) fn seq_width(&self) -> usize {
        width_of(self.seq_max - self.seq_min)
    }

    /// Returns the number of bytes of everything except the values.
    pub(crate) fn bytes_before_values(&self, mode: ValueMode) -> usize {
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

    /// Returns the encoded size of a page of entries stored alone.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_before_values(ValueMode::Each) + self.values
    }

    /// Returns what one more entry of the same sort would add, if its key is as long as all others.
    pub(crate) fn step(&self) -> Step {
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

/// The size of a page, and what one more entry adds that differs only in its head and the length of
/// its stored value. Cached so that it need not be computed from the whole shape for every entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// Size of the page in bytes.
    pub(crate) used: usize,
    /// Number of bytes that the entry adds besides its stored value.
    pub(crate) entry: usize,
    /// Number of those bytes that follow the head of its key.
    pub(crate) tail: usize,
    /// The largest distance from the first head that keeps the width of the heads.
    pub(crate) head_range: u64,
}
