//! Tables and value files of a database at a point in time: runs of non-overlapping tables, newest
//! first.
//!
//! A version is immutable. Installing an edit builds the next version, which shares every run that
//! did not change.
//!
//! Invariants:
//! 1. The tables of a run ascend and share no key. [`Version::check`] checks this.
//! 2. Over one key range, the entries of a run are all newer than those of the runs after it. The
//!    order of installation ensures this; it cannot be checked from the bounds of tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use cairndb_base::head::{HEAD_BYTES, behind_prefix, head_behind};
use cairndb_base::{Error, FileNumber, Order, Result, SeqNo};
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_kernel::search;
use cairndb_shared::Pin;

use crate::state::files::mapping::Mapping;
use crate::state::files::value_handle::ValueHandle;
use crate::state::ranges::RangeMap;
use crate::state::sections::{Orders, Section, Sections, StoredKey};

pub(crate) mod census;
pub(crate) mod deleted;
mod table_handle;

pub(crate) use self::table_handle::TableHandle;

/// A sorted sequence of tables that share no key.
///
/// For each table, the run keeps eight bytes of its largest key after the prefix that all keys of
/// the run share. The table for a key is found by reading one or two cache lines, without accessing
/// the tables themselves.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    /// By section, then by key.
    tables: Vec<Arc<TableHandle>>,
    /// The tables of each section, as a run, if there are several sections.
    parts: Vec<Arc<Run>>,
    /// Prefix that all keys share; empty unless the order is bytewise.
    prefix: Vec<u8>,
    /// Head of the largest key of each table, little-endian for the vector search.
    heads: Vec<[u8; HEAD_BYTES]>,
    /// Total size of all table files.
    bytes: u64,
    /// Bytes of the tables whose values are to be encoded later.
    deferred: u64,
    /// Largest sequence number of the tables' entries, as they were written since the database was
    /// opened.
    newest: SeqNo,
    /// Largest number of snapshots older than a table's newest entry when that was written.
    snapshots: usize,
    /// Number of leading tables that were already in the run that this one continues.
    continued: usize,
}

/// Returns the head of a table's last key after `prefix`.
fn head_of_last(table: &TableHandle, prefix: &[u8]) -> [u8; HEAD_BYTES] {
    head_behind(&table.record.largest, prefix.len()).to_le_bytes()
}

impl Run {
    /// Returns a run of `tables`, which may be given in any order.
    pub(crate) fn new(id: u64, mut tables: Vec<Arc<TableHandle>>, orders: &Orders) -> Run {
        tables.sort_by(|a, b| orders.compare(a.smallest(), b.smallest()));
        let several =
            tables.last().map(|last| last.section()) > tables.first().map(|t| t.section());
        let parts = tables.chunk_by(|a, b| several && a.section() == b.section());
        let parts = parts.filter(|_| several);
        let parts = parts.map(|part| Arc::new(Run::new(id, part.to_vec(), orders)));
        let parts = parts.collect();
        let (mut prefix, mut heads) = (Vec::new(), Vec::new());
        if let (false, Some(first), Some(last)) = (several, tables.first(), tables.last())
            && orders[first.section()].is_bytewise()
        {
            let pairs = first.record.smallest.iter().zip(&last.record.largest);
            prefix = pairs.take_while(|(a, b)| a == b).map(|(a, _)| *a).collect();
            // Tables of a damaged manifest may lack the prefix; `Version::check` refuses them.
            let head = |table: &Arc<TableHandle>| head_of_last(table, &prefix);
            heads = tables.iter().map(head).collect();
        }
        Run {
            id,
            bytes: tables.iter().map(|table| table.record.bytes).sum(),
            deferred: tables.iter().map(|table| table.deferred_bytes()).sum(),
            newest: tables.iter().map(|table| table.newest()).max().unwrap_or(0),
            snapshots: tables.iter().map(|it| it.snapshots).max().unwrap_or(0),
            tables,
            parts,
            prefix,
            heads,
            continued: 0,
        }
    }

