//! Table builder: entries in ascending order to a table.
//!
//! Its bytes are those that LevelDB 1.23 writes for the same entries and settings.

use cairndb_base::{Error, Kind, Order, Result};
use cairndb_env::WritableFile;

use super::block_builder::BlockBuilder;
use super::bloom;
use super::codec::{self, Codec};
use super::filter::{self, FilterBuilder};
use super::footer::{Footer, Handle};
use crate::checksum::mask;
use crate::internal_key::{self, InternalKey, TAG_MAX};
use cairndb_kernel::{crc32c, crc32c_append};

/// The form of a table that is written.
///
/// ```
/// use cairndb_leveldb::{Codec, TableOptions};
/// let options = TableOptions { bloom_bits: Some(10), ..TableOptions::default() };
/// assert_eq!((options.block_bytes, options.codec), (4096, Codec::Snappy));
/// ```
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// A block of this size before compression is complete. Default 4096.
    pub block_bytes: usize,
    /// Entries from one whole key to the next. Default 16.
    pub restart_interval: usize,
    /// How blocks are stored. Default Snappy.
    pub codec: Codec,
    /// Bits a key of a Bloom filter. Default `None`: no filter.
    pub bloom_bits: Option<u32>,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            block_bytes: 4096,
            restart_interval: 16,
            codec: Codec::default(),
            bloom_bits: None,
        }
    }
}

/// Writes one table.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// use cairndb_leveldb::{InternalKey, Kind, Order, Table, TableBuilder, TableOptions};
/// let file = dir.create("000005.ldb")?;
/// let mut builder = TableBuilder::new(file, Order::Bytewise, TableOptions::default());
/// builder.add(InternalKey { key: b"plum", seq: 1, kind: Kind::Put }, b"blue")?;
/// let size = builder.finish()?;
///
/// let table = Table::open(dir.open_read("000005.ldb")?, "000005.ldb", Order::Bytewise)?;
/// assert_eq!((table.size(), table.verify()?.entries), (size, 1));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct TableBuilder {
    file: Box<dyn WritableFile>,
    order: Order,
    options: TableOptions,
    data: BlockBuilder,
    index: BlockBuilder,
    filter: Option<FilterBuilder>,
    /// The last block and its last key, which has no index entry yet.
    pending: Option<(Vec<u8>, Handle)>,
    /// The last internal key.
    last: Option<(Vec<u8>, u64)>,
    first: Vec<u8>,
    entries: u64,
}

impl TableBuilder {
    /// A builder that writes to an empty file.
    ///
    /// # Panics
    /// If the file is not empty.
    pub fn new(file: Box<dyn WritableFile>, order: Order, options: TableOptions) -> TableBuilder {
        assert_eq!(file.size(), 0, "a table is written from its beginning");
        let mut filter = options.bloom_bits.map(FilterBuilder::new);
        if let Some(filter) = &mut filter {
            filter.begin_block(0);
        }
        TableBuilder {
            file,
            order,
            data: BlockBuilder::new(options.restart_interval.max(1)),
            index: BlockBuilder::new(1),
            filter,
            options,
            pending: None,
            last: None,
            first: Vec::new(),
            entries: 0,
        }
    }

    /// Appends an entry. A delete has no value.
    ///
    /// # Errors
    /// `InvalidArgument` if the key does not come after the one before; `NoSpace` or `Io`, after
    /// which the table must be given up.
    ///
    /// # Panics
    /// If the kind is one that LevelDB does not have.
    pub fn add(&mut self, key: InternalKey<'_>, value: &[u8]) -> Result<()> {
        let tag = internal_key::tag(key.seq, key.kind);
        if let Some((before, before_tag)) = &self.last
            && internal_key::compare(&self.order, (before, *before_tag), (key.key, tag)).is_ge()
        {
            return Err(
                Error::invalid("the entries of a table must be added in order").key(key.key),
            );
        }
        assert!(
            matches!(key.kind, Kind::Put | Kind::Delete),
            "LevelDB has two kinds of entries"
        );
        if let Some((before, handle)) = self.pending.take() {
            let separator = self.separator(&before, key.key);
            self.add_index_entry(&separator, handle);
        }
        let mut encoded = Vec::with_capacity(key.key.len() + internal_key::TAG_BYTES);
        key.encode(&mut encoded);
        if let Some(filter) = &mut self.filter {
            filter.add(key.key);
        }
        self.data.add(&encoded, value);
        if self.entries == 0 {
            self.first = encoded;
        }
        self.entries += 1;
        self.last = Some((key.key.to_vec(), tag));
        if self.data.len() >= self.options.block_bytes {
            self.end_block()?;
        }
        Ok(())
    }

