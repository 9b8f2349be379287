//! Writes the live entries to tables and value files, as a compaction of everything would.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{Digest, FileNumber, Kind, Result, watch};
use cairndb_env::FileSync;
use cairndb_format::name;
use cairndb_format::table::ValueIn;
use cairndb_format::value_file::ValueWriter;

use crate::jobs::output::{Output, OutputParts, OutputSettings, Written};
use crate::state::files::new_files::{create_unused, is_taken};
use crate::state::files::value_handle::ValueHandle;
use crate::state::version::{Run, TableHandle, Values, Version};
use crate::upgrade::UpgradeTarget;
use crate::upgrade::source::LiveEntries;

/// Files whose bytes may be on their way to the disk at a time: each holds a descriptor.
const UNSYNCED_MAX: usize = 8;
/// Entries between two reports of progress.
const REPORT_ENTRIES: u64 = 1 << 16;
/// The only run of the new database.
pub(crate) const RUN: u64 = 1;
/// Sequence number of all entries: visible to every reader, as after a compaction of everything.
const SEQ: u64 = 0;

/// What was written, all of it synced, and what it contains.
pub(crate) struct Contents {
    pub(crate) version: Version,
    pub(crate) digest: Digest,
}

/// Names of the files that an attempt has begun to create, for their removal after a failure.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) names: Vec<String>,
}

/// Files in the making.
struct Files<'a> {
    target: &'a UpgradeTarget,
    next_file: &'a AtomicU64,
    made: &'a mut Made,
    tables: Vec<Arc<TableHandle>>,
    values: Values,
    value_file: Option<(Arc<ValueHandle>, ValueWriter)>,
    unsynced: VecDeque<Arc<dyn FileSync>>,
}

/// Writes all `entries`, and calls `report` once in a while.
///
/// # Errors
/// The errors of reading and writing; the files in `made` must then be removed.
pub(crate) fn write(
    target: &UpgradeTarget,
    mut entries: LiveEntries,
    next_file: &AtomicU64,
    made: &mut Made,
    mut report: impl FnMut(&Digest),
) -> Result<Contents> {
    let settings = OutputSettings {
        // Every table goes to the disk while the next one is made.
        begin_syncs: true,
        ..target.settings.output.clone()
    };
    let mut output = Output::from_parts(&*target.dir, next_file, settings, OutputParts::default());
    let mut files = Files {
        target,
        next_file,
        made,
        tables: Vec::new(),
        values: Values::new(),
        value_file: None,
        unsynced: VecDeque::new(),
    };
    let mut digest = Digest::default();
    let written = files.write_entries(&mut entries, &mut output, &mut digest, &mut report);
    files.made.names.extend(output.names());
    written?;
    for written in output.finish()? {
        files.take_table(written)?;
    }
    files.end_value_file()?;
    files.sync_all(0)?;
    let mut runs = Vec::new();
    if !files.tables.is_empty() {
        let run = Run::new(RUN, files.tables, &target.context.order);
        runs.push(Arc::new(run));
    }
    let values = Arc::new(files.values);
    Ok(Contents {
        version: Version { runs, values },
        digest,
    })
}

impl Files<'_> {
    fn write_entries(
        &mut self,
        entries: &mut LiveEntries,
        output: &mut Output<'_>,
        digest: &mut Digest,
        report: &mut impl FnMut(&Digest),
    ) -> Result<()> {
        while entries.advance()? {
            let (key, value) = (entries.key(), entries.value());
            digest.add(key, value);
            watch::advance((key.len() + value.len()) as u64)?;
            if value.len() < LARGE_VALUE_BYTES_MIN {
                output.add(true, key, SEQ, Kind::Put, &ValueIn::Raw(value))?;
            } else {
                let pointer = self.append_value(key, value)?;
                output.add(true, key, SEQ, Kind::Pointer, &ValueIn::Raw(&pointer))?;
            }
            if output.has_finished() {
                for written in output.take_finished() {
                    self.take_table(written)?;
                }
            }
            if digest.entries.is_multiple_of(REPORT_ENTRIES) {
                report(digest);
            }
        }
        Ok(())
    }

    /// Takes a finished table, which is being synced, and waits for older ones.
    fn take_table(&mut self, written: Written) -> Result<()> {
        let mut record = written.record;
        self.made.names.push(name::table(FileNumber(record.file)));
        record.run = RUN;
        let handle = TableHandle::new(record, &self.target.opener);
        self.tables.push(Arc::new(handle));
        self.unsynced.push_back(written.sync);
        self.sync_all(UNSYNCED_MAX)
    }

    /// Syncs the oldest files until at most `left` are unsynced.
    fn sync_all(&mut self, left: usize) -> Result<()> {
        while self.unsynced.len() > left
            && let Some(file) = self.unsynced.pop_front()
        {
            file.sync()?;
        }
        Ok(())
    }

    /// Appends a large value, and returns its encoded pointer.
    fn append_value(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let full = self.target.settings.value_file;
        if self
            .value_file
            .as_ref()
            .is_some_and(|(_, writer)| writer.bytes() >= full)
        {
            self.end_value_file()?;
        }
        if self.value_file.is_none() {
            self.begin_value_file()?;
        }
        let (_, writer) = self.value_file.as_mut().expect("a file was begun above");
        let hash = self.target.context.order.hash(key);
        Ok(writer.append(hash, &[value])?.encode().to_vec())
    }

    fn begin_value_file(&mut self) -> Result<()> {
        let (next, made, dir) = (self.next_file, &mut *self.made, &*self.target.dir);
        let (number, writer) = create_unused(
            || next.fetch_add(1, Ordering::Relaxed),
            |number| {
                let created = ValueWriter::create(dir, number);
                if !created.as_ref().is_err_and(is_taken) {
                    made.names.push(name::value(number));
                }
                created
            },
        )?;
        let handle = Arc::new(ValueHandle::begun(number.0, &self.target.opener));
        self.values.insert(number.0, Arc::clone(&handle));
        self.value_file = Some((handle, writer));
        Ok(())
    }

    /// Closes the open value file; its length becomes part of the manifest.
    fn end_value_file(&mut self) -> Result<()> {
        let Some((handle, writer)) = self.value_file.take() else {
            return Ok(());
        };
        handle.bytes.store(writer.bytes(), Ordering::Relaxed);
        handle.end();
        handle.complete();
        let sync = writer.syncer();
        sync.begin();
        self.unsynced.push_back(sync);
        self.sync_all(UNSYNCED_MAX)
    }
}
