//! Puts and deletes, one by one or in batches.

use super::{Noted, Task, Worker, position};
use crate::engine::Session;
use crate::fault::Fault;
use crate::workload::model::Word;
use crate::workload::pool::ValueStream;

impl<S: Session> Worker<'_, S> {
    /// Writes the row's keys with the next values of the pool.
    pub(super) fn fill(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let mut values = ValueStream::new(task.values);
        let batch = Task::batch(task.plan, task.workload);
        if batch > 1 {
            self.fill_batches(batch, &mut values)?;
        } else {
            self.fill_single(&mut values)?;
        }
        self.meter.bytes = self.meter.user_bytes;
        Ok(self.count_message())
    }

    fn fill_single(&mut self, values: &mut ValueStream<'_>) -> Result<(), Fault> {
        while self.meter.wants() {
            let index = self.draw();
            let (ordinal, value) = values.draw();
            let word = self.task.words.word(ordinal);
            self.write(index, word, |session, key| session.put(key, value))?;
            let bytes = (self.key.len() + value.len()) as u64;
            self.meter.user_bytes += bytes;
            self.meter.op();
            self.pace_write(bytes, || true);
        }
        Ok(())
    }

    fn fill_batches(&mut self, batch: u64, values: &mut ValueStream<'_>) -> Result<(), Fault> {
        let task = self.task;
        let mut begun = Vec::new();
        while self.meter.wants() {
            let written = self.meter.user_bytes;
            let entries = batch.min(self.meter.left());
            for _ in 0..entries {
                let index = self.draw();
                let (ordinal, value) = values.draw();
                let word = task.words.word(ordinal);
                self.session.batch_put(self.key.set(index), value)?;
                if task.contended {
                    begun.push((index, task.model.begin(position(index)), word));
                } else {
                    // This is early, but the model is not read before the row has ended.
                    self.note(Noted::Write(position(index), word));
                }
                self.meter.user_bytes += (self.key.len() + value.len()) as u64;
            }
            self.session.batch_write()?;
            self.meter.ops(entries);
            for (index, before, word) in begun.drain(..) {
                task.model.end(position(index), before, word);
            }
            self.pace_write(self.meter.user_bytes - written, || true);
        }
        Ok(())
    }

    /// Deletes the row's keys, whether present or not.
    pub(super) fn delete(&mut self) -> Result<String, Fault> {
        let batch = Task::batch(self.task.plan, self.task.workload);
        if batch > 1 {
            return self.delete_batches(batch);
        }
        while self.meter.wants() {
            let index = self.draw();
            self.write(index, Word::ABSENT, Session::delete)?;
            self.meter.user_bytes += self.key.len() as u64;
            self.meter.op();
        }
        Ok(String::new())
    }

    /// Returns LevelDB's note on a reduced count.
    fn count_message(&self) -> String {
        let ops = Task::ops(self.task.plan, self.task.workload);
        if ops == self.task.plan.num {
            String::new()
        } else {
            format!("({ops} ops)")
        }
    }

    /// Deletes the row's keys, `batch` in each write.
    fn delete_batches(&mut self, batch: u64) -> Result<String, Fault> {
        let task = self.task;
        let mut begun = Vec::new();
        while self.meter.wants() {
            let entries = batch.min(self.meter.left());
            for _ in 0..entries {
                let index = self.draw();
                self.session.batch_delete(self.key.set(index))?;
                if task.contended {
                    begun.push((index, task.model.begin(position(index))));
                } else {
                    self.note(Noted::Write(position(index), Word::ABSENT));
                }
                self.meter.user_bytes += self.key.len() as u64;
            }
            self.session.batch_write()?;
            self.meter.ops(entries);
            for (index, before) in begun.drain(..) {
                task.model.end(position(index), before, Word::ABSENT);
            }
        }
        Ok(String::new())
    }
}
