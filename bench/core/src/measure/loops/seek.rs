//! Seeks: the key found is checked, and its value is not read (as in LevelDB's program) unless
//! `--seek_nexts` asks for the entries after it.

use super::short_scan::{Walk, walk};
use super::{Noted, Worker, position};
use crate::engine::{Cursor, Session};
use crate::fault::Fault;
use crate::workload::key;
use crate::workload::model::Model;

/// Number of model entries that are searched for the key that a seek should have found.
const LOOK_AHEAD: usize = 64;

impl<S: Session> Worker<'_, S> {
    /// Seeks with a new cursor each time.
    pub(super) fn seek(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let mut found = 0;
        while self.meter.wants() {
            let index = self.draw();
            self.key.set(index);
            let mut cursor = self.session.cursor()?;
            cursor.seek(self.key.bytes())?;
            let landed = cursor.valid().then(|| cursor.key());
            let hit = landed == Some(self.key.bytes());
            // The key itself is recorded, like an answer: loading the model's word immediately
            // would cost a fifth of a seek. An engine without answers is recorded too, which shows
            // the cost of the harness.
            let noted = !task.contended && (hit || !task.judged);
            if !noted && !is_right(task.model, index, landed, hit, task.contended) && task.judged {
                let text = describe(task.model, index, landed);
                self.meter.wrong(|| text);
            }
            if task.plan.seek_nexts > 0 {
                let behind = Walk {
                    from: index,
                    entries: task.plan.seek_nexts,
                    backward: task.plan.reverse_iterator,
                };
                walk(task, &mut cursor, behind, &mut self.meter)?;
            }
            cursor.check()?;
            found += u64::from(hit);
            drop(cursor);
            if noted {
                self.note(Noted::Hit(index));
            }
            self.meter.op();
            self.pace_read(1);
        }
        self.meter.found = found;
        Ok(self.found_message())
    }

    /// Checks a seek that found the key of this index.
    #[inline]
    pub(super) fn judge_hit(&mut self, index: u64) {
        let task = self.task;
        if !task.model.load(position(index)).is_present() && task.judged {
            let key = task.model.layout().show(index);
            self.meter
                .wrong(|| format!("seek to {key} landed on it, but the key is absent"));
        }
    }

    /// Seeks with one cursor in steps of up to 99 keys.
    pub(super) fn seek_ordered(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let mut cursor = self.session.cursor()?;
        let mut found = 0;
        let mut index = 0;
        while self.meter.wants() {
            index = (index + u64::from(self.random.uniform(100))) % task.plan.num;
            self.key.set(index);
            cursor.seek(self.key.bytes())?;
            let landed = cursor.valid().then(|| cursor.key());
            let hit = landed == Some(self.key.bytes());
            let right = is_right(task.model, index, landed, hit, task.contended);
            if !right && task.judged {
                let text = describe(task.model, index, landed);
                self.meter.wrong(|| text);
            }
            found += u64::from(hit);
            self.meter.op();
        }
        cursor.check()?;
        drop(cursor);
        self.meter.found = found;
        Ok(self.found_message())
    }
}

/// Returns whether `landed` is the first key at or after `index`.
#[inline]
fn is_right(model: &Model, index: u64, landed: Option<&[u8]>, hit: bool, contended: bool) -> bool {
    if contended {
        // With a concurrent writer, a key may appear between the seek and the model lookup, but
        // none before the one sought.
        return hit || landed.is_none_or(|key| is_after(model, index, key));
    }
    let word = model.load(position(index));
    if hit {
        return word.is_present();
    }
    !word.is_present() && is_next(model, position(index), landed)
}

/// Returns whether `key` is in the model and comes after the key of `index`.
fn is_after(model: &Model, index: u64, key: &[u8]) -> bool {
    model.layout().index_of(key).is_some_and(|at| at > index)
}

/// Returns whether a seek to an absent key landed on the next present key.
#[cold]
fn is_next(model: &Model, index: usize, landed: Option<&[u8]>) -> bool {
    let end = model.keys().min(index + LOOK_AHEAD);
    let next = (index + 1..end).find(|&later| model.load(later).is_present());
    let landed = landed.map(|key| model.layout().index_of(key));
    match (next, landed) {
        (Some(next), Some(Some(landed))) => landed == next as u64,
        // No present key is near: any later key is accepted, and no key only if the search reached
        // the end.
        (None, Some(Some(landed))) => landed >= end as u64,
        (None, None) => {
            end == model.keys() || (end..model.keys()).all(|later| !model.load(later).is_present())
        }
        _ => false,
    }
}

#[cold]
fn describe(model: &Model, index: u64, landed: Option<&[u8]>) -> String {
    let wanted = model.layout().show(index);
    match landed {
        Some(found) => format!("seek to {wanted} landed on {}", key::show(found)),
        None => format!("seek to {wanted} found nothing at or after it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::definition::Values;
    use crate::workload::pool::Pool;

    #[test]
    fn a_seek_beside_a_writer_may_land_on_what_came_meanwhile_but_never_before_what_it_sought() {
        let pool = Pool::new(0.5, 100);
        let model = Model::new(&pool, 100);
        model.store(50, model.words(Values::Flag).word(0));
        let right = |landed: Option<u64>, contended| {
            let mut key = model.layout().buffer();
            let landed = landed.map(|at| key.set(at));
            is_right(&model, 40, landed, false, contended)
        };
        assert!(right(Some(50), false) && right(Some(50), true));
        assert!(!right(Some(45), false) && right(Some(45), true));
        assert!(!right(Some(39), true) && !right(Some(39), false));
        assert!(right(None, true) && !right(None, false));
    }
}
