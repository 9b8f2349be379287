//! The blocks of a table that may be damaged.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result, SeqNo};
use cairndb_env::ReadFile;

use super::blocks::{BlockSearch, FoundBlock};
use crate::input::Input;
use crate::internal_key::{self, InternalKey};
use crate::table::block::{Block, BlockCursor};
use crate::table::footer::{Handle, TRAILER_BYTES};
use crate::table::{Table, read_handle};

/// What [`TableSalvage::advance`] found.
#[derive(Debug)]
pub enum TableStep {
    /// An intact block of entries.
    Block(SalvagedBlock),
    /// Bytes that are no block of entries, although one should be there.
    Damage {
        /// Reason, with file and offset.
        error: Error,
        /// Number of bytes.
        bytes: u64,
        /// User key that none of the lost entries exceeds, if the index states it.
        last: Option<Vec<u8>>,
    },
}

/// How blocks are found.
#[derive(Debug)]
enum Blocks {
    /// Through the index.
    Indexed { table: Arc<Table>, at: BlockCursor },
    /// By their checksums: the whole file is in memory.
    Searched {
        bytes: Vec<u8>,
        search: BlockSearch,
        /// Blocks of entries found so far, the first 64: the index is recognised by them.
        handles: Vec<Handle>,
        /// Whether blocks of entries have ended: the index has been found.
        ended: bool,
    },
}

/// Reads the entries of a table block by block, with its index, or without if that is damaged.
///
/// Every block is verified. Memory: one block, and the index; without an index, the file.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{InternalKey, Kind, Order, TableBuilder, TableOptions};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// # let file = dir.create("000005.ldb")?;
/// # let mut builder = TableBuilder::new(file, Order::Bytewise, TableOptions::default());
/// # builder.add(InternalKey { key: b"plum", seq: 1, kind: Kind::Put }, b"blue")?;
/// # builder.finish()?;
/// use cairndb_leveldb::{TableSalvage, TableStep};
/// let file = dir.open_read("000005.ldb")?;
/// let mut salvage = TableSalvage::new(file, "000005.ldb", &Order::Bytewise)?;
/// while let Some(step) = salvage.advance()? {
///     if let TableStep::Block(mut block) = step {
///         while block.valid() {
///             assert_eq!((block.key(), block.value()), (&b"plum"[..], &b"blue"[..]));
///             block.next();
///         }
///     }
/// }
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct TableSalvage {
    file: Arc<dyn ReadFile>,
    name: String,
    order: Order,
    blocks: Blocks,
    index_error: Option<Error>,
}

impl TableSalvage {
    /// Opens a table, whose name the errors give.
    ///
    /// # Errors
    /// `NotSupported` if the file has no index and does not fit into memory.
    pub fn new(
        file: Arc<dyn ReadFile>,
        name: impl Into<String>,
        order: &Order,
    ) -> Result<TableSalvage> {
        let name = name.into();
        let opened = Table::open(Arc::clone(&file), &*name, order.clone());
        let opened = opened.and_then(|table| {
            let mut at = BlockCursor::new(Arc::clone(table.index()));
            at.seek_to_first().map_err(|error| table.in_index(error))?;
            whole(&mut at.clone()).map_err(|error| table.in_index(error))?;
            Ok((table, at))
        });
        let (blocks, index_error) = match opened {
            Ok((table, at)) => (Blocks::Indexed { table, at }, None),
            Err(error) => {
                let bytes = read_all(&*file).ok_or_else(|| {
                    let message = "a table without an index does not fit into memory";
                    Error::new(ErrorKind::NotSupported, message).file(&*name)
                })?;
                let search = BlockSearch::new(bytes.len() as u64);
                let searched = Blocks::Searched {
                    bytes,
                    search,
                    handles: Vec::new(),
                    ended: false,
                };
                (searched, Some(error))
            }
        };
        Ok(TableSalvage {
            file,
            name,
            order: order.clone(),
            blocks,
            index_error,
        })
    }

    /// Returns the damage of the index or footer, if one is damaged.
    pub fn index_error(&self) -> Option<&Error> {
        self.index_error.as_ref()
    }

    /// Returns whether the index was found, so that no block after the last one is missing. Without
    /// it, a table that was cut between two blocks looks whole.
    pub fn has_index(&self) -> bool {
        match &self.blocks {
            Blocks::Indexed { .. } => true,
            Blocks::Searched { ended, .. } => *ended,
        }
    }

    /// Returns the next block or damage, or `None` at the end of the entries.
    ///
    /// # Errors
    /// `NotSupported` for an unknown codec. Everything else is a [`TableStep::Damage`].
    pub fn advance(&mut self) -> Result<Option<TableStep>> {
        match &mut self.blocks {
            Blocks::Indexed { table, at } => {
                if !at.valid() {
                    return Ok(None);
                }
                let handle = Handle::decode(&mut Input::new(at.value()))?;
                let last = internal_key::split(at.key()).map(|(key, _)| key.to_vec());
                at.next()?;
                let block = table.read_block(handle);
                let block = block.and_then(|block| SalvagedBlock::new(block, &self.order));
                match block {
                    Ok(block) => Ok(Some(TableStep::Block(block))),
                    Err(error) if error.kind() == ErrorKind::NotSupported => Err(error),
                    Err(error) => Ok(Some(TableStep::Damage {
                        error: error.file(&*self.name).offset(handle.offset),
                        bytes: handle.len.saturating_add(TRAILER_BYTES as u64),
                        last: last.ok(),
                    })),
                }
            }
            Blocks::Searched { .. } => Ok(self.search()),
        }
    }

