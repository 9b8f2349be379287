//! Log reader: the records of a log or a manifest, one after the other.
//!
//! After damage the reader continues with the next block, as LevelDB does, so that a caller can
//! choose between refusing the file and keeping what is left. [`LogReader::resumes`] distinguishes
//! the torn end that a crash leaves from damage within: after a torn end there is no intact piece.
//! [`LogReader::salvaging`] also returns what is intact in the rest of a damaged block.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::ops::Range;
use std::sync::Arc;

use cairndb_base::coding::{get_u16, get_u32};
use cairndb_base::{Error, Result};
use cairndb_env::ReadFile;

use super::{BLOCK_BYTES, FIRST, FULL, HEADER_BYTES, LAST, MIDDLE};
use crate::checksum::masked;

/// What the next step through a log met. [`LogReader`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStep {
    /// A record, whose payload is [`LogReader::payload`].
    Record {
        /// Where its first piece begins.
        offset: u64,
    },
    /// Bytes that are not a record. The next step continues after them.
    Damage {
        /// Where they begin.
        offset: u64,
        /// What is wrong with them.
        what: &'static str,
    },
    /// The end of the file.
    End,
}

/// One piece, or what stands in its place.
enum Piece {
    Part {
        kind: u8,
        offset: u64,
        payload: Range<usize>,
    },
    Damage {
        offset: u64,
        what: &'static str,
    },
    End,
}

/// Reads the records of a log or a manifest.
///
/// Memory: one block, and the payload of one record, which is at most as long as the file.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// use cairndb_leveldb::{LogReader, LogStep, LogWriter};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// let mut writer = LogWriter::new(dir.create("000003.log")?);
/// writer.append(b"first")?;
///
/// let mut reader = LogReader::new(dir.open_read("000003.log")?, "000003.log");
/// assert_eq!(reader.advance()?, LogStep::Record { offset: 0 });
/// assert_eq!(reader.payload(), b"first");
/// assert_eq!(reader.advance()?, LogStep::End);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct LogReader {
    file: Arc<dyn ReadFile>,
    name: String,
    block: Vec<u8>,
    /// Where `block` begins in the file.
    block_at: u64,
    /// The next piece within `block`.
    at: usize,
    payload: Vec<u8>,
    /// Where the search for intact pieces after the latest damage begins.
    search_from: u64,
    /// Whether the rest of a damaged block is searched for pieces.
    searches: bool,
    /// Whether the cursor has been placed by a search in this block.
    found: bool,
    /// Whether the record that the last step met was found by a search.
    record_found: bool,
}

impl LogReader {
    /// A reader at the start of `file`, whose name the errors give.
    pub fn new(file: Arc<dyn ReadFile>, name: impl Into<String>) -> LogReader {
        LogReader {
            file,
            name: name.into(),
            block: Vec::new(),
            block_at: 0,
            at: 0,
            payload: Vec::new(),
            search_from: 0,
            searches: false,
            found: false,
            record_found: false,
        }
    }

    /// A reader that also returns the records after damage in the same block, which LevelDB leaves
    /// out. Every offset is tried: a piece begins where a checksum holds.
    ///
    /// Cost: a damaged block is read up to 16,000 times if its bytes were chosen to look like
    /// headers; about once otherwise.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use cairndb_env::{Background, Env, MemEnv};
    /// use cairndb_leveldb::{LogReader, LogStep, LogWriter};
    /// # let env = MemEnv::new(Background::Stepped);
    /// # let dir = env.open_dir(Path::new("db"), true)?;
    /// let mut writer = LogWriter::new(dir.create("000003.log")?);
    /// writer.append(b"first")?;
    /// writer.append(b"second")?;
    /// # let mut bytes = vec![0; 25];
    /// # dir.open_read("000003.log")?.read_at(0, &mut bytes)?;
    /// # bytes[8] ^= 1;
    /// # dir.create("000004.log")?.append(&bytes)?;
    ///
    /// // In a copy of the file, the first record is damaged.
    /// let mut reader = LogReader::salvaging(dir.open_read("000004.log")?, "000004.log");
    /// assert!(matches!(reader.advance()?, LogStep::Damage { offset: 0, .. }));
    /// assert_eq!(reader.advance()?, LogStep::Record { offset: 12 });
    /// assert!(reader.is_found());
    /// assert_eq!(reader.payload(), b"second");
    /// # Ok::<(), cairndb_leveldb::Error>(())
    /// ```
    pub fn salvaging(file: Arc<dyn ReadFile>, name: impl Into<String>) -> LogReader {
        LogReader {
            searches: true,
            ..LogReader::new(file, name)
        }
    }

