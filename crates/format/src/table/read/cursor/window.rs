//! Page window: the rest of a page, borrowed by a scan.
//!
//! In a page whose entries are all plain puts, each the only version of its key, a scan has no
//! decision to make: keys and values are decoded already. The cursor hands its buffers to the scan
//! until that reaches the window's end, turns round or moves elsewhere; a step is then an index and
//! a comparison. Asking each layer between the user's cursor and this one for facts that hold for
//! the whole page took half of a scan's instructions.
//!
//! Invariant: between [`TableCursor::borrow_window`] and [`TableCursor::return_window`] the cursor
//! stays at the entry where the window began, and nobody reads its key or value.

use cairndb_base::Kind;

use super::TableCursor;
use crate::table::page::key_window::KeyWindow;
use crate::table::page::layout::flag;
use crate::table::page::value_window::ValueWindow;

/// Consecutive entries of a page in one direction.
#[derive(Debug, Default)]
pub struct PageWindow {
    keys: KeyWindow,
    values: ValueWindow,
    index: usize,
    /// The last entry of the window.
    bound: usize,
    /// The entry where the window began.
    begun: usize,
}

impl PageWindow {
    /// The current key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.keys.key(self.index)
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.values.get(self.index)
    }

    /// Goes to the next entry; returns `false` and does nothing at the end. Only for windows
    /// borrowed forwards.
    #[inline]
    pub fn step_forward(&mut self) -> bool {
        let goes = self.index < self.bound;
        self.index += usize::from(goes);
        goes
    }

    /// Goes to the previous entry; returns `false` and does nothing at the end. Only for windows
    /// borrowed backwards.
    #[inline]
    pub fn step_backward(&mut self) -> bool {
        let goes = self.index > self.bound;
        self.index -= usize::from(goes);
        goes
    }

    /// Entries passed since the window began.
    pub fn gone(&self) -> usize {
        self.index.abs_diff(self.begun)
    }
}

impl TableCursor {
    /// Hands out the entries from the current one on, in one direction and at most `steps` beyond
    /// it, if they are all decoded and all plain puts without other versions in this table. Returns
    /// whether it did. The first entry of a page may have newer versions in the previous page, and
    /// is part of forward windows only.
    #[inline]
    pub fn borrow_window(&mut self, window: &mut PageWindow, steps: usize, forward: bool) -> bool {
        let ready = self.keys.holds(self.index) && self.values.holds(self.index);
        if !ready || !self.has_plain_page() || self.count == 0 {
            return false;
        }
        let (keys, values) = (self.keys.entries(), self.values.entries());
        let bound = if forward {
            let last = keys.end.min(values.end) - 1;
            self.index + steps.min(last.saturating_sub(self.index))
        } else {
            // The first entry may be the oldest version of a key whose other versions end the
            // previous page.
            let own = usize::from(self.layout.has(flag::CONTINUED));
            let first = keys.start.max(values.start).max(own);
            self.index - steps.min(self.index.saturating_sub(first))
        };
        if bound == self.index {
            return false;
        }
        self.exchange(window);
        self.keys.forget();
        self.values.forget();
        (window.index, window.begun, window.bound) = (self.index, self.index, bound);
        true
    }

    /// Whether the page has only plain puts with sequence number 0: the only versions of their
    /// keys, except for the first.
    #[inline]
    pub(super) fn has_plain_page(&self) -> bool {
        let layout = &self.layout;
        layout.flags & flag::KINDS == 0
            && layout.kind == Kind::Put
            && layout.seq_width == 0
            && layout.base_seq == 0
    }

    /// Takes the buffers back and goes to the window's entry.
    pub fn return_window(&mut self, window: &mut PageWindow) {
        self.exchange(window);
        window.keys.forget();
        window.values.forget();
        self.index = window.index;
    }

    fn exchange(&mut self, window: &mut PageWindow) {
        std::mem::swap(&mut self.keys, &mut window.keys);
        std::mem::swap(&mut self.values, &mut window.values);
    }
}
