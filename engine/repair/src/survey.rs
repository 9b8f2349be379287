//! Lists the source directory: which file is which.
//!
//! A file's name says what it should be; its checksums say what it is, because they are bound to
//! the file's number. A table that has another table's name is found here under its own number.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, ReadFile};
use cairndb_format::log::{
    Found, HEAD_BYTES, HEADER_BYTES, SegmentHeader, SegmentSalvage, first_record_end,
    header_of_damaged,
};
use cairndb_format::name::{self, FileKind};
use cairndb_format::table::is_table_number;
use cairndb_format::value_file;

use crate::findings::Findings;

/// A log file of the source.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Header of the segment that the file holds, if it is intact or could be inferred.
    pub(super) header: Option<SegmentHeader>,
    /// Whether the header is intact.
    pub(super) intact: bool,
}

/// The files of the source, by what they are.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Names of the tables' files, by number.
    pub(super) tables: BTreeMap<u64, String>,
    /// Names of the files that may be a value file, by its number, the likeliest first.
    pub(super) values: BTreeMap<u64, Vec<String>>,
    pub(super) logs: Vec<LogFile>,
    /// Numbers of the manifests, ascending.
    pub(super) manifests: Vec<u64>,
}

impl Survey {
    /// Examines all files of `dir`. Only regular files are opened.
    ///
    /// # Errors
    /// Errors of listing the directory; `FormatTooNew`.
    pub(super) fn new(dir: &dyn Dir, findings: &mut Findings) -> Result<Survey> {
        let mut survey = Survey::default();
        let mut names = dir.list()?;
        names.sort_unstable();
        for found in names {
            let Some(kind) = FileKind::parse(&found) else {
                continue;
            };
            match dir.size_of(&found) {
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(error) => {
                    findings.note(found, 0, error.message());
                    continue;
                }
            }
            match kind {
                FileKind::Table(number) => _ = survey.tables.insert(number.0, found),
                FileKind::Value(number) => _ = survey.values.insert(number.0, vec![found]),
                FileKind::Manifest(number) => survey.manifests.push(number.0),
                FileKind::Log(_) => {
                    let log = log_file(dir, found, findings)?;
                    survey.logs.extend(log);
                }
                FileKind::Current | FileKind::Lock | FileKind::Shared | FileKind::Temp(_) => {}
            }
        }
        survey.manifests.sort_unstable();
        survey.drop_copied_segments(dir, findings);
        survey.find_swapped_values(dir);
        Ok(survey)
    }

    /// Returns whether the directory holds tables, value files or log segments of ours.
    pub(super) fn is_ours(&self) -> bool {
        let has_log = self.logs.iter().any(|log| log.header.is_some());
        has_log || !self.tables.is_empty() || !self.values.is_empty()
    }

    /// Returns whether the directory holds any file of a database.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_ours() && self.manifests.is_empty()
    }

    /// Keeps one of several files that hold the same segment, the one with most records: the others
    /// are older copies of it, or more damaged.
    fn drop_copied_segments(&mut self, dir: &dyn Dir, findings: &mut Findings) {
        let mut kept: Vec<LogFile> = Vec::new();
        for log in std::mem::take(&mut self.logs) {
            let identity = |log: &LogFile| log.header.map(|it| (it.segment, it.salt));
            let has_same = |other: &&mut LogFile| {
                identity(other).is_some() && identity(other) == identity(&log)
            };
            let other = kept.iter_mut().find(has_same);
            let Some((other, header)) = other.zip(log.header) else {
                kept.push(log);
                continue;
            };
            let is_more = records_of(dir, &log, &header) > records_of(dir, other, &header);
            let dropped = if is_more {
                std::mem::replace(other, log)
            } else {
                log
            };
            let message = format!("the file is a copy of a part of {}", other.name);
            findings.note(dropped.name, 0, &message);
        }
        self.logs = kept;
    }

    /// Finds value files that have the name of another one. Several files may be the same one: an
    /// older copy is shorter. A file without a readable header may be any; the checksums of the
    /// values decide.
    fn find_swapped_values(&mut self, dir: &dyn Dir) {
        let mut nameless = Vec::new();
        let mut moved = Vec::new();
        for (number, names) in &self.values {
            for found in names {
                match value_file_number(dir, found) {
                    None => nameless.push((*number, found.clone())),
                    Some(owner) if owner != *number => moved.push((owner, *number, found.clone())),
                    Some(_) => {}
                }
            }
        }
        for (owner, number, found) in &moved {
            self.values.entry(*owner).or_default().push(found.clone());
            // Under its own name it comes last: no other may be there.
            if let Some(names) = self.values.get_mut(number) {
                names.retain(|name| name != found);
                names.push(found.clone());
            }
        }
        let is_moved = |number: &u64| moved.iter().any(|(_, from, _)| from == number);
        for (number, names) in self
            .values
            .iter_mut()
            .filter(|(number, _)| is_moved(number))
        {
            let others = nameless.iter().filter(|(own, _)| own != number);
            names.extend(others.map(|(_, found)| found.clone()));
        }
    }

    /// Finds tables that have the name of another one. `known` are numbers of tables of which no
    /// file may have the name.
    ///
    /// # Errors
    /// `FormatTooNew`.
    pub(super) fn find_swapped_tables(
        &mut self,
        dir: &dyn Dir,
        known: &[u64],
        findings: &mut Findings,
    ) -> Result<()> {
        let mut strangers = Vec::new();
        for (number, found) in &self.tables {
            match opened(dir, found) {
                Ok(file) if !is_it(&file, *number)? => strangers.push((*number, found.clone())),
                Ok(_) => {}
                Err(error) => findings.harmless(&error),
            }
        }
        if strangers.is_empty() {
            return Ok(());
        }
        let numbers = known.iter().chain(self.tables.keys());
        let mut candidates: Vec<u64> = numbers.copied().collect();
        candidates.retain(|number| {
            // A table under its own name needs no other file.
            strangers.iter().any(|(own, _)| own == number) || !self.tables.contains_key(number)
        });
        candidates.sort_unstable();
        candidates.dedup();
        let mut placed = Vec::new();
        for (own, found) in strangers {
            let Ok(file) = opened(dir, &found) else {
                continue;
            };
            for number in &candidates {
                if is_it(&file, *number)? {
                    let table = name::table(FileNumber(*number));
                    let message = format!("the file holds the table {table}");
                    findings.note(found.clone(), 0, &message);
                    placed.push((own, *number, found));
                    break;
                }
            }
        }
        for (_, number, found) in &placed {
            self.tables.insert(*number, found.clone());
        }
        for (own, _, found) in &placed {
            if self.tables.get(own) == Some(found) {
                self.tables.remove(own);
            }
        }
        Ok(())
    }
}

