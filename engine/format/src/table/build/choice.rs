//! Chooses how a table stores its values: the first entries wait until their values have determined
//! the choice, so that all values are stored in the same way.
//!
//! A waiting value is held twice, raw and as it would be stored alone. Values too large to take
//! part do not wait: entries pending before such a value are stored alone, and collection for the
//! choice continues. Entries without a value decide nothing and wait only after others that do.

use cairndb_base::{Kind, Result, SeqNo};

use super::TableBuilder;
use crate::table::build::groups::{GROUPED_VALUE_BYTES_MAX, GroupPacker};
use crate::table::build::pending::{PendingEntries, PendingEntry};
use crate::table::build::sample::{Plan, ReceivedAs};
use crate::table::page::bits::low32;
use crate::table::page::values::raw_of;
use crate::table::{Compression, ValueIn};

impl TableBuilder {
    /// Returns whether values are stored raw for now, as [`Compression::Deferred`] allows. The code
    /// that opens the table passes this on with [`Table::with_deferred`], and a later compaction
    /// encodes the values.
    ///
    /// [`Compression::Deferred`]: crate::table::Compression::Deferred
    /// [`Table::with_deferred`]: crate::table::Table::with_deferred
    pub fn is_deferred(&self) -> bool {
        self.encoder.is_deferred()
    }

    /// Adds an entry to the pending ones, or makes the choice. Returns the length of the value.
    pub(super) fn hold(
        &mut self,
        key: &[u8],
        seq: SeqNo,
        kind: Kind,
        value: ValueIn<'_>,
    ) -> Result<usize> {
        let raw_len = match value {
            ValueIn::Raw(bytes) => bytes.len(),
            ValueIn::Stored { raw_len, .. } | ValueIn::Shared { raw_len, .. } => raw_len as usize,
        };
        if raw_len.max(value.bytes().len()) > GROUPED_VALUE_BYTES_MAX {
            self.release_and_go_on()?;
            return self.add_alone(key, None, seq, kind, value);
        }
        let mut decoded = Vec::new();
        let raw = raw_of(value, &mut decoded)?;
        let Some(pending) = &mut self.pending else {
            return self.add_chosen(key, None, seq, kind, value);
        };
        let before = pending.stored.len();
        let received = match value {
            ValueIn::Shared { dictionary, .. } => ReceivedAs::Shared(dictionary),
            _ if value.bytes().len() < raw.len() => ReceivedAs::Alone,
            _ => ReceivedAs::Raw,
        };
        if matches!(received, ReceivedAs::Alone) {
            pending.stored.extend_from_slice(value.bytes());
        } else if kind == Kind::Pointer || !self.encoder.alone().encode(raw, &mut pending.stored) {
            pending.stored.extend_from_slice(raw);
        }
        pending.keys.extend_from_slice(key);
        pending.raw.extend_from_slice(raw);
        pending.entries.push(PendingEntry {
            key_end: pending.keys.len(),
            raw_end: pending.raw.len(),
            stored_end: pending.stored.len(),
            seq,
            kind,
        });
        let stored = pending.stored.len() - before;
        let noted = pending.entries.len() * size_of::<PendingEntry>();
        let bytes = pending.keys.len() + pending.raw.len() + noted;
        let counts = kind != Kind::Pointer && !raw.is_empty();
        if counts && pending.sample.add(raw, stored, received) {
            self.choose()?;
        } else if bytes > PENDING_BYTES_MAX {
            // Short values decide if they are at least a sixteenth of the pending bytes. If they
            // are less, keys or pointers without values need not wait for a choice that hardly
            // affects them.
            if pending.sample.will_do() {
                self.choose()?;
            } else {
                self.release_and_go_on()?;
            }
        }
        Ok(raw.len())
    }

    /// Stores the pending entries, each value alone, and continues collecting for the choice.
    fn release_and_go_on(&mut self) -> Result<()> {
        let sample = self
            .pending
            .as_mut()
            .map(|pending| std::mem::take(&mut pending.sample));
        self.release()?;
        self.pending = sample.map(|sample| PendingEntries {
            sample,
            ..PendingEntries::default()
        });
        Ok(())
    }

    /// Makes the choice and stores the pending entries.
    fn choose(&mut self) -> Result<()> {
        let Some(pending) = &mut self.pending else {
            return Ok(());
        };
        if self.options.compression == Compression::Deferred {
            if !pending.sample.is_best_alone(self.encoder.alone()) {
                self.encoder.defer();
            }
            return self.release();
        }
        let offered = self.options.dictionary.take();
        match pending.sample.plan(self.encoder.alone(), offered) {
            Plan::Each => {}
            Plan::Dictionary {
                dictionary,
                trained,
            } => {
                self.end_page()?;
                self.encoder.use_dictionary(dictionary, trained);
                self.page.with_dictionary = true;
            }
            Plan::Groups(bytes) => self.groups = Some(GroupPacker::of_groups(bytes)),
            Plan::Page => self.groups = Some(GroupPacker::of_pages()),
        }
        if self.groups.is_some() {
            self.end_page()?;
        }
        self.release()
    }

    /// Stores the pending entries in the chosen way, or alone if nothing was chosen. No entry waits
    /// after this.
    pub(super) fn release(&mut self) -> Result<()> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        let alone = self.groups.is_none() && self.encoder.are_alone();
        let (mut key, mut raw, mut stored) = (0, 0, 0);
        for entry in &pending.entries {
            let value = &pending.raw[raw..entry.raw_end];
            let value = if alone {
                ValueIn::Stored {
                    bytes: &pending.stored[stored..entry.stored_end],
                    raw_len: low32(value.len()),
                }
            } else {
                ValueIn::Raw(value)
            };
            let its_key = &pending.keys[key..entry.key_end];
            self.add_chosen(its_key, None, entry.seq, entry.kind, value)?;
            (key, raw, stored) = (entry.key_end, entry.raw_end, entry.stored_end);
        }
        Ok(())
    }
}

/// Approximate maximum bytes of pending entries: keys, values and their records.
const PENDING_BYTES_MAX: usize = 64 << 10;
