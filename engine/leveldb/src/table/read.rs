//! An open table: its index in memory, its blocks read when they are needed.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::sync::Arc;

use cairndb_base::coding::get_u32;
use cairndb_base::{Error, Order, Result};
use cairndb_env::ReadFile;

use super::block::{Block, BlockCursor};
use super::codec;
use super::filter;
use super::footer::{FOOTER_BYTES, Footer, Handle, TRAILER_BYTES};
use crate::checksum::masked;
use crate::input::Input;

/// Most bytes of a decoded index that deflate or Zstandard compressed, unless 32 times the stored
/// bytes are more.
const INDEX_BYTES_MAX: usize = 4 << 20;

/// An open table.
///
/// Every block is verified when it is read. Memory: the decoded index block; each cursor holds one
/// data block besides.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// # use cairndb_leveldb::{InternalKey, Kind, TableBuilder, TableOptions};
/// # let file = dir.create("000005.ldb")?;
/// # let mut builder = TableBuilder::new(file, Order::Bytewise, TableOptions::default());
/// # builder.add(InternalKey { key: b"plum", seq: 1, kind: Kind::Put }, b"blue")?;
/// # builder.finish()?;
/// use cairndb_leveldb::{Order, Table};
/// let table = Table::open(dir.open_read("000005.ldb")?, "000005.ldb", Order::Bytewise)?;
/// let mut cursor = table.cursor();
/// cursor.seek_to_first()?;
/// assert_eq!((cursor.key(), cursor.value()), (&b"plum"[..], &b"blue"[..]));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Table {
    file: Arc<dyn ReadFile>,
    name: String,
    order: Order,
    size: u64,
    metaindex: Handle,
    index_handle: Handle,
    index: Arc<Block>,
    decoded_bytes_max: usize,
}

impl Table {
    /// Opens the table that is all of `file`, whose name the errors give.
    ///
    /// # Errors
    /// `Corruption` if footer or index are damaged; `NotSupported` if the index is stored by an
    /// unknown codec; `Io`.
    pub fn open(
        file: Arc<dyn ReadFile>,
        name: impl Into<String>,
        order: Order,
    ) -> Result<Arc<Table>> {
        let size = file.size();
        Table::open_front(file, name.into(), order, size, codec::DECODED_BYTES_MAX)
    }

    /// Opens the table that is the first `size` bytes of `file`.
    pub(crate) fn open_front(
        file: Arc<dyn ReadFile>,
        name: String,
        order: Order,
        size: u64,
        decoded_bytes_max: usize,
    ) -> Result<Arc<Table>> {
        let footer = read_footer(&*file, size).map_err(|error| error.file(&*name))?;
        let mut table = Table {
            file,
            name,
            order,
            size,
            metaindex: footer.metaindex,
            index_handle: footer.index,
            index: Arc::new(Block::new(vec![0; 4])?),
            decoded_bytes_max,
        };
        // An index has a key and a handle for each block; little of it shrinks.
        let index_bytes_max = decoded_bytes_max.min(INDEX_BYTES_MAX);
        let index = table.read_contents(footer.index, index_bytes_max);
        let index = index.and_then(Block::new).and_then(ascending);
        table.index = index.map_err(|error| table.in_index(error))?;
        Ok(Arc::new(table))
    }

    /// The size of the table in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The name given at opening.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The order of the user keys.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The decoded index.
    pub(crate) fn index(&self) -> &Arc<Block> {
        &self.index
    }

    /// Reads, verifies and decodes a block.
    pub(crate) fn read_block(&self, handle: Handle) -> Result<Arc<Block>> {
        let contents = self.read_contents(handle, self.decoded_bytes_max);
        let block = contents.and_then(Block::new);
        Ok(Arc::new(block.map_err(|error| self.placed(error, handle))?))
    }

    /// The bytes of the filter block, if the table has one of LevelDB's own kind.
    pub(crate) fn read_filter(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let block = self.read_block(self.metaindex)?;
        let mut cursor = BlockCursor::new(block);
        let sought = [filter::PREFIX.as_bytes(), name.as_bytes()].concat();
        let placed = |error| self.placed(error, self.metaindex);
        cursor.seek(|key| Ok(key.cmp(&sought))).map_err(placed)?;
        if !cursor.valid() || cursor.key() != sought {
            return Ok(None);
        }
        let handle = Handle::decode(&mut Input::new(cursor.value())).map_err(placed)?;
        let contents = self.read_contents(handle, self.decoded_bytes_max);
        contents
            .map(Some)
            .map_err(|error| self.placed(error, handle))
    }

