//! How a table comes to its way of storing values: the first entries wait until their values have
//! decided, so that none is stored otherwise than the rest.
//!
//! A value that waits stands here twice, raw and as it would be stored alone. Values too large to take
//! part in the choice do not wait: what waits before one is stored alone, and the choice goes on. Entries
//! without a value, which decide nothing, wait only behind others that do.

use cairndb_base::{Kind, Result, SeqNo};

use super::TableBuilder;
use super::shared::Shared;
use crate::table::bits::low32;
use crate::table::choice::{Choice, Held};
use crate::table::groups::{GROUPED_VALUE_BYTES_MAX, GroupPacker};
use crate::table::sample::{Came, Plan};
use crate::table::values::raw_of;
use crate::table::{Compression, ValueIn};

impl TableBuilder {
    /// Whether values are stored raw for now, as [`Compression::Deferred`] allows. Who opens the table tells it so
    /// ([`Table::with_deferred`]), and a merge with itself encodes them.
    ///
    /// [`Compression::Deferred`]: crate::table::Compression::Deferred
    /// [`Table::with_deferred`]: crate::table::Table::with_deferred
    pub fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// Lets an entry wait for the choice, or makes it; gives the length of the value.
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
        let Some(choice) = &mut self.choice else {
            return self.add_chosen(key, None, seq, kind, value);
        };
        let before = choice.stored.len();
        let came = match value {
            ValueIn::Shared { dictionary, .. } => Came::Shared(dictionary),
            _ if value.bytes().len() < raw.len() => Came::Alone,
            _ => Came::Raw,
        };
        if matches!(came, Came::Alone) {
            choice.stored.extend_from_slice(value.bytes());
        } else if kind == Kind::Pointer || !self.encoder.encode(raw, &mut choice.stored) {
            choice.stored.extend_from_slice(raw);
        }
        choice.keys.extend_from_slice(key);
        choice.raw.extend_from_slice(raw);
        choice.held.push(Held {
            key_end: choice.keys.len(),
            raw_end: choice.raw.len(),
            stored_end: choice.stored.len(),
            seq,
            kind,
        });
        let stored = choice.stored.len() - before;
        let noted = choice.held.len() * size_of::<Held>();
        let bytes = choice.keys.len() + choice.raw.len() + noted;
        let counts = kind != Kind::Pointer && !raw.is_empty();
        if counts && choice.sample.add(raw, stored, came) {
            self.choose()?;
        } else if bytes > HELD_BYTES_MAX {
            // Short values decide where they are a sixteenth of what waits. Less of them, keys or pointers without
            // values, need not wait for what they hardly decide.
            if choice.sample.will_do() {
                self.choose()?;
            } else {
                self.release_and_go_on()?;
            }
        }
        Ok(raw.len())
    }

    /// Stores what waits, each alone, and lets others wait for the choice.
    fn release_and_go_on(&mut self) -> Result<()> {
        let sample = self
            .choice
            .as_mut()
            .map(|choice| std::mem::take(&mut choice.sample));
        self.release()?;
        self.choice = sample.map(|sample| Choice {
            sample,
            ..Choice::default()
        });
        Ok(())
    }

    /// Makes the choice, and stores what has waited for it.
    fn choose(&mut self) -> Result<()> {
        let Some(choice) = &mut self.choice else {
            return Ok(());
        };
        if self.options.compression == Compression::Deferred {
            self.deferred = !choice.sample.is_best_alone(&mut self.encoder);
            if self.deferred {
                self.options.compression = Compression::None;
            }
            return self.release();
        }
        let offered = self.options.dictionary.take();
        match choice.sample.plan(&mut self.encoder, offered) {
            Plan::Each => {}
            Plan::Dictionary {
                dictionary,
                trained,
            } => {
                self.end_page()?;
                self.shared = Some(Shared::new(dictionary, trained));
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

    /// Stores what waits as has been chosen, each alone when nothing has, and lets nothing wait any
    /// more.
    pub(super) fn release(&mut self) -> Result<()> {
        let Some(choice) = self.choice.take() else {
            return Ok(());
        };
        let alone = self.groups.is_none() && self.shared.is_none() && !self.deferred;
        let (mut key, mut raw, mut stored) = (0, 0, 0);
        for held in &choice.held {
            let value = &choice.raw[raw..held.raw_end];
            let value = if alone {
                ValueIn::Stored {
                    bytes: &choice.stored[stored..held.stored_end],
                    raw_len: low32(value.len()),
                }
            } else {
                ValueIn::Raw(value)
            };
            let its_key = &choice.keys[key..held.key_end];
            self.add_chosen(its_key, None, held.seq, held.kind, value)?;
            (key, raw, stored) = (held.key_end, held.raw_end, held.stored_end);
        }
        Ok(())
    }
}

/// Keys and values that wait at most, with what is noted of each, about.
const HELD_BYTES_MAX: usize = 64 << 10;
