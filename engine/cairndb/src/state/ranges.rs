//! `RangeDeletions`: the deleted ranges of one section that may still hide entries.
//!
//! A deletion hides every older entry of its range, in whichever memtable or table it is. The
//! entries are dropped when their table is compacted; once no table can have any
//! ([`TableRecord::ranges_applied`](cairndb_format::manifest::TableRecord::ranges_applied)), the
//! deletion is forgotten. Until then it is in the log or in the manifest, and here.
//!
//! Readers need the deletions of their own sequence number. The last [`Moment`] is the map of the
//! newest deletion; earlier ones are kept for open snapshots. A cursor keeps the map of its moment.
//!
//! Rejected: deletions in the tables, as in RocksDB and Pebble. A read would have to ask every
//! source for ranges that cover its key, and a compaction to cut them at the bounds of its outputs.
//!
//! Threads: writers add a deletion under the state lock, before it is published. The installer
//! replaces the object in the view with which deletions end: a reader of an earlier view may find
//! an entry that they hide. Readers take no lock.

mod range_map;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use cairndb_base::{Order, SEQ_MAX, SeqNo};

pub(crate) use self::range_map::{Deleted, RangeMap};

/// The ranges that were deleted at sequence numbers in an interval.
#[derive(Clone, Debug)]
struct Moment {
    /// Sequence number of the first deletion that the map has.
    from: SeqNo,
    /// Sequence number of the first deletion that it lacks.
    until: SeqNo,
    map: RangeMap,
}

/// The deleted ranges of a section.
#[derive(Debug, Default)]
pub(crate) struct RangeDeletions {
    any: AtomicBool,
    /// By sequence number; the last one has no end.
    moments: ArcSwap<Vec<Moment>>,
}

impl RangeDeletions {
    /// Returns the deletions that recovery found.
    pub(crate) fn recovered(map: RangeMap) -> RangeDeletions {
        let any = !map.is_empty();
        let moment = Moment {
            from: 0,
            until: SEQ_MAX,
            map,
        };
        RangeDeletions {
            any: AtomicBool::new(any),
            moments: ArcSwap::from_pointee(if any { vec![moment] } else { Vec::new() }),
        }
    }

    /// Returns whether there are any; the only check of a read while there are none.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Acquire would not be needed: a reader that may see a deletion has acquired its number.
        self.any.load(Ordering::Relaxed)
    }

    /// Adds the newest deletion, before it is published. `needed` returns whether a snapshot reads
    /// at a sequence number from the first to before the second.
    pub(crate) fn add(
        &self,
        order: &Order,
        new: Deleted,
        published: SeqNo,
        needed: impl Fn(SeqNo, SeqNo) -> bool,
    ) {
        let mut moments = (**self.moments.load()).clone();
        let newest = moments.last_mut();
        let before = newest.map(|newest| {
            newest.until = new.seq;
            newest.map.clone()
        });
        let mut map = before.unwrap_or_else(|| {
            let map = RangeMap::default();
            moments.push(Moment {
                from: 0,
                until: new.seq,
                map: map.clone(),
            });
            map
        });
        // A read without a snapshot that began before may find its moment gone; it then begins
        // again, for which the next moment must be published.
        moments.retain(|moment| moment.until > published || needed(moment.from, moment.until));
        let from = new.seq;
        map.add(order, new);
        moments.push(Moment {
            from,
            until: SEQ_MAX,
            map,
        });
        self.moments.store(Arc::new(moments));
        self.any.store(true, Ordering::Release);
    }

    /// Returns the deletions without those for which `ended` is true: they hide nothing any more
    /// in the views that get this. Those that readers have already may still need them.
    pub(crate) fn without(&self, ended: impl Fn(&Deleted) -> bool) -> RangeDeletions {
        let mut moments = (**self.moments.load()).clone();
        for moment in &mut moments {
            moment.map = moment.map.without(&ended);
        }
        if moments.iter().all(|moment| moment.map.is_empty()) {
            moments.clear();
        }
        RangeDeletions {
            any: AtomicBool::new(!moments.is_empty()),
            moments: ArcSwap::from_pointee(moments),
        }
    }

    /// Returns the newest map.
    pub(crate) fn newest(&self) -> RangeMap {
        let moments = self.moments.load();
        moments.last().map(|it| it.map.clone()).unwrap_or_default()
    }

    /// Returns the sequence number of the newest deletion; 0 if there is none.
    pub(crate) fn newest_seq(&self) -> SeqNo {
        self.moments.load().last().map_or(0, |moment| moment.from)
    }

    /// Returns the map at `seq`, and whether it is exactly that. If not, it has deletions that were
    /// published while the caller read `seq`.
    pub(crate) fn at(&self, seq: SeqNo) -> (RangeMap, bool) {
        let moments = self.moments.load();
        let at = moments.partition_point(|moment| moment.until <= seq);
        let Some(moment) = moments.get(at) else {
            return (RangeMap::default(), true);
        };
        (moment.map.clone(), moment.from <= seq)
    }

    /// Returns the sequence number of the newest deletion of `key`; 0 if there is none.
    #[inline(never)]
    pub(crate) fn newest_covering(&self, order: &Order, key: &[u8]) -> SeqNo {
        let moments = self.moments.load();
        let newest = moments.last().and_then(|it| it.map.covering(order, key));
        newest.map_or(0, |range| range.seq)
    }
}
