//! The edits of one manifest, in order, also those after damaged bytes.

use cairndb::env::Dir;
use cairndb::{Error, ErrorKind, Result};
use cairndb_base::FileNumber;
use cairndb_format::manifest::{FoundEdit, ManifestReader, ManifestSalvage, Tail, VersionEdit};
use cairndb_format::name;

/// Length up to which a damaged manifest is read on: the salvage holds the whole file in memory.
const SALVAGED_BYTES_MAX: u64 = 1 << 30;

/// What [`Edits::advance`] met.
#[derive(Debug)]
pub(super) enum Step {
    /// An edit, and the offset of its record.
    Edit(u64, Box<VersionEdit>),
    Damage(Error),
    /// A crash cut the file here, or its writer is appending.
    Torn(u64),
}

/// A reader over one manifest. It holds one edit in memory until the first damage.
#[derive(Debug)]
pub(super) struct Edits<'a> {
    dir: &'a dyn Dir,
    number: FileNumber,
    reader: Option<ManifestReader>,
    salvage: Option<ManifestSalvage>,
    /// Damage that was met before the first edit.
    pending: Option<Error>,
    torn: bool,
}

impl<'a> Edits<'a> {
    /// Opens manifest `number`.
    ///
    /// # Errors
    /// `FormatTooNew`; `Io`.
    pub(super) fn open(dir: &'a dyn Dir, number: FileNumber) -> Result<Edits<'a>> {
        let mut edits = Edits {
            dir,
            number,
            reader: None,
            salvage: None,
            pending: None,
            torn: false,
        };
        match ManifestReader::open(dir, number) {
            Ok(reader) => edits.reader = Some(reader),
            Err(error) if error.kind() == ErrorKind::Corruption => edits.read_on(error, 0)?,
            Err(error) => return Err(error),
        }
        Ok(edits)
    }

    /// Returns the next step; `None` at the end.
    ///
    /// # Errors
    /// As [`Edits::open`].
    pub(super) fn advance(&mut self) -> Result<Option<Step>> {
        if let Some(error) = self.pending.take() {
            return Ok(Some(Step::Damage(error)));
        }
        if let Some(reader) = &mut self.reader {
            let offset = reader.position();
            match reader.advance() {
                Ok(Some(edit)) => return Ok(Some(Step::Edit(offset, Box::new(edit)))),
                Ok(None) => return Ok(self.tail()),
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    self.reader = None;
                    self.read_on(error, offset)?;
                    return self.advance();
                }
                Err(error) => return Err(error),
            }
        }
        self.advance_salvage()
    }

    fn tail(&mut self) -> Option<Step> {
        match self.reader.as_ref()?.tail() {
            Tail::Torn { offset } if !std::mem::replace(&mut self.torn, true) => {
                Some(Step::Torn(offset))
            }
            _ => None,
        }
    }

    fn advance_salvage(&mut self) -> Result<Option<Step>> {
        let Some(salvage) = &mut self.salvage else {
            return Ok(None);
        };
        let offset = salvage.position();
        Ok(Some(match salvage.advance()? {
            None => return Ok(None),
            Some(FoundEdit::Edit(edit)) => Step::Edit(offset, edit),
            Some(FoundEdit::Torn { offset }) => Step::Torn(offset),
            Some(FoundEdit::Gap { offset, .. }) => Step::Damage(
                Error::corruption("manifest record is damaged")
                    .file(name::manifest(self.number))
                    .offset(offset),
            ),
        }))
    }

    /// Continues after `damage`, which the reader met at `offset`.
    fn read_on(&mut self, damage: Error, offset: u64) -> Result<()> {
        let size = self.dir.size_of(&name::manifest(self.number))?;
        if size.is_none_or(|size| size > SALVAGED_BYTES_MAX) {
            self.pending = Some(damage);
            return Ok(());
        }
        match ManifestSalvage::open(self.dir, self.number) {
            Ok(mut salvage) => {
                if offset > 0 {
                    // The salvage meets the same damage, and what follows it.
                    salvage.skip_to(offset);
                }
                let header = salvage.header_error().cloned();
                self.pending = header.filter(|_| offset == 0);
                self.salvage = Some(salvage);
            }
            Err(error) if error.kind() == ErrorKind::Corruption => self.pending = Some(damage),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
