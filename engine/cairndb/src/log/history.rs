//! `History`: what of the log is kept for readers of changes, and who needs it.
//!
//! A segment whose contents are in tables is retired, and its file is used again. If a holder needs
//! its records, they are *kept* in a copy: the manifest lists it apart, so that recovery does not
//! replay it. A holder is a lease, which the manifest names and which outlives the handle, or an
//! open reader, also of another process. Each has a limit in bytes; past it, the holder falls off.
//!
//! The *floor* is the number after which everything that was logged can be read. A reader may begin
//! at the floor or later.
//!
//! Locks: one mutex, an inner lock; never held across I/O.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::SeqNo;
use cairndb_env::sync::Mutex;
use cairndb_format::manifest::{KeyspaceEvent, Lease, SegmentRecord, VersionEdit};
use cairndb_shared::{LogReader, lease_key};

use crate::log::segments::Segment;

mod holder;
mod kept;

pub(crate) use self::holder::{Holder, OutsideReaders, fell_off};
pub(crate) use self::kept::{Change, Kept};
use self::kept::{describe, listed};

/// Interval at which the time is logged while somebody needs the log.
const MARK_INTERVAL_NS: u64 = 100_000_000;

/// Interval at which a writer looks what readers in other processes need and ask for. Nothing wakes
/// it for them; a shorter interval would keep the processor of an idle machine awake.
const LOOK_INTERVAL_NS: u64 = 1_000_000_000;

#[derive(Debug, Default)]
struct Keeping {
    floor: SeqNo,
    holders: Vec<Arc<Holder>>,
    /// Readers in other processes, when they were last looked at.
    outside: Vec<LogReader>,
    kept: Vec<Kept>,
    /// Copies that no manifest names yet: of a pass that is in progress, or has failed.
    copies: Vec<SegmentRecord>,
    events: Vec<KeyspaceEvent>,
    /// The leases as the manifest has them.
    noted: Vec<Lease>,
}

impl Keeping {
    fn intervals(&self) -> impl Iterator<Item = u64> {
        let holders = self.holders.iter();
        let intervals = holders.map(|holder| holder.interval_ns.load(Ordering::Acquire));
        let outside = self.outside.iter().map(|it| it.wish.interval_us * 1000);
        intervals.chain(outside).filter(|interval| *interval > 0)
    }

    /// Returns the number after which a holder needs the log; `None` if none does.
    fn needed(&self) -> Option<SeqNo> {
        let holders = self.holders.iter().filter(|holder| !holder.has_fallen());
        // A lease stands for its reader.
        let outside = self.outside.iter();
        let outside = outside.filter(|reader| reader.wish.lease.is_none());
        let outside = outside.map(|reader| reader.wish.after);
        holders.map(|holder| holder.seq()).chain(outside).min()
    }

    /// Looks what readers in other processes need. What those with a lease have done with is
    /// acknowledged.
    fn look_outside(&mut self, outside: &dyn OutsideReaders) {
        self.outside = outside.log_readers();
        for holder in &self.holders {
            let key = holder.name.as_deref().map(lease_key);
            let readers = self
                .outside
                .iter()
                .filter(|reader| key.is_some() && reader.wish.lease == key);
            readers.for_each(|reader| holder.advance(reader.wish.after));
        }
    }

    /// Lets holders fall off for which more than their limits would be kept, and readers whose
    /// lease has ended. `values` returns the bytes of the value files from a number on that only
    /// readers of changes need.
    fn enforce(&mut self, all: &[Kept], outside: &dyn OutsideReaders, values: &dyn Fn(u64) -> u64) {
        let bytes = |seq: SeqNo| {
            let kept = all.iter().filter(|kept| kept.last_seq > seq);
            let log: u64 = kept.clone().map(|kept| kept.record.bytes).sum();
            let first = kept.map(|kept| kept.first_values).min();
            log.saturating_add(first.map_or(0, values))
        };
        let holders = self.holders.iter();
        let over = holders.filter(|holder| bytes(holder.seq()) > holder.bytes_max);
        over.for_each(|holder| holder.fall());
        let over = |reader: &mut LogReader| {
            let wish = &reader.wish;
            wish.lease.is_none() && bytes(wish.after) > wish.bytes_max
        };
        for reader in self.outside.extract_if(.., over) {
            outside.drop_log_reader(&reader);
        }
        // Readers learn of the end of their lease before what it has held is gone.
        let holders = self.holders.iter().filter(|holder| !holder.has_fallen());
        let keys: Vec<u64> = holders
            .filter_map(|holder| holder.name.as_deref().map(lease_key))
            .collect();
        let ended = |reader: &mut LogReader| {
            let lease = reader.wish.lease;
            lease.is_some_and(|lease| !keys.contains(&lease))
        };
        for reader in self.outside.extract_if(.., ended) {
            outside.drop_log_reader(&reader);
        }
    }

