//! A short forward scan from a cursor's position; every entry is checked as it is returned.

use std::hint::black_box;

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
}

/// Reads the entries of a short scan. Returns their number.
///
/// Without concurrent writers, the entries must be exactly the model's. With writers, each must be
/// one that may be present, in ascending order. With `--verify=0` they are still checked but the
/// result is dropped, because the cost of the harness must not depend on the store.
pub(super) fn walk(
    task: &Task<'_>,
    cursor: &mut impl Cursor,
    walk: Walk,
    meter: &mut Meter,
) -> Result<u64, Fault> {
    let model = task.model;
    let (mut next, mut done) = (walk.from, 0);
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
            black_box(index).map(|_| next.min(model.keys() as u64 - 1))
        };
        let value = cursor.value()?;
        meter.read_bytes += (key_bytes + value.len()) as u64;
        let answer = fold(value);
        if let Some(index) = index {
            if let Some(wrong) = judge(task, next, index, answer)
                && task.judged
            {
                meter.wrong(|| wrong.describe(task, index, answer));
            }
            next = index + 1;
        }
        done += 1;
        cursor.next()?;
    }
    if task.judged && done < walk.entries && !task.contended {
        let left_out = present(task, next, model.keys() as u64);
        if let Some(index) = left_out {
            meter.wrong(|| format!("a scan ended before key {}", model.layout().show(index)));
        }
    }
    Ok(done)
}

/// Returns the first key in `from .. to` that is present in the model.
fn present(task: &Task<'_>, from: u64, to: u64) -> Option<u64> {
    (from..to).find(|&index| task.model.load(position(index)).is_present())
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

/// Checks the entry `index`, where `next` is the first that may follow.
fn judge(task: &Task<'_>, next: u64, index: u64, answer: u64) -> Option<Wrong> {
    let model = task.model;
    if index < next {
        return Some(Wrong::Order);
    }
    if !task.contended
        && let Some(left_out) = present(task, next, index)
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
