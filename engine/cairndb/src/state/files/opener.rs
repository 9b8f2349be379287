//! Opens the tables and value files of a database: mapped, or read through the page cache.

use std::sync::Arc;

use cairndb_base::{Error, FileNumber, PageCache, Result};
use cairndb_env::ReadFile;
use cairndb_files::Dictionaries;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::{PageAccess, Table};

use crate::state::files::mapping::Mapping;
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
    /// Returns an opener of files in `dir` that maps as much as half of `memory`.
    pub(crate) fn of(dir: Arc<dyn cairndb_env::Dir>, memory: u64) -> Arc<TableOpener> {
        let env = cairndb_env::MemEnv::new(cairndb_env::Background::Stepped);
        env.set_memory_bytes(memory);
        let env: Arc<dyn cairndb_env::Env> = env;
        Arc::new(TableOpener {
            files: OpenFiles::new(dir, 8, false),
            orders: Orders::default(),
            cache: Arc::new(cairndb_mem::ClockCache::new(1 << 10)),
            mapping: Mapping::new(&env, None, true),
            verify_always: false,
            reaper: Arc::default(),
            dictionaries: Arc::default(),
        })
    }
}