    /// Returns all leases; the limit of one that has fallen off is 0.
    fn leases(&self) -> Vec<Lease> {
        let holders = self.holders.iter();
        holders.filter_map(|holder| holder.lease()).collect()
    }
}

#[derive(Debug, Default)]
pub(crate) struct History {
    /// Whether there is a holder.
    any: AtomicBool,
    /// The end of the present interval; 0 between two.
    tick_at: AtomicU64,
    /// When an interval last ended with a sync.
    synced_at: AtomicU64,
    /// When readers in other processes are looked at next.
    look_at: AtomicU64,
    keeping: Mutex<Keeping>,
}

impl History {
    /// Returns the history that recovery found. Everything up to `floor` that is not kept is gone.
    pub(crate) fn new(
        floor: SeqNo,
        leases: Vec<Lease>,
        kept: Vec<Kept>,
        events: Vec<KeyspaceEvent>,
    ) -> History {
        let noted = leases.clone();
        let leases = leases.into_iter();
        let holders: Vec<_> = leases
            .map(|lease| Arc::new(Holder::new(Some(lease.name), lease.seq, lease.bytes_max)))
            .collect();
        let fallen = holders.iter().filter(|holder| holder.bytes_max == 0);
        fallen.for_each(|holder| holder.fall());
        // A lease that has not fallen off has everything after its number.
        let whole = holders.iter().filter(|holder| !holder.has_fallen());
        let needed = whole.map(|holder| holder.seq());
        let floor = needed.chain([floor]).min().unwrap_or(floor);
        History {
            any: AtomicBool::new(!holders.is_empty()),
            tick_at: AtomicU64::new(0),
            synced_at: AtomicU64::new(0),
            look_at: AtomicU64::new(0),
            keeping: Mutex::new(Keeping {
                floor,
                holders,
                outside: Vec::new(),
                kept,
                copies: Vec::new(),
                events,
                noted,
            }),
        }
    }

