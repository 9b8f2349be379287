//! Output of a job: writes a stream of entries to table files that are cut at a target size, never
//! within the versions of a key.
//!
//! Flush, compaction and recovery all write through here. Files are written but not synced; the
//! outcome carries the handles to sync them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::limits::KEYSPACE_BYTES;
use cairndb_base::{FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::{Dir, FileSync};
use cairndb_format::manifest::{KeyspaceRecord, TableRecord};
use cairndb_format::name;
use cairndb_format::table::{
    BoundLimits, Compression, TableBuilder, TableOptions, ValueIn, are_separable,
};
use cairndb_format::value_file::{CODEC_RAW, Pointer};

use crate::dictionaries::Dictionaries;
use crate::guard::guarded;
use crate::new_files::create_unused;

/// Copies large values elsewhere while the pointers to them are rewritten.
pub trait Relocate: Debug + Send + Sync {
    /// Returns the pointer to write instead of `pointer`, the one of `key`.
    ///
    /// # Errors
    /// Errors of writing a copy.
    fn follow(&self, order: &Order, key: &[u8], pointer: Pointer) -> Result<Pointer>;
    /// Returns the weight of the values copied since the last call, as a number of entries.
    fn take_weight(&self) -> u64;
    /// Returns the number of stored bytes of the values copied since the last call, by their former
    /// file.
    fn dead(&self) -> BTreeMap<u64, u64>;
}

/// How the tables of a keyspace are written. Keyspaces of different classes share no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableClass {
    /// Compression of the values.
    pub compression: Compression,
    /// Magnitude of the values' lengths; 0 if it is unknown.
    pub size: u32,
}

impl TableClass {
    /// Returns the class of the keyspace that `record` describes, or of an unknown one, if `usual`
    /// is how tables compress otherwise.
    pub fn of(record: Option<&KeyspaceRecord>, usual: Compression) -> TableClass {
        let compression = match record.and_then(|record| record.compression) {
            Some(0) => Compression::None,
            Some(1) if usual == Compression::None => Compression::Adaptive,
            _ => usual,
        };
        TableClass {
            compression,
            // Values of a size within a factor of four share tables.
            size: record
                .and_then(|record| record.value_bytes)
                .map_or(0, |bytes| 1 + (bytes.max(1).ilog2() / 2)),
        }
    }
}

/// The classes of keyspaces.
pub trait TableClasses: Debug + Send + Sync {
    /// Returns the class of the keyspace to which the stored key belongs, if `usual` is how tables
    /// compress otherwise.
    fn class_of(&self, stored: &[u8], usual: Compression) -> TableClass;
}

/// Settings for writing tables.
#[derive(Clone, Debug)]
pub struct OutputSettings {
    /// Order of the keys.
    pub order: Order,
    /// Section of the keys, see [`TableRecord::section`].
    pub section: u8,
    /// Compression of the values.
    pub compression: Compression,
    /// Classes of the keyspaces; `None` in the default section.
    pub classes: Option<Arc<dyn TableClasses>>,
    /// Filter bits per key; 0 for no filter.
    pub filter_bits_per_key: u32,
    /// Length at which a table ends.
    pub table_bytes: u64,
    /// Dictionaries that the tables share.
    pub dictionaries: Arc<Dictionaries>,
    /// Whether each table is written to the disk as soon as it is finished, because a caller waits
    /// until all are durable.
    pub begin_syncs: bool,
    /// Relocation of values to another value file.
    pub relocation: Option<Arc<dyn Relocate>>,
}

/// Minimum number of bytes counted per entry. A builder keeps four bytes of filter hash per entry,
/// so a table of tombstones, five bytes each, would hold far more hashes than its size suggests.
/// Tables are cut where entries of 32 bytes would have filled them.
const ENTRY_BYTES_MIN: u64 = 32;
/// Number of tables that one may grow to while short bounds do not separate its last key from the
/// next, and the length at which it ends in any case: below that up to which a full disk can be
/// freed by rewriting tables.
const JOINED_TABLES_MAX: u64 = 32;
const JOINED_BYTES_MAX: u64 = 32 << 20;

impl OutputSettings {
    /// Returns whether the table ends before `next`. If its bounds would be long, a full table
    /// takes more, up to a limit.
    fn ends_before(&self, builder: &TableBuilder, next: &[u8]) -> bool {
        let is_full = |bytes| {
            builder.bytes_estimate() >= bytes || builder.entries() >= bytes / ENTRY_BYTES_MIN
        };
        if !is_full(self.table_bytes) {
            return false;
        }
        let longest = (self.table_bytes.saturating_mul(JOINED_TABLES_MAX)).min(JOINED_BYTES_MAX);
        let separable = |last| !self.order.is_bytewise() || are_separable(last, next);
        builder.last_key().is_some_and(separable) || is_full(longest.max(self.table_bytes))
    }
}

