//! Page window: the rest of a page, borrowed by a scan.
//!
//! In a page whose entries are all plain puts, each the only version of its key, a scan has no
//! decision to make: keys and values are decoded already. The cursor hands its buffers to the scan
//! until the scan reaches the window's end, reverses or moves elsewhere; a step is then an index
//! update and a comparison. Asking each layer between the user's cursor and this one for facts that
//! hold for the whole page took half of a scan's instructions.
//!
//! Invariant: between [`TableCursor::borrow_window`] and [`TableCursor::return_window`] the cursor
//! stays at the entry where the window began, and no caller reads its key or value.

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
    /// Index of the last entry of the window.
    bound: usize,
    /// The entry where the window began.
    begun: usize,
}

impl PageWindow {
    /// Returns the current key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.keys.key(self.index)
    }

    /// Returns the current value.
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

    /// Returns the number of entries passed since the window began.
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
        let (index, decoded, layout) = (self.index, &mut self.decoded, self.walk.layout());
        let ready = decoded.holds_key(index) && decoded.holds_value(index);
        if !ready || !layout.has_plain_puts() || self.walk.count() == 0 {
            return false;
        }
        let (keys, values) = (decoded.keys(), decoded.values());
        let bound = if forward {
            let last = keys.end.min(values.end) - 1;
            index + steps.min(last.saturating_sub(index))
        } else {
            // The first entry may be the oldest version of a key whose other versions end the
            // previous page.
            let own = usize::from(layout.has(flag::CONTINUED));
            let first = keys.start.max(values.start).max(own);
            index - steps.min(index.saturating_sub(first))
        };
        if bound == index {
            return false;
        }
        decoded.exchange(&mut window.keys, &mut window.values);
        decoded.forget();
        (window.index, window.begun, window.bound) = (index, index, bound);
        true
    }

    /// Takes the buffers back and goes to the window's entry.
    pub fn return_window(&mut self, window: &mut PageWindow) {
        self.decoded.exchange(&mut window.keys, &mut window.values);
        window.keys.forget();
        window.values.forget();
        self.index = window.index;
    }
}
