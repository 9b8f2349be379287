//! Reads LevelDB's logs: every intact batch, also those after damage in the same block.
//!
//! LevelDB numbers operations without gaps. Missing numbers show where batches are lost, also if a
//! log was cut between two of them. A batch that was found by its checksum alone must have a number
//! that fits those of its neighbours, because a value may contain copies of batches.

use cairndb_base::{Result, SeqNo};
use cairndb_env::Dir;
use cairndb_leveldb::{LogReader, LogStep, WriteBatch};

use crate::findings::Findings;
use crate::log::runs::Runs;
use crate::report::{DoubtKind, KeySpan};

/// Bytes of the shortest operation in a batch: its kind, and the length of an empty key.
const OPERATION_BYTES_MIN: u64 = 2;

/// Damage that has not been followed by an intact batch yet.
#[derive(Clone, Copy, Debug)]
struct Hole {
    offset: u64,
    what: &'static str,
}

/// A batch whose place is certain.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    offset: u64,
    /// The number of its first operation, or of the first one after it.
    seq: SeqNo,
}

/// The end of a log that has been read.
#[derive(Clone, Debug)]
struct SalvageEnd {
    file: String,
    /// After its last batch.
    offset: u64,
    /// Why the bytes there are no batch; `None` if there are none.
    what: Option<&'static str>,
}

/// How far a log has been read.
#[derive(Debug, Default)]
struct SalvagePosition {
    /// Damage since the last batch.
    hole: Option<Hole>,
    /// The end of the last batch.
    before: Option<Anchor>,
    /// A batch after the damage, once it has been sought.
    after: Option<Anchor>,
}

impl SalvagePosition {
    /// Returns whether the numbers of a batch that was found at `offset` fit those of the batch
    /// before it, or without one, those of a batch after it, which `find` seeks from an offset: the
    /// bytes between can hold as many operations as are missing.
    fn fits(
        &mut self,
        batch: &WriteBatch<'_>,
        offset: u64,
        find: impl FnOnce(u64) -> Option<Anchor>,
    ) -> bool {
        let near = |lost: Option<u64>, bytes: u64| {
            lost.is_some_and(|lost| lost <= bytes / OPERATION_BYTES_MIN)
        };
        if let Some(before) = self.before {
            let lost = batch.seq().checked_sub(before.seq);
            return near(lost, offset.saturating_sub(before.offset));
        }
        let from = self.hole.map_or(0, |hole| hole.offset);
        self.after = self.after.or_else(|| find(from));
        let Some(after) = self.after else {
            return false;
        };
        let lost = after.seq.checked_sub(end_of(batch));
        // The batch itself may be the only one.
        offset == after.offset || near(lost, after.offset.saturating_sub(offset))
    }

    fn end(&self, file: &str) -> SalvageEnd {
        let before = self.before.map_or(0, |before| before.offset);
        SalvageEnd {
            file: file.to_owned(),
            offset: self.hole.map_or(before, |hole| hole.offset),
            what: self.hole.map(|hole| hole.what),
        }
    }
}

/// Returns the number after the last operation of a batch.
fn end_of(batch: &WriteBatch<'_>) -> SeqNo {
    batch.seq().saturating_add(u64::from(batch.count()))
}

/// The logs of a source, and where their entries go.
pub(super) struct LevelLogs<'a> {
    dir: &'a dyn Dir,
    runs: &'a mut Runs,
    findings: &'a mut Findings,
    /// Largest number that the next operation may have if none is lost; `None` if it is not known.
    due: Option<SeqNo>,
    /// Whether a loss since the last batch explains missing numbers.
    explained: bool,
    /// The end of the last log.
    end: Option<SalvageEnd>,
}

