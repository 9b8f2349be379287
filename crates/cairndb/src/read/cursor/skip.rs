//! Going past what is not shown: other versions of a key, and what is newer than the cursor.
//!
//! A few are stepped over. Of a key that is written all the time there are thousands in the memtables alone: past those a
//! source is placed anew.

use cairndb_base::Result;

use super::{Heading, ViewCursor};

/// Versions of a key that are stepped over; past more of them a cursor is placed: to step takes a tenth of that. (A scan of ten keys that
/// were overwritten all the time took 46 us instead of 9, to step over thousands.)
pub(super) const VERSIONS_STEPPED: usize = 8;

/// How long to go step by step past what is not shown, before it is tried to go past the rest at once: each time twice as
/// long, so that an order that contradicts itself, and leads back each time, comes to an end, and so that entries
/// of different keys, among which nothing is gained, are not searched for one by one.
#[derive(Debug)]
struct Patience {
    left: usize,
    whole: usize,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            left: VERSIONS_STEPPED,
            whole: VERSIONS_STEPPED,
        }
    }
}

impl Patience {
    /// One more; whether it ends with that, and begins anew.
    fn ends(&mut self) -> bool {
        self.left -= 1;
        let ends = self.left == 0;
        if ends {
            self.whole *= 2;
            self.left = self.whole;
        }
        ends
    }
}

impl ViewCursor {
    /// Whether the merger stands on an entry whose key is `self.key`.
    #[inline]
    pub(super) fn is_at_key(&self) -> bool {
        let order = &self.view.context().order;
        self.merger.valid() && order.compare(self.merger.key(), &self.key).is_eq()
    }

    /// Moves the merger off every entry whose key is `self.key`.
    #[inline]
    pub(super) fn skip_key(&mut self) -> Result<()> {
        let mut steps = 0;
        while self.is_at_key() {
            if steps == VERSIONS_STEPPED && self.heading == Heading::Forward {
                return self.skip_versions();
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(())
    }

    /// As `skip_key`, forward past many: each source is asked where they end.
    #[cold]
    fn skip_versions(&mut self) -> Result<()> {
        let mut patience = Patience::default();
        while self.is_at_key() {
            if patience.ends() {
                self.merger.pass(&self.key, 0)?;
            } else {
                self.merger.step()?;
            }
        }
        Ok(())
    }

    /// Has the merger go forward past entries that are newer than the cursor.
    #[cold]
    pub(super) fn skip_newer(&mut self) -> Result<()> {
        let mut patience = Patience::default();
        while self.merger.valid() && self.merger.seq() > self.seq {
            if patience.ends() {
                self.other.clear();
                self.other.extend_from_slice(self.merger.key());
                self.merger.pass(&self.other, self.seq)?;
            } else {
                self.merger.step()?;
            }
        }
        Ok(())
    }
}
