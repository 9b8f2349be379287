//! Manifest reader.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::{Dir, ReadFile};

use crate::checksum::{RangeChecksum, crc32c_append};
use crate::manifest::edit::VersionEdit;
use crate::manifest::frame::{EDIT_BYTES_MAX, FRAME_BYTES, Frame};
use crate::manifest::header::{HEADER_BYTES, ManifestHeader};
use crate::missing::needed;
use crate::name;

/// Maximum number of tables in a database at a time.
pub const TABLES_MAX: u64 = 10_000_000;
/// Maximum number of edits in one manifest.
pub const EDITS_MAX: u64 = 10_000_000;

/// Condition of a manifest's tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The file ends after its last record.
    Clean,
    /// The file ends in bytes that no sync is known to have covered: a crash cut off an append.
    Torn {
        /// Offset at which the last good record ends.
        offset: u64,
    },
}

/// Contents of a whole manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Number, salt and end of the base.
    pub header: ManifestHeader,
    /// The edits in order, the base's first.
    pub edits: Vec<VersionEdit>,
    /// Condition of the file's tail.
    pub tail: Tail,
    /// Length of the file, a torn tail included.
    pub bytes: u64,
}

/// Reads all of manifest `number`. Holds all edits in memory; [`ManifestReader`] holds only one.
///
/// # Errors
/// Same as [`ManifestReader`].
pub fn read_manifest(dir: &dyn Dir, number: FileNumber) -> Result<Manifest> {
    let mut reader = ManifestReader::open(dir, number)?;
    let mut edits = Vec::new();
    while let Some(edit) = reader.advance()? {
        edits.push(edit);
    }
    Ok(Manifest {
        header: *reader.header(),
        edits,
        tail: reader.tail(),
        bytes: reader.window.size,
    })
}

/// Reads a manifest edit by edit, with memory for one edit and a read buffer. After a bad record it
/// reads the rest of the file at once, to distinguish a torn tail from damage.
#[derive(Debug)]
pub struct ManifestReader {
    window: Window,
    name: String,
    header: ManifestHeader,
    at: u64,
    edits: u64,
    tables: u64,
    tail: Tail,
}

/// The part of the file that is in memory.
#[derive(Debug)]
struct Window {
    file: Arc<dyn ReadFile>,
    size: u64,
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    /// Returns `len` bytes at `offset`, which must lie within the file, and reads ahead.
    fn read(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let short = || Error::corruption("manifest is too large for this machine");
        let end = self.start.saturating_add(self.bytes.len() as u64);
        if offset < self.start || offset.saturating_add(len) > end {
            let left = self.size.saturating_sub(offset);
            let fill = usize::try_from(len.max(BUFFER_BYTES.min(left))).map_err(|_| short())?;
            let more = fill.saturating_sub(self.bytes.len());
            self.bytes.try_reserve(more).map_err(|_| short())?;
            self.bytes.resize(fill, 0);
            self.start = offset;
            // After a failed read the buffer is empty: its zeros would look like a torn tail to a
            // caller that tries again.
            let read = self.file.read_at(offset, &mut self.bytes);
            read.inspect_err(|_| self.bytes.clear())?;
        }
        let start = usize::try_from(offset.saturating_sub(self.start)).map_err(|_| short())?;
        let len = usize::try_from(len).map_err(|_| short())?;
        let rest = self.bytes.get(start..).unwrap_or_default();
        rest.get(..len)
            .ok_or_else(|| Error::corruption("manifest ends early"))
    }
}

/// Maximum number of bytes after a bad record, in addition to twice the base: the longest edit plus
/// the length at which a manifest is rewritten.
const REST_BYTES_MAX: u64 = EDIT_BYTES_MAX as u64 + (4 << 20);
/// Read-ahead in bytes: few system calls, little memory.
const BUFFER_BYTES: u64 = 256 << 10;

impl ManifestReader {
    /// Opens manifest `number` and reads its header.
    ///
    /// # Errors
    /// `Io`; `Corruption` with file and offset, also if the file does not exist; `FormatTooNew`.
    pub fn open(dir: &dyn Dir, number: FileNumber) -> Result<ManifestReader> {
        let name = name::manifest(number);
        ManifestReader::new(needed(&name, dir.open_read(&name))?, number)
    }

    /// Like [`ManifestReader::open`], but over an open file.
    ///
    /// # Errors
    /// Same as [`ManifestReader::open`].
    pub fn new(file: Arc<dyn ReadFile>, number: FileNumber) -> Result<ManifestReader> {
        let name = name::manifest(number);
        let size = file.size();
        let mut window = Window {
            file,
            size,
            bytes: Vec::new(),
            start: 0,
        };
        let mut read = || {
            if size < HEADER_BYTES as u64 {
                return ManifestHeader::decode(&[], number);
            }
            let bytes = window.read(0, HEADER_BYTES as u64)?;
            let header = ManifestHeader::decode(bytes, number)?;
            if header.base_end > size || header.base_end < HEADER_BYTES as u64 {
                return Err(Error::corruption("manifest ends within its base")
                    .offset(size)
                    .expected(format_args!("{} bytes or more", header.base_end))
                    .found(size));
            }
            Ok(header)
        };
        let header = read().map_err(|error| error.file(name.clone()))?;
        Ok(ManifestReader {
            window,
            name,
            header,
            at: HEADER_BYTES as u64,
            edits: 0,
            tables: 0,
            tail: Tail::Clean,
        })
    }

