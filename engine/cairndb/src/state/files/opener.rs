//! Opens the tables and value files of a database: mapped, or read through the page cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, FileNumber, PageCache, Result};
use cairndb_env::ReadFile;
use cairndb_files::Dictionaries;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::{PageAccess, Table};

use crate::state::files::open_files::OpenFiles;
use crate::state::files::reaper::Reaper;
use crate::state::sections::{Orders, Section};

/// Everything needed to open a table besides its record.
#[derive(Debug)]
pub(crate) struct TableOpener {
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) orders: Orders,
    pub(crate) cache: Arc<dyn PageCache>,
    pub(crate) mapping: Mapping,
    pub(crate) verify_always: bool,
    pub(crate) reaper: Arc<Reaper>,
    pub(crate) dictionaries: Arc<Dictionaries>,
}

/// Policy that decides which tables and value files are mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// User's setting, which takes precedence.
    pub(crate) forced: Option<bool>,
    /// Whether the directory is on a local file system.
    pub(crate) local: bool,
    /// Maximum data size that the operating system's page cache can hold. Above it, faults on
    /// mapped pages would be slower and block more than `pread`.
    pub(crate) bytes_max: u64,
    /// Total size of all current tables.
    pub(crate) bytes: AtomicU64,
    /// Total size of mapped value files, including mappings that only borrowed values keep. It does
    /// not count against tables: mapping saves more for a page than for a value, which is read
    /// whole either way.
    pub(crate) value_bytes: Arc<AtomicU64>,
}

impl Mapping {
    /// Returns whether a table should be mapped if it is opened now.
    pub(crate) fn wanted(&self) -> bool {
        let fits = self.bytes.load(Ordering::Relaxed) <= self.bytes_max;
        self.forced.unwrap_or(self.local && fits)
    }

    /// Returns whether another `bytes` of a value file should be mapped, and if so counts them.
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
    /// `Corruption`, including when the length of the file differs from its record; `Io`.
    pub(crate) fn open(&self, record: &TableRecord) -> Result<Arc<Table>> {
        let file = self.files.open(name::table(FileNumber(record.file)))?;
        if file.size() != record.bytes {
            return Err(
                Error::corruption("the length of a table file differs from the manifest")
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
        let order = &self.orders[Section::of_table(record.section)];
        let mut table = Table::open(source, number, order, access, record.checksum)?;
        table.check_section(record.section)?;
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

#[cfg(test)]
impl TableOpener {
    /// Returns an opener of files in `dir` that maps at most so many bytes.
    pub(crate) fn of(dir: Arc<dyn cairndb_env::Dir>, bytes_max: u64) -> Arc<TableOpener> {
        Arc::new(TableOpener {
            files: OpenFiles::new(dir, 8, false),
            orders: Orders::default(),
            cache: Arc::new(cairndb_mem::ClockCache::new(1 << 10)),
            mapping: Mapping {
                forced: None,
                local: true,
                bytes_max,
                bytes: AtomicU64::new(0),
                value_bytes: Arc::default(),
            },
            verify_always: false,
            reaper: Arc::default(),
            dictionaries: Arc::default(),
        })
    }
}
