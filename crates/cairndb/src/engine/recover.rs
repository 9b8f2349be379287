//! Recovery: from the manifest and the log to a version, reading only until all is known.
//!
//! 1. The manifest's edits are folded; comparator and merge operator must match, every file named
//!    must exist with its length.
//! 2. If the last record is a clean close, that is all: nothing is replayed, nothing written.
//! 3. Otherwise the live segments are read in order. The first bad record ends the log; whether it
//!    is a torn tail or damage decides the known-synced position that intact records behind it, or
//!    the headers and records of later segments, carry. Damage is an error in `Strict` mode.
//! 4. What was replayed becomes new, synced tables and a new manifest. The old log is never
//!    appended to, and a cut tail can never come back: no segment named before is named again.
//!
//! A crash during recovery finds the old CURRENT, or the new one with everything it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo, hash64};
use cairndb_env::Dir;
use cairndb_format::batch;
use cairndb_format::log::{
    HEADER_BYTES, Record, SegmentHeader, SegmentReader, Step, find_later_synced,
};
use cairndb_format::manifest::{ManifestReader, SegmentRecord, TableRecord, VersionEdit};
use cairndb_format::name::{self, FileKind};
use cairndb_format::value_file::{Pointer, read_value};
use cairndb_mem::{MemWriter, Memtable};

use crate::engine::core::{OpenReport, Part, Settings};
use crate::jobs::merge::Job;
use crate::jobs::rules::Rules;
use crate::read::fold::ReadContext;
use crate::read::merger::Merger;
use crate::read::source::Source;
use crate::state::options::RecoveryMode;
use crate::state::version::{Run, TableHandle, TableOpener, ValueHandle, Values, Version};

/// Everything opening needs to assemble the engine.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) version: Version,
    /// Replayed parts that could not be flushed: a read-only handle's.
    pub(crate) sealed: Vec<Part>,
    pub(crate) last_seq: SeqNo,
    pub(crate) next_file: u64,
    pub(crate) next_run: u64,
    pub(crate) next_segment: u64,
    pub(crate) manifest: u64,
    pub(crate) value_dead: BTreeMap<u64, u64>,
    pub(crate) report: OpenReport,
}

impl Recovered {
    /// What the keys of the newest run have in common: the next memtable's heads begin behind it.
    pub(crate) fn key_prefix(&self) -> Vec<u8> {
        let Some(run) = self.version.runs.first() else {
            return Vec::new();
        };
        let (Some(first), Some(last)) = (run.tables.first(), run.tables.last()) else {
            return Vec::new();
        };
        let pairs = first.record.smallest.iter().zip(&last.record.largest);
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
    }
}

/// The manifest's edits, folded.
#[derive(Debug, Default)]
struct Folded {
    comparator: Option<String>,
    merge_operator: Option<String>,
    next_file: u64,
    last_seq: SeqNo,
    tables: BTreeMap<u64, TableRecord>,
    runs: Vec<u64>,
    segments: BTreeMap<u64, SegmentRecord>,
    next_segment: u64,
    values: BTreeSet<u64>,
    value_dead: BTreeMap<u64, u64>,
    clean: bool,
}

