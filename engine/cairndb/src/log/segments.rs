//! Segments of the log: live segments in order, and spares for recycling.
//!
//! A segment is *live* from the manifest edit that names it until the edit that retires it. Its
//! file may be overwritten under a new number and salt only once the second edit is durable and no
//! memtable keeps its region, since values are read where they were logged. Only the holder of the
//! commit lock appends; any thread may sync.
//!
//! Locks: the mutex of the set, taken at rotation, retirement and sync, never held across a sync.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::{Result, SeqNo};
use cairndb_env::LogRegion;
use cairndb_env::sync::Mutex;
use cairndb_format::log::{self, Binding, RecordHead, SegmentHeader};
use cairndb_format::manifest::SegmentRecord;

/// Number of segments kept while the database is idle, including live ones. With a spare in
/// addition to the live segment, a small database took more disk space than LevelDB's, and writes
/// after an idle phase gained little.
const QUIET_SEGMENTS_MAX: usize = 1;
/// Number of spares that a busy database always keeps.
const BUSY_SPARES_MIN: usize = 2;
/// Time after which an unused spare is removed.
const SHED_AFTER_NS: u64 = 1_000_000_000;

/// Maximum size of a record that is assembled before it is copied to the log.
const ONE_PIECE_BYTES_MAX: usize = 4096;

/// One live segment.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Number in log order; a recycled file gets a new one.
    pub(crate) number: u64,
    pub(crate) file: u64,
    pub(crate) salt: u64,
    pub(crate) start_seq: SeqNo,
    /// Smallest number of a value file that its pointers may refer to.
    pub(crate) first_values: u64,
    pub(crate) region: Arc<dyn LogRegion>,
    binding: Binding,
    /// End of the last record written to the region.
    written: AtomicU64,
    /// Number of bytes known to be durable.
    synced: AtomicU64,
    /// Whether the manifest edit and the directory entry that name the segment are durable.
    named: AtomicBool,
    /// Whether that edit was appended; until then, no sync pass may consider the segment named.
    appended: AtomicBool,
}

impl Segment {
    pub(crate) fn record(&self) -> SegmentRecord {
        SegmentRecord {
            segment: self.number,
            file: self.file,
            salt: self.salt,
            bytes: self.region.size(),
            start_seq: self.start_seq,
        }
    }

    /// Returns the number of bytes of this segment that survive a power failure.
    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Records that the manifest contains the edit that names this segment.
    pub(crate) fn mark_appended(&self) {
        self.appended.store(true, Ordering::Release);
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    /// Appends one record at `at`, and returns the offset after it. `scratch` is the buffer of the
    /// holder of the commit lock.
    ///
    /// Only the holder of the commit lock calls this. Generic over the number of parts, so that
    /// loops over the parts are unrolled.
    pub(crate) fn append<const PARTS: usize>(
        &self,
        at: u64,
        seq: SeqNo,
        gap: u32,
        payload: &[&[u8]; PARTS],
        scratch: &mut Vec<u8>,
        sync_next: bool,
    ) -> Result<u64> {
        let payload_len: usize = payload.iter().map(|part| part.len()).sum();
        let end = at + log::record_bytes(payload_len as u64);
        assert!(
            end <= self.region.size(),
            "the caller checked that the record fits"
        );
        let synced = u32::try_from(self.synced()).unwrap_or(u32::MAX);
        let offset = u32::try_from(at).expect("segments are shorter than 4 GiB");
        let head = RecordHead {
            offset,
            seq,
            synced: synced.min(offset),
            gap,
        };
        if payload_len <= ONE_PIECE_BYTES_MAX {
            // One checksum pass over contiguous bytes saves more than the copy costs.
            log::encode_record(self.binding, &head, payload, scratch);
            self.region.write(at, &[scratch], sync_next)?;
        } else {
            let header = log::encode_header(self.binding, &head, payload);
            let parts: Vec<&[u8]> = std::iter::once(&header[..])
                .chain(payload.iter().copied())
                .collect();
            self.region.write(at, &parts, sync_next)?;
        }
        self.written.store(end, Ordering::Release);
        Ok(end)
    }
}

/// A file for a later segment.
#[derive(Debug)]
struct Spare {
    file: u64,
    region: Arc<dyn LogRegion>,
    /// Generation in which the manifest dropped its last segment: followers that began to read
    /// before may still read it. 0 if it was none.
    retired: u64,
}

#[derive(Debug, Default)]
struct Sets {
    live: VecDeque<Arc<Segment>>,
    spares: Vec<Spare>,
    /// Minimum number of spares since `shed_ns`.
    spares_unused: usize,
    /// Time at which surplus spares were last shed.
    shed_ns: u64,
    next_number: u64,
}

/// All segments of a database.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    sets: Mutex<Sets>,
    /// Maximum size of live segments and spares combined: no spare is kept above it. It equals the
    /// limit for live segments, so that after a sync pass, which retires most segments at once, the
    /// log continues in recycled files instead of zero-filled ones.
    bytes_max: u64,
}

