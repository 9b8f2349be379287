//! One pass with a cursor. Every key and value is folded, bound to each other and summed; the sum,
//! the count and the order are judged when the clock has stopped.

use super::Worker;
use crate::engine::{Cursor, Session};
use crate::fault::Fault;
use crate::fold::{ScanSum, bind, fold};
use crate::key::DIGITS;

/// The digits of a key as a number that sorts as the key does; 0 for a key too short to be one.
#[inline]
fn rank(key: &[u8]) -> u128 {
    key.last_chunk::<DIGITS>()
        .map_or(0, |digits| u128::from_le_bytes(*digits).swap_bytes())
}

impl<S: Session> Worker<'_, S> {
    /// Reads from one end towards the other, at most the row's count.
    pub(super) fn scan(&mut self, backward: bool) -> Result<ScanSum, Fault> {
        let meter = &mut self.meter;
        let mut cursor = self.session.cursor()?;
        let mut sum = ScanSum::default();
        let mut bytes = 0;
        let mut bound = if backward { u128::MAX } else { 0 };
        if backward {
            cursor.last()?;
        } else {
            cursor.first()?;
        }
        while meter.wants() && cursor.valid() {
            let key = cursor.key();
            let (key_bytes, key_fold, key_rank) = (key.len(), fold(key), rank(key));
            let value = cursor.value()?;
            bytes += key_bytes + value.len();
            sum.total = sum.total.wrapping_add(bind(key_fold, fold(value)));
            // No key has rank 0: digits are not zero bytes.
            let ordered = if backward {
                key_rank < bound
            } else {
                key_rank > bound
            };
            sum.disorders += u64::from(!ordered);
            bound = key_rank;
            meter.op();
            if backward {
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