/// One finished, unsynced table.
#[derive(Debug)]
pub struct Written {
    /// Its description for the manifest, with the run 0.
    pub record: TableRecord,
    /// Syncs its bytes.
    pub sync: Arc<dyn FileSync>,
}

#[derive(Debug)]
struct Open {
    number: u64,
    builder: TableBuilder,
    sync: Arc<dyn FileSync>,
    /// Whether one of its pointers refers to an encoded value.
    large_encoded: bool,
    /// Number of pages at the last call of `has_grown`.
    pages: u32,
}

impl Open {
    /// Returns whether pages were written since the last call. Only then can the table have become
    /// full. Rejected: this check for each entry, because it was slower.
    #[inline]
    fn has_grown(&mut self) -> bool {
        let before = std::mem::replace(&mut self.pages, self.builder.pages());
        before != self.pages
    }

    /// Appends a pointer, or the pointer to a copy if its value must be relocated.
    #[cold]
    fn add_pointer(
        &mut self,
        settings: &OutputSettings,
        key: &[u8],
        seq: SeqNo,
        pointer: Pointer,
    ) -> Result<()> {
        let pointer = match &settings.relocation {
            Some(relocation) => relocation.follow(&settings.order, key, pointer)?,
            None => pointer,
        };
        self.large_encoded |= pointer.codec != CODEC_RAW;
        let encoded = ValueIn::Raw(&pointer.encode());
        self.builder.add(key, seq, Kind::Pointer, encoded)
    }
}

/// Writes entries in order to as many tables as they need.
#[derive(Debug)]
pub struct Output<'a> {
    dir: &'a dyn Dir,
    next_file: &'a AtomicU64,
    settings: OutputSettings,
    open: Option<Open>,
    written: Vec<Written>,
    limits: BoundLimits,
    current: Option<CurrentKeyspace>,
}

/// The keyspace of the last key.
#[derive(Clone, Copy, Debug)]
struct CurrentKeyspace {
    prefix: [u8; KEYSPACE_BYTES],
    class: TableClass,
}

impl<'a> Output<'a> {
    /// Appends an entry. `new_key` means that the key differs from the last one, so a file may be
    /// cut before it.
    ///
    /// # Errors
    /// The errors of writing a table.
    #[inline]
    pub fn add(
        &mut self,
        new_key: bool,
        key: &[u8],
        seq: SeqNo,
        kind: Kind,
        value: &ValueIn<'_>,
    ) -> Result<()> {
        if new_key && self.settings.classes.is_some() {
            self.enter_keyspace(key)?;
        }
        if new_key
            && let Some(open) = &mut self.open
            && open.has_grown()
            && self.settings.ends_before(&open.builder, key)
        {
            self.cut_before(key)?;
        }
        if self.open.is_none() {
            self.begin_table()?;
        }
        let Some(open) = &mut self.open else {
            unreachable!("a table was started above");
        };
        // 0 means that a key has no other version here. A version that an earlier compaction wrote
        // with 0 is now below a newer one; 1 is as old as any compared number.
        let seq = if new_key { seq } else { seq.max(1) };
        if kind == Kind::Pointer
            && let Ok(pointer) = Pointer::decode(value.bytes())
        {
            return open.add_pointer(&self.settings, key, seq, pointer);
        }
        open.builder.add(key, seq, kind, *value)
    }

    /// Ends the table before the first key of a keyspace of another class.
    fn enter_keyspace(&mut self, key: &[u8]) -> Result<()> {
        let Some(prefix) = key.first_chunk() else {
            return Ok(());
        };
        if self.current.is_some_and(|it| it.prefix == *prefix) {
            return Ok(());
        }
        let Some(classes) = &self.settings.classes else {
            return Ok(());
        };
        let class = classes.class_of(key, self.settings.compression);
        let before = self.current.replace(CurrentKeyspace {
            prefix: *prefix,
            class,
        });
        if self.open.is_some() && before.is_some_and(|before| before.class != class) {
            self.cut_before(key)?;
        }
        Ok(())
    }

    /// Returns the weight of the large values copied since the last call, as a number of entries.
    pub fn take_weight(&self) -> u64 {
        let relocation = self.settings.relocation.as_ref();
        relocation.map_or(0, |relocation| relocation.take_weight())
    }

