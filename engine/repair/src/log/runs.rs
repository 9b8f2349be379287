//! Sorts the entries of the log: runs that fit into the memory budget are written as temporary
//! tables, which the merge reads next to the tables of the source.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_files::create_unused;
use cairndb_format::name;
use cairndb_format::table::{
    BoundLimits, Compression, PageAccess, Table, TableBuilder, TableOptions, ValueIn,
};

/// Memory of an entry in addition to its bytes.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// An entry in memory; its key and value are consecutive in the buffer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    seq: SeqNo,
    kind: Kind,
    start: usize,
    key_end: usize,
    end: usize,
}

/// Sorted runs of log entries.
pub(crate) struct Runs {
    dir: Arc<dyn Dir>,
    order: Order,
    next_file: Arc<AtomicU64>,
    bytes_max: usize,
    buffer: Vec<u8>,
    entries: Vec<Entry>,
    written: Vec<Arc<Table>>,
}

impl Runs {
    /// Returns no runs. They will be files of `dir`, and take up to `bytes_max` bytes of memory
    /// before they are written.
    pub(crate) fn new(
        dir: &Arc<dyn Dir>,
        order: &Order,
        next_file: &Arc<AtomicU64>,
        bytes_max: usize,
    ) -> Runs {
        Runs {
            dir: Arc::clone(dir),
            order: order.clone(),
            next_file: Arc::clone(next_file),
            bytes_max,
            buffer: Vec::new(),
            entries: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The errors of writing a run.
    pub(crate) fn add(&mut self, key: &[u8], seq: SeqNo, kind: Kind, value: &[u8]) -> Result<()> {
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
        let (buffer, order) = (&self.buffer, &self.order);
        let key = |entry: &Entry| &buffer[entry.start..entry.key_end];
        self.entries.sort_by(|a, b| {
            let keys = order.compare(key(a), key(b));
            keys.then_with(|| b.seq.cmp(&a.seq))
        });
        // Two records of the same number: the first one read stays.
        self.entries
            .dedup_by(|b, a| a.seq == b.seq && order.compare(key(a), key(b)).is_eq());
        let (number, file) = create_unused(
            || self.next_file.fetch_add(1, Ordering::Relaxed),
            |number| self.dir.create(&name::table(number)),
        )?;
        let options = TableOptions {
            order: order.clone(),
            compression: Compression::None,
            filter_bits_per_key: 0,
            ..TableOptions::new(number)
        };
        let mut builder = TableBuilder::new(file, options);
        for entry in &self.entries {
            let value = ValueIn::Raw(&buffer[entry.key_end..entry.end]);
            builder.add(key(entry), entry.seq, entry.kind, value)?;
        }
        let checksum = builder.finish(&BoundLimits::default())?.checksum;
        self.buffer.clear();
        self.entries.clear();
        let file = self.dir.open_read(&name::table(number))?;
        let access = PageAccess::Mapped(None);
        let table = Table::open(file, number, &self.order, access, checksum)?;
        self.written.push(Arc::new(table));
        Ok(())
    }

    /// Returns all runs.
    ///
    /// # Errors
    /// The errors of writing the last run.
    pub(crate) fn finish(&mut self) -> Result<&[Arc<Table>]> {
        if !self.entries.is_empty() {
            self.write()?;
        }
        self.buffer = Vec::new();
        self.entries = Vec::new();
        Ok(&self.written)
    }

    /// Returns the names of the runs' files, to be removed once they have been read.
    pub(crate) fn names(&self) -> Vec<String> {
        let numbers = self.written.iter().map(|table| FileNumber(table.file().0));
        numbers.map(name::table).collect()
    }
}