impl Folded {
    fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        self.clean = edit.clean_close.is_some();
        if edit.comparator.is_some() {
            self.comparator = edit.comparator;
        }
        if edit.merge_operator.is_some() {
            self.merge_operator = edit.merge_operator;
        }
        self.next_file = self.next_file.max(edit.next_file.unwrap_or(0));
        self.last_seq = self.last_seq.max(edit.last_seq.unwrap_or(0));
        for file in edit.removed_tables {
            if self.tables.remove(&file).is_none() {
                return Err(
                    Error::corruption("an edit removes a table that is not there")
                        .found(FileNumber(file)),
                );
            }
        }
        for (file, run) in edit.moved_tables {
            match self.tables.get_mut(&file) {
                Some(table) => table.run = run,
                None => {
                    return Err(Error::corruption("an edit moves a table that is not there")
                        .found(FileNumber(file)));
                }
            }
        }
        for table in edit.added_tables {
            self.tables.insert(table.file, table);
        }
        if let Some(runs) = edit.runs {
            self.runs = runs;
        }
        for segment in edit.added_segments {
            self.next_segment = self.next_segment.max(segment.segment + 1);
            self.segments.insert(segment.segment, segment);
        }
        for segment in edit.retired_segments {
            self.segments.remove(&segment);
        }
        self.values.extend(edit.added_values);
        for (file, dead) in edit.value_dead {
            *self.value_dead.entry(file).or_insert(0) += dead;
        }
        for file in edit.removed_values {
            self.values.remove(&file);
            self.value_dead.remove(&file);
        }
        Ok(())
    }

    /// The runs with their tables, checked against the directory.
    fn version(&self, opener: &Arc<TableOpener>) -> Result<Version> {
        let mut runs: Vec<Run> = self
            .runs
            .iter()
            .map(|id| Run {
                id: *id,
                tables: Vec::new(),
            })
            .collect();
        for record in self.tables.values() {
            let named = name::table(FileNumber(record.file));
            match opener.dir.size_of(&named)? {
                Some(size) if size == record.bytes => {}
                found => {
                    let found = found.map_or("no file".to_owned(), |size| format!("{size} bytes"));
                    return Err(
                        Error::corruption("a table the manifest names is not there whole")
                            .file(named)
                            .offset(0)
                            .expected(format_args!("{} bytes", record.bytes))
                            .found(found),
                    );
                }
            }
            let run = runs
                .iter_mut()
                .find(|run| run.id == record.run)
                .ok_or_else(|| {
                    Error::corruption("a table belongs to a run the manifest does not list")
                        .file(named)
                })?;
            run.tables
                .push(Arc::new(TableHandle::new(record.clone(), opener)));
        }
        for run in &mut runs {
            run.tables
                .sort_by(|a, b| opener.order.compare(&a.record.smallest, &b.record.smallest));
        }
        runs.retain(|run| !run.tables.is_empty());
        let mut values = Values::new();
        for number in &self.values {
            let handle = ValueHandle::new(*number, opener);
            let size = opener
                .dir
                .size_of(&name::value(FileNumber(*number)))?
                .unwrap_or(0);
            handle
                .bytes
                .store(size, std::sync::atomic::Ordering::Relaxed);
            let dead = self.value_dead.get(number).copied().unwrap_or(0);
            handle
                .dead
                .store(dead, std::sync::atomic::Ordering::Relaxed);
            values.insert(*number, Arc::new(handle));
        }
        let version = Version {
            runs: runs.into_iter().map(Arc::new).collect(),
            values: Arc::new(values),
        };
        version.check(&opener.order)?;
        Ok(version)
    }
}

/// Reads manifest `number` and the log behind it.
pub(crate) fn recover(
    dir: &Arc<dyn Dir>,
    opener: &Arc<TableOpener>,
    settings: &Settings,
    context: &ReadContext,
    mode: RecoveryMode,
    number: FileNumber,
) -> Result<Recovered> {
    let mut folded = Folded::default();
    let mut reader = ManifestReader::open(&**dir, number)?;
    while let Some(edit) = reader.advance()? {
        folded
            .apply(edit)
            .map_err(|error| error.file(name::manifest(number)))?;
    }
    check_components(&folded, context, number)?;
    let version = folded.version(opener)?;
    let mut next_file = folded.next_file.max(number.0 + 1);
    for found in dir.list()? {
        if let Some(used) = FileKind::parse(&found).and_then(FileKind::number) {
            next_file = next_file.max(used.0 + 1);
        }
    }
    let next_run = folded.runs.iter().max().map_or(1, |run| run + 1);
    let mut recovered = Recovered {
        version,
        sealed: Vec::new(),
        last_seq: folded.last_seq,
        next_file,
        next_run,
        next_segment: folded.next_segment.max(1),
        manifest: number.0,
        value_dead: folded.value_dead.clone(),
        report: OpenReport {
            clean: folded.clean,
            ..OpenReport::default()
        },
    };
    if folded.clean {
        return Ok(recovered);
    }
    let segments = read_segments(&**dir, &folded)?;
    let replay = Replay {
        dir: &**dir,
        opener,
        settings,
        context,
        mode,
        durable_seq: folded.last_seq,
        recovered: &mut recovered,
        part: None,
        parts: Vec::new(),
    };
    replay.run(&segments)?;
    Ok(recovered)
}

