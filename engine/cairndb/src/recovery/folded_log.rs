//! The log that the edits of a manifest describe: what is to be replayed, and what is kept for
//! readers of changes.

use std::collections::BTreeMap;

use cairndb_base::{Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::log::HEADER_BYTES;
use cairndb_format::manifest::{KeptSegment, KeyspaceEvent, Lease, SegmentRecord, VersionEdit};

use crate::log::history::{History, Kept};
use crate::log::segment_file::copy_segment;

/// The segments of a manifest, and who reads them.
#[derive(Debug, Default)]
pub(crate) struct FoldedLog {
    /// The segments that may hold acknowledged writes which are not in tables.
    pub(crate) live: BTreeMap<u64, SegmentRecord>,
    pub(crate) next_segment: u64,
    /// The segments that only readers of changes need.
    kept: BTreeMap<u64, (SegmentRecord, KeptSegment)>,
    leases: Vec<Lease>,
    events: Vec<KeyspaceEvent>,
}

impl FoldedLog {
    /// Applies the segments, leases and events of an edit.
    pub(super) fn apply(&mut self, edit: &mut VersionEdit) {
        for segment in &edit.added_segments {
            self.next_segment = self.next_segment.max(segment.segment + 1);
            self.live.insert(segment.segment, *segment);
        }
        for segment in &edit.retired_segments {
            self.live.remove(segment);
            self.kept.remove(segment);
        }
        if let Some(list) = edit.kept_segments.take() {
            let before = std::mem::take(&mut self.kept);
            for kept in list {
                let record = self.live.remove(&kept.segment);
                let record = record.or_else(|| Some(before.get(&kept.segment)?.0));
                if let Some(record) = record {
                    self.kept.insert(kept.segment, (record, kept));
                }
            }
        }
        self.leases = edit
            .leases
            .take()
            .unwrap_or_else(|| std::mem::take(&mut self.leases));
        self.events.append(&mut edit.keyspace_events);
    }

    /// Returns the numbers of all files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &u64> {
        let kept = self.kept.values().map(|(record, _)| record);
        self.live.values().chain(kept).map(|record| &record.file)
    }

    /// Returns the sequence number of the newest event of a keyspace; 0 without one.
    pub(crate) fn newest_event(&self) -> SeqNo {
        let events = self.events.iter().map(|event| event.seq);
        events.max().unwrap_or(0)
    }

    /// Returns what is kept for readers of changes.
    pub(crate) fn found(&self) -> FoundHistory {
        let starts = self.kept.values().map(|(record, _)| record.start_seq);
        let starts = starts.chain(self.live.values().map(|record| record.start_seq));
        let starts: Vec<SeqNo> = starts.collect();
        let last = |at: usize| starts.get(at + 1).map_or(0, |next| next.saturating_sub(1));
        let kept = self.kept.values().enumerate();
        let kept = kept.map(|(at, (record, kept))| Kept {
            record: *record,
            end: kept.end,
            last_seq: last(at),
            first_values: if kept.first_values == 0 {
                u64::MAX
            } else {
                kept.first_values
            },
        });
        FoundHistory {
            leases: self.leases.clone(),
            kept: kept.collect(),
            events: self.events.clone(),
            first_values: None,
        }
    }
}

/// What recovery finds for readers of changes.
#[derive(Debug, Default)]
pub(crate) struct FoundHistory {
    leases: Vec<Lease>,
    pub(crate) kept: Vec<Kept>,
    events: Vec<KeyspaceEvent>,
    /// Smallest number of a value file that a replayed pointer refers to.
    first_values: Option<u64>,
}

impl FoundHistory {
    /// Records a pointer of a replayed record.
    pub(super) fn note_values(&mut self, file: u64) {
        let first = self.first_values.unwrap_or(file);
        self.first_values = Some(first.min(file));
    }

    /// Keeps copies of the replayed segments that a lease needs. The files themselves may not be
    /// durable, and after a failed sync could not be made so. `ends` are the ends of their records.
    /// Tables hold everything up to `last_seq`.
    ///
    /// # Errors
    /// Those of reading and writing segments.
    pub(super) fn keep(
        &mut self,
        dir: &dyn Dir,
        next_file: &mut u64,
        (replayed, ends): (&[SegmentRecord], &[u64]),
        last_seq: SeqNo,
    ) -> Result<()> {
        let next = replayed.iter().skip(1).take(ends.len().saturating_sub(1));
        let lasts = next.map(|next| next.start_seq.saturating_sub(1));
        let lasts = lasts.chain([last_seq]);
        let before = self.kept.len();
        for ((record, end), last_seq) in replayed.iter().zip(ends).zip(lasts) {
            let needed = self.leases.iter().any(|lease| lease.seq < last_seq);
            if needed && *end > HEADER_BYTES as u64 {
                let number = || {
                    *next_file += 1;
                    *next_file - 1
                };
                let (record, mut file) = copy_segment(dir, record, *end, number)?;
                file.sync()?;
                self.kept.push(Kept {
                    record,
                    end: *end,
                    last_seq,
                    first_values: self.first_values.unwrap_or(u64::MAX),
                });
            }
        }
        if self.kept.len() > before {
            dir.sync()?;
        }
        Ok(())
    }

    /// Ends all leases: part of the log was given up.
    pub(crate) fn give_up(&mut self) {
        *self = FoundHistory::default();
    }

    /// Returns the history of a database of which nothing follows `last_seq`.
    pub(crate) fn into_history(mut self, last_seq: SeqNo) -> History {
        for lease in &mut self.leases {
            // Its consumer may have seen writes that a crash has lost.
            lease.seq = lease.seq.min(last_seq);
        }
        self.into_live_history(last_seq)
    }

    /// Returns the history of a database whose tables hold everything up to `last_seq`.
    pub(crate) fn into_live_history(mut self, last_seq: SeqNo) -> History {
        for kept in &mut self.kept {
            if kept.last_seq == 0 {
                kept.last_seq = last_seq;
            }
        }
        History::new(last_seq, self.leases, self.kept, self.events)
    }
}