impl<'a> LevelLogs<'a> {
    /// Returns a reader. The first log has operations up to number `known`, or begins after it.
    pub(super) fn new(
        dir: &'a dyn Dir,
        known: Option<SeqNo>,
        runs: &'a mut Runs,
        findings: &'a mut Findings,
    ) -> LevelLogs<'a> {
        LevelLogs {
            dir,
            runs,
            findings,
            due: known.map(|known| known.saturating_add(1)),
            explained: false,
            end: None,
        }
    }

    /// Reports a log that is not there.
    pub(super) fn miss(&mut self, name: &str) {
        let reason = "the log that the manifest names is missing, or the manifest is old";
        self.lose(name, 0, 0, reason);
    }

    /// Reads one log. Logs are read in the order of their numbers.
    ///
    /// # Errors
    /// The errors of writing runs.
    pub(super) fn read(&mut self, name: &str) -> Result<()> {
        let file = match self.dir.open_read(name) {
            Ok(file) => file,
            Err(error) => {
                self.lose(name, 0, 0, error.message());
                return Ok(());
            }
        };
        let mut reader = LogReader::salvaging(file, name);
        let mut place = SalvagePosition::default();
        loop {
            let offset = match reader.advance() {
                Ok(LogStep::Record { offset }) => offset,
                Ok(LogStep::Damage { offset, what }) => {
                    place.hole.get_or_insert(Hole { offset, what });
                    continue;
                }
                Ok(LogStep::End) => break,
                Err(error) => {
                    self.lose(name, error.file_offset().unwrap_or(0), 0, error.message());
                    break;
                }
            };
            let batch = whole_batch(reader.payload());
            let Some(batch) = batch.filter(|batch| {
                !reader.is_found()
                    || place.fits(batch, offset, |from| anchor_after(self.dir, name, from))
            }) else {
                let what = "a batch is malformed or out of place";
                place.hole.get_or_insert(Hole { offset, what });
                continue;
            };
            if let Some(hole) = place.hole.take() {
                let bytes = offset.saturating_sub(hole.offset);
                self.lose(name, hole.offset, bytes, hole.what);
                place.after = None;
            }
            if place.before.is_none() {
                self.leave_previous(&batch);
            }
            self.take(&batch, name, offset)?;
            place.before = Some(Anchor {
                offset: offset.saturating_add(reader.payload().len() as u64),
                seq: end_of(&batch),
            });
        }
        let is_empty = place.before.is_none() && place.hole.is_none();
        if !is_empty || self.end.is_none() {
            self.end = Some(place.end(name));
        }
        Ok(())
    }

    /// Decides, at the first batch of a log, whether the one before it was longer. A crash may have
    /// torn its end without a loss.
    fn leave_previous(&mut self, first: &WriteBatch<'_>) {
        let Some(end) = self.end.take() else {
            return;
        };
        let is_missing = self.due.is_some_and(|due| first.seq() > due);
        match end.what {
            Some(what) if is_missing => self.lose(&end.file, end.offset, 0, what),
            Some(what) => self.findings.note(end.file, end.offset, what),
            None if is_missing && !self.explained => {
                self.lose(&end.file, end.offset, 0, "the log ends early");
            }
            None => {}
        }
    }

    /// Reports the end of the last log. Returns the number of the last operation.
    pub(super) fn finish(self) -> SeqNo {
        let reason = match self.end.and_then(|end| Some((end.what?, end))) {
            Some((what, SalvageEnd { file, offset, .. })) => format!(
                "{file} ends at offset {offset} ({what}): whether it was longer cannot be \
                 determined"
            ),
            // The manifest names a log only after the one before it has been flushed.
            None => "LevelDB does not record that a database was closed: whether a later log, or \
                     the end of the last one, is missing cannot be determined"
                .to_owned(),
        };
        self.findings
            .doubt(DoubtKind::LogEnd, KeySpan::all(), reason);
        self.due.map_or(0, |due| due.saturating_sub(1))
    }

    /// Takes the operations of a batch.
    fn take(&mut self, batch: &WriteBatch<'_>, name: &str, offset: u64) -> Result<()> {
        if self.due.is_some_and(|due| batch.seq() > due) && !self.explained {
            let reason = "sequence numbers are missing before this batch";
            self.lose(name, offset, 0, reason);
        }
        self.explained = false;
        self.findings.report.kept.log_records += 1;
        for operation in batch.iter() {
            let operation = operation?;
            let (kind, value) = (operation.kind, operation.value);
            self.runs
                .add(0, operation.key, operation.seq, kind, value)?;
            self.findings.report.kept.log_entries += 1;
        }
        // The numbers of a log may begin before those that the manifest knows.
        self.due = Some(end_of(batch));
        Ok(())
    }

    fn lose(&mut self, file: &str, offset: u64, bytes: u64, reason: &str) {
        self.explained = true;
        self.findings.lose_records(file, offset, bytes, reason);
    }
}

/// Returns the batch that `payload` is, if all its operations are well-formed.
fn whole_batch(payload: &[u8]) -> Option<WriteBatch<'_>> {
    let batch = WriteBatch::decode(payload).ok()?;
    let whole = batch.iter().all(|operation| operation.is_ok());
    whole.then_some(batch)
}

/// Returns the first batch of a log after `from` that was not found by its checksum alone, or else
/// the last one.
fn anchor_after(dir: &dyn Dir, name: &str, from: u64) -> Option<Anchor> {
    let mut reader = LogReader::salvaging(dir.open_read(name).ok()?, name);
    let mut last = None;
    loop {
        match reader.advance().ok()? {
            LogStep::Record { offset } if offset > from => {
                if let Some(batch) = whole_batch(reader.payload()) {
                    let seq = batch.seq();
                    last = Some(Anchor { offset, seq });
                    if !reader.is_found() {
                        return last;
                    }
                }
            }
            LogStep::Record { .. } | LogStep::Damage { .. } => {}
            LogStep::End => return last,
        }
    }
}
