//! The state that a manifest describes: the sum of its edits.

use std::collections::BTreeMap;

use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::Dir;

use super::edit::{LEVELS, NewTable, VersionEdit};
use crate::log::{LogReader, LogStep};
use crate::name::FileName;

/// What is in use after the last edit of a manifest.
#[derive(Debug)]
pub(crate) struct Version {
    /// The name of the comparator.
    pub(crate) comparator: String,
    /// Logs with smaller numbers are not needed.
    pub(crate) log: u64,
    /// A log that is needed too, or 0. `None` if no edit has the field, as in those of goleveldb.
    pub(crate) previous_log: Option<u64>,
    /// The sequence number of the latest write in a table.
    pub(crate) last_seq: SeqNo,
    /// The tables of each level, by number.
    pub(crate) levels: [BTreeMap<u64, NewTable>; LEVELS],
    /// Where the manifest is torn, if it is.
    pub(crate) torn_at: Option<u64>,
}

/// The fields of an edit that every database must have seen.
#[derive(Default)]
struct Fields {
    comparator: Option<String>,
    log: Option<u64>,
    previous_log: Option<u64>,
    next_file: Option<u64>,
    last_seq: Option<SeqNo>,
    levels: [BTreeMap<u64, NewTable>; LEVELS],
}

impl Fields {
    fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        if let Some(name) = edit.comparator {
            if let Some(before) = self.comparator.as_ref().filter(|before| **before != name) {
                return Err(Error::corruption("the manifest names two comparators")
                    .expected(before)
                    .found(name));
            }
            self.comparator = Some(name);
        }
        self.log = edit.log.or(self.log);
        self.previous_log = edit.previous_log.or(self.previous_log);
        self.next_file = edit.next_file.or(self.next_file);
        self.last_seq = edit.last_seq.or(self.last_seq);
        for (level, number) in edit.removed {
            self.levels[level].remove(&number);
        }
        for table in edit.added {
            self.levels[table.level].insert(table.number, table);
        }
        Ok(())
    }

    fn complete(self, torn_at: Option<u64>) -> Result<Version> {
        let missing = |what: &'static str| {
            Error::corruption("the manifest is not complete")
                .expected(what)
                .found("none")
        };
        self.next_file
            .ok_or_else(|| missing("the number of the next file"))?;
        Ok(Version {
            comparator: self
                .comparator
                .ok_or_else(|| missing("the name of a comparator"))?,
            log: self.log.ok_or_else(|| missing("the number of a log"))?,
            previous_log: self.previous_log,
            last_seq: self
                .last_seq
                .ok_or_else(|| missing("the last sequence number"))?,
            levels: self.levels,
            torn_at,
        })
    }
}

/// Returns the error for a file without which the database cannot be read.
#[cold]
pub(crate) fn missing(name: String) -> Error {
    let message = "the directory holds a LevelDB database, of which this file is missing; restore \
        it from a copy, or keep what the other files hold with `repair`";
    Error::corruption(message).file(name)
}

/// Reads the manifest with this number. A torn end is dropped, as LevelDB drops it; damage within
/// is an error, since the tables in use would not be known.
///
/// # Errors
/// `Corruption` with file and offset; `Io`.
pub(crate) fn read_version(dir: &dyn Dir, number: u64) -> Result<Version> {
    let name = FileName::Manifest(number).to_string();
    let file = dir.open_read(&name).map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing(name.clone()),
        _ => error,
    })?;
    let size = file.size();
    let mut reader = LogReader::new(file, &*name);
    let (mut fields, mut torn_at) = (Fields::default(), None);
    loop {
        match reader.advance()? {
            LogStep::Record { offset } => {
                VersionEdit::decode(reader.payload())
                    .and_then(|edit| fields.apply(edit))
                    .map_err(|error| error.file(&*name).offset(offset))?;
            }
            LogStep::Damage { offset, what } => {
                if reader.resumes()? {
                    return Err(Error::corruption(what).file(&*name).offset(offset));
                }
                torn_at = Some(offset);
                break;
            }
            LogStep::End => break,
        }
    }
    let end = torn_at.unwrap_or(size);
    let complete = fields.complete(torn_at);
    complete.map_err(|error| error.file(name).offset(end))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use cairndb_env::{Background, Env, MemEnv};

    use super::*;
    use crate::log::LogWriter;

    fn base() -> VersionEdit {
        VersionEdit {
            comparator: Some("a".to_owned()),
            log: Some(5),
            next_file: Some(6),
            last_seq: Some(77),
            ..VersionEdit::default()
        }
    }

    fn table(level: usize, number: u64) -> NewTable {
        let key = vec![0; 8];
        NewTable {
            level,
            number,
            size: 100,
            smallest: key.clone(),
            largest: key,
        }
    }

    fn directory(edits: &[VersionEdit]) -> Arc<dyn Dir> {
        let dir = MemEnv::new(Background::Stepped)
            .open_dir(Path::new("db"), true)
            .unwrap();
        let mut writer = LogWriter::new(dir.create("MANIFEST-000002").unwrap());
        for edit in edits {
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            writer.append(&bytes).unwrap();
        }
        dir
    }

    #[test]
    fn a_table_may_move_to_another_level_within_one_edit() {
        let add = VersionEdit {
            added: vec![table(0, 3), table(0, 4)],
            ..VersionEdit::default()
        };
        let move_down = VersionEdit {
            removed: vec![(0, 3)],
            added: vec![table(1, 3)],
            last_seq: Some(80),
            ..VersionEdit::default()
        };
        let version = read_version(&*directory(&[base(), add, move_down]), 2).unwrap();
        assert_eq!(version.levels[0].keys().copied().collect::<Vec<u64>>(), [4]);
        assert_eq!(version.levels[1].keys().copied().collect::<Vec<u64>>(), [3]);
        assert_eq!(
            (version.last_seq, version.log, version.torn_at),
            (80, 5, None)
        );
    }

    #[test]
    fn an_incomplete_manifest_is_refused_with_what_is_missing() {
        let incomplete = [
            VersionEdit {
                comparator: None,
                ..base()
            },
            VersionEdit {
                log: None,
                ..base()
            },
            VersionEdit {
                next_file: None,
                ..base()
            },
            VersionEdit {
                last_seq: None,
                ..base()
            },
        ];
        for edit in incomplete {
            let error = read_version(&*directory(&[edit]), 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert_eq!(error.file_name(), Some("MANIFEST-000002"));
        }
        let other = VersionEdit {
            comparator: Some("b".to_owned()),
            ..VersionEdit::default()
        };
        let error = read_version(&*directory(&[base(), other]), 2).unwrap_err();
        assert!(error.to_string().contains("expected a, found b"), "{error}");
        assert!(read_version(&*directory(&[base()]), 3).is_err());
    }
}