    /// Whether the record that the last step met was found by its checksum alone: it begins after
    /// damage in its block. It may be a copy of a record, in a value that is damaged elsewhere, so
    /// a caller checks that its sequence number fits.
    pub fn is_found(&self) -> bool {
        self.record_found
    }

    /// The payload of the record that the last step met; nothing after another step.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The name given to [`LogReader::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes to the next record, damage, or the end.
    ///
    /// # Errors
    /// `Io`. Damaged bytes are not an error here but a step.
    pub fn advance(&mut self) -> Result<LogStep> {
        self.payload.clear();
        self.record_found = false;
        let mut begun = None;
        loop {
            let (at, search_from, what) = match self.piece()? {
                Piece::Part {
                    kind,
                    offset,
                    payload,
                } => match self.join(kind, offset, payload, &mut begun) {
                    Ok(true) => {
                        return Ok(LogStep::Record {
                            offset: begun.unwrap_or(offset),
                        });
                    }
                    Ok(false) => continue,
                    Err(what) => (offset, offset, what),
                },
                Piece::Damage { offset, what } => (offset, offset.saturating_add(1), what),
                Piece::End if begun.is_none() => return Ok(LogStep::End),
                Piece::End => {
                    let end = self.file.size();
                    (end, end, "the file ends within a record")
                }
            };
            self.payload.clear();
            self.search_from = search_from;
            let offset = begun.unwrap_or(at);
            return Ok(LogStep::Damage { offset, what });
        }
    }

