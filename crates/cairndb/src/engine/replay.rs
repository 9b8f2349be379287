//! Replay: reading the log of a database that was not closed, and turning it into tables.
//!
//! [`read_segments`] brings the live segments into memory; [`Replay::run`] first walks all of them
//! to find where the log ends - reading only, so that a refusal leaves the directory as it was -
//! and then applies what stands before that. A bad record is damage when an intact record behind
//! it, in its own segment or a later one, knew those bytes to be durable; else it is a torn tail.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::batch;
use cairndb_format::log::{Record, SegmentHeader, SegmentReader, Step, find_later_synced};
use cairndb_format::manifest::{SegmentRecord, TableRecord};
use cairndb_format::name;
use cairndb_format::value_file::{Pointer, read_value};
use cairndb_mem::{MemWriter, Memtable};

use crate::engine::core::{Part, Settings};
use crate::engine::moved_values::MovedValues;
use crate::engine::recovered::Recovered;
use crate::jobs::merge::Job;
use crate::jobs::rules::Rules;
use crate::read::fold::ReadContext;
use crate::read::merger::Merger;
use crate::read::source::Source;
use crate::state::options::RecoveryMode;
use crate::state::version::{Run, TableHandle, TableOpener};

/// A live segment as it stands on disk.
#[derive(Debug)]
pub(crate) struct OnDisk {
    name: String,
    /// `None` when the header is not this segment's.
    header: Option<SegmentHeader>,
    bytes: Vec<u8>,
    /// The file is shorter than it was made.
    short: bool,
}

/// Reads the segments that the manifest calls live, in their order.
pub(crate) fn read_segments<'a>(
    dir: &dyn Dir,
    live: impl IntoIterator<Item = &'a SegmentRecord>,
) -> Result<Vec<OnDisk>> {
    let mut segments = Vec::new();
    for record in live {
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
            short: (bytes.len() as u64) < record.bytes,
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

/// A replay under way.
pub(crate) struct Replay<'a> {
    pub(crate) dir: &'a dyn Dir,
    pub(crate) opener: &'a Arc<TableOpener>,
    pub(crate) settings: &'a Settings,
    pub(crate) context: &'a ReadContext,
    pub(crate) mode: RecoveryMode,
    pub(crate) recovered: &'a mut Recovered,
    /// Everything up to here is in the manifest's tables.
    pub(crate) durable_seq: SeqNo,
    pub(crate) pending: Replayed,
}

/// What was replayed and is not yet in tables.
#[derive(Default)]
pub(crate) struct Replayed {
    values: MovedValues,
    part: Option<(Arc<Memtable>, MemWriter)>,
    parts: Vec<Arc<Memtable>>,
}

impl Replay<'_> {
    /// Finds the log's end and applies everything before it.
    ///
    /// # Errors
    /// `Corruption` of what a sync had covered; of writing tables.
    pub(crate) fn run(mut self, segments: &[OnDisk]) -> Result<()> {
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
                        let checked = self.check_record(&record, due).map_err(|error| {
                            error.file(segment.name.clone()).offset(record.offset)
                        })?;
                        if checked.is_some() {
                            break (record.offset, checked);
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

    /// Sequence numbers must continue and pointers lead to their values: `Some(why)` where the log
    /// ends here.
    ///
    /// # Errors
    /// The record is intact and yet not understood: that is damage of another kind, or a newer
    /// version's work, and never the end of the log.
    fn check_record(&self, record: &Record<'_>, due: &mut SeqNo) -> Result<Option<String>> {
        if record.seq != *due + u64::from(record.gap) {
            return Ok(Some(format!(
                "sequence number {} where {due} was due",
                record.seq
            )));
        }
        let mut seq = record.seq;
        for entry in batch::iter(record.payload)? {
            let entry = entry?;
            // What tables hold already is not replayed, and its value may be gone for good.
            if entry.kind == Kind::Pointer && seq > self.durable_seq {
                let pointer = Pointer::decode(entry.value)?;
                if let Err(error) = self.check_value(entry.key, &pointer) {
                    return Ok(Some(error.to_string()));
                }
            }
            seq += 1;
        }
        *due = seq;
        Ok(None)
    }

    fn check_value(&self, key: &[u8], pointer: &Pointer) -> Result<()> {
        let values = &self.recovered.version.values;
        let handle = values.get(&pointer.file.0).ok_or_else(|| {
            Error::corruption("a logged pointer names a value file the manifest does not")
        })?;
        let mut value = Vec::new();
        read_value(
            &*handle.file(pointer.end().unwrap_or(0))?,
            pointer.file,
            pointer,
            self.context.order.hash(key),
            &mut value,
        )
    }

    /// The last segment's end: a torn tail unless an intact record behind it knew better.
    fn last_cut(&self, segments: &[OnDisk], cut: Cut) -> Result<Option<Cut>> {
        let segment = &segments[cut.segment];
        let start = usize::try_from(cut.offset).unwrap_or(usize::MAX);
        let rest = segment.bytes.get(start..).unwrap_or_default();
        // Zeros to the end are where writing simply stopped. Anything else looks like a record that
        // was cut, be it only the remains of what a recycled segment held before; it is reported.
        let untouched = !segment.short && rest.iter().all(|byte| *byte == 0);
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
        for (seq, entry) in (record.seq..).zip(batch::iter(record.payload)?) {
            let entry = entry?;
            // What a durable flush already holds must not come twice: a merge operand would count
            // twice. Parts are flushed in order, so the manifest's last number is the boundary.
            if seq > self.durable_seq {
                self.recovered.report.replayed_entries += 1;
                if entry.kind == Kind::Pointer && !self.settings.read_only {
                    let values = &mut self.pending.values;
                    let moved = values.take(
                        self.dir,
                        self.recovered,
                        self.opener,
                        entry.key,
                        entry.value,
                    )?;
                    self.insert(seq, entry.kind, entry.key, &moved)?;
                } else {
                    self.insert(seq, entry.kind, entry.key, entry.value)?;
                }
                self.recovered.last_seq = self.recovered.last_seq.max(seq);
            }
        }
        Ok(())
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
            Memtable::new(order, Vec::new(), self.settings.budget.part)
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
        if bytes >= self.settings.budget.flush && !self.settings.read_only {
            self.write_out()?;
        }
        Ok(())
    }

    /// Turns the replayed parts into a run of synced tables.
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
                .map(|mem| Part {
                    mem,
                    first_segment: None,
                    first_values: None,
                    flush: None,
                })
                .collect();
            return Ok(());
        }
        self.write_out()?;
        // Values that only a kill left readable must be durable before the log is dropped.
        self.pending.values.sync(self.dir)?;
        self.dir.sync()?;
        Ok(())
    }
}
