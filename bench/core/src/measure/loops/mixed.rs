//! Rows that read and write: updates, merges, mixes, and the concurrent writer.
//!
//! Merging means "keep the greater value in byte order". For an engine without merge, the harness
//! reads, compares and writes, and the line and the record state this.

use std::sync::atomic::Ordering;

use super::{Worker, position};
use crate::engine::{Capabilities, Session};
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::workload::definition::{Action, Beside, Workload};
use crate::workload::model::Word;
use crate::workload::pool::ValueStream;

const BY_HAND: &str = " (read-modify-write)";

/// Returns whether each merge of a row is a read and a put because the engine cannot merge.
pub(crate) const fn by_hand(workload: &Workload, able: Capabilities) -> bool {
    let merges = matches!(
        workload.action,
        Action::Merge
            | Action::ReadMerge
            | Action::GetBeside(Beside::Merge)
            | Action::SeekBeside(Beside::Merge)
    );
    merges && !able.merge
}

impl<'t, S: Session> Worker<'t, S> {
    /// Reads each key, then puts a new value.
    pub(super) fn update(&mut self) -> Result<String, Fault> {
        let mut values = self.values();
        let mut found = 0;
        while self.meter.wants() {
            let index = self.draw();
            found += u64::from(self.read(index)?);
            self.put_next(index, &mut values)?;
            self.meter.op();
        }
        self.meter.found = found;
        let done = self.meter.done();
        self.count_bytes();
        Ok(format!("( updates:{done} found:{found})"))
    }

    /// Runs reads, then writes, in the requested proportion of every hundred.
    pub(super) fn read_write(&mut self) -> Result<String, Fault> {
        let mut values = self.values();
        let share = u64::from(self.task.plan.readwritepercent);
        let (mut reads, mut writes, mut found) = (0, 0, 0);
        while self.meter.wants() {
            let index = self.draw();
            if self.meter.done() % 100 < share {
                found += u64::from(self.read(index)?);
                reads += 1;
            } else {
                self.put_next(index, &mut values)?;
                writes += 1;
            }
            self.meter.op();
        }
        self.meter.found = found;
        self.count_bytes();
        let done = self.meter.done();
        Ok(format!(
            "( reads:{reads} writes:{writes} total:{done} found:{found})"
        ))
    }

    /// Merges every key.
    pub(super) fn merge(&mut self) -> Result<String, Fault> {
        let mut values = self.values();
        while self.meter.wants() {
            let index = self.draw();
            self.merge_next(index, &mut values)?;
            self.meter.op();
        }
        let done = self.meter.done();
        self.count_bytes();
        Ok(format!("( updates:{done}){}", self.by_hand()))
    }

    /// Merges at random in the requested percentage, otherwise reads.
    pub(super) fn read_merge(&mut self) -> Result<String, Fault> {
        let mut values = self.values();
        let share = self.task.plan.mergereadpercent;
        let (mut reads, mut merges, mut found) = (0, 0, 0);
        while self.meter.wants() {
            let index = self.draw();
            if self.random.uniform(100) < share {
                self.merge_next(index, &mut values)?;
                merges += 1;
            } else {
                found += u64::from(self.read(index)?);
                reads += 1;
            }
            self.meter.op();
        }
        self.meter.found = found;
        self.count_bytes();
        let done = self.meter.done();
        let longest = self.task.values.longest();
        Ok(format!(
            "(reads:{reads} merges:{merges} total:{done} hits:{found} maxlength:{longest}){}",
            self.by_hand()
        ))
    }

    /// Writes or merges until every reader has ended.
    pub(super) fn write_beside(&mut self, merging: bool) -> Result<String, Fault> {
        let mut values = self.values();
        let running = &self.task.running;
        let readers = || running.load(Ordering::Acquire) > 0;
        while readers() {
            let written = self.meter.user_bytes;
            let index = self.draw();
            if merging {
                self.merge_next(index, &mut values)?;
            } else {
                self.put_next(index, &mut values)?;
            }
            self.meter.found += 1;
            self.pace_write(self.meter.user_bytes - written, readers);
        }
        Ok(if merging {
            self.by_hand().to_owned()
        } else {
            String::new()
        })
    }

    pub(super) fn values(&self) -> ValueStream<'t> {
        ValueStream::new(self.task.values)
    }

    /// Sets the bytes of the result line to the bytes written and read.
    pub(super) fn count_bytes(&mut self) {
        self.meter.bytes = self.meter.user_bytes + std::mem::take(&mut self.meter.read_bytes);
    }

    const fn by_hand(&self) -> &'static str {
        if by_hand(self.task.workload, self.task.capabilities) {
            BY_HAND
        } else {
            ""
        }
    }

    /// Puts the next value under a key.
    #[inline]
    pub(super) fn put_next(
        &mut self,
        index: u64,
        values: &mut ValueStream<'_>,
    ) -> Result<(), Fault> {
        let (ordinal, value) = values.draw();
        let word = self.task.words.word(ordinal);
        self.write(index, word, |session, key| session.put(key, value))?;
        self.meter.user_bytes += (self.key.len() + value.len()) as u64;
        Ok(())
    }

    #[inline]
    fn merge_next(&mut self, index: u64, values: &mut ValueStream<'_>) -> Result<(), Fault> {
        self.settle();
        let task = self.task;
        let at = position(index);
        let (ordinal, operand) = values.draw();
        // Marked before anything is read: the new value depends on the value from here on.
        let before = if task.contended {
            task.model.begin(at)
        } else {
            task.model.load(at)
        };
        let word = task
            .model
            .greater(task.pool, before, task.words.word(ordinal));
        self.key.set(index);
        if task.capabilities.merge {
            self.session.merge(self.key.bytes(), operand)?;
        } else {
            self.merge_by_hand(index, before, operand)?;
        }
        self.meter.user_bytes += (self.key.len() + operand.len()) as u64;
        if task.contended {
            task.model.end(at, before, word);
        } else {
            task.model.store(at, word);
        }
        Ok(())
    }

    /// Reads, compares and writes, for engines without merge.
    fn merge_by_hand(&mut self, index: u64, before: Word, operand: &[u8]) -> Result<(), Fault> {
        let mut keep = None;
        let answer = self.session.get(self.key.bytes(), |stored| {
            if stored > operand {
                keep = Some(stored.to_vec());
            }
            fold(stored)
        })?;
        self.judge(index, before, answer);
        self.session
            .put(self.key.bytes(), keep.as_deref().unwrap_or(operand))
    }
}
