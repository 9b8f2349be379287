//! Bases: the files that hold the database at some moment.

use std::collections::BTreeSet;

use cairndb::physical::LiveFiles;
use cairndb_base::{ErrorKind, Result};

use super::Backup;
use crate::backup::chain::Appended;
use crate::hex::to_hex;
use crate::records::{BASES, Base, Body, FileExtent, Table, with_header};

/// Maximum number of records between two bases, which list them.
const PIECES_MAX: usize = 1000;
/// Number of attempts while files of a database vanish, because a process begins to write it.
const TRIES: u32 = 5;

impl Backup<'_> {
    /// Returns whether a base is to be recorded.
    pub(super) fn is_base_due(&mut self) -> Result<bool> {
        let unlogged = self.history.unlogged;
        if unlogged > 0 && self.source.live_files()?.place().seq >= unlogged {
            self.history.needs_base = true;
        }
        let bytes = self.history.bytes();
        Ok(self.history.needs_base
            || self.history.pieces.len() >= PIECES_MAX
            || self.options.base_bytes.is_some_and(|limit| bytes >= limit))
    }

    /// Records a base.
    pub(super) fn record_base(&mut self) -> Result<()> {
        if self.history.needs_base || self.options.base_bytes.is_some() {
            let mut tried = 1;
            loop {
                match self.record_files() {
                    // Without a process that writes nothing keeps the files if one comes.
                    Err(error) if error.kind() == ErrorKind::NotFound && tried < TRIES => {
                        tried += 1;
                    }
                    recorded => return recorded,
                }
            }
        }
        // Only to list the records since.
        match self.last_base()? {
            Some((base, edit)) => self.record(base, edit),
            None => self.record_files(),
        }
    }

    /// Returns the newest base and its edit.
    fn last_base(&mut self) -> Result<Option<(Base, Vec<u8>)>> {
        if let Some(base) = self.history.base.take() {
            return Ok(Some(base));
        }
        let Some(object) = &self.history.previous else {
            return Ok(None);
        };
        let contents = self.repository.read_all(object)?;
        let (base, edit) = self.repository.parsed(object, &contents)?;
        Ok(Some((base, edit.to_vec())))
    }

    /// Records the files of the durable state.
    fn record_files(&mut self) -> Result<()> {
        loop {
            let files = self.source.live_files()?;
            let next = self.chain.next();
            let (tables, extents) = self.upload(&files, next)?;
            let place = files.place();
            let base = Base {
                number: 0,
                timeline: self.history.timeline,
                incarnation: place.incarnation,
                seq: place.seq,
                restorable: files.restorable(),
                taken_ms: self.repository.env().wall_ms(),
                time_ms: self.history.time_ms,
                entries: files.entries(),
                tables,
                extents,
                previous: None,
                pieces: Vec::new(),
                first: 0,
                kept_from: 0,
            };
            let edit = files.edit();
            drop(files);
            self.record(base, edit)?;
            if self.history.base.is_some() {
                return Ok(());
            }
        }
    }

    /// Uploads the files that the place does not have.
    fn upload(&mut self, files: &LiveFiles, next: u64) -> Result<(Vec<Table>, Vec<FileExtent>)> {
        let mut tables = Vec::new();
        for table in files.tables() {
            let uploaded =
                self.files
                    .upload_table(self.repository, &self.source.dir, next, table)?;
            self.report.count(uploaded.1);
            tables.push(uploaded.0);
            self.inform_in_time()?;
        }
        let ends: Vec<(u64, u64)> = files.values().map(|(file, _, end)| (file, end)).collect();
        let (new, bytes) =
            self.files
                .upload_values(self.repository, &self.source.dir, next, &ends)?;
        self.report.count(bytes);
        self.files.add(&new);
        let numbers: BTreeSet<u64> = ends.iter().map(|(file, _)| *file).collect();
        self.files.retain(&tables, &numbers);
        let extents = ends
            .iter()
            .flat_map(|(file, end)| self.files.extents(*file, *end));
        let extents = extents.cloned().collect();
        Ok((tables, extents))
    }

    /// Records a base with the history since the one before. If objects were pruned meanwhile,
    /// nothing is recorded, and there is no base in memory.
    fn record(&mut self, base: Base, edit: Vec<u8>) -> Result<()> {
        let (first, kept_from) = self.history.first;
        let number = self.chain.next();
        let base = Base {
            number,
            previous: self.history.previous.clone(),
            pieces: self.history.pieces.clone(),
            first,
            kept_from,
            ..base
        };
        let contents = with_header(&base, &edit);
        let hash = self.repository.hash_of(|take| take(&contents))?;
        let object = format!("{BASES}/{number:020}-{}", &to_hex(&hash)[..16]);
        let stored = self.repository.put(&object, &contents)?;
        self.report.count(stored);
        let body = Body::Base {
            object: object.clone(),
        };
        match self.chain.append(self.repository, body, &[])? {
            Appended::Done { bytes, body, .. } => {
                self.report.count(bytes);
                self.report.bases += 1;
                // An earlier attempt has recorded another object, which lists the same.
                let recorded = match body {
                    Body::Base { object } => object,
                    _ => object,
                };
                self.history.add_base(recorded, base, edit);
            }
            Appended::Pruned(prune) => self.note_pruned(&prune),
        }
        Ok(())
    }
}
