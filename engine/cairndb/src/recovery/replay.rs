//! Replay: turns the log of a database that was not closed into tables.
//!
//! The end of the log is known before replay starts ([`crate::recovery::log_end`]). Replay reads
//! the segments again, one at a time, and fails if their records differ from the first pass.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, Kind, Result, SEQ_MAX, SeqNo, watch};
use cairndb_env::Dir;
use cairndb_format::batch::{self, Entry};
use cairndb_format::log::{HEADER_BYTES, Record, SegmentReader, Step};
use cairndb_format::manifest::TableRecord;
use cairndb_format::value_file::Pointer;
use cairndb_mem::Memtable;

use crate::jobs::inputs::Inputs;
use crate::jobs::job::{Job, Outcome};
use crate::jobs::rules::{JobRanges, Rules};
use crate::log::commit::MemtableValues;
use crate::read::source::MergeSource;
use crate::recovery::live_log::{LiveLog, OnDisk};
use crate::recovery::log_end::{LogEnd, locate_error};
use crate::recovery::orphans::ManifestFiles;
use crate::recovery::recovered::Recovered;
use crate::recovery::value_copier::{LargeValues, ValueCopier};
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::keyspaces::{Keyspaces, LiveKeyspaces};
use crate::state::memtables::{MemWriters, Memtables};
use crate::state::ranges::Deleted;
use crate::state::sections::{Section, Sections, StoredKey};
use crate::state::version::{Run, TableHandle};
use crate::versions::engine_state::ImmutableMemtable;
use crate::versions::settings::Settings;

/// A replay in progress.
pub(crate) struct Replay<'a> {
    pub(crate) dir: &'a dyn Dir,
    pub(crate) opener: &'a Arc<TableOpener>,
    pub(crate) settings: &'a Settings,
    pub(crate) contexts: &'a Sections<ReadContext>,
    pub(crate) keyspaces: &'a Arc<Keyspaces>,
    pub(crate) large: &'a LargeValues,
    pub(crate) recovered: &'a mut Recovered,
    /// The tables of the manifest hold everything up to this sequence number.
    pub(crate) durable_seq: SeqNo,
    /// Numbers of the keyspaces that exist.
    pub(crate) live: LiveKeyspaces,
    pub(crate) pending: Replayed,
    /// Salt for the manifests of an attempt that writes several.
    pub(crate) salt: u64,
    pub(crate) manifest_files: &'a mut ManifestFiles,
    /// Number of segments removed so far.
    pub(crate) released: usize,
}

/// Replayed entries that are not yet in tables.
pub(crate) struct Replayed {
    values: ValueCopier,
    mutable: Memtables,
    writers: MemWriters,
    /// Full memtables, oldest first.
    sealed: Vec<Memtables>,
}

impl Replayed {
    /// Returns a state with nothing replayed. Value files are closed at `value_file` bytes.
    pub(crate) fn new(value_file: u64) -> Replayed {
        Replayed {
            values: ValueCopier::new(value_file),
            mutable: Memtables::default(),
            writers: MemWriters::default(),
            sealed: Vec::new(),
        }
    }
}