    /// Adds a piece to the record that began at `begun`. Returns whether the record is whole, or
    /// why the piece does not belong to it.
    fn join(
        &mut self,
        kind: u8,
        offset: u64,
        payload: Range<usize>,
        begun: &mut Option<u64>,
    ) -> std::result::Result<bool, &'static str> {
        match (kind, &begun) {
            // Early versions left a `FIRST` without payload at the end of a block.
            (FULL | FIRST, Some(_)) if !self.payload.is_empty() => {
                // The new record is intact: the next step returns it.
                self.step_back_to(offset);
                return Err("a record has no end");
            }
            (FULL | FIRST, _) => {
                *begun = Some(offset);
                self.record_found = self.found;
            }
            (MIDDLE | LAST, Some(_)) => {}
            (MIDDLE | LAST, None) => return Err("a record has no beginning"),
            _ => return Err("a record is of unknown type"),
        }
        let part = self.block.get(payload).unwrap_or_default();
        self.payload.extend_from_slice(part);
        Ok(matches!(kind, FULL | LAST))
    }

    fn step_back_to(&mut self, offset: u64) {
        debug_assert!(offset >= self.block_at);
        let at = usize::try_from(offset.saturating_sub(self.block_at));
        self.at = at.unwrap_or(self.at).min(self.at);
    }

    /// The piece at the cursor, which moves past it; past the block where it is damaged.
    fn piece(&mut self) -> Result<Piece> {
        let left = loop {
            let left = self.block.len().saturating_sub(self.at);
            if left >= HEADER_BYTES {
                break left;
            }
            let torn = left > 0 && self.block.len() < BLOCK_BYTES;
            if torn {
                return Ok(self.skip_block("the file ends within a record"));
            }
            if !self.next_block()? {
                return Ok(Piece::End);
            }
        };
        let header = Header::parse(&self.block, self.at);
        let Some(header) = header.filter(|header| header.bytes() <= left) else {
            let whole = self.block.len() == BLOCK_BYTES;
            return Ok(self.skip_block(if whole {
                "a record is longer than its block"
            } else {
                "the file ends within a record"
            }));
        };
        if header.is_zero() {
            return Ok(self.skip_block("zeros stand where a record should begin"));
        }
        let Some(payload) = header.verified(&self.block, self.at) else {
            return Ok(self.skip_block("the checksum of a record does not match"));
        };
        let offset = self.offset();
        self.at = payload.end;
        let kind = header.kind;
        Ok(Piece::Part {
            kind,
            offset,
            payload,
        })
    }

    /// Where the cursor stands in the file.
    fn offset(&self) -> u64 {
        self.block_at.saturating_add(self.at as u64)
    }

    /// Leaves a damaged piece for the next one that can be found.
    fn skip_block(&mut self, what: &'static str) -> Piece {
        let offset = self.offset();
        let end = self.block.len();
        let mut rest = self.at.saturating_add(1)..end;
        let next = rest.find(|at| self.searches && intact(&self.block, *at));
        self.found = next.is_some();
        self.at = next.unwrap_or(end);
        Piece::Damage { offset, what }
    }

    /// Reads the next block. Returns whether there is one.
    fn next_block(&mut self) -> Result<bool> {
        let next = self.block_at.saturating_add(self.block.len() as u64);
        self.block_at = next;
        self.at = 0;
        self.found = false;
        read_block(&*self.file, next, &mut self.block).map_err(|error| error.file(&*self.name))?;
        Ok(!self.block.is_empty())
    }

    /// Whether an intact piece follows the damage that the last step met. If none does, the file
    /// was torn there by a crash; if one does, bytes within it were damaged.
    ///
    /// In the block of the damage every offset is tried, because the length that leads to the next
    /// piece is not to be trusted; in later blocks the first piece says where the next one is.
    ///
    /// # Errors
    /// `Io`.
    pub fn resumes(&self) -> Result<bool> {
        let named = |error: Error| error.file(&*self.name);
        let block_bytes = BLOCK_BYTES as u64;
        let within = self.search_from.checked_rem(block_bytes).unwrap_or(0);
        let mut block_at = self.search_from.saturating_sub(within);
        let mut block = Vec::new();
        read_block(&*self.file, block_at, &mut block).map_err(named)?;
        let from = usize::try_from(within).unwrap_or(BLOCK_BYTES);
        if (from..block.len()).any(|at| intact(&block, at)) {
            return Ok(true);
        }
        loop {
            block_at = block_at.saturating_add(block_bytes);
            read_block(&*self.file, block_at, &mut block).map_err(named)?;
            if block.is_empty() {
                return Ok(false);
            }
            if intact(&block, 0) {
                return Ok(true);
            }
        }
    }
}

/// Fills `block` with the block at `offset`, a part of one at the end of the file, nothing after
/// it.
fn read_block(file: &dyn ReadFile, offset: u64, block: &mut Vec<u8>) -> Result<()> {
    let left = file.size().saturating_sub(offset);
    let len = usize::try_from(left)
        .unwrap_or(BLOCK_BYTES)
        .min(BLOCK_BYTES);
    block.clear();
    block.resize(len, 0);
    if len == 0 {
        return Ok(());
    }
    file.read_at(offset, block)
        .map_err(|error| error.offset(offset))
}

/// Whether an intact piece begins at `at`.
fn intact(block: &[u8], at: usize) -> bool {
    Header::parse(block, at).is_some_and(|header| {
        matches!(header.kind, FULL..=LAST) && header.verified(block, at).is_some()
    })
}

/// The header of a piece.
#[derive(Clone, Copy)]
struct Header {
    checksum: u32,
    len: u16,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8], at: usize) -> Option<Header> {
        Some(Header {
            checksum: get_u32(block, at)?,
            len: get_u16(block, at.checked_add(4)?)?,
            kind: *block.get(at.checked_add(6)?)?,
        })
    }

    /// Bytes of the whole piece.
    fn bytes(self) -> usize {
        HEADER_BYTES.saturating_add(usize::from(self.len))
    }

    fn is_zero(self) -> bool {
        self.checksum == 0 && self.len == 0 && self.kind == 0
    }

    /// Where the payload lies, if its checksum matches.
    fn verified(self, block: &[u8], at: usize) -> Option<Range<usize>> {
        let start = at.checked_add(HEADER_BYTES)?;
        let end = at.checked_add(self.bytes())?;
        let payload = block.get(start..end)?;
        (masked(&[self.kind], payload) == self.checksum).then_some(start..end)
    }
}