    /// Returns the next block that the search finds, leaving out those that hold no entries.
    fn search(&mut self) -> Option<TableStep> {
        let Blocks::Searched {
            bytes,
            search,
            handles,
            ended,
        } = &mut self.blocks
        else {
            return None;
        };
        while !*ended {
            let handle = match search.advance(bytes) {
                None => break,
                Some(FoundBlock::Block(handle)) => handle,
                Some(FoundBlock::Damage { offset, end }) => {
                    return Some(TableStep::Damage {
                        error: Error::corruption("no block begins here")
                            .file(&*self.name)
                            .offset(offset),
                        bytes: end.saturating_sub(offset),
                        last: None,
                    });
                }
            };
            let block = read_handle(&*self.file, handle);
            let block = block.and_then(Block::new).map(Arc::new);
            let Ok(block) = block else {
                continue;
            };
            if is_index(&block, handles) {
                *ended = true;
                break;
            }
            // The filter and the metaindex hold no internal keys, and no entry if there is no
            // filter.
            let block = SalvagedBlock::new(block, &self.order);
            if let Ok(block) = block
                && block.valid()
            {
                if handles.len() < 64 {
                    handles.push(handle);
                }
                return Some(TableStep::Block(block));
            }
        }
        None
    }
}

/// An intact block of entries, at one of them.
#[derive(Debug)]
pub struct SalvagedBlock {
    cursor: BlockCursor,
}

impl SalvagedBlock {
    /// Checks that all entries are intact, and in order, and goes to the first.
    fn new(block: Arc<Block>, order: &Order) -> Result<SalvagedBlock> {
        let mut cursor = BlockCursor::new(block);
        cursor.seek_to_first()?;
        let first = cursor.clone();
        let mut last: Option<Vec<u8>> = None;
        while cursor.valid() {
            InternalKey::decode(cursor.key())?;
            if let Some(last) = &last {
                let (a, b) = (
                    internal_key::split(last)?,
                    internal_key::split(cursor.key())?,
                );
                if !internal_key::compare(order, a, b).is_lt() {
                    return Err(Error::corruption("the entries of a block are out of order"));
                }
            }
            let key = last.get_or_insert_with(Vec::new);
            key.clear();
            key.extend_from_slice(cursor.key());
            cursor.next()?;
        }
        Ok(SalvagedBlock { cursor: first })
    }

    /// Returns whether the block is at an entry.
    pub fn valid(&self) -> bool {
        self.cursor.valid()
    }

    fn parts(&self) -> (&[u8], u64) {
        internal_key::split(self.cursor.key()).unwrap_or((&[], 0))
    }

    /// Returns the user key of the current entry.
    pub fn key(&self) -> &[u8] {
        self.parts().0
    }

    /// Returns the sequence number of the current entry.
    pub fn seq(&self) -> SeqNo {
        internal_key::seq_of(self.parts().1)
    }

    /// Returns the kind of the current entry: `Put` or `Delete`.
    pub fn kind(&self) -> Kind {
        internal_key::kind_of(self.parts().1).unwrap_or(Kind::Delete)
    }

    /// Returns the value of the current entry.
    pub fn value(&self) -> &[u8] {
        self.cursor.value()
    }

    /// Goes to the next entry.
    pub fn next(&mut self) {
        let stepped = self.cursor.next();
        debug_assert!(stepped.is_ok(), "all entries were checked");
    }
}

/// Walks to the end of a block.
fn whole(cursor: &mut BlockCursor) -> Result<()> {
    while cursor.valid() {
        Handle::decode(&mut Input::new(cursor.value()))?;
        cursor.next()?;
    }
    Ok(())
}

/// Returns whether the block is an index: its values are handles of adjacent blocks, from the start
/// of the file, and the blocks found so far are as long as some of them. They need not be where the
/// handles say: bytes may have been inserted or lost.
fn is_index(block: &Arc<Block>, found: &[Handle]) -> bool {
    let mut cursor = BlockCursor::new(Arc::clone(block));
    if cursor.seek_to_first().is_err() {
        return false;
    }
    let mut lengths = BTreeSet::new();
    let (mut entries, mut end) = (0u64, Some(0));
    while cursor.valid() {
        let mut input = Input::new(cursor.value());
        let Ok(handle) = Handle::decode(&mut input) else {
            return false;
        };
        if input.position() != cursor.value().len() || Some(handle.offset) != end {
            return false;
        }
        let after = handle.offset.checked_add(handle.len);
        end = after.and_then(|after| after.checked_add(TRAILER_BYTES as u64));
        lengths.insert(handle.len);
        entries = entries.saturating_add(1);
        if cursor.next().is_err() {
            return false;
        }
    }
    // A single value may look like a handle by chance.
    let is_proven = entries > 1 || !found.is_empty();
    is_proven && found.iter().all(|handle| lengths.contains(&handle.len))
}

/// Reads a file; parts that cannot be read are zeros. `None` if it does not fit into memory.
fn read_all(file: &dyn ReadFile) -> Option<Vec<u8>> {
    const CHUNK: usize = 4096;
    let len = usize::try_from(file.size()).ok()?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    if file.read_at(0, &mut bytes).is_ok() {
        return Some(bytes);
    }
    let mut at = 0u64;
    for chunk in bytes.chunks_mut(CHUNK) {
        if file.read_at(at, chunk).is_err() {
            chunk.fill(0);
        }
        at = at.saturating_add(chunk.len() as u64);
    }
    Some(bytes)
}