/// Work of a sync pass, in this order.
#[derive(Debug)]
pub(crate) struct SyncPlan {
    /// Whether some segment's name is not durable yet, so that the directory and the manifest are
    /// synced first.
    pub(crate) name_first: bool,
    /// Segments with unsynced bytes, oldest first, and their ends when the plan was made.
    pub(crate) segments: Vec<(Arc<Segment>, u64)>,
    named: Vec<Arc<Segment>>,
}

impl Segments {
    /// Returns an empty set. `bytes_max` limits the total size of the files of a busy log.
    pub(crate) fn new(next_number: u64, bytes_max: u64) -> Segments {
        Segments {
            bytes_max,
            sets: Mutex::new(Sets {
                next_number,
                ..Sets::default()
            }),
        }
    }

    /// Takes a spare of exactly `bytes` from which no memtable reads values any longer, and that no
    /// follower reads: `is_read` returns whether one may read a segment retired in a generation.
    pub(crate) fn take_spare(
        &self,
        bytes: u64,
        is_read: impl Fn(u64) -> bool,
    ) -> Option<(u64, Arc<dyn LogRegion>)> {
        let mut sets = self.sets.lock();
        // From the end, because the most recently written spare is most likely in the processor's
        // caches.
        let found = sets.spares.iter_mut().rposition(|spare| {
            let (region, retired) = (&mut spare.region, spare.retired);
            let alone = Arc::get_mut(region).filter(|region| region.size() == bytes);
            let free = alone.filter(|_| retired == 0 || !is_read(retired));
            free.map(LogRegion::reuse).is_some()
        })?;
        let spare = sets.spares.remove(found);
        sets.spares_unused = sets.spares_unused.min(sets.spares.len());
        Some((spare.file, spare.region))
    }

    /// Takes out half of the spares that were not needed for a second, the coldest first: after a
    /// burst, a database that is written slowly but is never idle must not keep the files of the
    /// burst. This is not done at each sync pass: passes of a fast load differ in length by a
    /// factor of three, and files removed after a short pass would be recreated and zero-filled in
    /// the next long one.
    pub(crate) fn shed_spares(&self, now_ns: u64) -> Vec<u64> {
        let mut sets = self.sets.lock();
        if now_ns.saturating_sub(sets.shed_ns) < SHED_AFTER_NS {
            return Vec::new();
        }
        sets.shed_ns = now_ns;
        // Other spares may have been trimmed in the meantime.
        let unused = sets.spares_unused.min(sets.spares.len());
        let surplus = unused.saturating_sub(BUSY_SPARES_MIN) / 2;
        let shed: Vec<u64> = sets.spares.drain(..surplus).map(|it| it.file).collect();
        sets.spares_unused = sets.spares.len();
        shed
    }

    /// Returns the total size of the files of all spares.
    pub(crate) fn spare_bytes(&self) -> u64 {
        let sets = self.sets.lock();
        sets.spares.iter().map(|it| it.region.size()).sum()
    }

    /// Keeps a file for recycling, whose last segment was retired in this generation, or returns
    /// its number if there are enough spares. Live segments that were created for one long record
    /// are not recycled and do not count against the limit.
    pub(crate) fn add_spare(
        &self,
        file: u64,
        region: Arc<dyn LogRegion>,
        retired: u64,
    ) -> Option<u64> {
        let mut sets = self.sets.lock();
        // Spares whose regions a cursor keeps cannot be used, and there may be many of them.
        let regions = sets.spares.iter().map(|spare| &spare.region);
        let spares = regions.filter(|region| Arc::strong_count(region) == 1);
        let live = sets.live.iter().map(|segment| &segment.region);
        let alike = |other: &&Arc<dyn LogRegion>| other.size() == region.size();
        let bytes: u64 = spares
            .chain(live)
            .filter(alike)
            .map(|region| region.size())
            .sum();
        if bytes + region.size() > self.bytes_max {
            return Some(file);
        }
        sets.spares.push(Spare {
            file,
            region,
            retired,
        });
        None
    }

    /// Takes out the spares in excess of those that an idle database keeps, of which are at most
    /// `keep_max`, and spares from which a cursor still reads values, because another handle could
    /// not detect this. Returns their file numbers.
    pub(crate) fn trim_spares(&self, keep_max: usize) -> Vec<u64> {
        let mut sets = self.sets.lock();
        let read = |spare: &mut Spare| Arc::get_mut(&mut spare.region).is_none();
        let mut trimmed: Vec<_> = sets.spares.extract_if(.., read).collect();
        let keep = QUIET_SEGMENTS_MAX
            .min(keep_max)
            .saturating_sub(sets.live.len())
            .min(sets.spares.len());
        let surplus = sets.spares.len() - keep;
        trimmed.extend(sets.spares.drain(..surplus));
        trimmed.into_iter().map(|spare| spare.file).collect()
    }

