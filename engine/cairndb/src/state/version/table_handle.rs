//! `TableHandle`: a table of a version.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cairndb_base::{ErrorKind, FileNumber, Result, SEQ_MAX, SeqNo};
use cairndb_env::FileId;
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::{Prefetched, Table};

use crate::state::files::opener::TableOpener;
use crate::state::sections::{Section, StoredKey};

/// One table of a version: its manifest record and its file.
#[derive(Debug)]
pub(crate) struct TableHandle {
    pub(crate) record: TableRecord,
    /// Largest sequence number that its entries had when they were written; 0 for entries from
    /// before the database was opened. The record's number may be smaller, because compactions
    /// rewrite numbers to 0.
    newest: SeqNo,
    /// Number of snapshots older than its newest entry when the table was written; `usize::MAX` if
    /// that was before the database was opened.
    pub(super) snapshots: usize,
    /// Entries with larger sequence numbers do not count.
    limit: SeqNo,
    file: Arc<TableFile>,
    /// The table, once it has been opened. Shared by the handles that open it the same way.
    open: Arc<OnceLock<Arc<Table>>>,
}

/// File of a table, shared by all its handles, and whether the last one deletes it.
#[derive(Debug)]
struct TableFile {
    number: u64,
    bytes: u64,
    opener: Arc<TableOpener>,
    obsolete: AtomicBool,
}

impl TableHandle {
    pub(crate) fn new(record: TableRecord, opener: &Arc<TableOpener>) -> TableHandle {
        let file = Arc::new(TableFile {
            number: record.file,
            bytes: record.bytes,
            opener: Arc::clone(opener),
            obsolete: AtomicBool::new(false),
        });
        TableHandle {
            limit: record.seq_limit.unwrap_or(SEQ_MAX),
            record,
            newest: 0,
            snapshots: usize::MAX,
            file,
            open: Arc::default(),
        }
    }

    /// Returns the largest sequence number whose entries count: the maximum, except in a fork of a
    /// snapshot.
    #[inline]
    pub(crate) fn limit(&self) -> SeqNo {
        self.limit
    }

    /// Returns this handle with what is known of a table just written: the largest sequence number
    /// of its entries, and the number of older snapshots.
    pub(crate) fn written(self, newest: SeqNo, snapshots: usize) -> TableHandle {
        TableHandle {
            newest,
            snapshots,
            ..self
        }
    }

    /// Returns the largest sequence number of its entries, as they were written since the database
    /// was opened.
    pub(crate) fn newest(&self) -> SeqNo {
        self.newest
    }

    /// Returns a handle to the same file with a changed record.
    pub(crate) fn moved(&self, record: TableRecord) -> TableHandle {
        assert_eq!(
            record.file, self.file.number,
            "a moved table keeps its file number"
        );
        TableHandle {
            limit: record.seq_limit.unwrap_or(SEQ_MAX),
            record,
            newest: self.newest,
            snapshots: self.snapshots,
            file: Arc::clone(&self.file),
            open: Arc::clone(&self.open),
        }
    }

    /// Returns a handle to the same file that opens it again.
    pub(super) fn unopened(&self) -> TableHandle {
        TableHandle {
            open: Arc::default(),
            ..self.moved(self.record.clone())
        }
    }

    /// Returns the section of its keys.
    pub(crate) fn section(&self) -> Section {
        Section::of_table(self.record.section)
    }

    /// Returns its lower bound.
    pub(crate) fn smallest(&self) -> StoredKey<'_> {
        StoredKey::bounds_of(&self.record).0
    }

    /// Returns its upper bound.
    pub(crate) fn largest(&self) -> StoredKey<'_> {
        StoredKey::bounds_of(&self.record).1
    }

    /// Returns the open table, opening it first if necessary.
    #[inline]
    pub(crate) fn table(&self) -> Result<&Arc<Table>> {
        match self.open.get() {
            Some(table) => Ok(table),
            None => self.open_now(),
        }
    }

    /// Prefetches the part of the table's filter that a get reads, if the table is open.
    #[inline]
    pub(crate) fn prefetch_filter(&self, hash: u64) {
        if let Some(table) = self.open.get() {
            table.prefetch_filter(hash);
        }
    }

    /// Prefetches or requests the part of the table that a get of this key reads, if the table is
    /// open and the key passes its filter.
    #[inline]
    pub(crate) fn prefetch_page(&self, key: &[u8], hash: u64) -> Prefetched {
        let table = self.open.get();
        table.map_or(Prefetched::Refused, |table| table.prefetch_page(key, hash))
    }

    #[cold]
    fn open_now(&self) -> Result<&Arc<Table>> {
        let table = self.file.opener.open(&self.record)?;
        Ok(self.open.get_or_init(|| table))
    }

    /// Returns the number of heap bytes of the open table.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.open.get().map_or(0, |table| table.memory_bytes())
    }

    /// Returns the length of the file if its values are stored uncompressed and will be encoded
    /// later, otherwise 0.
    pub(super) fn deferred_bytes(&self) -> u64 {
        if self.record.deferred {
            self.record.bytes
        } else {
            0
        }
    }

    /// Returns the size of the filter and fence index, once the table is open.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.open.get().map_or(0, |table| table.index_bytes())
    }

    /// Returns what identifies the file on the system; `None` if the environment cannot tell, or
    /// the file has no name any longer: a follower keeps it open.
    pub(crate) fn file_id(&self) -> Result<Option<FileId>> {
        let dir = &self.file.opener.files.dir;
        let named = name::table(FileNumber(self.file.number));
        match dir.file_id(&named) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            found => found,
        }
    }

    /// Marks the table as no longer named by the durable manifest: its last reader deletes the
    /// file.
    pub(crate) fn mark_obsolete(&self) {
        if !self.file.obsolete.swap(true, Ordering::AcqRel) {
            self.file.opener.reaper.pin(self.file.bytes);
        }
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        let obsolete = self.obsolete.load(Ordering::Acquire);
        if obsolete || self.opener.files.follows {
            self.opener.cache.evict_file(FileNumber(self.number));
        }
        if obsolete {
            let name = name::table(FileNumber(self.number));
            self.opener.reaper.release(name, self.bytes);
        }
    }
}