    /// Returns a copy of this run with `added` after its last table. Existing tables are not
    /// examined. Returns `None` if a table does not belong after the last one, lacks the run's
    /// prefix, or if there are several sections.
    pub(crate) fn appended(
        &self,
        added: impl Iterator<Item = Arc<TableHandle>>,
        orders: &Orders,
    ) -> Option<Run> {
        let mut run = self.clone();
        run.continued = self.tables.len();
        for table in added {
            let last = run.tables.last()?;
            let one_section = run.parts.is_empty() && last.section() == table.section();
            if !one_section || orders.compare(last.largest(), table.smallest()).is_ge() {
                return None;
            }
            if orders[table.section()].is_bytewise() {
                behind_prefix(&table.record.largest, &run.prefix)?;
                run.heads.push(head_of_last(&table, &run.prefix));
            }
            run.bytes += table.record.bytes;
            run.newest = run.newest.max(table.newest());
            run.snapshots = run.snapshots.max(table.snapshots);
            run.deferred += table.deferred_bytes();
            run.tables.push(table);
        }
        Some(run)
    }

    /// Returns a run of some of its tables, for readers of a section with this order.
    pub(crate) fn with_tables(&self, tables: Vec<Arc<TableHandle>>, order: &Order) -> Run {
        Run::new(self.id, tables, &Sections::from_fn(|_| order.clone()))
    }

    /// Returns this run with handles that open their tables again.
    pub(crate) fn unopened(&self) -> Run {
        let tables: Vec<_> = self
            .tables
            .iter()
            .map(|it| Arc::new(it.unopened()))
            .collect();
        let mut rest = tables.as_slice();
        let part = |part: &Arc<Run>| {
            let (own, after) = rest.split_at(part.tables.len());
            rest = after;
            Arc::new(Run {
                tables: own.to_vec(),
                ..(**part).clone()
            })
        };
        Run {
            parts: self.parts.iter().map(part).collect(),
            tables,
            ..self.clone()
        }
    }

    pub(crate) fn tables(&self) -> &[Arc<TableHandle>] {
        &self.tables
    }

    /// Returns its tables of `section` as a run, if there are any.
    pub(crate) fn part(self: &Arc<Run>, section: Section) -> Option<&Arc<Run>> {
        let is_of = |run: &&Arc<Run>| run.tables.first().is_some_and(|t| t.section() == section);
        if self.parts.is_empty() {
            return Some(self).filter(is_of);
        }
        self.parts.iter().find(is_of)
    }

    /// Returns the prefix that all keys of the run share; empty for an order that is not bytewise,
    /// and with several sections.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Checks that tables ascend and share no key, starting with the first appended table.
    fn check(&self, orders: &Orders, continued: usize) -> Result<()> {
        for pair in self.tables[continued.saturating_sub(1)..].windows(2) {
            let (left, right) = (&pair[0], &pair[1]);
            let order = orders.compare(left.largest(), right.smallest());
            // The order within a dropped keyspace may no longer be known.
            let unknown = order.is_eq() && left.largest().bytes != right.smallest().bytes;
            let unknown = unknown && left.section() == Section::Compared;
            if order.is_ge() && !unknown {
                return Err(Error::corruption("tables of one run overlap")
                    .file(name::table(FileNumber(right.record.file))));
            }
        }
        for table in &self.tables[continued..] {
            if orders.compare(table.smallest(), table.largest()).is_gt() {
                return Err(Error::corruption("a table's bounds are in the wrong order")
                    .file(name::table(FileNumber(table.record.file))));
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the largest sequence number of its tables' entries, as they were written since the
    /// database was opened.
    pub(crate) fn newest(&self) -> SeqNo {
        self.newest
    }

    /// Returns the largest number of snapshots that there were older than the newest entry of one
    /// of its tables when that was written.
    pub(crate) fn snapshots(&self) -> usize {
        self.snapshots
    }

    /// Bytes of the tables whose values are to be encoded later.
    pub(crate) fn deferred_bytes(&self) -> u64 {
        self.deferred
    }

    /// Returns the index of the first table whose largest key is not before `key`, in a run of one
    /// section with the given order.
    #[inline]
    pub(crate) fn find(&self, order: &Order, key: &[u8]) -> usize {
        debug_assert!(self.parts.is_empty(), "the run has one section");
        if let Order::Custom(custom) = order {
            return self
                .tables
                .partition_point(|table| custom.compare(&table.record.largest, key).is_lt());
        }
        if behind_prefix(key, &self.prefix).is_none() {
            return if key < self.prefix.as_slice() {
                0
            } else {
                self.tables.len()
            };
        }
        let wanted = head_behind(key, self.prefix.len());
        let heads = self.heads.as_flattened();
        let mut at = search::lower_bound_u64_le(heads, self.heads.len(), wanted);
        let wanted = wanted.to_le_bytes();
        while self.heads.get(at) == Some(&wanted) && self.tables[at].record.largest.as_slice() < key
        {
            at += 1;
        }
        at
    }

    /// Returns the tables that overlap `[smallest, largest]`.
    pub(crate) fn overlapping(
        &self,
        orders: &Orders,
        smallest: StoredKey<'_>,
        largest: StoredKey<'_>,
    ) -> &[Arc<TableHandle>] {
        let before = |table: &Arc<TableHandle>| orders.compare(table.largest(), smallest).is_lt();
        let from = match self.tables.first() {
            Some(first) if self.parts.is_empty() && first.section() == smallest.section => {
                self.find(&orders[smallest.section], smallest.bytes)
            }
            _ => self.tables.partition_point(before),
        };
        let len = self.tables[from..]
            .partition_point(|table| orders.compare(table.smallest(), largest).is_le());
        &self.tables[from..from + len]
    }

    /// Returns the tables that overlap `table`.
    pub(crate) fn overlapping_table(
        &self,
        orders: &Orders,
        table: &TableHandle,
    ) -> &[Arc<TableHandle>] {
        self.overlapping(orders, table.smallest(), table.largest())
    }
}

/// Value files by number.
pub(crate) type Values = BTreeMap<u64, Arc<ValueHandle>>;

/// The runs and value files at a point in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    /// Newest first.
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) values: Arc<Values>,
    /// The deleted ranges that entries of its tables may be in; later ones are in the log.
    pub(crate) ranges: Sections<RangeMap>,
    /// What keeps its files from being removed by the process that writes, in a follower.
    pub(crate) pin: Option<Arc<Pin>>,
}

impl Version {
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableHandle>> {
        self.runs.iter().flat_map(|run| run.tables().iter())
    }

