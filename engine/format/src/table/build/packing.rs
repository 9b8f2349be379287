//! Adding entries whose values are stored in groups: they wait in a [`GroupPacker`] until they make
//! a group.

use cairndb_base::{Kind, Result, SeqNo};

use super::TableBuilder;
use crate::table::ValueIn;
use crate::table::build::groups::{GROUPED_VALUE_BYTES_MAX, GroupPacker, Packed};
use crate::table::page::values::raw_of;

impl TableBuilder {
    /// Adds an entry to the next group. Returns the length of the value.
    pub(super) fn add_grouped(
        &mut self,
        key: &[u8],
        seq: SeqNo,
        kind: Kind,
        value: ValueIn<'_>,
    ) -> Result<usize> {
        let mut decoded = Vec::new();
        let raw = raw_of(value, &mut decoded)?;
        if raw.len() > GROUPED_VALUE_BYTES_MAX {
            self.pack(true)?;
            self.end_page()?;
            self.add_alone(key, None, seq, kind, ValueIn::Raw(raw))?;
            self.end_page()?;
        } else if let Some(groups) = &mut self.groups
            && groups.add(key, seq, kind, raw)
        {
            self.pack(false)?;
        }
        Ok(raw.len())
    }

    /// Packs waiting entries into pages; with `all`, every one of them.
    pub(super) fn pack(&mut self, all: bool) -> Result<()> {
        loop {
            let Some(groups) = &mut self.groups else {
                return Ok(());
            };
            match groups.pack(&mut self.page, self.encoder.alone(), all) {
                Packed::All => return Ok(()),
                Packed::PageFull => self.end_page()?,
                Packed::TooLarge => self.store_first_alone()?,
            }
            let ready = self.groups.as_ref().is_some_and(GroupPacker::is_ready);
            if !all && !ready {
                return Ok(());
            }
        }
    }

    /// Stores the first waiting entry, which fits no group, in a page or extent of its own.
    fn store_first_alone(&mut self) -> Result<()> {
        let Some(mut groups) = self.groups.take() else {
            return Ok(());
        };
        let mut outcome = Ok(());
        if let Some((key, seq, kind, raw)) = groups.first() {
            outcome = self
                .add_alone(key, None, seq, kind, ValueIn::Raw(raw))
                .and_then(|_| self.end_page());
            groups.drop_first();
        }
        self.groups = Some(groups);
        outcome
    }
}
