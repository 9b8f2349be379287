//! One pass with a cursor. Each key and value are folded, bound to each other and summed; the sum,
//! the count and the order are checked after the clock has stopped.

use super::Worker;
use crate::engine::{Cursor, Session};
use crate::fault::Fault;
use crate::measure::byte_sum::{ScanSum, bind, fold, fold_key};
use crate::workload::key::DIGITS;

/// Returns the last bytes of a key as a number that sorts as the key does; 0 if the key is too
/// short.
#[inline]
fn rank(key: &[u8]) -> u128 {
    key.last_chunk::<DIGITS>()
        .map_or(0, |digits| u128::from_le_bytes(*digits).swap_bytes())
}

/// Checks that entries come in order.
trait Sequence {
    /// Returns whether `key` may follow the previous key.
    fn follows(&mut self, key: &[u8], backward: bool) -> bool;
}

/// Keys whose last bytes alone sort them. No key has rank 0: neither digits nor the padding of
/// RocksDB's keys are NUL bytes.
struct ByRank(u128);

impl Sequence for ByRank {
    #[inline]
    fn follows(&mut self, key: &[u8], backward: bool) -> bool {
        let rank = rank(key);
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
        match (self.task.pool.layout().has_rank(), backward) {
            (true, false) => self.scan_in::<false>(ByRank(0)),
            (true, true) => self.scan_in::<true>(ByRank(u128::MAX)),
            (false, false) => self.scan_in::<false>(ByBytes(None)),
            (false, true) => self.scan_in::<true>(ByBytes(None)),
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
}
