//! Finds the end of the log of a database that was not closed.
//!
//! All records are scanned without writing, so that a refused open leaves the directory unchanged.
//! The log ends at the first bytes that are not a record. These bytes are damaged if a later intact
//! record, in the same segment or a later one, recorded them as durable. Otherwise they are a torn
//! tail, or content from before the file was recycled.

use std::cell::OnceCell;

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo};
use cairndb_files::check_seq;
use cairndb_format::batch;
use cairndb_format::log::{Record, SegmentReader, Step, find_later_synced};
use cairndb_format::value_file::{Pointer, read_value};

use crate::recovery::live_log::{LiveLog, OnDisk};
use crate::recovery::report::LogCut;
use crate::state::options::RecoveryMode;
use crate::state::sections::{Orders, StoredKey};
use crate::state::version::Values;

/// Reason reported for a cut after which possibly nothing was written. Killing a process with a
/// recycled log always leaves such a cut.
const NOTHING_LOST: &str = "nothing shows that a record was lost: what follows is a torn write, \
                            or content from before the file was recycled";

/// The part of the log to replay.
#[derive(Debug, Default)]
pub(crate) struct LogEnd {
    /// End offset of the records of each segment to replay.
    pub(crate) ends: Vec<u64>,
    /// Position at which the log was cut, if the discarded part may have held a record.
    pub(crate) cut: Option<LogCut>,
}

/// Bytes that are not a record, or a record that does not continue the previous one.
struct Cut {
    segment: usize,
    offset: u64,
    why: String,
    /// Whether the bytes are not a record. They may be anything.
    unreadable: bool,
}

/// A scan of the log for its end.
pub(crate) struct Walk<'a> {
    pub(crate) log: &'a LiveLog<'a>,
    pub(crate) values: &'a Values,
    pub(crate) orders: &'a Orders,
    pub(crate) mode: RecoveryMode,
    /// The tables of the manifest hold everything up to this sequence number.
    pub(crate) durable_seq: SeqNo,
}

/// Returns the sequence number at which the first record of the log may start. The record may
/// repeat entries that tables hold, but must not leave a gap after them.
fn first_expected(durable: SeqNo, record: &Record<'_>) -> SeqNo {
    (durable + 1).min(before(record))
}

/// Returns the first sequence number that a record accounts for, including the unlogged ones before
/// it.
fn before(record: &Record<'_>) -> SeqNo {
    record.seq.saturating_sub(u64::from(record.gap))
}

/// Adds segment and offset to `error`, unless a lower layer has already named a file.
pub(crate) fn locate_error(error: Error, segment: &OnDisk, offset: u64) -> Error {
    if error.file_name().is_some() {
        return error;
    }
    error.file(segment.name.clone()).offset(offset)
}

