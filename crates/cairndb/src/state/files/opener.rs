//! Opens the tables and value files of a database: mapped, or read through the page cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, FileNumber, Order, PageCache, Result};
use cairndb_env::ReadFile;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::{PageAccess, Table};

use crate::state::files::dictionaries::Dictionaries;
use crate::state::files::open_files::OpenFiles;
use crate::state::files::reaper::Reaper;

/// What opening a table needs besides its record.
#[derive(Debug)]
pub(crate) struct TableOpener {
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) order: Order,
    pub(crate) cache: Arc<dyn PageCache>,
    pub(crate) mapping: Mapping,
    pub(crate) verify_always: bool,
    pub(crate) reaper: Arc<Reaper>,
    pub(crate) dictionaries: Arc<Dictionaries>,
}

/// Policy that decides which tables and value files are mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The user's setting, which takes precedence.
    pub(crate) forced: Option<bool>,
    /// Whether the directory is on a local file system.
    pub(crate) local: bool,
    /// Largest data size that the operating system's page cache can hold. Beyond it, faults on
    /// mapped pages would be slower and block more than `pread`.
    pub(crate) bytes_max: u64,
    /// Bytes of all current tables.
    pub(crate) bytes: AtomicU64,
    /// Bytes of mapped value files, including mappings that only borrowed values keep. They do not
    /// count against tables: a mapped page saves more than a mapped value, which is read whole
    /// either way.
    pub(crate) value_bytes: Arc<AtomicU64>,
}

impl Mapping {
    /// Whether a table that is opened now is mapped.
    pub(crate) fn wanted(&self) -> bool {
        let fits = self.bytes.load(Ordering::Relaxed) <= self.bytes_max;
        self.forced.unwrap_or(self.local && fits)
    }

    /// Whether a value file of `bytes` is mapped; if so, the bytes are counted.
    pub(crate) fn take_values(&self, bytes: u64) -> bool {
        let tables = self.bytes.load(Ordering::Relaxed);
        let take = |mapped: u64| {
            let values = mapped.saturating_add(bytes);
            let fits = values.saturating_add(tables) <= self.bytes_max;
            self.forced.unwrap_or(self.local && fits).then_some(values)
        };
        let value_bytes = &self.value_bytes;
        value_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }
}

impl TableOpener {
    /// Opens a table.
    ///
    /// # Errors
    /// `Corruption`, also if the length of the file differs from its record; `Io`.
    pub(crate) fn open(&self, record: &TableRecord) -> Result<Arc<Table>> {
        let file = self.files.open(name::table(FileNumber(record.file)))?;
        if file.size() != record.bytes {
            return Err(
                Error::corruption("length of a table file differs from the manifest")
                    .file(name::table(FileNumber(record.file)))
                    .offset(file.size().min(record.bytes))
                    .expected(record.bytes)
                    .found(file.size()),
            );
        }
        let access = if self.mapping.wanted() {
            PageAccess::Mapped(Some(Arc::clone(&self.cache)))
        } else {
            PageAccess::Cached(Arc::clone(&self.cache))
        };
        let (number, source) = (FileNumber(record.file), Arc::clone(&file));
        let mut table = Table::open(source, number, &self.order, access, record.checksum)?;
        table.share_dictionary(self.dictionaries.met(table.dictionary()));
        if table.is_mapped() {
            // The mapping outlives the descriptor.
            file.close();
        } else {
            file.keep();
        }
        let table = table.with_deferred(record.deferred);
        Ok(Arc::new(table.verify_always(self.verify_always)))
    }
}