    /// Records that it becomes the newest version. If tables are now to be opened another way,
    /// replaces their handles, so that readers of this version open them again.
    pub(crate) fn becomes_newest(&mut self, mapping: &Mapping) {
        let tables = self.runs.iter().map(|run| run.tables().len() as u64);
        if mapping.note(self.bytes(), tables.sum()) {
            for run in &mut self.runs {
                *run = Arc::new(run.unopened());
            }
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes()).sum()
    }

    /// Returns the largest sequence number of its entries, as they were written since the database
    /// was opened.
    pub(crate) fn newest(&self) -> SeqNo {
        self.runs.iter().map(|run| run.newest()).max().unwrap_or(0)
    }

    /// Returns the value files in `files`.
    pub(crate) fn values_among(&self, files: &BTreeSet<u64>) -> Values {
        let found = |file: &u64| Some((*file, Arc::clone(self.values.get(file)?)));
        files.iter().filter_map(found).collect()
    }

    /// Returns the total size of the tables whose values will be encoded later.
    pub(crate) fn deferred_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.deferred_bytes()).sum()
    }

    /// Returns the runs of `section`.
    pub(crate) fn section(self: &Arc<Version>, section: Section) -> Arc<Version> {
        let mut runs = self.runs.iter();
        if runs.all(|run| run.part(section).is_some_and(|part| Arc::ptr_eq(part, run))) {
            return Arc::clone(self);
        }
        let parts = self.runs.iter().filter_map(|run| run.part(section));
        Arc::new(Version {
            runs: parts.map(Arc::clone).collect(),
            values: Arc::clone(&self.values),
            ranges: Sections::default(),
            pin: self.pin.clone(),
        })
    }

    /// Checks the order of tables within each run.
    pub(crate) fn check(&self, orders: &Orders) -> Result<()> {
        self.runs.iter().try_for_each(|run| run.check(orders, 0))
    }

    /// Returns whether this version has all of the tables `files`.
    pub(crate) fn has_tables(&self, files: &BTreeSet<u64>) -> bool {
        let tables = self.tables().map(|table| table.record.file);
        tables.filter(|file| files.contains(file)).count() == files.len()
    }

    /// Returns whether this version has every value file to which `tables` point.
    pub(crate) fn names_values_of<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t TableRecord>,
    ) -> bool {
        let mut files = tables.into_iter().flat_map(|table| &table.value_refs);
        files.all(|(file, _)| self.values.contains_key(file))
    }

    /// Checks the runs that are new in this version, which was made from `old`, already checked.
    pub(crate) fn check_since(&self, old: &Version, orders: &Orders) -> Result<()> {
        let new = |run: &&Arc<Run>| !old.runs.iter().any(|there| Arc::ptr_eq(there, run));
        let mut runs = self.runs.iter().filter(new);
        runs.try_for_each(|run| run.check(orders, run.continued))
    }
}

#[cfg(test)]
mod tests;
