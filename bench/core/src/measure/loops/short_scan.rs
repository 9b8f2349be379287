//! A short scan, forwards or backwards, from a cursor's position; every entry is checked as it is
//! returned.

use std::hint::black_box;
use std::ops::Range;

use super::{Task, position};
use crate::engine::Cursor;
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::measure::meter::Meter;
use crate::workload::key;
use crate::workload::model::Word;

/// The start and the length of a short scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The key that was sought.
    pub(super) from: u64,
    /// Maximum number of entries.
    pub(super) entries: u64,
    /// Whether it goes backwards from the key that the cursor is at, which is at or after `from`.
    pub(super) backward: bool,
}

/// Reads the entries of a short scan. Returns their number.
///
/// Without concurrent writers, the entries must be exactly the model's. With writers, each must be
/// one that may be present, in order. With `--verify=0` they are still checked but the
/// result is dropped, because the cost of the harness must not depend on the store.
pub(super) fn walk(
    task: &Task<'_>,
    cursor: &mut impl Cursor,
    walk: Walk,
    meter: &mut Meter,
) -> Result<u64, Fault> {
    let model = task.model;
    let mut ahead = Ahead {
        backward: walk.backward,
        limit: (!walk.backward).then_some(walk.from),
    };
    let mut done = 0;
    while done < walk.entries && cursor.valid() {
        let key_bytes = cursor.key().len();
        let index = model
            .layout()
            .index_of(cursor.key())
            .filter(|&index| position(index) < model.keys());
        if index.is_none() && task.judged {
            let text = key::show(cursor.key());
            meter.wrong(|| format!("key {text} was never written"));
        }
        // An engine that stores nothing always returns the same key: it stands for the expected
        // one.
        let index = if task.capabilities.stores {
            index
        } else {
            black_box(index).map(|_| ahead.expected(walk.from).min(model.keys() as u64 - 1))
        };
        let value = cursor.value()?;
        meter.read_bytes += (key_bytes + value.len()) as u64;
        let answer = fold(value);
        if let Some(index) = index {
            if let Some(wrong) = judge(task, &ahead, index, answer)
                && task.judged
            {
                meter.wrong(|| wrong.describe(task, index, answer));
            }
            ahead.pass(index);
        }
        done += 1;
        if walk.backward {
            cursor.prev()?;
        } else {
            cursor.next()?;
        }
    }
    if task.judged && done < walk.entries && !task.contended {
        let left_out = present(task, ahead.rest(model.keys() as u64));
        if let Some(index) = left_out {
            meter.wrong(|| format!("a scan ended before key {}", model.layout().show(index)));
        }
    }
    Ok(done)
}

/// The keys that may follow in a scan.
struct Ahead {
    backward: bool,
    /// Forwards, the first one; backwards, the one after the last, unknown at the start.
    limit: Option<u64>,
}

impl Ahead {
    /// Returns the key that follows if no key is absent.
    fn expected(&self, from: u64) -> u64 {
        let limit = self.limit.unwrap_or(from + 1);
        if self.backward {
            limit.saturating_sub(1)
        } else {
            limit
        }
    }

    /// Returns the keys before `index` that have not followed, or `None` if it may not follow.
    fn gap(&self, index: u64) -> Option<Range<u64>> {
        match (self.backward, self.limit) {
            (_, None) => Some(index..index),
            (true, Some(end)) => (index < end).then_some(index + 1..end),
            (false, Some(next)) => (next <= index).then_some(next..index),
        }
    }

    /// Returns all keys that may follow, of so many.
    fn rest(&self, keys: u64) -> Range<u64> {
        match (self.backward, self.limit) {
            (_, None) => 0..0,
            (true, Some(end)) => 0..end,
            (false, Some(next)) => next..keys,
        }
    }

    fn pass(&mut self, index: u64) {
        self.limit = Some(if self.backward { index } else { index + 1 });
    }
}

/// Returns the first of the keys that is present in the model.
fn present(task: &Task<'_>, mut keys: Range<u64>) -> Option<u64> {
    keys.find(|&index| task.model.load(position(index)).is_present())
}

/// The defect of an entry.
enum Wrong {
    Order,
    LeftOut(u64),
    Answer(Word),
}

impl Wrong {
    #[cold]
    fn describe(&self, task: &Task<'_>, index: u64, answer: u64) -> String {
        let model = task.model;
        match *self {
            Self::Order => format!("key {} came out of order", model.layout().show(index)),
            Self::LeftOut(key) => format!("a scan left out key {}", model.layout().show(key)),
            Self::Answer(word) => model.describe(index, word, answer),
        }
    }
}

/// Checks the entry `index`.
fn judge(task: &Task<'_>, ahead: &Ahead, index: u64, answer: u64) -> Option<Wrong> {
    let model = task.model;
    let Some(gap) = ahead.gap(index) else {
        return Some(Wrong::Order);
    };
    if !task.contended
        && let Some(left_out) = present(task, gap)
    {
        return Some(Wrong::LeftOut(left_out));
    }
    let word = model.load(position(index));
    let is_right = if task.contended {
        // The cursor may have been created before the last write: any value of the pool is
        // accepted.
        model.was_written(answer)
    } else {
        model.allows(word, word, answer)
    };
    (!is_right).then_some(Wrong::Answer(word))
}
