//! `DatabaseWriter`: writes a whole database from a sorted stream of entries, section by section:
//! tables of one run, and value files.
//!
//! Files are synced while the next ones are written, and closed once they are synced, so that few
//! descriptors are open however large the database is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::limits::LARGE_VALUE_BYTES_MIN;
use cairndb_base::{FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::{Dir, FileSync};
use cairndb_format::manifest::{CleanClose, TableRecord, VersionEdit};
use cairndb_format::name;
use cairndb_format::table::ValueIn;
use cairndb_format::value_file::ValueWriter;

use crate::new_files::{create_unused, is_taken};
use crate::output::{Output, OutputParts, OutputSettings, Written};

/// Maximum number of files whose bytes may be on their way to the disk.
const UNSYNCED_MAX: usize = 8;
/// The only run of the database.
const RUN: u64 = 1;

/// How the files of a database are written.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// How its tables are written. Each is synced as soon as it is finished, whatever this states.
    pub output: OutputSettings,
    /// Length at which a value file is closed.
    pub value_file_bytes: u64,
    /// Maximum size of the keys and references in one edit of the manifest.
    pub edit_bytes: usize,
}

/// Writes the entries of a database in order.
#[derive(Debug)]
pub struct DatabaseWriter<'a> {
    dir: &'a dyn Dir,
    next_file: &'a AtomicU64,
    settings: &'a DatabaseSettings,
    output: Output<'a>,
    /// Order of the current section.
    order: Order,
    value_file: Option<ValueWriter>,
    files: DatabaseFiles,
    unsynced: VecDeque<Arc<dyn FileSync>>,
    /// Names of the files that were begun, for their removal after a failure.
    begun: Vec<String>,
}

impl<'a> DatabaseWriter<'a> {
    /// Returns a writer of files in `dir` whose numbers are counted from `next_file`.
    pub fn new(
        dir: &'a dyn Dir,
        next_file: &'a AtomicU64,
        settings: &'a DatabaseSettings,
    ) -> DatabaseWriter<'a> {
        DatabaseWriter {
            dir,
            next_file,
            settings,
            output: begin_section(dir, next_file, settings.output.clone()),
            order: settings.output.order.clone(),
            value_file: None,
            files: DatabaseFiles::default(),
            unsynced: VecDeque::new(),
            begun: Vec::new(),
        }
    }

    /// Ends the section; the entries that follow are of a later one and are written as `output`
    /// states.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn enter(&mut self, output: OutputSettings) -> Result<()> {
        self.output.finish_table()?;
        self.take_tables()?;
        self.order = output.order.clone();
        self.output = begin_section(self.dir, self.next_file, output);
        Ok(())
    }

    /// Appends an entry; see [`Output::add`]. A large value goes to a value file.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn add(
        &mut self,
        new_key: bool,
        key: &[u8],
        seq: SeqNo,
        kind: Kind,
        value: &[u8],
    ) -> Result<()> {
        if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
            let pointer = self.append_value(key, value)?;
            let pointer = ValueIn::Raw(&pointer);
            self.output
                .add(new_key, key, seq, Kind::Pointer, &pointer)?;
        } else {
            self.output
                .add(new_key, key, seq, kind, &ValueIn::Raw(value))?;
        }
        self.take_tables()
    }

    /// Takes the finished tables, which are being synced, and waits for older files.
    fn take_tables(&mut self) -> Result<()> {
        if !self.output.has_finished() {
            return Ok(());
        }
        for Written { mut record, sync } in self.output.take_finished() {
            self.begun.push(name::table(FileNumber(record.file)));
            record.run = RUN;
            self.files.tables.push(record);
            self.unsynced.push_back(sync);
        }
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
        let full = self.settings.value_file_bytes;
        if (self.value_file.as_ref()).is_some_and(|writer| writer.bytes() >= full) {
            self.end_value_file()?;
        }
        let writer = match &mut self.value_file {
            Some(writer) => writer,
            None => {
                self.value_file
                    .insert(begin_value_file(self.dir, self.next_file, &mut self.begun)?)
            }
        };
        let hash = self.order.hash(key);
        Ok(writer.append(hash, &[value])?.encode().to_vec())
    }

    /// Closes the open value file; its length becomes part of the manifest.
    fn end_value_file(&mut self) -> Result<()> {
        let Some(writer) = self.value_file.take() else {
            return Ok(());
        };
        self.files.values.push((writer.number().0, writer.bytes()));
        let sync = writer.syncer();
        sync.begin();
        self.unsynced.push_back(sync);
        self.sync_all(UNSYNCED_MAX)
    }

    /// Finishes and syncs all files, and returns them. Their names are not durable yet.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn finish(&mut self) -> Result<DatabaseFiles> {
        self.output.finish_table()?;
        self.take_tables()?;
        self.end_value_file()?;
        self.sync_all(0)?;
        Ok(std::mem::take(&mut self.files))
    }

    /// Returns the names of all files that were begun, for their removal after a failure.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.output.names();
        names.extend_from_slice(&self.begun);
        names
    }
}

fn begin_section<'a>(
    dir: &'a dyn Dir,
    next_file: &'a AtomicU64,
    output: OutputSettings,
) -> Output<'a> {
    let output = OutputSettings {
        begin_syncs: true,
        ..output
    };
    Output::from_parts(dir, next_file, output, OutputParts::default())
}

fn begin_value_file(
    dir: &dyn Dir,
    next_file: &AtomicU64,
    begun: &mut Vec<String>,
) -> Result<ValueWriter> {
    let (_, writer) = create_unused(
        || next_file.fetch_add(1, Ordering::Relaxed),
        |number| {
            let created = ValueWriter::create(dir, number);
            if !created.as_ref().is_err_and(is_taken) {
                begun.push(name::value(number));
            }
            created
        },
    )?;
    Ok(writer)
}

/// The files of a database.
#[derive(Clone, Debug, Default)]
pub struct DatabaseFiles {
    /// Tables, ordered by section, then by key.
    pub tables: Vec<TableRecord>,
    /// Numbers and lengths of the value files.
    pub values: Vec<(u64, u64)>,
}

impl DatabaseFiles {
    /// Returns the length of all files.
    pub fn bytes(&self) -> u64 {
        let tables = self.tables.iter().map(|table| table.bytes);
        tables
            .chain(self.values.iter().map(|(_, bytes)| *bytes))
            .sum()
    }

    /// Returns the edit that describes a cleanly closed database of these files. The next file
    /// number is missing in it.
    pub fn edit(&self, comparator: &str, last_seq: SeqNo) -> VersionEdit {
        let has_run = !self.tables.is_empty();
        VersionEdit {
            comparator: Some(comparator.to_owned()),
            last_seq: Some(last_seq),
            added_tables: self.tables.clone(),
            runs: Some(if has_run { vec![RUN] } else { Vec::new() }),
            added_values: self.values.iter().map(|(number, _)| *number).collect(),
            value_sizes: self.values.clone(),
            clean_close: Some(CleanClose {
                last_seq,
                log_ends: Vec::new(),
            }),
            ..VersionEdit::default()
        }
    }
}
