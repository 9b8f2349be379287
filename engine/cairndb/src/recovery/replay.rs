//! Replay: turns the log of a database that was not closed into tables.
//!
//! The end of the log is known before replay starts ([`crate::recovery::log_end`]). Replay reads
//! the segments again, one at a time, and fails if their records differ from the first pass.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, Kind, Result, SeqNo, watch};
use cairndb_env::Dir;
use cairndb_format::batch;
use cairndb_format::log::{HEADER_BYTES, Record, SegmentReader, Step};
use cairndb_format::manifest::TableRecord;
use cairndb_mem::{MemWriter, Memtable};

use crate::jobs::inputs::Inputs;
use crate::jobs::job::Job;
use crate::jobs::rules::Rules;
use crate::log::commit::MemtableValues;
use crate::read::source::MergeSource;
use crate::recovery::live_log::{LiveLog, OnDisk};
use crate::recovery::log_end::{LogEnd, locate_error};
use crate::recovery::orphans::ManifestFiles;
use crate::recovery::recovered::Recovered;
use crate::recovery::value_copier::{LargeValues, ValueCopier};
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::version::{Run, TableHandle};
use crate::versions::engine_state::ImmutableMemtable;
use crate::versions::settings::Settings;

/// A replay in progress.
pub(crate) struct Replay<'a> {
    pub(crate) dir: &'a dyn Dir,
    pub(crate) opener: &'a Arc<TableOpener>,
    pub(crate) settings: &'a Settings,
    pub(crate) context: &'a ReadContext,
    pub(crate) large: &'a LargeValues,
    pub(crate) recovered: &'a mut Recovered,
    /// The tables of the manifest hold everything up to this sequence number.
    pub(crate) durable_seq: SeqNo,
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
    part: Option<(Arc<Memtable>, MemWriter)>,
    parts: Vec<Arc<Memtable>>,
}

impl Replayed {
    /// Returns a state with nothing replayed. Value files are closed at `value_file` bytes.
    pub(crate) fn new(value_file: u64) -> Replayed {
        Replayed {
            values: ValueCopier::new(value_file),
            part: None,
            parts: Vec::new(),
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
            // Entries of durable flushes must not be applied again: a merge operand would count
            // twice. Memtables are flushed in order, so the manifest's last sequence number is the
            // boundary.
            if seq > self.durable_seq {
                self.recovered.report.replayed_entries += 1;
                if entry.kind == Kind::Pointer && !self.settings.read_only {
                    let moved = self.move_value(entry.key, entry.value)?;
                    self.insert(seq, entry.kind, entry.key, &moved)?;
                } else {
                    self.insert(seq, entry.kind, entry.key, entry.value)?;
                }
                self.recovered.last_seq = self.recovered.last_seq.max(seq);
            }
        }
        Ok(())
    }

    /// Returns the pointer that from now on refers to the large value.
    fn move_value(&mut self, key: &[u8], encoded: &[u8]) -> Result<Vec<u8>> {
        let values = &mut self.pending.values;
        if self.large.stay() {
            return values.leave(encoded);
        }
        self.large.note_copy();
        values.take(self.dir, self.recovered, self.opener, key, encoded)
    }

    fn insert(&mut self, seq: SeqNo, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        let full = self.pending.part.as_ref().is_some_and(|(mem, writer)| {
            !mem.is_empty() && !writer.has_room(key.len(), value.len())
        });
        if full {
            self.seal()?;
        }
        let part = self.pending.part.get_or_insert_with(|| {
            let order = self.context.order.clone();
            Memtable::new(order, Vec::new(), self.settings.budget.memtable)
        });
        let hash = self.context.order.hash(key);
        part.1.insert(seq, kind, key, value, hash);
        Ok(())
    }

    fn seal(&mut self) -> Result<()> {
        if let Some((mem, _)) = self.pending.part.take() {
            self.pending.parts.push(mem);
        }
        let bytes: usize = self
            .pending
            .parts
            .iter()
            .map(|part| part.allocated_bytes())
            .sum();
        if bytes >= self.settings.budget.run && !self.settings.read_only {
            self.write_out()?;
        }
        Ok(())
    }

    /// Writes the replayed memtables to a run of synced tables.
    fn write_out(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.pending.parts);
        if parts.is_empty() {
            return Ok(());
        }
        let version = &self.recovered.version;
        let rules = Rules {
            snapshots: Vec::new(),
            bottom: version.runs.is_empty(),
            context: self.context.clone(),
            values: Arc::clone(&version.values),
            end: None,
        };
        let sources = parts
            .iter()
            .rev()
            .map(|part| MergeSource::Mem(part.cursor()))
            .collect();
        let inputs = Inputs::new(sources, self.context.order.clone());
        let mut job = Job::new(inputs, rules, self.settings.output.clone());
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
        for (file, dead) in &outcome.dead {
            self.recovered.add_dead(*file, *dead);
        }
        if outcome.tables.is_empty() {
            return Ok(());
        }
        let id = self.recovered.next_run;
        self.recovered.next_run += 1;
        let mut tables = Vec::new();
        for written in outcome.tables {
            written.sync.sync()?;
            let record = TableRecord {
                run: id,
                ..written.record
            };
            tables.push(Arc::new(TableHandle::new(record, self.opener)));
        }
        let runs = &mut self.recovered.version.runs;
        runs.insert(0, Arc::new(Run::new(id, tables, &self.context.order)));
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.seal()?;
        if self.settings.read_only {
            let parts = std::mem::take(&mut self.pending.parts);
            self.recovered.sealed = parts
                .into_iter()
                .map(|mem| ImmutableMemtable {
                    mem,
                    logged: 0,
                    first_segment: None,
                    values: MemtableValues::default(),
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
