//! Sorts the entries of the log: runs that fit into the memory budget are written as temporary
//! tables, one for each section, which the merge reads next to the tables of the source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_files::create_unused;
use cairndb_format::name;
use cairndb_format::table::{
    BoundLimits, Compression, PageAccess, Table, TableBuilder, TableOptions, ValueIn,
};

use crate::keyspaces::Keyspaces;

/// Memory of an entry in addition to its bytes.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// An entry in memory; its key and value are consecutive in the buffer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    section: u8,
    seq: SeqNo,
    kind: Kind,
    start: usize,
    key_end: usize,
    end: usize,
}

/// Sorted runs of log entries.
pub(crate) struct Runs {
    dir: Arc<dyn Dir>,
    keyspaces: Arc<Keyspaces>,
    next_file: Arc<AtomicU64>,
    bytes_max: usize,
    buffer: Vec<u8>,
    entries: Vec<Entry>,
    /// Each with its section.
    written: Vec<(u8, Arc<Table>)>,
}

impl Runs {
    /// Returns no runs. They will be files of `dir`, and take up to `bytes_max` bytes of memory
    /// before they are written.
    pub(crate) fn new(
        dir: &Arc<dyn Dir>,
        keyspaces: &Arc<Keyspaces>,
        next_file: &Arc<AtomicU64>,
        bytes_max: usize,
    ) -> Runs {
        Runs {
            dir: Arc::clone(dir),
            keyspaces: Arc::clone(keyspaces),
            next_file: Arc::clone(next_file),
            bytes_max,
            buffer: Vec::new(),
            entries: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Returns the keyspaces of the source.
    pub(crate) fn keyspaces(&self) -> &Keyspaces {
        &self.keyspaces
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The errors of writing a run.
    pub(crate) fn add(
        &mut self,
        section: u8,
        key: &[u8],
        seq: SeqNo,
        kind: Kind,
        value: &[u8],
    ) -> Result<()> {
        let more = key.len() + value.len() + ENTRY_BYTES;
        let taken = self.buffer.len() + self.entries.len() * ENTRY_BYTES;
        if taken + more > self.bytes_max && !self.entries.is_empty() {
            self.write()?;
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(key);
        let key_end = self.buffer.len();
        self.buffer.extend_from_slice(value);
        self.entries.push(Entry {
            section,
            seq,
            kind,
            start,
            key_end,
            end: self.buffer.len(),
        });
        Ok(())
    }

    /// Writes the entries in memory as a run.
    fn write(&mut self) -> Result<()> {
        let (buffer, keyspaces) = (&self.buffer, &self.keyspaces);
        let key = |entry: &Entry| &buffer[entry.start..entry.key_end];
        let keys = |a: &Entry, b: &Entry| {
            let sections = a.section.cmp(&b.section);
            sections.then_with(|| keyspaces.order(a.section).compare(key(a), key(b)))
        };
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|a, b| keys(a, b).then_with(|| b.seq.cmp(&a.seq)));
        // Two records of the same number: the first one read stays.
        entries.dedup_by(|b, a| a.seq == b.seq && keys(a, b).is_eq());
        for entries in entries.chunk_by(|a, b| a.section == b.section) {
            let table = self.write_table(entries)?;
            self.written.push((entries[0].section, table));
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes sorted entries of one section.
    fn write_table(&self, entries: &[Entry]) -> Result<Arc<Table>> {
        let section = entries[0].section;
        let order = self.keyspaces.order(section);
        let (number, file) = create_unused(
            || self.next_file.fetch_add(1, Ordering::Relaxed),
            |number| self.dir.create(&name::table(number)),
        )?;
        let options = TableOptions {
            order: order.clone(),
            compression: Compression::None,
            filter_bits_per_key: 0,
            section,
            ..TableOptions::new(number)
        };
        let mut builder = TableBuilder::new(file, options);
        for entry in entries {
            let key = &self.buffer[entry.start..entry.key_end];
            let value = ValueIn::Raw(&self.buffer[entry.key_end..entry.end]);
            builder.add(key, entry.seq, entry.kind, value)?;
        }
        let checksum = builder.finish(&BoundLimits::default())?.checksum;
        let file = self.dir.open_read(&name::table(number))?;
        let access = PageAccess::Mapped(None);
        Ok(Arc::new(Table::open(
            file, number, order, access, checksum,
        )?))
    }

    /// Returns all runs, each with its section.
    ///
    /// # Errors
    /// The errors of writing the last run.
    pub(crate) fn finish(&mut self) -> Result<&[(u8, Arc<Table>)]> {
        if !self.entries.is_empty() {
            self.write()?;
        }
        self.buffer = Vec::new();
        self.entries = Vec::new();
        Ok(&self.written)
    }

    /// Returns the names of the runs' files, to be removed once they have been read.
    pub(crate) fn names(&self) -> Vec<String> {
        let numbers = self.written.iter().map(|(_, table)| table.file());
        numbers.map(name::table).collect()
    }
}
