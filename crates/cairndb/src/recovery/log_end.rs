//! Where the log of a database that was not closed ends.
//!
//! All records are walked, reading only, so that a refusal leaves the directory as it was. The
//! first bytes that are no record end the log. They are damage when an intact record behind them,
//! in their own segment or a later one, knew them to be durable; else they are a torn tail, or what
//! the file held before it was recycled.

use std::cell::OnceCell;

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo};
use cairndb_format::batch;
use cairndb_format::log::{Record, SegmentReader, Step, find_later_synced};
use cairndb_format::value_file::{Pointer, read_value};

use crate::recovery::live_log::{LiveLog, OnDisk};
use crate::recovery::numbers::check_seq;
use crate::recovery::report::LogCut;
use crate::state::context::ReadContext;
use crate::state::options::RecoveryMode;
use crate::state::version::Values;

/// What is said of a log that ends where nothing more may ever have been written: every kill of a
/// process whose log was recycled leaves that.
const NOTHING_LOST: &str = "nothing shows that a record was lost: what follows is a write cut \
                            short, or what the file held before it was recycled";

/// What of the log is to be replayed.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Where the records of each segment end, as far as segments are replayed at all.
    pub(crate) ends: Vec<u64>,
    /// Where the log was cut, if anything was left out that may have been a record.
    pub(crate) cut: Option<LogCut>,
}

/// Bytes that are no record, or a record that does not continue the one before.
struct Cut {
    segment: usize,
    offset: u64,
    why: String,
    /// Nothing is known of the bytes: they need not be anything.
    unreadable: bool,
}

/// The walk over the log.
pub(crate) struct Walk<'a> {
    pub(crate) log: &'a LiveLog<'a>,
    pub(crate) values: &'a Values,
    pub(crate) context: &'a ReadContext,
    pub(crate) mode: RecoveryMode,
    /// Everything up to here is in the manifest's tables.
    pub(crate) durable_seq: SeqNo,
}

/// The number that the first record of the log may begin at: it may repeat what tables hold, but
/// must not leave a hole behind it.
fn due_first(durable: SeqNo, record: &Record<'_>) -> SeqNo {
    (durable + 1).min(before(record))
}

/// Where the numbers that a record uses up begin, those it says were never logged included.
fn before(record: &Record<'_>) -> SeqNo {
    record.seq.saturating_sub(u64::from(record.gap))
}

/// The error with its place, where no layer below has named the file it is about.
pub(crate) fn placed(error: Error, segment: &OnDisk, offset: u64) -> Error {
    if error.file_name().is_some() {
        return error;
    }
    error.file(segment.name.clone()).offset(offset)
}