impl Replay<'_> {
    /// Applies all records before the end of the log.
    ///
    /// # Errors
    /// Errors of reading the log and its values, and of writing tables; `Interrupted`.
    pub(crate) fn run(mut self, log: &LiveLog<'_>, end: &LogEnd) -> Result<()> {
        let end_count = end.ends.len();
        watch::expect(end.ends.iter().sum());
        for (index, end) in end.ends.iter().enumerate() {
            let segment = log.read(index)?;
            self.apply_segment(&segment, *end)?;
            if self.large.stay() && !self.settings.read_only && index + 1 < end_count {
                self.seal()?;
                self.write_out()?;
                self.release_segments(log, index + 1)?;
            }
        }
        self.finish()
    }

    /// Applies the records of `segment` up to `end`.
    fn apply_segment(&mut self, segment: &OnDisk, end: u64) -> Result<()> {
        let mut reached = 0;
        if let Some(header) = &segment.header {
            let mut reader = SegmentReader::new(&segment.bytes, header);
            reached = HEADER_BYTES as u64;
            while let Step::Record(record) = reader.advance() {
                if record.offset >= end {
                    break;
                }
                self.apply(&record)
                    .map_err(|error| locate_error(error, segment, record.offset))?;
                watch::advance(record.end - reached)?;
                reached = record.end;
            }
        }
        if reached == end {
            return Ok(());
        }
        let changed = Error::corruption("the log differs when it is read again");
        Err(locate_error(changed, segment, reached)
            .expected(format_args!("records up to {end}"))
            .found(format_args!("records up to {reached}")))
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        let report = &mut self.recovered.report;
        report.replayed_records += 1;
        // Numbers up to `durable_seq` are in tables, so they were not lost.
        let first = record.seq.saturating_sub(u64::from(record.gap));
        report.unlogged_lost += record.seq.saturating_sub(first.max(self.durable_seq + 1));
        for (seq, entry) in (record.seq..).zip(batch::iter(record.payload)?) {
            let entry = entry?;
            if entry.kind == Kind::Pointer
                && let Ok(pointer) = Pointer::decode(entry.value)
            {
                self.recovered.history.note_values(pointer.file.0);
            }
            // Entries of durable flushes must not be applied again: a merge operand would count
            // twice. Memtables are flushed in order, so the manifest's last sequence number is the
            // boundary.
            if seq > self.durable_seq {
                self.recovered.report.replayed_entries += 1;
                self.apply_entry(seq, &entry)?;
                self.recovered.last_seq = self.recovered.last_seq.max(seq);
            }
        }
        Ok(())
    }

    fn apply_entry(&mut self, seq: SeqNo, entry: &Entry<'_>) -> Result<()> {
        if entry.kind == Kind::TimeMark {
            return Ok(());
        }
        let key = StoredKey::of_entry(entry);
        if !self.keyspaces.keeps_logged(key.keyspace(), &self.live)? {
            return Ok(());
        }
        if entry.kind == Kind::RangeDelete {
            let (order, section) = (&self.contexts[key.section].order, key.section);
            let range = Deleted::new(entry.key, entry.value, seq);
            if !range.reaches(order, entry.key) {
                return Ok(());
            }
            self.insert(seq, Kind::Delete, key, &[])?;
            self.recovered.ranges.get_mut(section).add(order, range);
            return Ok(());
        }
        if entry.kind == Kind::Pointer && !self.settings.read_only {
            let moved = self.move_value(key, entry.value)?;
            return self.insert(seq, entry.kind, key, &moved);
        }
        self.insert(seq, entry.kind, key, entry.value)
    }

    /// Returns the pointer that from now on refers to the large value.
    fn move_value(&mut self, key: StoredKey<'_>, encoded: &[u8]) -> Result<Vec<u8>> {
        let values = &mut self.pending.values;
        if self.large.stay() {
            return values.leave(encoded);
        }
        self.large.note_copy();
        values.take(self.dir, self.recovered, self.opener, key, encoded)
    }

    fn insert(&mut self, seq: SeqNo, kind: Kind, key: StoredKey<'_>, value: &[u8]) -> Result<()> {
        let StoredKey {
            section,
            bytes: key,
        } = key;
        let pending = &self.pending;
        let full = pending.writers.has(section)
            && !pending.mutable.is_empty()
            && !pending.writers.has_room(section, key.len(), value.len());
        if full {
            self.seal()?;
        }
        if !self.pending.writers.has(section) {
            let order = &self.contexts[section].order;
            let capacity = self.settings.budget.memtable;
            let (part, writer) = Memtable::new(order.clone(), Vec::new(), capacity);
            self.pending.mutable.add(section, part);
            self.pending.writers.add(section, writer);
        }
        let writer = self.pending.writers.of(section);
        writer.insert(seq, kind, key, value);
        Ok(())
    }

    fn seal(&mut self) -> Result<()> {
        let pending = &mut self.pending;
        let mutable = std::mem::take(&mut pending.mutable);
        pending.writers = MemWriters::default();
        if !mutable.is_empty() {
            pending.sealed.push(mutable);
        }
        let bytes = pending.sealed.iter().map(Memtables::allocated_bytes);
        let bytes: usize = bytes.sum();
        if bytes >= self.settings.budget.run && !self.settings.read_only {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes the replayed memtables to a run of synced tables.
    fn write_out(&mut self) -> Result<()> {
        let sealed = std::mem::take(&mut self.pending.sealed);
        let mut written = Vec::new();
        for section in Section::ALL {
            let parts = sealed.iter().filter_map(|it| it.part(section).cloned());
            let parts: Vec<Arc<Memtable>> = parts.collect();
            if !parts.is_empty() {
                let outcome = self.write_section(section, &parts)?;
                for (file, dead) in &outcome.dead {
                    self.recovered.add_dead(*file, *dead);
                }
                written.extend(outcome.tables);
            }
        }
        // Everything replayed so far is in tables, or in none because it was deleted.
        self.recovered.version.ranges = self.recovered.ranges.clone();
        if written.is_empty() {
            return Ok(());
        }
        let id = self.recovered.next_run;
        self.recovered.next_run += 1;
        let mut tables = Vec::new();
        for written in written {
            written.sync.sync()?;
            let record = TableRecord {
                run: id,
                ..written.record
            };
            tables.push(Arc::new(TableHandle::new(record, self.opener)));
        }
        let runs = &mut self.recovered.version.runs;
        runs.insert(0, Arc::new(Run::new(id, tables, &self.opener.orders)));
        Ok(())
    }

    /// Writes the memtables of one section to tables. After an error, the sweep of the failed
    /// attempt removes those of earlier sections.
    fn write_section(&mut self, section: Section, parts: &[Arc<Memtable>]) -> Result<Outcome> {
        let (version, shared) = (&self.recovered.version, section != Section::Default);
        let context = &self.contexts[section];
        let rules = Rules {
            snapshots: Vec::new(),
            bottom: version.runs.is_empty(),
            context: context.clone(),
            values: Arc::clone(&version.values),
            end: None,
            live: shared.then(|| Arc::clone(&self.live)),
            drops: self.keyspaces.drops(),
            ranges: JobRanges::new(&[SEQ_MAX], self.recovered.last_seq, |_| {
                self.recovered.ranges[section].clone()
            }),
        };
        let sources = parts.iter().rev();
        let sources = sources
            .map(|part| MergeSource::Mem(part.cursor()))
            .collect();
        let inputs = Inputs::new(sources, context.order.clone());
        let output = self
            .settings
            .output_in(section, &context.order, self.keyspaces);
        let mut job = Job::new(inputs, rules, output);
        let next_file = AtomicU64::new(self.recovered.next_file);
        match job.step(self.dir, &next_file, u64::MAX / 2) {
            Ok(more) => assert!(!more, "an unbounded step finishes its input"),
            Err(error) => {
                job.abandon(self.dir, &next_file);
                return Err(error);
            }
        }
        let outcome = job.finish(self.dir, &next_file)?;
        self.recovered.next_file = next_file.into_inner();
        Ok(outcome)
    }

    fn finish(mut self) -> Result<()> {
        self.seal()?;
        if self.settings.read_only {
            let sealed = std::mem::take(&mut self.pending.sealed);
            self.recovered.sealed = sealed
                .into_iter()
                .map(|mem| ImmutableMemtable {
                    mem,
                    logged: 0,
                    first_segment: None,
                    values: MemtableValues::default(),
                    ranges: Vec::new(),
                    flush: None,
                })
                .collect();
            return Ok(());
        }
        self.write_out()?;
        // Values that were readable but not durable after a kill must be made durable before the
        // log is dropped.
        self.sync_values()?;
        self.dir.sync()?;
        Ok(())
    }

    /// Makes the large values of replayed pointers durable.
    pub(super) fn sync_values(&self) -> Result<()> {
        let values = &self.recovered.version.values;
        self.pending.values.sync(self.dir, values)
    }
}