    /// Bytes written so far, without the block that is being built.
    pub fn size(&self) -> u64 {
        self.file.size()
    }

    /// The number of entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The first internal key, encoded; nothing before it was added.
    pub fn smallest(&self) -> &[u8] {
        &self.first
    }

    /// The last internal key, encoded; nothing before it was added.
    pub fn largest(&self) -> Vec<u8> {
        let mut encoded = Vec::new();
        if let Some((key, tag)) = &self.last {
            internal_key::append(&mut encoded, key, *tag);
        }
        encoded
    }

    /// Writes filter, metaindex, index and footer, and syncs the file. Returns its size.
    ///
    /// # Errors
    /// `NoSpace` or `Io`, after which the table must be given up.
    pub fn finish(mut self) -> Result<u64> {
        self.end_block()?;
        let filter = self.filter.take().map(FilterBuilder::finish);
        let filter = filter
            .map(|bytes| self.append_stored(&bytes, 0))
            .transpose()?;
        let mut metaindex = BlockBuilder::new(self.options.restart_interval.max(1));
        if let Some(handle) = filter {
            let mut value = Vec::new();
            handle.encode(&mut value);
            let name = format!("{}{}", filter::PREFIX, bloom::NAME);
            metaindex.add(name.as_bytes(), &value);
        }
        let metaindex = self.append_block(&metaindex.finish())?;
        if let Some((last, handle)) = self.pending.take() {
            let successor = self.successor(&last);
            self.add_index_entry(&successor, handle);
        }
        let index = self.index.finish();
        let index = self.append_block(&index)?;
        self.file.append(&Footer { metaindex, index }.encode())?;
        self.file.sync()?;
        Ok(self.file.size())
    }

    fn add_index_entry(&mut self, key: &[u8], handle: Handle) {
        let mut value = Vec::new();
        handle.encode(&mut value);
        self.index.add(key, &value);
    }

    fn end_block(&mut self) -> Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        let last = self.data.last_key().to_vec();
        let raw = self.data.finish();
        let handle = self.append_block(&raw)?;
        self.pending = Some((last, handle));
        if let Some(filter) = &mut self.filter {
            filter.begin_block(self.file.size());
        }
        Ok(())
    }

    fn append_block(&mut self, raw: &[u8]) -> Result<Handle> {
        let (id, encoded) = codec::encode(self.options.codec, raw);
        self.append_stored(encoded.as_deref().unwrap_or(raw), id)
    }

    fn append_stored(&mut self, stored: &[u8], codec: u8) -> Result<Handle> {
        let handle = Handle {
            offset: self.file.size(),
            len: stored.len() as u64,
        };
        let checksum = mask(crc32c_append(crc32c(stored), &[codec]));
        self.file
            .append_parts(&[stored, &[codec], &checksum.to_le_bytes()])?;
        Ok(handle)
    }

    /// A key for the index: not less than `last`, an internal key, and less than every entry of
    /// `next`. In bytewise order it is cut as far as LevelDB cuts it.
    fn separator(&self, last: &[u8], next: &[u8]) -> Vec<u8> {
        let key = user_key(last);
        let common = key.iter().zip(next).take_while(|(a, b)| a == b).count();
        match (key.get(common), next.get(common)) {
            (Some(byte), Some(limit))
                if self.order.is_bytewise() && *byte < 0xff && byte + 1 < *limit =>
            {
                raised(key, common).unwrap_or_else(|| last.to_vec())
            }
            _ => last.to_vec(),
        }
    }

    /// A key for the index that is not less than `last`.
    fn successor(&self, last: &[u8]) -> Vec<u8> {
        let key = user_key(last);
        let at = key
            .iter()
            .position(|byte| *byte != 0xff)
            .filter(|_| self.order.is_bytewise());
        at.and_then(|at| raised(key, at))
            .unwrap_or_else(|| last.to_vec())
    }
}

fn user_key(internal: &[u8]) -> &[u8] {
    &internal[..internal.len() - internal_key::TAG_BYTES]
}

/// The internal key before all of the user key that ends after byte `at`, which is raised by one;
/// `None` if that is no shorter than `key`.
fn raised(key: &[u8], at: usize) -> Option<Vec<u8>> {
    if at + 1 >= key.len() {
        return None;
    }
    let mut shorter = key[..at].to_vec();
    shorter.push(key[at] + 1);
    shorter.extend_from_slice(&TAG_MAX.to_le_bytes());
    Some(shorter)
}
