//! One pass with a cursor. Each key and value are folded, bound to each other and summed; the sum,
//! the count and the order are checked after the clock has stopped.

use super::Worker;
use crate::engine::{Cursor, Session};
use crate::fault::Fault;
use crate::measure::byte_sum::{ScanSum, bind, fold, fold_key};
use crate::workload::key::{DIGITS, Rank};

/// Checks that entries come in order.
trait Sequence {
    /// Returns whether `key` may follow the previous key.
    fn follows(&mut self, key: &[u8], backward: bool) -> bool;
}

/// Keys whose first (`HEAD`) or last sixteen bytes alone sort them. No key has rank 0: neither
/// digits nor the padding of RocksDB's keys are NUL bytes, and of random bytes it is improbable.
struct ByRank<const HEAD: bool>(u128);

impl<const HEAD: bool> ByRank<HEAD> {
    /// Returns the bytes as a number that sorts as the key does; 0 if the key is too short.
    #[inline]
    fn rank(key: &[u8]) -> u128 {
        let bytes = if HEAD {
            key.first_chunk::<DIGITS>()
        } else {
            key.last_chunk::<DIGITS>()
        };
        bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes).swap_bytes())
    }
}

impl<const HEAD: bool> Sequence for ByRank<HEAD> {
    #[inline]
    fn follows(&mut self, key: &[u8], backward: bool) -> bool {
        let rank = Self::rank(key);
        let bound = std::mem::replace(&mut self.0, rank);
        if backward { rank < bound } else { rank > bound }
    }
}

/// Any keys.
struct ByBytes(Option<Vec<u8>>);

impl Sequence for ByBytes {
    fn follows(&mut self, key: &[u8], backward: bool) -> bool {
        let Some(last) = &mut self.0 else {
            self.0 = Some(key.to_vec());
            return true;
        };
        let right = if backward {
            key < last.as_slice()
        } else {
            key > last.as_slice()
        };
        last.clear();
        last.extend_from_slice(key);
        right
    }
}

impl<S: Session> Worker<'_, S> {
    /// Reads from one end towards the other, at most as many entries as the row's count.
    pub(super) fn scan(&mut self, backward: bool) -> Result<ScanSum, Fault> {
        match (self.task.pool.layout().rank(), backward) {
            (Rank::Tail, false) => self.scan_in::<false>(ByRank::<false>(0)),
            (Rank::Tail, true) => self.scan_in::<true>(ByRank::<false>(u128::MAX)),
            (Rank::Head, false) => self.scan_in::<false>(ByRank::<true>(0)),
            (Rank::Head, true) => self.scan_in::<true>(ByRank::<true>(u128::MAX)),
            (Rank::None, false) => self.scan_in::<false>(ByBytes(None)),
            (Rank::None, true) => self.scan_in::<true>(ByBytes(None)),
        }
    }

    /// Not inlined, and separate for each direction: when inlined into its callers, the loop ran
    /// out of registers and a step over an empty engine was a third slower.
    #[inline(never)]
    fn scan_in<const BACKWARD: bool>(
        &mut self,
        mut order: impl Sequence,
    ) -> Result<ScanSum, Fault> {
        let meter = &mut self.meter;
        let mut cursor = self.session.cursor()?;
        let mut sum = ScanSum::default();
        let mut bytes = 0;
        if BACKWARD {
            cursor.last()?;
        } else {
            cursor.first()?;
        }
        while meter.wants() && cursor.valid() {
            let key = cursor.key();
            let (key_bytes, key_fold) = (key.len(), fold_key(key));
            sum.disorders += u64::from(!order.follows(key, BACKWARD));
            let value = cursor.value()?;
            bytes += key_bytes + value.len();
            sum.total = sum.total.wrapping_add(bind(key_fold, fold(value)));
            meter.op();
            if BACKWARD {
                cursor.prev()?;
            } else {
                cursor.next()?;
            }
        }
        cursor.check()?;
        sum.entries = meter.done();
        meter.bytes = bytes as u64;
        meter.found = sum.entries;
        Ok(sum)
    }

    /// Reads from the first entry on with the store's own iteration, at most as many entries as the
    /// row's count.
    pub(super) fn iterate(&mut self) -> Result<ScanSum, Fault> {
        match self.task.pool.layout().rank() {
            Rank::Tail => self.iterate_in(ByRank::<false>(0)),
            Rank::Head => self.iterate_in(ByRank::<true>(0)),
            Rank::None => self.iterate_in(ByBytes(None)),
        }
    }

    #[inline(never)]
    fn iterate_in(&mut self, mut order: impl Sequence) -> Result<ScanSum, Fault> {
        let meter = &mut self.meter;
        let mut sum = ScanSum::default();
        let mut bytes = 0;
        if meter.wants() {
            self.session.iterate(|key, value| {
                sum.disorders += u64::from(!order.follows(key, false));
                bytes += key.len() + value.len();
                let bound = bind(fold_key(key), fold(value));
                sum.total = sum.total.wrapping_add(bound);
                meter.op();
                meter.wants()
            })?;
        }
        sum.entries = meter.done();
        meter.bytes = bytes as u64;
        meter.found = sum.entries;
        Ok(sum)
    }
}