    /// Returns whether a spare is ready for use; a spare whose region a memtable keeps is not.
    pub(crate) fn has_spare(&self) -> bool {
        let sets = self.sets.lock();
        let mut spares = sets.spares.iter();
        spares.any(|spare| Arc::strong_count(&spare.region) == 1)
    }

    /// Makes `region` the newest live segment and writes its header. The caller then names it in
    /// the manifest before the first record.
    pub(crate) fn begin(
        &self,
        file: u64,
        region: Arc<dyn LogRegion>,
        (salt, start_seq): (u64, SeqNo),
        first_values: u64,
    ) -> Result<Arc<Segment>> {
        let mut sets = self.sets.lock();
        let number = sets.next_number;
        let (previous_segment, previous_end) = sets
            .live
            .back()
            .map_or((0, 0), |segment| (segment.number, segment.written()));
        let header = SegmentHeader {
            segment: number,
            salt,
            previous_segment,
            previous_end,
            start_seq,
        };
        assert!(
            sets.live
                .back()
                .is_none_or(|last| last.number < number && last.start_seq <= start_seq),
            "segments follow each other in number and sequence"
        );
        assert!(
            sets.live.iter().all(|segment| segment.file != file),
            "no live segment is overwritten"
        );
        region.write(0, &[&header.encode()], false)?;
        sets.next_number += 1;
        let segment = Arc::new(Segment {
            number,
            file,
            salt,
            start_seq,
            first_values,
            region,
            binding: header.binding(),
            written: AtomicU64::new(log::HEADER_BYTES as u64),
            synced: AtomicU64::new(0),
            named: AtomicBool::new(false),
            appended: AtomicBool::new(false),
        });
        sets.live.push_back(Arc::clone(&segment));
        Ok(segment)
    }

    /// Removes a segment that could not be named in the manifest.
    pub(crate) fn abandon(&self, segment: &Arc<Segment>) {
        self.sets
            .lock()
            .live
            .retain(|live| live.number != segment.number);
    }

    pub(crate) fn live(&self) -> Vec<Arc<Segment>> {
        self.sets.lock().live.iter().cloned().collect()
    }

    /// Returns the total size of the files of all live segments.
    pub(crate) fn retained_bytes(&self) -> u64 {
        self.sets
            .lock()
            .live
            .iter()
            .map(|segment| segment.region.size())
            .sum()
    }

    /// Returns the size of the live segments at which a writer waits: all but the newest one that
    /// is longer than `regular`. It holds one long record, which had to be accepted whole; the
    /// writers after it need not wait for the syncs of all its entries.
    pub(crate) fn limited_bytes(&self, regular: u64) -> u64 {
        let sets = self.sets.lock();
        let sizes = sets.live.iter().map(|segment| segment.region.size());
        let long = sizes.clone().rev().find(|size| *size > regular);
        sizes.sum::<u64>() - long.unwrap_or(0)
    }

    /// Returns the number of the next segment.
    pub(crate) fn next_number(&self) -> u64 {
        self.sets.lock().next_number
    }

    /// Removes the segments before `floor`; their retirement must already be durable.
    pub(crate) fn retire_before(&self, floor: u64) -> Vec<Arc<Segment>> {
        let mut sets = self.sets.lock();
        let mut retired = Vec::new();
        while sets
            .live
            .front()
            .is_some_and(|segment| segment.number < floor)
        {
            retired.extend(sets.live.pop_front());
        }
        assert!(
            sets.live.iter().all(|segment| segment.number >= floor),
            "segments are listed oldest first"
        );
        retired
    }

    /// Returns the work needed to make everything appended so far durable.
    pub(crate) fn plan_sync(&self) -> SyncPlan {
        let sets = self.sets.lock();
        let named: Vec<_> = sets
            .live
            .iter()
            .filter(|segment| {
                segment.appended.load(Ordering::Acquire) && !segment.named.load(Ordering::Acquire)
            })
            .cloned()
            .collect();
        let segments = sets
            .live
            .iter()
            .map(|segment| (Arc::clone(segment), segment.written()))
            .filter(|(segment, end)| segment.synced() < *end)
            .collect();
        SyncPlan {
            name_first: !named.is_empty(),
            segments,
            named,
        }
    }
}

impl SyncPlan {
    /// Marks the segments as named, once the manifest and the directory have been synced.
    pub(crate) fn mark_named(&self) {
        for segment in &self.named {
            segment.named.store(true, Ordering::Release);
        }
    }

    /// Syncs the segments, oldest first, and returns the number of syncs.
    pub(crate) fn sync_segments(&self) -> Result<u64> {
        if self.segments.len() > 1 {
            // Otherwise the disk would be idle between the end of one sync and the start of the
            // next.
            for (segment, _) in &self.segments {
                segment.region.begin_sync();
            }
        }
        for (segment, end) in &self.segments {
            segment.region.sync()?;
            segment.synced.fetch_max(*end, Ordering::AcqRel);
        }
        Ok(self.segments.len() as u64)
    }
}

#[cfg(test)]
mod tests;