    /// Begins an interval, unless one is in progress: the shortest that a reader wants, at most
    /// that at which times are logged.
    pub(crate) fn begin_interval(&self, now_ns: u64) {
        let interval = self.keeping.lock().intervals().min();
        let interval = interval.unwrap_or(MARK_INTERVAL_NS).min(MARK_INTERVAL_NS);
        let end = now_ns.saturating_add(interval).max(1);
        // A later end would delay what the first write of the interval waits for.
        let _ = self
            .tick_at
            .compare_exchange(0, end, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Returns how long the interval lasts; `None` between two.
    pub(crate) fn interval_left(&self, now_ns: u64) -> Option<u64> {
        let end = self.tick_at.load(Ordering::Acquire);
        (end > 0).then_some(end.saturating_sub(now_ns))
    }

    /// Ends the interval if it is over. Returns whether it was.
    pub(crate) fn end_interval(&self, now_ns: u64) -> bool {
        let over = self.interval_left(now_ns) == Some(0);
        if over {
            self.tick_at.store(0, Ordering::Release);
        }
        over
    }

    /// Returns whether what was logged is to be synced now, because a reader's interval would be
    /// over before the next time is logged; `None` if nobody reads.
    pub(crate) fn is_sync_due(&self, now_ns: u64) -> Option<bool> {
        let interval = self.keeping.lock().intervals().min()?;
        let since = now_ns.saturating_sub(self.synced_at.load(Ordering::Acquire));
        let due = since.saturating_add(MARK_INTERVAL_NS) > interval;
        if due {
            self.synced_at.store(now_ns, Ordering::Release);
        }
        Some(due)
    }

    /// Returns whether there is a holder.
    pub(crate) fn is_wanted(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Adds a reader of everything logged after `seq`. Returns `None` if part of that is gone.
    pub(crate) fn hold(&self, holder: Holder) -> Option<Arc<Holder>> {
        let mut keeping = self.keeping.lock();
        if holder.seq() < keeping.floor {
            return None;
        }
        let holder = Arc::new(holder);
        keeping.holders.push(Arc::clone(&holder));
        self.any.store(true, Ordering::Release);
        Some(holder)
    }

    /// Removes a holder: a reader that ends, or a lease that is dropped.
    pub(crate) fn let_go(&self, holder: &Arc<Holder>) {
        let mut keeping = self.keeping.lock();
        holder.fall();
        keeping.holders.retain(|it| !Arc::ptr_eq(it, holder));
        self.note_any(&keeping);
    }

    fn note_any(&self, keeping: &Keeping) {
        let any = !keeping.holders.is_empty() || !keeping.outside.is_empty();
        self.any.store(any, Ordering::Release);
    }

    /// Looks what readers in other processes need.
    pub(crate) fn look_outside(&self, outside: &dyn OutsideReaders) {
        let mut keeping = self.keeping.lock();
        keeping.look_outside(outside);
        self.note_any(&keeping);
    }

    /// Returns how long it is until readers in other processes are to be looked at again.
    pub(crate) fn until_look(&self, now_ns: u64) -> u64 {
        self.look_at.load(Ordering::Acquire).saturating_sub(now_ns)
    }

    /// Chooses when they are looked at next.
    pub(crate) fn look_again_after(&self, now_ns: u64) {
        let next = now_ns.saturating_add(LOOK_INTERVAL_NS);
        self.look_at.store(next, Ordering::Release);
    }

    /// Returns the number after which everything that was logged can be read.
    pub(crate) fn floor(&self) -> SeqNo {
        self.keeping.lock().floor
    }

    /// Removes the holders without a name: the handle is being closed.
    pub(crate) fn end_readers(&self) {
        let mut keeping = self.keeping.lock();
        keeping.holders.retain(|holder| holder.name.is_some());
    }

    /// Returns the lease `name`.
    pub(crate) fn lease(&self, name: &str) -> Option<Arc<Holder>> {
        let keeping = self.keeping.lock();
        let mut holders = keeping.holders.iter();
        let found = holders.find(|holder| holder.name.as_deref() == Some(name));
        found.map(Arc::clone)
    }

    /// Returns all leases.
    pub(crate) fn leases(&self) -> Vec<Arc<Holder>> {
        let keeping = self.keeping.lock();
        let named = keeping.holders.iter().filter(|it| it.name.is_some());
        named.map(Arc::clone).collect()
    }

    /// Adds the creation or drop of a keyspace.
    pub(crate) fn add_event(&self, event: KeyspaceEvent) {
        self.keeping.lock().events.push(event);
    }

    /// Returns the first event after `seq`.
    pub(crate) fn event_after(&self, seq: SeqNo) -> Option<KeyspaceEvent> {
        let keeping = self.keeping.lock();
        let mut events = keeping.events.iter();
        events.find(|event| event.seq > seq).cloned()
    }

    /// Returns whether a kept segment is no longer needed.
    pub(crate) fn frees(&self) -> bool {
        let keeping = self.keeping.lock();
        let needed = keeping.needed().unwrap_or(SeqNo::MAX);
        let first = keeping.kept.first();
        first.is_some_and(|first| first.last_seq <= needed)
    }

    /// Returns the name that the keyspace `number` had, if it was dropped after what is kept.
    pub(crate) fn name_of(&self, number: u32) -> Option<String> {
        let keeping = self.keeping.lock();
        let mut events = keeping.events.iter();
        let found = events.find(|event| event.number == number);
        found.map(|event| event.name.clone())
    }

    /// Returns the smallest number of a value file that must stay for readers of changes; `live`
    /// are the segments that are not retired.
    pub(crate) fn first_values(&self, live: &[Arc<Segment>]) -> Option<u64> {
        if !self.is_wanted() {
            return None;
        }
        let keeping = self.keeping.lock();
        let needed = keeping.needed()?;
        let kept = keeping.kept.iter();
        let kept = kept.filter(|kept| kept.last_seq > needed);
        let kept = kept.map(|kept| kept.first_values);
        let ends = live.iter().skip(1).map(|next| next.start_seq - 1);
        let live = live.iter().zip(ends.chain([SeqNo::MAX]));
        let live = live.filter(|(_, last)| *last > needed);
        kept.chain(live.map(|(segment, _)| segment.first_values))
            .min()
    }

    /// Adds the kept segments that readers may read to `found`, by number.
    pub(crate) fn add_readable(&self, found: &mut BTreeMap<u64, (SegmentRecord, u64)>) {
        let keeping = self.keeping.lock();
        for kept in &keeping.kept {
            found.insert(kept.record.segment, (kept.record, kept.end));
        }
    }

    /// Decides which of the `leaving` segments, which are in tables, are kept, and which kept ones
    /// are released. `copies` are those of leaving ones; without a copy, a segment is kept in its
    /// own file. `values` is as for [`Keeping::enforce`].
    pub(crate) fn retire(
        &self,
        mut leaving: Vec<Kept>,
        copies: &[SegmentRecord],
        outside: &dyn OutsideReaders,
        values: &dyn Fn(u64) -> u64,
    ) -> Change {
        for kept in &mut leaving {
            let mut copies = copies.iter();
            let copy = copies.find(|copy| copy.segment == kept.record.segment);
            kept.record = copy.copied().unwrap_or(kept.record);
        }
        let mut keeping = self.keeping.lock();
        let mut all = keeping.kept.clone();
        all.extend(leaving);
        let released = |needed: Option<SeqNo>| {
            let needed = needed.unwrap_or(SeqNo::MAX);
            all.partition_point(|kept| kept.last_seq <= needed)
        };
        let floor_of = |released: usize| all[..released].last().map_or(0, |last| last.last_seq);
        // Announced before the readers are looked at, as if nobody needed anything: one that is not
        // seen then sees this, and does not begin.
        outside.announce_floor(floor_of(all.len()).max(keeping.floor));
        keeping.look_outside(outside);
        keeping.enforce(&all, outside, values);
        let released = released(keeping.needed());
        // Whether or not the pass succeeds, no reader begins there any more.
        keeping.floor = keeping.floor.max(floor_of(released));
        outside.announce_floor(keeping.floor);
        self.note_any(&keeping);
        let leases = keeping.leases();
        Change {
            is_new: listed(&all[released..]) != listed(&keeping.kept),
            noted: leases == keeping.noted,
            copied: copies
                .iter()
                .filter(|copy| {
                    let mut kept = all[released..].iter();
                    kept.any(|kept| kept.record.file == copy.file)
                })
                .copied()
                .collect(),
            all,
            released,
            leases,
        }
    }

    /// Records that the manifest has `change`. Returns the segments that nobody needs.
    pub(crate) fn carry_out(&self, change: Change) -> Vec<Kept> {
        let mut keeping = self.keeping.lock();
        let mut all = change.all;
        keeping.kept = all.split_off(change.released);
        keeping.noted = change.leases;
        // A reader may still begin at the floor.
        let needed = keeping.needed().unwrap_or(SeqNo::MAX).min(keeping.floor);
        keeping.events.retain(|event| event.seq > needed);
        all
    }

    /// Returns the number after which a holder needs the log; `None` if none does.
    pub(crate) fn needed(&self) -> Option<SeqNo> {
        self.keeping.lock().needed()
    }

    /// Returns the copies that no manifest names yet.
    pub(crate) fn copies(&self) -> Vec<SegmentRecord> {
        self.keeping.lock().copies.clone()
    }

    /// Records them: the next pass uses them if this one fails.
    pub(crate) fn note_copies(&self, copies: &[SegmentRecord]) {
        self.keeping.lock().copies = copies.to_vec();
    }

    /// Returns whether the file of a segment is kept.
    pub(crate) fn keeps(&self, file: u64) -> bool {
        let keeping = self.keeping.lock();
        let mut kept = keeping.kept.iter();
        kept.any(|kept| kept.record.file == file)
    }

    /// Returns the events of keyspaces.
    pub(crate) fn events(&self) -> Vec<KeyspaceEvent> {
        self.keeping.lock().events.clone()
    }

    /// Adds what is kept to an edit that describes everything else.
    pub(crate) fn describe(&self, edit: &mut VersionEdit) {
        let keeping = self.keeping.lock();
        let events = keeping.events.clone();
        describe(edit, &keeping.kept, &keeping.leases(), events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_write_does_not_delay_the_end_of_an_interval() {
        let history = History::default();
        history.begin_interval(5);
        history.begin_interval(MARK_INTERVAL_NS);
        assert!(!history.end_interval(MARK_INTERVAL_NS));
        assert!(history.end_interval(MARK_INTERVAL_NS + 5));
        assert_eq!(history.interval_left(MARK_INTERVAL_NS + 5), None);
    }
}
