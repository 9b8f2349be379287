//! Keys of a cursor's page: decodes one, a range of them, or all.

use super::{TableCursor, Way};
use crate::table::page::bits::head_bytes;
use crate::table::page::layout::flag;

/// Entries decoded together at the first step after a seek.
const KEYS_FIRST: usize = 8;
/// Growth factor from one decoded range to the next.
const KEYS_GROWTH: usize = 2;

/// Most key bytes of a page that are decoded at once: those of two thousand keys of 16 bytes.
const KEYS_BYTES_MAX: usize = 32 << 10;

/// The same in a compaction, so that each of many runs takes little memory: those of 150 keys.
const COMPACTION_KEYS_BYTES_MAX: usize = 5000;

impl TableCursor {
    /// Decodes the key reached by a step. The first step after a seek may be the last.
    #[inline(never)]
    pub(super) fn decode_keys_after_step(&mut self, forward: bool) {
        if self.way == Way::Sought {
            self.way = Way::Stepped;
            self.decode_key();
        } else {
            self.decode_keys(forward);
        }
    }

    /// Decodes the current key and those that come next in one direction: the whole page in a scan,
    /// a few keys after a seek; fewer if those are too many bytes.
    pub(super) fn decode_keys(&mut self, forward: bool) {
        let before = self.keys.entries().len();
        let mut wanted = if self.way == Way::Streaming {
            self.count
        } else {
            (before * KEYS_GROWTH).max(KEYS_FIRST)
        };
        let most = if self.rechecking {
            COMPACTION_KEYS_BYTES_MAX
        } else {
            KEYS_BYTES_MAX
        };
        let mut keys = std::mem::take(&mut self.keys);
        while wanted > 1 {
            let entries = if forward {
                self.index..self.count.min(self.index.saturating_add(wanted))
            } else {
                (self.index + 1).saturating_sub(wanted)..self.index + 1
            };
            if self.way != Way::Streaming {
                // Also those of the next range.
                let more = entries.len();
                let both = if forward {
                    entries.start..self.count.min(entries.end + more)
                } else {
                    entries.start.saturating_sub(more)..entries.end
                };
                self.prefetch_values(&both, forward);
            }
            keys.decode(&self.view(), &entries, most);
            if keys.holds(self.index) {
                break;
            }
            wanted = entries.len() / 2;
        }
        self.keys = keys;
        if !self.keys.holds(self.index) {
            self.decode_key();
        }
    }

    /// Assembles the current key after the prefix.
    pub(super) fn decode_key(&mut self) {
        let mut key = std::mem::take(&mut self.key);
        let page = self.view();
        let head = head_bytes(page.head(self.index), self.layout.head_bytes.into());
        key.truncate(self.prefix_len);
        key.extend_from_slice(&head);
        let mut len = self.prefix_len + page.head_len(self.index);
        if self.layout.has(flag::TAILS | flag::ENDING) {
            key.truncate(len);
            key.extend_from_slice(page.tail(self.index));
            len = key.len();
        }
        self.key = key;
        self.key_len = len;
    }
}
