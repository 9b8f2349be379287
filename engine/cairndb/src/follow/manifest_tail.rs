//! The manifest of a database that another process writes, folded up to the announced end.

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::manifest::{ManifestReader, Tail};
use cairndb_format::name;
use cairndb_shared::Announced;

use crate::recovery::folded::Folded;

/// A manifest that has been read up to some edit.
#[derive(Debug)]
pub(super) struct ManifestTail {
    pub(super) number: u64,
    reader: ManifestReader,
    pub(super) folded: Folded,
}

impl ManifestTail {
    /// Reads the announced manifest.
    ///
    /// # Errors
    /// `Corruption`, also if the writer has replaced the manifest meanwhile; `FormatTooNew`, `Io`.
    pub(super) fn open(dir: &dyn Dir, announced: &Announced) -> Result<ManifestTail> {
        let number = FileNumber(announced.manifest);
        let mut tail = ManifestTail {
            number: number.0,
            reader: ManifestReader::open(dir, number)?,
            folded: Folded::default(),
        };
        tail.advance(dir, announced.manifest_end)?;
        Ok(tail)
    }

    /// Reads on up to `end`. After an error the tail must not be used.
    ///
    /// # Errors
    /// Same as [`ManifestTail::open`].
    pub(super) fn advance(&mut self, dir: &dyn Dir, end: u64) -> Result<()> {
        let name = name::manifest(FileNumber(self.number));
        self.reader.extend(dir.open_read(&name)?, end)?;
        while let Some(edit) = self.reader.advance()? {
            let applied = self.folded.apply(edit);
            applied.map_err(|error| error.file(name.clone()))?;
        }
        match self.reader.tail() {
            Tail::Clean => Ok(()),
            Tail::Torn { offset } => Err(Error::corruption(
                "the manifest ends before the edits that its writer announced",
            )
            .file(name)
            .offset(offset)
            .expected(format_args!("edits up to {end}"))),
        }
    }
}
