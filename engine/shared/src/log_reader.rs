//! What a consumer of changes in another process needs of the log.
//!
//! Such a consumer takes a separate slot. The writer keeps the log after the sequence number there,
//! as for a consumer in its process.

use cairndb_base::SeqNo;
use cairndb_base::hash64;

use crate::layout::{DURABLE_WORD, FLOOR_WORD, SLOTS, SlotWords};
use crate::shared::Shared;
use crate::slot::Slot;
use crate::sync::{Ordering, fence};

/// Contents of the word of a consumer that has fallen off.
const FELL: u64 = u64::MAX;
/// The highest bit of a wish: its consumer has a lease.
const LEASED: u64 = 1 << 63;
/// The interval has the next 17 bits, and the lease or the limit the rest.
const INTERVAL_AT: u32 = 46;
const REST: u64 = (1 << INTERVAL_AT) - 1;
const INTERVAL_UNITS_MAX: u64 = (1 << 17) - 1;
/// Unit of the interval, in microseconds.
const INTERVAL_UNIT_US: u64 = 16;
/// Unit of the limit.
const MIB: u64 = 1 << 20;

/// What a consumer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogWish {
    /// It needs everything that was logged after this sequence number.
    pub after: SeqNo,
    /// [`lease_key`] of its lease, which has its own limit.
    pub lease: Option<u64>,
    /// Maximum number of bytes that are kept for it without a lease; rounded up to MiB.
    pub bytes_max: u64,
    /// Interval at which the log is to be synced, in microseconds; 0: it is not. Rounded up to 16.
    pub interval_us: u64,
}

/// Returns what stands for a lease in a slot.
pub fn lease_key(name: &str) -> u64 {
    hash64(name.as_bytes()) & REST
}

impl LogWish {
    fn word(&self) -> u64 {
        let units = self.interval_us.div_ceil(INTERVAL_UNIT_US);
        let interval = units.min(INTERVAL_UNITS_MAX) << INTERVAL_AT;
        let mib = self.bytes_max.div_ceil(MIB).min(REST);
        interval | self.lease.map_or(mib, |lease| LEASED | lease & REST)
    }

    fn of_words(log: u64, wish: u64) -> LogWish {
        let rest = wish & REST;
        let is_leased = wish & LEASED != 0;
        LogWish {
            after: log - 1,
            lease: is_leased.then_some(rest),
            bytes_max: rest.saturating_mul(MIB),
            interval_us: (wish >> INTERVAL_AT & INTERVAL_UNITS_MAX) * INTERVAL_UNIT_US,
        }
    }
}

/// A consumer in another process.
#[derive(Clone, Copy, Debug)]
pub struct LogReader {
    slot: usize,
    /// What it wants.
    pub wish: LogWish,
}

impl Slot {
    /// Holds the log. The caller then checks [`SharedLog::floor`]: what is below may be gone.
    pub fn hold_log(&self, wish: &LogWish) {
        let word = self.shared.word(self.words.log_wish());
        word.store(wish.word(), Ordering::Relaxed);
        let word = self.shared.word(self.words.log());
        word.store(wish.after + 1, Ordering::Release);
        // Either the writer sees this slot before it decides what is gone, or this process sees
        // what the writer announced before it decided.
        fence(Ordering::SeqCst);
    }

    /// Records that the consumer needs nothing up to `seq`.
    pub fn advance_log(&self, seq: SeqNo) {
        let word = self.shared.word(self.words.log());
        let before = word.load(Ordering::Relaxed);
        if before <= seq {
            // Fails only if the writer has let the consumer fall off.
            let _ = word.compare_exchange(before, seq + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Returns whether the writer has let the consumer fall off.
    pub fn has_lost_log(&self) -> bool {
        self.shared.load(self.words.log()) == FELL
    }
}

/// What the shared memory has about the log: what is kept, for whom, and who asks for more.
#[derive(Clone, Copy, Debug)]
pub struct SharedLog<'s> {
    pub(crate) shared: &'s Shared,
}

impl<'s> SharedLog<'s> {
    /// Returns the part of the shared memory that is about the log.
    pub fn of(shared: &'s Shared) -> SharedLog<'s> {
        SharedLog { shared }
    }

    /// Announces that what was logged up to `seq` may be gone. The caller then looks at what
    /// consumers of changes need: see [`SharedLog::readers`].
    pub fn announce_floor(self, seq: SeqNo) {
        self.shared.word(FLOOR_WORD).store(seq, Ordering::Release);
    }

    /// Returns the sequence number after which everything that was logged can be read.
    pub fn floor(self) -> SeqNo {
        self.shared.load(FLOOR_WORD)
    }

    /// Announces that everything up to `seq` is durable.
    pub fn announce_durable(self, seq: SeqNo) {
        self.shared
            .word(DURABLE_WORD)
            .fetch_max(seq, Ordering::AcqRel);
    }

    /// Returns the sequence number up to which everything is durable.
    pub fn durable(self) -> SeqNo {
        self.shared.load(DURABLE_WORD)
    }

    /// Returns the live consumers of changes that have not fallen off.
    pub fn readers(self) -> Vec<LogReader> {
        // Pairs with the fence of `Slot::hold_log`.
        fence(Ordering::SeqCst);
        let readers = (0..SLOTS).filter_map(|slot| {
            let words = SlotWords::of(slot);
            let log = self.shared.load(words.log());
            let wish = self.shared.load(words.log_wish());
            let reads = log != 0 && log != FELL && self.shared.is_alive(words);
            reads.then(|| LogReader {
                slot,
                wish: LogWish::of_words(log, wish),
            })
        });
        readers.collect()
    }

    /// Lets a consumer fall off.
    pub fn drop_reader(self, reader: &LogReader) {
        let words = SlotWords::of(reader.slot);
        self.shared.word(words.log()).store(FELL, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use cairndb_base::Result;
    use cairndb_env::implement::SharedHeap;

    use super::*;
    use crate::layout::WORDS;

    #[test]
    fn the_writer_reads_what_a_consumer_wants() -> Result<()> {
        let file = SharedHeap::new(WORDS);
        let [writer, follower] = [1, 2].map(|process| Shared::set_up(file.open(process), "SHARED"));
        let (writer, follower) = (writer?, follower?);
        let log = SharedLog::of(&writer);
        let slot = Slot::take(&follower)?.expect("the words are writable");
        assert!(log.readers().is_empty());
        let mut wish = LogWish {
            after: 0,
            lease: None,
            bytes_max: (5 << 20) - 1,
            interval_us: 100_000,
        };
        slot.hold_log(&wish);
        wish.bytes_max = 5 << 20;
        assert_eq!(log.readers()[0].wish, wish);
        slot.advance_log(7);
        slot.advance_log(6);
        assert_eq!(log.readers()[0].wish.after, 7);
        let leased = LogWish {
            after: 9,
            lease: Some(lease_key("index")),
            ..wish
        };
        slot.hold_log(&leased);
        let found = log.readers()[0];
        assert_eq!((found.wish.lease, found.wish.after), (leased.lease, 9));
        log.drop_reader(&found);
        assert!(slot.has_lost_log() && log.readers().is_empty());
        slot.advance_log(20);
        assert!(slot.has_lost_log());
        drop(slot);
        assert!(!Slot::take(&follower)?.expect("it is free").has_lost_log());
        Ok(())
    }
}
