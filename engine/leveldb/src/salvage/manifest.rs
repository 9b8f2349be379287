//! What a manifest describes, as far as its edits are intact.

use std::collections::{BTreeMap, BTreeSet};

use cairndb_base::{Error, MANIFEST_MARK, Result, SeqNo};
use cairndb_env::Dir;

use crate::log::{LogReader, LogStep};
use crate::manifest::{NewTable, VersionEdit};
use crate::name::FileName;

/// The intact edits of a manifest, applied in order. Edits that contradict each other are accepted:
/// one between them may be lost.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{ManifestSalvage, NewDatabase, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// # let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
/// # new.put(b"plum", b"blue")?;
/// # new.finish()?;
/// let number = cairndb_leveldb::read_current(&*dir)?;
/// let manifest = ManifestSalvage::read(&*dir, number)?;
/// assert_eq!(manifest.tables.len(), 1);
/// assert!(manifest.damage.is_empty());
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManifestSalvage {
    /// Number of the manifest.
    pub number: u64,
    /// Name of the comparator.
    pub comparator: Option<String>,
    /// Logs with smaller numbers are not needed, except `previous_log`.
    pub log: Option<u64>,
    /// A log that is needed, too, or 0. `None` if no edit has the field, as in those of goleveldb.
    pub previous_log: Option<u64>,
    /// Every number from here on was unused when the last edit was written.
    pub next_file: u64,
    /// Sequence number of the last write in a table.
    pub last_seq: SeqNo,
    /// Tables in use, by number.
    pub tables: BTreeMap<u64, NewTable>,
    /// Tables that an edit removed.
    pub removed: BTreeSet<u64>,
    /// Whether the first edit is intact: the list of all tables that were in use when the manifest
    /// was begun.
    pub begins_whole: bool,
    /// Damage before an intact edit: edits are lost there.
    pub damage: Vec<Error>,
    /// Where a crash cut the manifest.
    pub torn: Option<Error>,
}

impl ManifestSalvage {
    /// Reads manifest `number`.
    ///
    /// # Errors
    /// `Corruption` if no edit is intact, or if the manifest is ours; `NotFound`; `Io`.
    pub fn read(dir: &dyn Dir, number: u64) -> Result<ManifestSalvage> {
        let name = FileName::Manifest(number).to_string();
        let mut reader = LogReader::salvaging(dir.open_read(&name)?, &*name);
        let mut salvage = ManifestSalvage {
            number,
            ..ManifestSalvage::default()
        };
        let mut edits = 0u64;
        loop {
            match reader.advance()? {
                LogStep::Record { offset } => {
                    // An intact edit follows, so this was no torn end.
                    salvage.damage.extend(salvage.torn.take());
                    match VersionEdit::decode(reader.payload()) {
                        Ok(edit) if is_ours(&edit) => {
                            let ours = Error::corruption("the manifest is CairnDB's");
                            return Err(ours.file(&*name).offset(offset));
                        }
                        Ok(edit) => {
                            salvage.begins_whole |= offset == 0;
                            salvage.apply(edit);
                            edits = edits.saturating_add(1);
                        }
                        Err(error) => salvage.damage.push(error.file(&*name).offset(offset)),
                    }
                }
                LogStep::Damage { offset, what } => {
                    let error = || Error::corruption(what).file(&*name).offset(offset);
                    salvage.torn.get_or_insert_with(error);
                }
                LogStep::End => break,
            }
        }
        if edits == 0 {
            let nothing = Error::corruption("no edit of the manifest is intact");
            return Err(nothing.file(&*name).offset(0));
        }
        Ok(salvage)
    }

    fn apply(&mut self, edit: VersionEdit) {
        self.comparator = edit.comparator.or(self.comparator.take());
        self.log = edit.log.or(self.log);
        self.previous_log = edit.previous_log.or(self.previous_log);
        self.next_file = self.next_file.max(edit.next_file.unwrap_or(0));
        self.last_seq = self.last_seq.max(edit.last_seq.unwrap_or(0));
        for (_, number) in edit.removed {
            self.tables.remove(&number);
            self.removed.insert(number);
        }
        for table in edit.added {
            self.removed.remove(&table.number);
            self.tables.insert(table.number, table);
        }
    }
}

/// Returns whether an edit is the header of a manifest of ours, which is also a record of
/// LevelDB's.
fn is_ours(edit: &VersionEdit) -> bool {
    let name = edit.comparator.as_deref().unwrap_or_default();
    name.as_bytes().starts_with(MANIFEST_MARK)
}
