//! Rows with the shapes of redb's benchmark: entries after the last, entries taken from an end,
//! entries extracted during a scan, and the stall or the sync after many writes.
//!
//! Each has one thread. Answers are compared with the model as they come: the expected key is that
//! of the next present index, which is found in a step or two.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Noted, Worker, position};
use crate::engine::{End, Session};
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::workload::key;
use crate::workload::model::{Model, Word};

/// Number of written entries per put that is timed after them.
const ENTRIES_PER_TIMED_PUT: u64 = 100;

/// Returns the first present index in `from .. to`.
#[inline]
fn present(model: &Model, mut range: std::ops::Range<usize>) -> Option<usize> {
    range.find(|&at| model.load(at).is_present())
}

/// Returns the last present index below `to`.
#[inline]
fn present_below(model: &Model, to: usize) -> Option<usize> {
    (0..to).rev().find(|&at| model.load(at).is_present())
}

impl<S: Session> Worker<'_, S> {
    /// Writes new keys in ascending order, in batches.
    pub(super) fn append(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let mut values = self.values();
        while self.meter.wants() {
            let entries = task.workload.batch.min(self.meter.left());
            for _ in 0..entries {
                // Relaxed: no other thread adds keys.
                let index = task.next_record.fetch_add(1, Ordering::Relaxed);
                let (ordinal, value) = values.draw();
                self.session.batch_put(self.key.set(index), value)?;
                self.note(Noted::Write(position(index), task.words.word(ordinal)));
                self.meter.user_bytes += (self.key.len() + value.len()) as u64;
            }
            self.session.batch_write()?;
            self.meter.ops(entries);
        }
        self.meter.bytes = self.meter.user_bytes;
        Ok(String::new())
    }

    /// Takes the entry at one end until the row or the store ends.
    pub(super) fn pop(&mut self, end: End) -> Result<String, Fault> {
        let task = self.task;
        let model = task.model;
        let mut expected = match end {
            End::First => present(model, 0..model.keys()),
            End::Last => present_below(model, model.keys()),
        };
        while self.meter.wants() {
            let wanted = expected.map(|at| (self.key.set(at as u64), model.load(at)));
            let popped = self.session.pop(end, |key, value| {
                let right = wanted.is_some_and(|(wanted, word)| {
                    key == wanted && model.allows(word, word, fold(value))
                });
                (!right && task.judged).then(|| key::show(key))
            })?;
            match popped {
                Some(Some(wrong)) => self.meter.wrong(|| {
                    let wanted = expected.map(|at| model.layout().show(at as u64));
                    format!("an end of the store was {wrong} where {wanted:?} was expected")
                }),
                Some(None) => {}
                None if expected.is_some() && task.judged => {
                    self.meter.wrong(|| "an end was sought in vain".into());
                }
                None => break,
            }
            let Some(at) = expected else {
                self.meter.op();
                continue;
            };
            self.note(Noted::Write(at, Word::ABSENT));
            self.meter.user_bytes += self.key.len() as u64;
            expected = match end {
                End::First => present(model, at + 1..model.keys()),
                End::Last => present_below(model, at),
            };
            self.meter.op();
        }
        Ok(String::new())
    }

    /// Scans the middle third of the keys and deletes every second entry.
    pub(super) fn extract(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let (model, meter) = (task.model, &mut self.meter);
        let (from, to) = (model.keys() / 3, model.keys() * 2 / 3);
        let mut ends = [from, to].map(|at| (model.layout().buffer(), at));
        let [from_key, to_key] = ends.each_mut().map(|(key, at)| key.set(*at as u64));
        let (mut next, mut visited, mut removed) = (from, 0_u64, Vec::new());
        let key_buffer = &mut self.key;
        self.session.extract((from_key, to_key), |key, value| {
            let wanted = visited % 2 == 1;
            visited += 1;
            let expected = present(model, next..to);
            let word = expected.map_or(Word::ABSENT, |at| model.load(at));
            let same = expected.is_some_and(|at| key == key_buffer.set(at as u64));
            if task.judged && !(same && model.allows(word, word, fold(value))) {
                let text = key::show(key);
                meter.wrong(|| format!("a scan that deletes came to {text}"));
            }
            let Some(at) = expected else {
                return false;
            };
            next = at + 1;
            if wanted {
                removed.push(at);
                meter.user_bytes += key.len() as u64;
                meter.op();
            }
            wanted
        })?;
        if task.judged && present(model, next..to).is_some() {
            meter.wrong(|| "a scan that deletes ended early".into());
        }
        for at in removed {
            model.store(at, Word::ABSENT);
        }
        Ok(format!("(of {visited} entries)"))
    }

    /// Writes all keys in one batch, or in batches of `--batch_size`, then times single puts. The
    /// time of the row is that of the longest.
    pub(super) fn stall(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let (count, size) = (task.plan.writes, task.plan.batch_size);
        let size = if size > 1 { size } else { count };
        let mut values = self.values();
        let (mut left, start) = (count, Instant::now());
        while left > 0 {
            let entries = size.min(left);
            for _ in 0..entries {
                let index = self.draw();
                let (ordinal, value) = values.draw();
                self.session.batch_put(self.key.set(index), value)?;
                self.note(Noted::Write(position(index), task.words.word(ordinal)));
                self.meter.user_bytes += (self.key.len() + value.len()) as u64;
            }
            self.session.batch_write()?;
            left -= entries;
        }
        let batches = start.elapsed();
        let mut longest = Duration::ZERO;
        for _ in 0..(count / ENTRIES_PER_TIMED_PUT).max(1) {
            let index = self.draw();
            let begun = Instant::now();
            self.put_next(index, &mut values)?;
            longest = longest.max(begun.elapsed());
        }
        self.meter.op();
        self.meter.set_time(longest);
        Ok(format!("(after batches of {size}: {batches:.2?})"))
    }

    /// Writes keys without a sync, then syncs all of them. The time of the row is that of the sync.
    pub(super) fn sync_burst(&mut self) -> Result<String, Fault> {
        let mut values = self.values();
        let start = Instant::now();
        for _ in 0..self.task.plan.writes {
            let index = self.draw();
            self.put_next(index, &mut values)?;
        }
        let writes = start.elapsed();
        let begun = Instant::now();
        self.session.sync()?;
        let took = begun.elapsed();
        self.meter.op();
        self.meter.set_time(took);
        let bytes = self.meter.user_bytes;
        Ok(format!("(of {bytes} bytes written in {writes:.2?})"))
    }
}
