//! Salvage: every intact edit of a manifest, also those after damaged bytes.
//!
//! A damaged header does not end the salvage: the file's name has its number, and a salt with one
//! wrong bit is found by trying all of them against the checksums of the records.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use cairndb_base::coding::get_u64;
use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::Dir;

use crate::checksum::{RangeChecksum, crc32c_append, seed};
use crate::manifest::edit::VersionEdit;
use crate::manifest::frame::{FRAME_BYTES, Frame};
use crate::manifest::header::{HEADER_BYTES, ManifestHeader};
use crate::missing::needed;
use crate::name;

/// Offset of the salt in the header.
const SALT_AT: usize = 40;

/// What [`ManifestSalvage::advance`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundEdit {
    /// An edit.
    Edit(Box<VersionEdit>),
    /// Bytes that are damaged: a sync had covered them.
    Gap {
        /// Offset of the first of these bytes.
        offset: u64,
        /// Offset of the next record, or the end of the file.
        end: u64,
    },
    /// Bytes to the end of the file that no sync is known to have covered: a crash cut the file.
    Torn {
        /// Offset of the first of these bytes.
        offset: u64,
    },
}

/// Reads all intact edits of one manifest in order. The whole file is in memory.
#[derive(Debug)]
pub struct ManifestSalvage {
    bytes: Vec<u8>,
    name: String,
    seed: u32,
    base_end: u64,
    at: usize,
    header_error: Option<Error>,
}

impl ManifestSalvage {
    /// Reads manifest `number`.
    ///
    /// # Errors
    /// `Corruption` if the file is missing, or has neither an intact header nor an intact record;
    /// `FormatTooNew` if a newer version wrote it; `Io`.
    pub fn open(dir: &dyn Dir, number: FileNumber) -> Result<ManifestSalvage> {
        let name = name::manifest(number);
        let file = needed(&name, dir.open_read(&name))?;
        let len = usize::try_from(file.size()).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let short = |_| Error::corruption("manifest is too large for this machine");
        bytes.try_reserve_exact(len).map_err(short)?;
        bytes.resize(len, 0);
        file.read_at(0, &mut bytes)
            .map_err(|error| error.file(name.clone()))?;
        let mut salvage = ManifestSalvage {
            seed: 0,
            base_end: u64::MAX,
            at: HEADER_BYTES,
            header_error: None,
            bytes,
            name,
        };
        match ManifestHeader::decode(&salvage.bytes, number) {
            Ok(header) => {
                salvage.seed = header.seed();
                salvage.base_end = header.base_end;
            }
            Err(error) if error.kind() == ErrorKind::FormatTooNew => {
                return Err(error.file(salvage.name));
            }
            Err(error) => {
                let error = error.file(salvage.name.clone());
                salvage.seed = salvage.find_seed(number).ok_or_else(|| error.clone())?;
                salvage.header_error = Some(error);
            }
        }
        Ok(salvage)
    }

    /// Returns the damage of the header, if it is damaged.
    pub fn header_error(&self) -> Option<&Error> {
        self.header_error.as_ref()
    }

    /// Returns the offset at which [`ManifestSalvage::advance`] continues.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// Continues at `offset`, where a record is expected.
    pub fn skip_to(&mut self, offset: u64) {
        self.at = usize::try_from(offset).unwrap_or(usize::MAX);
    }

    /// Returns the state from which the checksums of the records start, found from the salt as it
    /// is or with one bit changed.
    fn find_seed(&self, number: FileNumber) -> Option<u32> {
        let salt = get_u64(&self.bytes, SALT_AT)?;
        let changed = (0..u64::BITS).map(|bit| salt ^ 1u64.wrapping_shl(bit));
        let mut salts = std::iter::once(salt).chain(changed);
        let first = salts.find(|salt| self.edit_at(seed(number.0, *salt), HEADER_BYTES).is_some());
        if let Some(salt) = first {
            return Some(seed(number.0, salt));
        }
        let as_it_is = seed(number.0, salt);
        self.next_record(as_it_is, HEADER_BYTES, |_| true)
            .map(|_| as_it_is)
    }

    /// Returns the range of the edit in the record at `at`, if there is a record.
    fn edit_at(&self, seed: u32, at: usize) -> Option<Range<usize>> {
        let (frame, edit) = self.frame(at)?;
        let before = frame.checksum_before(seed, at as u64);
        let crc = crc32c_append(before, self.bytes.get(edit.clone())?);
        (crc == frame.crc).then_some(edit)
    }

    /// Returns the head at `at` and the range of its edit. The checksum is not compared.
    fn frame(&self, at: usize) -> Option<(Frame, Range<usize>)> {
        let size = self.bytes.len() as u64;
        let frame = Frame::decode(self.bytes.get(at..)?, at as u64, size)?;
        let start = at.checked_add(FRAME_BYTES)?;
        let end = start.checked_add(usize::try_from(frame.len).ok()?)?;
        Some((frame, start..end))
    }

    /// Returns the offset of the first record at or after `from` that `wanted` accepts.
    fn next_record(
        &self,
        seed: u32,
        from: usize,
        wanted: impl Fn(&Frame) -> bool,
    ) -> Option<usize> {
        let mut sums = RangeChecksum::new(&self.bytes);
        (from..self.bytes.len()).find(|at| {
            let Some((frame, edit)) = self.frame(*at).filter(|(frame, _)| wanted(frame)) else {
                return false;
            };
            let before = frame.checksum_before(seed, *at as u64);
            sums.append(before, edit) == Some(frame.crc)
        })
    }

    /// Returns the next edit or gap, or `None` at the end of the file.
    ///
    /// # Errors
    /// `FormatTooNew` if a newer version wrote an edit.
    pub fn advance(&mut self) -> Result<Option<FoundEdit>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let at = self.at;
        if let Some(edit) = self.edit_at(self.seed, at) {
            let end = edit.end;
            let edit = VersionEdit::decode(self.bytes.get(edit).unwrap_or_default());
            self.at = end;
            return match edit {
                Ok(edit) => Ok(Some(FoundEdit::Edit(Box::new(edit)))),
                Err(error) if error.kind() == ErrorKind::FormatTooNew => {
                    Err(error.file(self.name.clone()).offset(at as u64))
                }
                Err(_) => Ok(Some(FoundEdit::Gap {
                    offset: at as u64,
                    end: end as u64,
                })),
            };
        }
        Ok(Some(self.skip(at)))
    }

    /// Goes to the first record after the damage at `at`, or to the end of the file.
    fn skip(&mut self, at: usize) -> FoundEdit {
        let (from, offset) = (at.saturating_add(1), at as u64);
        let covered = |frame: &Frame| frame.synced > offset;
        let damaged =
            offset < self.base_end || self.next_record(self.seed, from, covered).is_some();
        if !damaged {
            self.at = self.bytes.len();
            return FoundEdit::Torn { offset };
        }
        let next = self.next_record(self.seed, from, |_| true);
        self.at = next.unwrap_or(self.bytes.len());
        let end = self.at as u64;
        FoundEdit::Gap { offset, end }
    }
}