impl Walk<'_> {
    /// Finds the log's end.
    ///
    /// # Errors
    /// `Corruption` of what a sync had covered; of reading: what cannot be read now is no end.
    pub(crate) fn find_end(&self) -> Result<End> {
        let mut end = End::default();
        let mut expected = None;
        for index in 0..self.log.len() {
            let segment = self.log.read(index)?;
            let Some(header) = &segment.header else {
                let cut = Cut {
                    segment: index,
                    offset: 0,
                    why: "the segment's header is missing or not its own".to_owned(),
                    unreadable: true,
                };
                return self.cut(end, &segment, cut);
            };
            let next = self.log.header(index + 1)?;
            let next = next.filter(|next| next.previous_segment == header.segment);
            let mut reader = SegmentReader::new(&segment.bytes, header);
            let follower = OnceCell::new();
            let (offset, why, unreadable) = loop {
                match reader.advance() {
                    // The next segment says where this one ended.
                    Step::Record(record)
                        if next.is_some_and(|next| record.offset >= next.previous_end)
                            && self.takes_the_place(index + 1, &follower, &record)? =>
                    {
                        break (record.offset, None, false);
                    }
                    Step::Record(record) => {
                        let due =
                            expected.get_or_insert_with(|| due_first(self.durable_seq, &record));
                        let checked = self
                            .check_record(&record, due)
                            .map_err(|error| placed(error, &segment, record.offset))?;
                        if checked.is_some() {
                            break (record.offset, checked, false);
                        }
                    }
                    Step::End { offset } => break (offset, None, false),
                    Step::Bad { offset, why } => break (offset, Some(why.to_string()), true),
                }
            };
            end.ends.push(offset);
            // What lies behind the end that the next segment knows is of no account.
            if next.is_some_and(|next| offset >= next.previous_end) {
                continue;
            }
            let cut = Cut {
                segment: index,
                offset,
                why: why.unwrap_or_else(|| "the segment is full".to_owned()),
                unreadable,
            };
            return self.cut(end, &segment, cut);
        }
        Ok(end)
    }

    /// Whether the first record from segment `index` on has taken the place of `refused`, which stands
    /// behind the end of the segment before: its write had failed, and yet all of it got there.
    /// `follower` is what was found of that record, looked for once however many are refused.
    fn takes_the_place(
        &self,
        index: usize,
        follower: &OnceCell<Option<SeqNo>>,
        refused: &Record<'_>,
    ) -> Result<bool> {
        if follower.get().is_none() {
            let found = self.first_from(index)?;
            follower.get_or_init(|| found);
        }
        let found = follower.get().copied().flatten();
        Ok(found.is_some_and(|first| first <= before(refused)))
    }

    /// The number before the first record from segment `index` on.
    fn first_from(&self, index: usize) -> Result<Option<SeqNo>> {
        for index in index..self.log.len() {
            let segment = self.log.read(index)?;
            let Some(header) = &segment.header else {
                break;
            };
            if let Step::Record(first) = SegmentReader::new(&segment.bytes, header).advance() {
                return Ok(Some(before(&first)));
            }
        }
        Ok(None)
    }

    /// Sequence numbers must continue and pointers lead to their values: `Some(why)` where the log
    /// ends here.
    ///
    /// # Errors
    /// The record is intact and yet not understood: that is damage of another kind, or a newer
    /// version's work, and never the end of the log. Neither is a value that cannot be read just
    /// now: recovery would make the loss final.
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
                match self.check_value(entry.key, &pointer) {
                    // Of a value file that is not there, too.
                    Err(error) if error.kind() == ErrorKind::Corruption => {
                        return Ok(Some(error.to_string()));
                    }
                    checked => checked?,
                }
            }
            seq += 1;
        }
        check_seq(seq)?;
        *due = seq;
        Ok(None)
    }

    fn check_value(&self, key: &[u8], pointer: &Pointer) -> Result<()> {
        let handle = self.values.get(&pointer.file.0).ok_or_else(|| {
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

    /// Ends the log at `cut`, which lies in `segment`.
    ///
    /// # Errors
    /// `Corruption` when something behind the cut proves that a sync had covered it, unless the
    /// caller opens without regard to that.
    fn cut(&self, mut end: End, segment: &OnDisk, cut: Cut) -> Result<End> {
        let last = cut.segment + 1 == self.log.len();
        let start = usize::try_from(cut.offset).unwrap_or(usize::MAX);
        let rest = segment.bytes.get(start..).unwrap_or_default();
        // Zeros to the end are where writing simply stopped.
        let begun = segment.header.is_some() && !segment.short;
        if last && begun && rest.iter().all(|byte| *byte == 0) {
            return Ok(end);
        }
        let witness = self.witness(segment, &cut)?;
        if let Some((file, at)) = &witness
            && self.mode == RecoveryMode::Strict
        {
            let damage = self.damage(segment, cut, file)?;
            return Err(damage.expected(format_args!(
                "the record that {file} offset {at} knew to be durable"
            )));
        }
        let reason = if last && cut.unreadable && witness.is_none() {
            NOTHING_LOST.to_owned()
        } else {
            cut.why
        };
        end.cut = Some(LogCut {
            file: segment.name.clone(),
            offset: cut.offset,
            reason,
        });
        Ok(end)
    }

    /// The error of a cut in bytes that had been synced, as `witness`, a segment, shows.
    fn damage(&self, segment: &OnDisk, cut: Cut, witness: &str) -> Result<Error> {
        if witness != segment.name {
            for index in [cut.segment, cut.segment + 1] {
                if self.log.is_missing(index)? {
                    return Ok(Error::corruption(
                        "a log segment that the database needs is missing; open with PointInTime to \
                         keep what stands before it",
                    )
                    .file(self.log.name(index))
                    .offset(0)
                    .found("no file"));
                }
            }
        }
        Ok(Error::corruption(
            "the log is damaged where it had been synced; open with PointInTime to keep what \
             stands before",
        )
        .file(segment.name.clone())
        .offset(cut.offset)
        .found(cut.why))
    }

    /// The record behind the cut, if there is one, that knew the bytes there to be durable: its file
    /// and offset.
    fn witness(&self, segment: &OnDisk, cut: &Cut) -> Result<Option<(String, u64)>> {
        if let Some(header) = &segment.header
            && let Some((at, _)) = find_later_synced(&segment.bytes, header, cut.offset)
        {
            return Ok(Some((segment.name.clone(), at)));
        }
        for index in cut.segment + 1..self.log.len() {
            // Its first sector alone: a damaged manifest may name one file any number of times.
            if self.log.header(index)?.is_none() {
                continue;
            }
            let later = self.log.read(index)?;
            if let Some(header) = &later.header
                && let Some((at, _)) = find_later_synced(&later.bytes, header, 0)
            {
                return Ok(Some((later.name, at)));
            }
        }
        Ok(None)
    }
}