    fn read_contents(&self, handle: Handle, decoded_bytes_max: usize) -> Result<Vec<u8>> {
        let blocks_end = self.size.saturating_sub(FOOTER_BYTES as u64);
        read_contents(&*self.file, blocks_end, handle, decoded_bytes_max)
    }

    /// Adds the file and the offset of the index to an error.
    #[cold]
    pub(crate) fn in_index(&self, error: Error) -> Error {
        self.placed(error, self.index_handle)
    }

    /// Adds the file and the offset of a block to an error.
    #[cold]
    pub(crate) fn placed(&self, error: Error, block: Handle) -> Error {
        error.file(&*self.name).offset(block.offset)
    }
}

/// Reads, verifies and decodes the contents of a block, which ends before `blocks_end`.
fn read_contents(
    file: &dyn ReadFile,
    blocks_end: u64,
    handle: Handle,
    decoded_bytes_max: usize,
) -> Result<Vec<u8>> {
    let end = handle.offset.checked_add(handle.len);
    let end = end.and_then(|end| end.checked_add(TRAILER_BYTES as u64));
    let len = usize::try_from(handle.len).ok();
    let (Some(_), Some(len)) = (end.filter(|end| *end <= blocks_end), len) else {
        return Err(Error::corruption("a block does not lie within its table")
            .expected(format_args!("an end before {blocks_end}"))
            .found(format_args!("{} bytes", handle.len)));
    };
    let mut stored = vec![0; len.saturating_add(TRAILER_BYTES)];
    file.read_at(handle.offset, &mut stored)?;
    let codec = stored.get(len).copied().unwrap_or(0);
    let checksum = get_u32(&stored, len.saturating_add(1)).unwrap_or(0);
    stored.truncate(len);
    let found = masked(&stored, &[codec]);
    if found != checksum {
        return Err(Error::corruption("the checksum of a block does not match")
            .expected(format_args!("{checksum:#010x}"))
            .found(format_args!("{found:#010x}")));
    }
    codec::decode(codec, stored, decoded_bytes_max)
}

/// Reads, verifies and decodes the contents of a block of a table without a footer.
pub(crate) fn read_handle(file: &dyn ReadFile, handle: Handle) -> Result<Vec<u8>> {
    read_contents(file, file.size(), handle, codec::DECODED_BYTES_MAX)
}

/// The index, unless its blocks are out of order: blocks that overlap could make a small table as
/// long to read as any.
fn ascending(index: Block) -> Result<Arc<Block>> {
    let index = Arc::new(index);
    let mut cursor = BlockCursor::new(Arc::clone(&index));
    let mut end = 0;
    cursor.seek_to_first()?;
    while cursor.valid() {
        let handle = Handle::decode(&mut Input::new(cursor.value()))?;
        if handle.offset < end {
            return Err(Error::corruption("the blocks of a table overlap")
                .expected(format_args!("a block from {end} on"))
                .found(format_args!("one at {}", handle.offset)));
        }
        end = handle
            .offset
            .saturating_add(handle.len)
            .saturating_add(TRAILER_BYTES as u64);
        cursor.next()?;
    }
    Ok(index)
}

fn read_footer(file: &dyn ReadFile, size: u64) -> Result<Footer> {
    let at = size
        .min(file.size())
        .checked_sub(FOOTER_BYTES as u64)
        .filter(|_| size <= file.size());
    let at = at.ok_or_else(|| {
        Error::corruption("the file is shorter than its table")
            .expected(format_args!(
                "{} bytes or more",
                size.max(FOOTER_BYTES as u64)
            ))
            .found(format_args!("{} bytes", file.size()))
    })?;
    let mut bytes = [0; FOOTER_BYTES];
    file.read_at(at, &mut bytes)?;
    Footer::decode(&bytes).map_err(|error| error.offset(at))
}