    /// Continues to read up to `end` in `file`, which is the same file, opened again after it has
    /// grown. The caller knows that whole edits end there.
    ///
    /// # Errors
    /// `Corruption` if the file is shorter.
    pub fn extend(&mut self, file: Arc<dyn ReadFile>, end: u64) -> Result<()> {
        if file.size() < end || end < self.at {
            return Err(
                Error::corruption("manifest is shorter than its writer announced")
                    .file(self.name.clone())
                    .offset(file.size())
                    .expected(format_args!("{end} bytes"))
                    .found(format_args!("{} bytes", file.size())),
            );
        }
        self.window = Window {
            file,
            size: end,
            bytes: Vec::new(),
            start: 0,
        };
        self.tail = Tail::Clean;
        Ok(())
    }

    /// Returns the header.
    pub fn header(&self) -> &ManifestHeader {
        &self.header
    }

    /// Returns the condition of the manifest's tail, once [`ManifestReader::advance`] has returned
    /// `None`.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Returns the offset of the record that [`ManifestReader::advance`] reads next.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Returns the next edit, or `None` at the end.
    ///
    /// # Errors
    /// `Corruption` with file and offset, for bad bytes that a sync had covered, for an intact
    /// record with invalid contents, or for more edits or tables than the limits allow;
    /// `FormatTooNew`; `Io`.
    pub fn advance(&mut self) -> Result<Option<VersionEdit>> {
        if self.at == self.window.size || self.tail != Tail::Clean {
            return Ok(None);
        }
        let offset = self.at;
        self.step()
            .map_err(|error| error.file(self.name.clone()).offset(offset))
    }

    fn step(&mut self) -> Result<Option<VersionEdit>> {
        let offset = self.at;
        let Some(frame) = self.frame(offset)? else {
            return self.end_at(offset);
        };
        let seed = self.header.seed();
        let start = offset.saturating_add(FRAME_BYTES as u64);
        let payload = self.window.read(start, u64::from(frame.len))?;
        if crc32c_append(frame.checksum_before(seed, offset), payload) != frame.crc {
            return self.end_at(offset);
        }
        let edit = VersionEdit::decode(payload)?;
        self.count(&edit)?;
        self.at = start.saturating_add(u64::from(frame.len));
        Ok(Some(edit))
    }

    fn frame(&mut self, offset: u64) -> Result<Option<Frame>> {
        let size = self.window.size;
        if size.saturating_sub(offset) < FRAME_BYTES as u64 {
            return Ok(None);
        }
        let head = self.window.read(offset, FRAME_BYTES as u64)?;
        Ok(Frame::decode(head, offset, size))
    }

    fn count(&mut self, edit: &VersionEdit) -> Result<()> {
        self.edits = self.edits.saturating_add(1);
        let added = edit.added_tables.len() as u64;
        let removed = edit.removed_tables.len() as u64;
        self.tables = self.tables.saturating_add(added).saturating_sub(removed);
        if self.edits <= EDITS_MAX && self.tables <= TABLES_MAX {
            return Ok(());
        }
        Err(Error::corruption("manifest exceeds the limits")
            .expected(format_args!(
                "at most {EDITS_MAX} edits and {TABLES_MAX} tables"
            ))
            .found(format_args!("{} and {}", self.edits, self.tables)))
    }

    /// Handles bytes at `offset` that are not a record: an error if a sync had covered them, else
    /// the end.
    fn end_at(&mut self, offset: u64) -> Result<Option<VersionEdit>> {
        let damaged = Error::corruption("manifest record is damaged");
        if offset < self.header.base_end {
            return Err(damaged.expected("an intact base").found("a bad record"));
        }
        if let Some(later) = self.find_later_synced(offset)? {
            return Err(damaged
                .expected("bytes that had been synced")
                .found(format_args!("a bad record before an intact one at {later}")));
        }
        self.tail = Tail::Torn { offset };
        Ok(None)
    }

    /// Returns the offset of a record after `from` that states that the bytes at `from` were
    /// durable.
    ///
    /// Every byte is a candidate; the time for each is bounded, whatever its length claims.
    fn find_later_synced(&mut self, from: u64) -> Result<Option<u64>> {
        let size = self.window.size;
        let seed = self.header.seed();
        let left = size.saturating_sub(from);
        // A manifest longer than this, and longer than twice its base, is rewritten before the next
        // edit.
        let longest = REST_BYTES_MAX.saturating_add(self.header.base_end.saturating_mul(2));
        if left > longest {
            return Err(
                Error::corruption("manifest is longer than any that a writer produces")
                    .expected(format_args!("at most {longest} bytes after a bad record"))
                    .found(left),
            );
        }
        let rest = self.window.read(from, left)?;
        let mut sums = RangeChecksum::new(rest);
        let found = (1..rest.len()).find_map(|at| {
            let offset = from.checked_add(at as u64)?;
            let frame = Frame::decode(rest.get(at..)?, offset, size)?;
            if frame.synced <= from {
                return None;
            }
            let start = at.checked_add(FRAME_BYTES)?;
            let end = start.checked_add(usize::try_from(frame.len).ok()?)?;
            let crc = sums.append(frame.checksum_before(seed, offset), start..end)?;
            (crc == frame.crc).then_some(offset)
        });
        Ok(found)
    }
}
