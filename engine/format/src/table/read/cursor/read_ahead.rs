//! Read-ahead of scans.
//!
//! Tables are opened for random reads: a page that is not in memory is read alone when it is
//! needed, and a page in memory is mapped with a few of its neighbours by a page fault. A scan over
//! untouched pages requests windows of them instead: the next window is read while the current one
//! is decoded, and the current one is mapped by one call, which is cheaper than by faults. (Left to
//! the system, backward scans read single pages, and a seek with a hundred steps reads twice as
//! much as it needs.)
//!
//! Windows begin small, and the second is requested when the scan enters it, so that a short scan
//! requests little that it does not use. Pages that were checked before, or are in the cache, are
//! usually in memory, so nothing is requested for them.

use crate::table::read::source::Pages;

/// Number of pages in the first and in the largest window: 16 KiB and 1 MiB.
const WINDOW_MIN: u32 = 4;
const WINDOW_MAX: u32 = 256;

/// Read-ahead state of a cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAhead {
    /// Number of pages in the last window; 0 before the first.
    window: u32,
    /// The first page after the window; in a backward scan, before it.
    border: Option<u32>,
    /// The end of the requested pages, one window farther; in a backward scan, the first of them.
    requested: Option<u32>,
    backward: bool,
}

impl ReadAhead {
    /// Records that the scan enters `page` from its neighbour.
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
        if pages.is_near(page) {
            // Checked again at the next page, which may be the first untouched one.
            (self.window, self.border) = (0, Some(page));
            return;
        }
        self.window = if goes_on {
            (self.window * 2).min(WINDOW_MAX)
        } else {
            WINDOW_MIN
        };
        // A scan that ends in its first window has requested nothing after it.
        let next = if goes_on {
            (self.window * 2).min(WINDOW_MAX)
        } else {
            0
        };
        let requested = self.requested.filter(|_| goes_on);
        if backward {
            let first = (page + 1).saturating_sub(self.window);
            let farthest = first.saturating_sub(next);
            pages.read_ahead(farthest, requested.unwrap_or(page + 1));
            pages.map_now(first, page + 1);
            (self.border, self.requested) = (first.checked_sub(1), Some(farthest));
        } else {
            let end = page.saturating_add(self.window);
            let farthest = end.saturating_add(next);
            pages.read_ahead(requested.unwrap_or(page), farthest);
            pages.map_now(page, end);
            (self.border, self.requested) = (Some(end), Some(farthest));
        }
    }
}
