//! What a scan asks of the system before it comes there.
//!
//! Tables are mapped for reads at random: a page that is not in memory is read alone, when it is
//! touched, and one that is in memory is mapped with a few of its neighbours by a page fault. A scan of
//! pages that nobody has touched asks for windows of them instead: the next one is read while this one
//! is decoded, and this one is mapped by one call, which is a quarter cheaper than by faults.
//!
//! Windows begin small, so that a short scan asks for little that it does not use. Pages that were
//! checked before are in memory, as a rule: nothing is asked there.

use crate::table::read::source::Pages;

/// Pages of the first window and of the largest: 32 KiB and 1 MiB.
const WINDOW_MIN: u32 = 8;
const WINDOW_MAX: u32 = 256;

/// How far a cursor has asked.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAhead {
    /// Pages of the last window; 0 before the first.
    window: u32,
    /// The first page behind the window, or before it when the scan goes backwards.
    border: Option<u32>,
    /// The end of the pages that were asked for, a window farther; the first of them backwards.
    asked: Option<u32>,
    backward: bool,
}

impl ReadAhead {
    /// The scan enters `page` from its neighbour.
    #[inline]
    pub(super) fn enter(&mut self, pages: &Pages, page: u32, backward: bool) {
        let within = self.window > 0
            && self.backward == backward
            && self.border.is_none_or(|border| {
                if backward {
                    page > border
                } else {
                    page < border
                }
            });
        if !within {
            self.enter_window(pages, page, backward);
        }
    }

    #[cold]
    fn enter_window(&mut self, pages: &Pages, page: u32, backward: bool) {
        let goes_on = self.window > 0 && self.backward == backward && self.border == Some(page);
        self.backward = backward;
        if pages.is_checked(page) {
            // Asked again at the next page: it may be the first that nobody has touched.
            (self.window, self.border) = (0, Some(page));
            return;
        }
        self.window = if goes_on {
            (self.window * 2).min(WINDOW_MAX)
        } else {
            WINDOW_MIN
        };
        let next = (self.window * 2).min(WINDOW_MAX);
        let asked = self.asked.filter(|_| goes_on);
        if backward {
            let first = (page + 1).saturating_sub(self.window);
            let farthest = first.saturating_sub(next);
            pages.read_ahead(farthest, asked.unwrap_or(page + 1));
            pages.map_now(first, page + 1);
            (self.border, self.asked) = (first.checked_sub(1), Some(farthest));
        } else {
            let end = page.saturating_add(self.window);
            let farthest = end.saturating_add(next);
            pages.read_ahead(asked.unwrap_or(page), farthest);
            pages.map_now(page, end);
            (self.border, self.asked) = (Some(end), Some(farthest));
        }
    }
}