fn check_components(folded: &Folded, context: &ReadContext, number: FileNumber) -> Result<()> {
    let manifest = name::manifest(number);
    let order = context.order.name();
    match &folded.comparator {
        Some(stored) if stored == order => {}
        Some(stored) => {
            return Err(Error::invalid(
                "the database has another comparator; open it with the one it was created with",
            )
            .file(manifest)
            .expected(stored)
            .found(order));
        }
        None => {
            return Err(Error::corruption("the manifest names no comparator").file(manifest));
        }
    }
    if let (Some(stored), Some(operator)) = (&folded.merge_operator, &context.merge_operator)
        && stored != operator.name()
    {
        return Err(Error::invalid(
            "the database has another merge operator; open it with the one it was used with",
        )
        .file(manifest)
        .expected(stored)
        .found(operator.name()));
    }
    Ok(())
}

/// A live segment as it stands on disk.
struct OnDisk {
    name: String,
    /// `None` when the header is not this segment's.
    header: Option<SegmentHeader>,
    bytes: Vec<u8>,
}

fn read_segments(dir: &dyn Dir, folded: &Folded) -> Result<Vec<OnDisk>> {
    let mut segments = Vec::new();
    for record in folded.segments.values() {
        let named = name::log(FileNumber(record.file));
        let mut bytes = Vec::new();
        match dir.open_read(&named) {
            Ok(file) => {
                let size = usize::try_from(file.size().min(record.bytes)).unwrap_or(0);
                bytes.resize(size, 0);
                file.read_at(0, &mut bytes)?;
            }
            // Its name was never synced; what is missing then decides the segments behind it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let header = SegmentHeader::decode(&bytes)
            .ok()
            .filter(|header| header.segment == record.segment && header.salt == record.salt);
        segments.push(OnDisk {
            name: named,
            header,
            bytes,
        });
    }
    Ok(segments)
}

/// Where and why the log ends.
struct Cut {
    segment: usize,
    offset: u64,
    why: String,
}

/// The number that the first record of the log may begin at: it may repeat what tables hold, but
/// must not leave a hole behind it.
fn due_first(durable: SeqNo, record: &Record<'_>) -> SeqNo {
    (durable + 1).min(record.seq.saturating_sub(u64::from(record.gap)))
}

struct Replay<'a> {
    dir: &'a dyn Dir,
    opener: &'a Arc<TableOpener>,
    settings: &'a Settings,
    context: &'a ReadContext,
    mode: RecoveryMode,
    recovered: &'a mut Recovered,
    /// Everything up to here is in the manifest's tables.
    durable_seq: SeqNo,
    part: Option<(Arc<Memtable>, MemWriter)>,
    parts: Vec<Arc<Memtable>>,
}

