//! A short walk forward from where a cursor stands, every entry judged as it comes.

use super::{Task, position};
use crate::engine::Cursor;
use crate::fault::Fault;
use crate::fold::fold;
use crate::key;
use crate::meter::Meter;

/// Where a walk begins and how far it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The key that was sought.
    pub(super) from: u64,
    /// Entries at most.
    pub(super) entries: u64,
}

/// Reads the entries of a walk; gives how many there were.
///
/// Alone, the entries must be those of the model, none left out. Beside writers each must be one that
/// may be there, in ascending order.
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
        let value = cursor.value()?;
        meter.read_bytes += (key_bytes + value.len()) as u64;
        let answer = fold(value);
        if let Some(index) = index.filter(|_| task.judged) {
            judge(task, next, index, answer, meter);
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

/// The first key from `from` below `to` that the model says is there.
fn present(task: &Task<'_>, from: u64, to: u64) -> Option<u64> {
    (from..to).find(|&index| task.model.load(position(index)).is_present())
}

/// Judges the entry `index` where `next` is the first that may come.
fn judge(task: &Task<'_>, next: u64, index: u64, answer: u64, meter: &mut Meter) {
    let model = task.model;
    if index < next {
        meter.wrong(|| format!("key {} came out of order", model.layout().show(index)));
        return;
    }
    if !task.contended
        && let Some(left_out) = present(task, next, index)
    {
        meter.wrong(|| format!("a scan left out key {}", model.layout().show(left_out)));
    }
    let word = model.load(position(index));
    let is_right = if task.contended {
        // The cursor may have been made before the last write: any value of the pool will do.
        model.was_written(answer)
    } else {
        model.allows(word, word, answer)
    };
    if !is_right {
        meter.wrong(|| model.describe(index, word, answer));
    }
}