    fn begin_table(&mut self) -> Result<()> {
        let (number, file) = create_unused(
            || self.next_file.fetch_add(1, Ordering::Relaxed),
            |number| self.dir.create(&name::table(number)),
        )?;
        let sync = file.syncer();
        let options = TableOptions {
            order: self.settings.order.clone(),
            compression: self
                .current
                .map_or(self.settings.compression, |it| it.class.compression),
            filter_bits_per_key: self.settings.filter_bits_per_key,
            file: number,
            dictionary: self.settings.dictionaries.latest(),
            section: self.settings.section,
        };
        let builder = TableBuilder::new(file, options);
        self.open = Some(Open {
            number: number.0,
            builder,
            sync,
            large_encoded: false,
            pages: 0,
        });
        Ok(())
    }

    /// Finishes the table before one that begins with `next`.
    #[cold]
    fn cut_before(&mut self, next: &[u8]) -> Result<()> {
        let end = self.limits.before.replace(next.to_vec());
        let finished = self.finish_table();
        self.limits.before = end;
        finished
    }

    pub(crate) fn finish_table(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let made = open.builder.trained().cloned();
        let deferred = open.builder.is_deferred();
        let hidden = open.builder.hidden();
        // The comparator runs here; a custom one may panic.
        let summary = guarded(|| open.builder.finish(&self.limits)).inspect_err(|_| {
            // This file has no record, so it is no longer among the files that are removed after a
            // failure.
            let _ = self.dir.unlink(&name::table(FileNumber(open.number)));
        })?;
        if let Some(made) = made {
            self.settings.dictionaries.note_made(&made);
        }
        let record = TableRecord {
            file: open.number,
            run: 0,
            section: summary.section,
            smallest: summary.smallest,
            largest: summary.largest,
            seq_min: summary.seq_min,
            seq_max: summary.seq_max,
            entries: summary.entries,
            deletes: summary.deletes,
            bytes: summary.bytes,
            raw_bytes: summary.raw_bytes,
            checksum: summary.checksum,
            value_refs: summary.value_refs,
            deferred,
            large_encoded: open.large_encoded,
            hidden,
            loose_bounds: summary.loose_bounds,
            ranges_applied: 0,
            seq_limit: None,
        };
        self.limits.after = Some(record.largest.clone());
        assert!(record.entries > 0, "a table holds at least one entry");
        if self.settings.begin_syncs {
            open.sync.begin();
        }
        self.written.push(Written {
            record,
            sync: open.sync,
        });
        Ok(())
    }

    /// Returns whether tables were finished since the last call of `take_finished`.
    #[inline]
    pub fn has_finished(&self) -> bool {
        !self.written.is_empty()
    }

    /// Takes the tables finished so far, in key order, so that their descriptors can be closed.
    pub fn take_finished(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// Finishes the last table, and returns all tables in key order that were not taken.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn finish(mut self) -> Result<Vec<Written>> {
        self.finish_table()?;
        Ok(self.take_finished())
    }

    /// Returns the names of all created files, for their removal after a failure.
    pub fn names(&self) -> Vec<String> {
        let open = self.open.as_ref().map(|open| open.number);
        let finished = self.written.iter().map(|written| written.record.file);
        finished
            .chain(open)
            .map(|file| name::table(FileNumber(file)))
            .collect()
    }

    /// Suspends the output, so that a stepped job holds no borrow between steps.
    pub fn into_parts(self) -> OutputParts {
        OutputParts {
            open: self.open,
            written: self.written,
            limits: self.limits,
            current: self.current,
        }
    }

    /// Continues a suspended output.
    pub fn from_parts(
        dir: &'a dyn Dir,
        next_file: &'a AtomicU64,
        settings: OutputSettings,
        parts: OutputParts,
    ) -> Output<'a> {
        let OutputParts {
            open,
            written,
            limits,
            current,
        } = parts;
        Output {
            dir,
            next_file,
            settings,
            open,
            written,
            limits,
            current,
        }
    }
}

/// A suspended [`Output`].
#[derive(Debug, Default)]
pub struct OutputParts {
    open: Option<Open>,
    written: Vec<Written>,
    /// Keys that the bounds of its tables must not pass.
    limits: BoundLimits,
    current: Option<CurrentKeyspace>,
}

impl OutputParts {
    /// Returns an output without tables yet.
    pub fn within(limits: BoundLimits) -> OutputParts {
        OutputParts {
            limits,
            ..OutputParts::default()
        }
    }
}