impl Replay<'_> {
    fn run(mut self, segments: &[OnDisk]) -> Result<()> {
        // Decided before anything is written: a refusal must leave the directory as it was.
        let cut = self.find_end(segments)?;
        let end = cut
            .as_ref()
            .map_or((segments.len(), 0), |cut| (cut.segment, cut.offset));
        for (index, segment) in segments.iter().enumerate().take(end.0 + 1) {
            let Some(header) = &segment.header else { break };
            let mut reader = SegmentReader::new(&segment.bytes, header);
            while let Step::Record(record) = reader.advance() {
                if index == end.0 && record.offset >= end.1 {
                    break;
                }
                self.apply(&record)
                    .map_err(|error| error.file(segment.name.clone()).offset(record.offset))?;
            }
        }
        if let Some(cut) = cut {
            let named = segments
                .get(cut.segment)
                .map_or_else(String::new, |one| one.name.clone());
            self.recovered.report.log_cut = Some((named, cut.offset, cut.why));
        }
        self.finish()
    }

    /// Walks all records without applying them. `None`: the log ends where it was last written.
    fn find_end(&self, segments: &[OnDisk]) -> Result<Option<Cut>> {
        let mut expected = None;
        let durable = self.durable_seq;
        for (index, segment) in segments.iter().enumerate() {
            let Some(header) = &segment.header else {
                let why = "the segment's header is missing or not its own".to_owned();
                return self.cut(
                    segments,
                    Cut {
                        segment: index,
                        offset: 0,
                        why,
                    },
                );
            };
            let mut reader = SegmentReader::new(&segment.bytes, header);
            let (offset, why) = loop {
                match reader.advance() {
                    Step::Record(record) => {
                        let due = expected.get_or_insert_with(|| due_first(durable, &record));
                        if let Err(why) = self.check_record(&record, due) {
                            break (record.offset, Some(why));
                        }
                    }
                    Step::End { offset } => break (offset, None),
                    Step::Bad { offset, why } => break (offset, Some(why.to_string())),
                }
            };
            let next = segments.get(index + 1);
            // The next segment says where this one ended; what lies behind that is of no account.
            let whole = next
                .and_then(|next| next.header.as_ref())
                .is_some_and(|next| {
                    next.previous_segment == header.segment && offset >= next.previous_end
                });
            if next.is_some() && whole {
                continue;
            }
            let why = why.unwrap_or_else(|| "the segment is full".to_owned());
            let cut = Cut {
                segment: index,
                offset,
                why,
            };
            if next.is_none() {
                return self.last_cut(segments, cut);
            }
            return self.cut(segments, cut);
        }
        Ok(None)
    }

    /// Sequence numbers must continue, payloads parse, and pointers lead to their values.
    fn check_record(
        &self,
        record: &Record<'_>,
        due: &mut SeqNo,
    ) -> std::result::Result<(), String> {
        if record.seq != *due + u64::from(record.gap) {
            return Err(format!(
                "sequence number {} where {due} was due",
                record.seq
            ));
        }
        let entries = batch::iter(record.payload).map_err(|error| error.to_string())?;
        let mut count = 0u64;
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            count += 1;
            if entry.kind == Kind::Pointer {
                self.check_pointer(entry.key, entry.value)
                    .map_err(|error| error.to_string())?;
            }
        }
        *due = record.seq + count;
        Ok(())
    }

    fn check_pointer(&self, key: &[u8], encoded: &[u8]) -> Result<()> {
        let pointer = Pointer::decode(encoded)?;
        let handle = self
            .recovered
            .version
            .values
            .get(&pointer.file.0)
            .ok_or_else(|| {
                Error::corruption("a logged pointer names a value file the manifest does not")
            })?;
        let mut value = Vec::new();
        read_value(
            handle.file()?,
            pointer.file,
            &pointer,
            hash64(key),
            &mut value,
        )
    }

    /// The last segment's end: a torn tail unless an intact record behind it knew better.
    fn last_cut(&self, segments: &[OnDisk], cut: Cut) -> Result<Option<Cut>> {
        let segment = &segments[cut.segment];
        let untouched = segment
            .bytes
            .get(usize::try_from(cut.offset).unwrap_or(usize::MAX)..)
            .is_none_or(|rest| rest.iter().take(24).all(|byte| *byte == 0));
        // Zeros are where writing simply stopped. Anything else looks like a record that was cut,
        // be it only the remains of what a recycled segment held before; it is reported.
        let kept = self.cut(segments, cut)?;
        Ok(if untouched { None } else { kept })
    }

    /// Refuses when something behind the cut proves that a sync had covered it.
    fn cut(&self, segments: &[OnDisk], cut: Cut) -> Result<Option<Cut>> {
        if self.mode == RecoveryMode::PointInTime {
            return Ok(Some(cut));
        }
        let segment = &segments[cut.segment];
        let here = segment
            .header
            .as_ref()
            .and_then(|header| find_later_synced(&segment.bytes, header, cut.offset));
        let later = segments[cut.segment + 1..].iter().find_map(|later| {
            let header = later.header.as_ref()?;
            let synced = find_later_synced(&later.bytes, header, 0)?;
            Some((later.name.clone(), synced.0))
        });
        let witness = here.map(|(at, _)| (segment.name.clone(), at)).or(later);
        match witness {
            None => Ok(Some(cut)),
            Some((file, at)) => Err(Error::corruption(
                "the log is damaged where it had been synced; open with PointInTime to keep what \
                 stands before",
            )
            .file(segment.name.clone())
            .offset(cut.offset)
            .expected(format_args!(
                "the record that {file} offset {at} knew to be durable"
            ))
            .found(cut.why)),
        }
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        let report = &mut self.recovered.report;
        report.replayed_records += 1;
        report.unlogged_lost += u64::from(record.gap);
        let mut seq = record.seq;
        for entry in batch::iter(record.payload)? {
            let entry = entry?;
            // What a durable flush already holds must not come twice: a merge operand would count
            // twice. Parts are flushed in order, so the manifest's last number is the boundary.
            if seq > self.durable_seq {
                self.recovered.report.replayed_entries += 1;
                self.insert(seq, entry.kind, entry.key, entry.value)?;
                self.recovered.last_seq = self.recovered.last_seq.max(seq);
            }
            seq += 1;
        }
        Ok(())
    }

    fn insert(&mut self, seq: SeqNo, kind: Kind, key: &[u8], value: &[u8]) -> Result<()> {
        let full = self.part.as_ref().is_some_and(|(mem, writer)| {
            !mem.is_empty() && !writer.has_room(key.len(), value.len())
        });
        if full {
            self.seal()?;
        }
        let part = self.part.get_or_insert_with(|| {
            let order = self.context.order.clone();
            Memtable::new(order, Vec::new(), self.settings.budget.part)
        });
        let hash = if self.context.order.can_hash() {
            hash64(key)
        } else {
            0
        };
        part.1.insert(seq, kind, key, value, hash);
        Ok(())
    }

    fn seal(&mut self) -> Result<()> {
        if let Some((mem, _)) = self.part.take() {
            self.parts.push(mem);
        }
        let bytes: usize = self.parts.iter().map(|part| part.allocated_bytes()).sum();
        if bytes >= self.settings.budget.flush && !self.settings.read_only {
            self.write_out()?;
        }
        Ok(())
    }

    /// Turns the replayed parts into a run of synced tables.
    fn write_out(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return Ok(());
        }
        let version = &mut self.recovered.version;
        let rules = Rules {
            snapshots: Vec::new(),
            bottom: version.runs.is_empty(),
            context: self.context.clone(),
            values: Arc::clone(&version.values),
        };
        let sources = parts
            .iter()
            .rev()
            .map(|part| Source::Mem(part.cursor()))
            .collect();
        let merger = Merger::new(sources, self.context.order.clone());
        let mut job = Job::new(merger, rules, self.settings.output.clone());
        let next_file = AtomicU64::new(self.recovered.next_file);
        let more = job.step(self.dir, &next_file, u64::MAX / 2)?;
        assert!(!more, "an unbounded step finishes its input");
        let outcome = job.finish(self.dir, &next_file)?;
        self.recovered.next_file = next_file.into_inner();
        for (file, dead) in &outcome.dead {
            *self.recovered.value_dead.entry(*file).or_insert(0) += dead;
        }
        if outcome.tables.is_empty() {
            return Ok(());
        }
        let id = self.recovered.next_run;
        self.recovered.next_run += 1;
        let mut run = Run {
            id,
            tables: Vec::new(),
        };
        for written in outcome.tables {
            written.sync.sync()?;
            let record = TableRecord {
                run: id,
                ..written.record
            };
            run.tables
                .push(Arc::new(TableHandle::new(record, self.opener)));
        }
        version.runs.insert(0, Arc::new(run));
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.seal()?;
        if self.settings.read_only {
            let parts = std::mem::take(&mut self.parts);
            self.recovered.sealed = parts
                .into_iter()
                .map(|mem| Part {
                    mem,
                    first_segment: None,
                })
                .collect();
            return Ok(());
        }
        self.write_out()?;
        // Values that only the log knew to be durable must be so before it is dropped.
        self.dir.sync()?;
        Ok(())
    }
}

/// Segments begin behind their header sector.
const _: () = assert!(HEADER_BYTES == 512);
