//! `Holder`: who needs the log after some sequence number.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, SeqNo};
use cairndb_format::manifest::Lease;
use cairndb_shared::LogReader;

/// Who needs the log after some sequence number.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Name of the lease; `None` of a reader without one.
    pub(crate) name: Option<String>,
    /// It needs everything logged after this sequence number.
    seq: AtomicU64,
    /// Maximum number of bytes that are kept for it.
    pub(crate) bytes_max: u64,
    /// Number of its open readers: a lease may have several.
    readers: AtomicU64,
    /// Interval at which the log is synced for them; 0 while nobody reads.
    pub(super) interval_ns: AtomicU64,
    /// Whether more than that would have had to be kept, or the lease was dropped.
    fell: AtomicBool,
}

#[cold]
pub(crate) fn fell_off() -> Error {
    let message = "the changes after this place are no longer kept; begin again with a snapshot";
    Error::new(ErrorKind::Revoked, message)
}

impl Holder {
    pub(crate) fn new(name: Option<String>, seq: SeqNo, bytes_max: u64) -> Holder {
        Holder {
            name,
            seq: AtomicU64::new(seq),
            bytes_max,
            readers: AtomicU64::new(0),
            interval_ns: AtomicU64::new(0),
            fell: AtomicBool::new(false),
        }
    }

    /// Records a reader that wants the log to be synced at this interval.
    pub(crate) fn read_each(&self, interval_ns: u64) {
        self.readers.fetch_add(1, Ordering::AcqRel);
        self.interval_ns.store(interval_ns, Ordering::Release);
    }

    /// Records the end of a reader.
    pub(crate) fn end_reading(&self) {
        if self.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.interval_ns.store(0, Ordering::Release);
        }
    }

    pub(crate) fn seq(&self) -> SeqNo {
        self.seq.load(Ordering::Acquire)
    }

    /// Records that it needs nothing up to `seq`.
    pub(crate) fn advance(&self, seq: SeqNo) {
        self.seq.fetch_max(seq, Ordering::AcqRel);
    }

    pub(crate) fn has_fallen(&self) -> bool {
        self.fell.load(Ordering::Acquire)
    }

    pub(super) fn fall(&self) {
        self.fell.store(true, Ordering::Release);
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        Some(Lease {
            name: self.name.clone()?,
            seq: self.seq(),
            bytes_max: if self.has_fallen() { 0 } else { self.bytes_max },
        })
    }
}

/// The readers of changes in other processes.
pub(crate) trait OutsideReaders {
    /// Announces that what was logged up to `seq` may be gone.
    fn announce_floor(&self, seq: SeqNo);

    /// Returns them.
    fn log_readers(&self) -> Vec<LogReader>;

    /// Lets one fall off.
    fn drop_log_reader(&self, reader: &LogReader);
}
