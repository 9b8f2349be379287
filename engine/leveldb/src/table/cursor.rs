//! A cursor over the entries of one table, both ways.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::sync::Arc;

use cairndb_base::{Kind, Order, Result, SeqNo};

use super::block::BlockCursor;
use super::footer::Handle;
use super::read::Table;
use crate::input::Input;
use crate::internal_key::{self, kind_of, seq_of};

/// A position in a table: every entry with its sequence number and kind, in the order of internal
/// keys.
///
/// After an error the cursor stands on no entry. [`Table`] has an example.
#[derive(Clone, Debug)]
pub struct TableCursor {
    table: Arc<Table>,
    index: BlockCursor,
    data: Option<(Handle, BlockCursor)>,
    /// The length of the current user key, and the tag after it; `None` on no entry.
    current: Option<(usize, u64)>,
}

impl Table {
    /// A cursor that stands on no entry.
    pub fn cursor(self: &Arc<Table>) -> TableCursor {
        TableCursor {
            table: Arc::clone(self),
            index: BlockCursor::new(Arc::clone(self.index())),
            data: None,
            current: None,
        }
    }
}

impl TableCursor {
    /// Whether the cursor stands on an entry.
    pub fn valid(&self) -> bool {
        self.current.is_some()
    }

    /// The user key of the current entry; nothing on no entry.
    pub fn key(&self) -> &[u8] {
        let (Some((len, _)), Some((_, data))) = (self.current, &self.data) else {
            return &[];
        };
        data.key().get(..len).unwrap_or_default()
    }

    /// The value of the current entry; nothing on no entry.
    pub fn value(&self) -> &[u8] {
        match &self.data {
            Some((_, data)) if self.valid() => data.value(),
            _ => &[],
        }
    }

    /// The sequence number of the current entry; 0 on no entry.
    pub fn seq(&self) -> SeqNo {
        seq_of(self.tag())
    }

    /// The kind of the current entry: `Put` or `Delete`.
    pub fn kind(&self) -> Kind {
        kind_of(self.tag()).unwrap_or(Kind::Delete)
    }

    pub(crate) fn tag(&self) -> u64 {
        self.current.map_or(0, |(_, tag)| tag)
    }

    /// The offset of the current block in the file; 0 before the cursor was placed.
    pub fn block_offset(&self) -> u64 {
        self.data.as_ref().map_or(0, |(handle, _)| handle.offset)
    }

    /// The index key of the current block.
    pub(crate) fn index_key(&self) -> &[u8] {
        self.index.key()
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// `Corruption` if a block that is met is damaged; `NotSupported` if its codec is unknown;
    /// `Io`.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.current = None;
        let sought = self.index.seek_to_first();
        sought.map_err(|error| self.of_index(error))?;
        self.enter_block_forwards()
    }