impl Walk<'_> {
    /// Finds the end of the log.
    ///
    /// # Errors
    /// `Corruption` of bytes that a sync had covered. Read errors: a segment that cannot be read
    /// now does not end the log.
    pub(crate) fn find_end(&self) -> Result<LogEnd> {
        let mut end = LogEnd::default();
        let mut expected = None;
        for index in 0..self.log.len() {
            let segment = self.log.read(index)?;
            let Some(header) = &segment.header else {
                let cut = Cut {
                    segment: index,
                    offset: 0,
                    why: "the segment's header is missing or of another segment".to_owned(),
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
                    // The next segment's header states the end of this one.
                    Step::Record(record)
                        if next.is_some_and(|next| record.offset >= next.previous_end)
                            && self.is_replaced_from(index + 1, &follower, &record)? =>
                    {
                        break (record.offset, None, false);
                    }
                    Step::Record(record) => {
                        let due = expected
                            .get_or_insert_with(|| first_expected(self.durable_seq, &record));
                        let checked = self
                            .check_record(&record, due)
                            .map_err(|error| locate_error(error, &segment, record.offset))?;
                        if checked.is_some() {
                            break (record.offset, checked, false);
                        }
                    }
                    Step::End { offset } => break (offset, None, false),
                    Step::Bad { offset, why } => break (offset, Some(why.to_string()), true),
                }
            };
            end.ends.push(offset);
            // Bytes past the end stated by the next segment are ignored.
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

    /// Returns whether the first record from segment `index` on replaces `refused`, a record past
    /// the end of the previous segment whose write failed although all of it reached the disk.
    /// `follower` caches that first record, so that it is looked up only once regardless of the
    /// number of refused records.
    fn is_replaced_from(
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

    /// Returns the first sequence number that the first record from segment `index` on accounts
    /// for.
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

    /// Checks that sequence numbers are contiguous and that pointers refer to their values. Returns
    /// `Some` with a reason if the log ends here.
    ///
    /// # Errors
    /// An intact record cannot be decoded. It is then damaged in another way, or a newer version
    /// wrote it, and it never ends the log. A value that cannot be read now does not end the log
    /// either, because recovery would make the loss permanent.
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
            // Tables already hold earlier entries, and the values of those may have been removed
            // since.
            if entry.kind == Kind::Pointer && seq > self.durable_seq {
                let pointer = Pointer::decode(entry.value)?;
                match self.check_value(StoredKey::of_entry(&entry), &pointer) {
                    // This includes a missing value file.
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

    fn check_value(&self, key: StoredKey<'_>, pointer: &Pointer) -> Result<()> {
        let handle = self.values.get(&pointer.file.0).ok_or_else(|| {
            Error::corruption("a pointer in the log names a value file that the manifest does not")
        })?;
        let mut value = Vec::new();
        read_value(
            &*handle.file(pointer.end().unwrap_or(0))?,
            pointer.file,
            pointer,
            self.orders[key.section].hash(key.bytes),
            &mut value,
        )
    }

    /// Ends the log at `cut`, which is in `segment`.
    ///
    /// # Errors
    /// `Corruption` if a later record proves that a sync had covered the bytes at the cut, unless
    /// the recovery mode is `PointInTime`.
    fn cut(&self, mut end: LogEnd, segment: &OnDisk, cut: Cut) -> Result<LogEnd> {
        let last = cut.segment + 1 == self.log.len();
        let start = usize::try_from(cut.offset).unwrap_or(usize::MAX);
        let rest = segment.bytes.get(start..).unwrap_or_default();
        // If only zeros follow, nothing was written after the cut.
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
                "the record that {file} offset {at} recorded as durable"
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

    /// Returns the error for a cut in bytes that had been synced, as the segment `witness` proves.
    fn damage(&self, segment: &OnDisk, cut: Cut, witness: &str) -> Result<Error> {
        if witness != segment.name {
            for index in [cut.segment, cut.segment + 1] {
                if self.log.is_missing(index)? {
                    return Ok(Error::corruption(
                        "a log segment that the database needs is missing; open with PointInTime \
                         to keep everything before it",
                    )
                    .file(self.log.name(index))
                    .offset(0)
                    .found("no file"));
                }
            }
        }
        Ok(Error::corruption(
            "the log is damaged where it had been synced; open with PointInTime to keep everything \
             before the damage",
        )
        .file(segment.name.clone())
        .offset(cut.offset)
        .found(cut.why))
    }

    /// Finds a record after the cut that recorded the bytes at the cut as durable. Returns its file
    /// and offset.
    fn witness(&self, segment: &OnDisk, cut: &Cut) -> Result<Option<(String, u64)>> {
        if let Some(header) = &segment.header
            && let Some((at, _)) = find_later_synced(&segment.bytes, header, cut.offset)
        {
            return Ok(Some((segment.name.clone(), at)));
        }
        for index in cut.segment + 1..self.log.len() {
            // Only the first sector is read: a damaged manifest may name one file any number of
            // times.
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
