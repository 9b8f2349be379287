//! The rest of a page, lent to whoever steps through it.
//!
//! A scan over a page whose entries are all plain puts, each the only version of its key, has nothing to ask
//! for an entry: keys and values are spelled and decoded already. The cursor gives its buffers away until the
//! scan comes to the end of what was lent, turns round or is moved elsewhere; a step is then an index and a comparison.
//! Asking each layer between the user's cursor and this one what it knew for the whole page took half of a
//! scan's instructions.
//!
//! Invariant: between [`TableCursor::borrow_window`] and [`TableCursor::return_window`] the cursor is at the entry at which
//! it lent, and nobody asks it for key or value.

use cairndb_base::Kind;

use super::TableCursor;
use crate::table::page::key_window::KeyWindow;
use crate::table::page::layout::flag;
use crate::table::page::value_window::ValueWindow;

/// Entries of a page, one after the other in one direction.
#[derive(Debug, Default)]
pub struct PageWindow {
    keys: KeyWindow,
    values: ValueWindow,
    index: usize,
    /// The last it may go to.
    bound: usize,
    /// Where it was lent.
    begun: usize,
}

impl PageWindow {
    /// The key it is at.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.keys.key(self.index)
    }

    /// The value it is at.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.values.get(self.index)
    }

    /// Goes one entry on; `false`, and nothing happens, where it ends. Of a window that was lent backwards not
    /// to be asked.
    #[inline]
    pub fn step_forward(&mut self) -> bool {
        let goes = self.index < self.bound;
        self.index += usize::from(goes);
        goes
    }

    /// Goes one entry back; likewise, of one that was lent backwards.
    #[inline]
    pub fn step_backward(&mut self) -> bool {
        let goes = self.index > self.bound;
        self.index -= usize::from(goes);
        goes
    }

    /// Entries it has gone since it was lent.
    pub fn gone(&self) -> usize {
        self.index.abs_diff(self.begun)
    }
}

impl TableCursor {
    /// Lends the entries from the current one on, in one direction and at most `steps` beyond it, where they
    /// are all plain puts without other versions in this table, and spelled and decoded; whether it did. The
    /// first of a page may have newer versions in the page before, and is lent forwards only.
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
            // The first may be the oldest version of a key whose others end the page before.
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

    /// Whether the page has plain puts only, none of which says when it was written: the only versions of their
    /// keys, but for the first.
    #[inline]
    pub(super) fn has_plain_page(&self) -> bool {
        let layout = &self.layout;
        layout.flags & flag::KINDS == 0
            && layout.kind == Kind::Put
            && layout.seq_width == 0
            && layout.base_seq == 0
    }

    /// Takes back what it lent, and goes to where that has come to.
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