    /// Goes to the last entry.
    ///
    /// # Errors
    /// As [`TableCursor::seek_to_first`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.current = None;
        let sought = self.index.seek_to_last();
        sought.map_err(|error| self.of_index(error))?;
        self.enter_block_backwards()
    }

    /// Goes to the first entry whose user key is not less than `key`, and of that key to the newest
    /// one that is visible at `seq`.
    ///
    /// # Errors
    /// As [`TableCursor::seek_to_first`].
    pub fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.seek_tag(key, internal_key::tag(seq, Kind::Put))
    }

    pub(crate) fn seek_tag(&mut self, key: &[u8], tag: u64) -> Result<()> {
        self.current = None;
        let order = self.table.order().clone();
        let compare = |order: &Order, found: &[u8]| {
            let found = internal_key::split(found)?;
            Ok(internal_key::compare(order, found, (key, tag)))
        };
        let sought = self.index.seek(|found| compare(&order, found));
        sought.map_err(|error| self.of_index(error))?;
        if self.index.valid() {
            self.load_block()?;
            let sought = match &mut self.data {
                Some((_, data)) => data.seek(|found| compare(&order, found)),
                None => Ok(()),
            };
            sought.map_err(|error| self.of_block(error))?;
        } else {
            self.data = None;
        }
        self.settle_forwards()
    }

    /// Goes to the next entry; to none after the last one, and from none.
    ///
    /// # Errors
    /// As [`TableCursor::seek_to_first`].
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next step"
    )]
    pub fn next(&mut self) -> Result<()> {
        if self.current.take().is_none() {
            return Ok(());
        }
        let stepped = self.data.as_mut().map_or(Ok(()), |(_, data)| data.next());
        stepped.map_err(|error| self.of_block(error))?;
        self.settle_forwards()
    }

    /// Goes to the previous entry; to none before the first one, and from none.
    ///
    /// # Errors
    /// As [`TableCursor::seek_to_first`].
    pub fn prev(&mut self) -> Result<()> {
        if self.current.take().is_none() {
            return Ok(());
        }
        let stepped = self.data.as_mut().map_or(Ok(()), |(_, data)| data.prev());
        stepped.map_err(|error| self.of_block(error))?;
        if self.stands_in_block() {
            return self.enter_entry();
        }
        let stepped = self.index.prev();
        stepped.map_err(|error| self.of_index(error))?;
        self.enter_block_backwards()
    }

    fn stands_in_block(&self) -> bool {
        self.data.as_ref().is_some_and(|(_, data)| data.valid())
    }

    /// Goes on with the next blocks if the current one has no entry at the cursor.
    fn settle_forwards(&mut self) -> Result<()> {
        if self.stands_in_block() {
            return self.enter_entry();
        }
        if self.index.valid() {
            let stepped = self.index.next();
            stepped.map_err(|error| self.of_index(error))?;
        }
        self.enter_block_forwards()
    }

    /// Goes to the first entry of the block that the index names, or of the next one that has any.
    fn enter_block_forwards(&mut self) -> Result<()> {
        while self.index.valid() {
            self.load_block()?;
            let sought = self
                .data
                .as_mut()
                .map_or(Ok(()), |(_, data)| data.seek_to_first());
            sought.map_err(|error| self.of_block(error))?;
            if self.stands_in_block() {
                return self.enter_entry();
            }
            let stepped = self.index.next();
            stepped.map_err(|error| self.of_index(error))?;
        }
        self.data = None;
        Ok(())
    }

    /// Goes to the last entry of the block that the index names, or of the one before that has any.
    fn enter_block_backwards(&mut self) -> Result<()> {
        while self.index.valid() {
            self.load_block()?;
            let sought = self
                .data
                .as_mut()
                .map_or(Ok(()), |(_, data)| data.seek_to_last());
            sought.map_err(|error| self.of_block(error))?;
            if self.stands_in_block() {
                return self.enter_entry();
            }
            let stepped = self.index.prev();
            stepped.map_err(|error| self.of_index(error))?;
        }
        self.data = None;
        Ok(())
    }

    /// Makes the block that the index names the current one, unless it is already.
    fn load_block(&mut self) -> Result<()> {
        let handle = Handle::decode(&mut Input::new(self.index.value()));
        let handle = handle.map_err(|error| self.of_index(error))?;
        if self
            .data
            .as_ref()
            .is_none_or(|(loaded, _)| *loaded != handle)
        {
            self.data = None;
            let block = self.table.read_block(handle)?;
            self.data = Some((handle, BlockCursor::new(block)));
        }
        Ok(())
    }

    /// Takes the key of the entry apart that the block's cursor stands on.
    fn enter_entry(&mut self) -> Result<()> {
        let key = self.data.as_ref().map_or(&[][..], |(_, data)| data.key());
        let parts = internal_key::split(key).and_then(|(key, tag)| {
            kind_of(tag)?;
            Ok((key.len(), tag))
        });
        self.current = Some(parts.map_err(|error| self.of_block(error))?);
        Ok(())
    }

    #[cold]
    fn of_index(&self, error: cairndb_base::Error) -> cairndb_base::Error {
        self.table.in_index(error)
    }

    #[cold]
    fn of_block(&self, error: cairndb_base::Error) -> cairndb_base::Error {
        error.file(self.table.name()).offset(self.block_offset())
    }
}
