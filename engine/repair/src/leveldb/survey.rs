//! Lists a LevelDB directory, and chooses its manifest.

use std::collections::BTreeMap;

use cairndb_base::{ErrorKind, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_leveldb::{FileName, InternalKey, ManifestSalvage, NewTable, read_current};

use super::table::LevelTable;
use crate::findings::Findings;
use crate::report::{DoubtKind, KeySpan, Loss};

/// The files of a LevelDB directory.
#[derive(Debug, Default)]
pub(super) struct LevelSurvey {
    /// Names of the tables' files, by number.
    pub(super) tables: BTreeMap<u64, String>,
    logs: BTreeMap<u64, String>,
    /// Whether any log has a byte.
    has_writes: bool,
    manifest: Option<ManifestSalvage>,
    /// Whether a later manifest is not readable.
    superseded: bool,
}

impl LevelSurvey {
    /// Examines all files.
    ///
    /// # Errors
    /// Errors of listing the directory.
    pub(super) fn new(dir: &dyn Dir, findings: &mut Findings) -> Result<LevelSurvey> {
        let mut survey = LevelSurvey::default();
        let mut manifests = Vec::new();
        for found in dir.list()? {
            let Some(name) = FileName::parse(&found) else {
                continue;
            };
            let bytes = match dir.size_of(&found) {
                Ok(bytes) => bytes.unwrap_or(0),
                Err(error) => {
                    findings.note(found, 0, error.message());
                    continue;
                }
            };
            match name {
                FileName::Table(number) | FileName::OldTable(number) => {
                    survey.tables.insert(number, found);
                }
                FileName::Log(number) => {
                    survey.has_writes |= bytes > 0;
                    survey.logs.insert(number, found);
                }
                FileName::Manifest(number) => manifests.push(number),
                _ => {}
            }
        }
        survey.choose(dir, manifests, findings);
        Ok(survey)
    }

    /// Chooses the manifest that describes the latest state; among equals, the one that `CURRENT`
    /// names.
    fn choose(&mut self, dir: &dyn Dir, mut manifests: Vec<u64>, findings: &mut Findings) {
        let named = read_current(dir).map_err(|error| {
            let message = match error.kind() {
                ErrorKind::NotFound => "the file is missing",
                _ => "the file does not name a manifest",
            };
            findings.note("CURRENT".to_owned(), 0, message);
        });
        let named = named.ok();
        manifests.sort_unstable();
        let mut unreadable = named.filter(|named| !manifests.contains(named));
        for number in manifests {
            let read = match ManifestSalvage::read(dir, number) {
                Ok(read) => read,
                Err(error) => {
                    findings.harmless(&error);
                    unreadable = unreadable.max(Some(number));
                    continue;
                }
            };
            let progress = |it: &ManifestSalvage| (it.last_seq, it.next_file);
            let is_better = self.manifest.as_ref().is_none_or(|best| {
                let compared = progress(&read).cmp(&progress(best));
                compared.is_gt() || compared.is_eq() && named != Some(best.number)
            });
            if is_better {
                self.manifest = Some(read);
            }
        }
        let Some(manifest) = &self.manifest else {
            findings.doubt(
                DoubtKind::Replaced,
                KeySpan::all(),
                "no manifest is readable: tables and logs that had been replaced cannot be \
                 recognised, and keys that had been deleted may be back",
            );
            return;
        };
        let file = FileName::Manifest(manifest.number).to_string();
        self.superseded = unreadable.is_some_and(|later| later > manifest.number);
        for damage in &manifest.damage {
            findings.lose(Loss {
                file: file.clone(),
                offset: damage.file_offset().unwrap_or(0),
                bytes: 0,
                keys: KeySpan::all(),
                older: true,
                reason: "edits of the manifest are damaged".to_owned(),
            });
        }
        findings.report.manifest = Some(file);
        if self.is_partial() {
            findings.doubt(
                DoubtKind::Manifest,
                KeySpan::all(),
                "edits of the manifest are lost: a table or log that is missing, or that had been \
                 replaced, may not be recognised as such",
            );
        }
    }

    pub(super) fn has_manifest(&self) -> bool {
        self.manifest.is_some()
    }

    pub(super) fn comparator(&self) -> Option<&str> {
        self.manifest.as_ref()?.comparator.as_deref()
    }

    pub(super) fn last_seq(&self) -> SeqNo {
        self.manifest
            .as_ref()
            .map_or(0, |manifest| manifest.last_seq)
    }

    /// Returns whether edits of the manifest are known to be lost.
    pub(super) fn is_partial(&self) -> bool {
        let Some(manifest) = &self.manifest else {
            return true;
        };
        self.superseded
            || !manifest.damage.is_empty()
            || self.lacks_log(manifest)
            || manifest.next_file > 0 && !is_own(manifest)
    }

    /// Returns whether the manifest ends before the edit that names the first log. LevelDB writes
    /// that edit right after the list of tables, before the first write of a user. An export has no
    /// log, and states that in the edit that lists its tables.
    fn lacks_log(&self, manifest: &ManifestSalvage) -> bool {
        let unnamed = manifest.log.unwrap_or(0) == 0;
        let is_listed = |number: &u64| manifest.tables.contains_key(number);
        let is_export = manifest.log == Some(0) && self.tables.keys().all(is_listed);
        unnamed && (self.has_writes || !self.tables.is_empty() && !is_export)
    }

    fn record(&self, number: u64) -> Option<&NewTable> {
        self.manifest.as_ref()?.tables.get(&number)
    }

    /// Returns whether the manifest names the table.
    pub(super) fn is_named(&self, number: u64) -> bool {
        self.record(number).is_some()
    }

    /// Returns whether an unnamed table may be in use: the edit that names it may be lost.
    ///
    /// A manifest begins with all tables in use, so a table of a smaller number than the manifest's
    /// that it does not name was obsolete even then.
    pub(super) fn may_be_live(&self, number: u64) -> bool {
        let Some(manifest) = &self.manifest else {
            return true;
        };
        let was_obsolete = manifest.removed.contains(&number)
            || is_own(manifest) && manifest.begins_whole && number < manifest.number;
        let is_old = self.missing().next().is_some() || self.missing_logs().next().is_some();
        !was_obsolete && (is_old || self.is_partial())
    }

    /// Returns the tables that the manifest names and that are not there.
    pub(super) fn missing(&self) -> impl Iterator<Item = (u64, LevelTable)> + '_ {
        let named = self.manifest.iter().flat_map(|it| &it.tables);
        let missing = named.filter(|(number, _)| !self.tables.contains_key(number));
        missing.map(|(number, record)| {
            let (smallest, largest) = bounds(record);
            let table = LevelTable {
                file: FileName::Table(*number).to_string(),
                bytes: record.size,
                smallest,
                largest,
            };
            (*number, table)
        })
    }

    /// Returns the names of the logs that the manifest names and that are not there. LevelDB
    /// creates a log before the edit that names it, and removes it after the edit that names the
    /// next one. Only goleveldb, whose edits name no previous log, removes an empty log without an
    /// edit; if it was not empty, the sequence numbers of the later one show it.
    pub(super) fn missing_logs(&self) -> impl Iterator<Item = String> + '_ {
        let last = self.logs.keys().next_back().copied().unwrap_or(0);
        let manifest = self.manifest.iter();
        let named = manifest.flat_map(move |it| {
            let log = it.log.unwrap_or(0);
            let is_replaced = it.previous_log.is_none() && last > log;
            [
                if is_replaced { 0 } else { log },
                it.previous_log.unwrap_or(0),
            ]
        });
        let missing = named.filter(|number| *number > 0 && !self.logs.contains_key(number));
        missing.map(|number| FileName::Log(number).to_string())
    }

    /// Returns how to read a table.
    pub(super) fn table(&self, dir: &dyn Dir, number: u64, file: &str) -> LevelTable {
        let (smallest, largest) = self.record(number).map_or((None, None), bounds);
        LevelTable {
            file: file.to_owned(),
            bytes: dir.size_of(file).ok().flatten().unwrap_or(0),
            smallest,
            largest,
        }
    }

    /// Returns the names of the logs that are needed, oldest first.
    pub(super) fn logs(&self) -> Vec<String> {
        let needed = |number: u64| match &self.manifest {
            Some(manifest) if !self.is_partial() => {
                number >= manifest.log.unwrap_or(0) || Some(number) == manifest.previous_log
            }
            _ => true,
        };
        let logs = self.logs.iter().filter(|(number, _)| needed(**number));
        logs.map(|(_, name)| name.clone()).collect()
    }
}

/// Returns whether the manifest has the contents of its name: its number was in use when its edits
/// were written.
fn is_own(manifest: &ManifestSalvage) -> bool {
    manifest.next_file > manifest.number
}

/// Returns the first and the last user key of a table.
fn bounds(record: &NewTable) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let user_key = |bytes: &[u8]| InternalKey::decode(bytes).ok().map(|it| it.key.to_vec());
    (user_key(&record.smallest), user_key(&record.largest))
}