fn is_it(file: &Arc<dyn ReadFile>, number: u64) -> Result<bool> {
    match is_table_number(file, FileNumber(number)) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == ErrorKind::FormatTooNew => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns the number that the header of a value file states, if it is intact.
fn value_file_number(dir: &dyn Dir, found: &str) -> Option<u64> {
    let mut header = [0; value_file::HEADER_BYTES];
    let file = dir.open_read(found).ok()?;
    file.read_at(0, &mut header).ok()?;
    value_file::number_of(&header).map(|number| number.0)
}

/// Opens a file of the source.
pub(super) fn opened(dir: &dyn Dir, found: &str) -> Result<Arc<dyn ReadFile>> {
    dir.open_read(found)
}

/// Reads the header of a log file. `None` if the file cannot be opened.
fn log_file(dir: &dyn Dir, found: String, findings: &mut Findings) -> Result<Option<LogFile>> {
    let file = match opened(dir, &found) {
        Ok(file) => file,
        Err(error) => {
            findings.harmless(&error);
            return Ok(None);
        }
    };
    let mut sector = [0; HEADER_BYTES];
    let whole = file.size() >= HEADER_BYTES as u64;
    let read = whole && file.read_at(0, &mut sector).is_ok();
    let mut log = LogFile {
        bytes: file.size(),
        name: found,
        header: None,
        intact: false,
    };
    if !read {
        return Ok(Some(log));
    }
    match SegmentHeader::decode(&sector) {
        Ok(header) => {
            log.header = Some(header);
            log.intact = true;
        }
        Err(error) if error.kind() == ErrorKind::FormatTooNew => {
            return Err(error.file(log.name));
        }
        Err(error) => {
            log.header = inferred_header(&*file);
            if log.header.is_some() {
                findings.harmless(&error.file(log.name.clone()));
            }
        }
    }
    Ok(Some(log))
}

/// Returns the header of a segment whose header is damaged. Only the first record is read: another
/// store's log may be longer than the memory.
fn inferred_header(file: &dyn ReadFile) -> Option<SegmentHeader> {
    let mut head = [0; HEAD_BYTES];
    file.read_at(0, &mut head).ok()?;
    let end = first_record_end(&head).filter(|end| *end <= file.size())?;
    header_of_damaged(&read_all(file, end)?)
}

/// Returns the number of intact records of the segment with `header` in a log file.
pub(super) fn records_of(dir: &dyn Dir, log: &LogFile, header: &SegmentHeader) -> usize {
    let file = opened(dir, &log.name).ok();
    let bytes = file.and_then(|file| read_all(&*file, log.bytes));
    let Some(bytes) = bytes else {
        return 0;
    };
    let mut salvage = SegmentSalvage::new(&bytes, header);
    let mut records = 0;
    while let Some(found) = salvage.advance() {
        records += usize::from(matches!(found, Found::Record(_)));
    }
    records
}

/// Reads up to `bytes_max` bytes of a file; parts that cannot be read are zeros. `None` if the
/// machine has too little memory.
pub(super) fn read_all(file: &dyn ReadFile, bytes_max: u64) -> Option<Vec<u8>> {
    const CHUNK: usize = 4096;
    let len = usize::try_from(file.size().min(bytes_max)).ok()?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    if file.read_at(0, &mut bytes).is_ok() {
        return Some(bytes);
    }
    bytes.fill(0);
    for (index, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
        let at = index as u64 * CHUNK as u64;
        if file.read_at(at, chunk).is_err() {
            chunk.fill(0);
        }
    }
    Some(bytes)
}

/// Returns the error for a directory without a database.
pub(super) fn no_database() -> Error {
    Error::invalid("the directory holds no file of a database; nothing was written")
}
