//! The values of the page that a cursor is in: one decoded, or all at once.
//!
//! A scan will ask for all of them, and they are decoded in one loop with the first. Where they are stored
//! raw, in a page that can be lent then, they are copied in that loop: to be asked for each in its place cost a
//! scan three times what a copy of 100 bytes does, and more than one of 2000. The processor reads ahead of a
//! copy whichever way the scan goes.

use std::ops::Range;

use cairndb_base::Result;

use super::{Decoded, TableCursor, Way};
use crate::table::layout::ValueMode;
use crate::table::lookup::LINES_AHEAD;
use crate::table::values::Stored;

/// Pages with more raw value bytes than this are decoded value by value.
const DECODE_ALL_BYTES_MAX: usize = 32 << 10;

impl TableCursor {
    /// Whether a scan has all of the page's values decoded with the first that is asked for. A merge goes
    /// through a page too, but has a cursor for each run, and a page of values for each would be a tenth of
    /// the least budget; only groups have to be decoded whole.
    pub(super) fn decodes_whole(&self) -> bool {
        let merges_alone = self.rechecking && self.layout.mode != ValueMode::Groups;
        !merges_alone && self.view().raw_total() <= DECODE_ALL_BYTES_MAX
    }

    /// Requests lines of the page that a scan enters when it leaves this one.
    #[inline]
    fn request_next(&self, lines: &Range<usize>) {
        let next = if self.backward {
            self.page.checked_sub(1)
        } else {
            self.page.checked_add(1)
        };
        if let Some(next) = next {
            self.lookup().request_lines(next, lines);
        }
    }

    /// Decodes what `value` will give, unless it can be given in place.
    #[inline(never)]
    pub(super) fn decode(&mut self) -> Result<()> {
        if self.count == 0 || self.decoded == Decoded::One(self.index) {
            return Ok(());
        }
        let in_place = matches!(self.view().stored(self.index), Stored::Raw(_));
        let whole = self.entered == Way::Whole;
        // Nothing is gained by a copy of what is not lent then.
        if in_place && !(whole && self.count > 1 && self.has_plain_page()) {
            self.decoded = Decoded::Nothing;
            return Ok(());
        }
        let (mut values, mut ends) = (
            std::mem::take(&mut self.values),
            std::mem::take(&mut self.ends),
        );
        let (page, dictionary) = (self.view(), &self.table.meta.dictionary);
        values.clear();
        let (decoded, outcome) = if whole {
            ends.clear();
            self.request_next(&LINES_AHEAD[1]);
            let outcome = page.all_into(dictionary, &mut values, &mut ends);
            self.request_next(&LINES_AHEAD[2]);
            (Decoded::Page, outcome)
        } else {
            let outcome = page.value_into(self.index, dictionary, &mut values);
            (Decoded::One(self.index), outcome)
        };
        (self.values, self.ends) = (values, ends);
        match outcome {
            Ok(()) => {
                self.decoded = decoded;
                Ok(())
            }
            Err(flaw) => {
                self.decoded = Decoded::Nothing;
                Err(self.table.pages.flaw(self.page, flaw))
            }
        }
    }
}
