//! Point reads. Every byte of every value is folded and the fold compared with the model's.

use super::{Worker, position};
use crate::definition::Target;
use crate::engine::Session;
use crate::fault::Fault;
use crate::fold::fold;
use crate::key::KeyBuffer;
use crate::model::Word;

/// Keys of one multi-get when `--batch_size` is not given.
const MULTI_DEFAULT: u64 = 100;

impl<S: Session> Worker<'_, S> {
    /// Reads the row's keys one by one.
    pub(super) fn get(&mut self, target: Target) -> Result<String, Fault> {
        if target == Target::Missing {
            return self.get_missing();
        }
        let mut found = 0;
        while self.meter.wants() {
            let index = self.draw();
            found += u64::from(self.read(index)?);
            self.meter.op();
        }
        self.meter.found = found;
        Ok(if target == Target::Hot {
            String::new()
        } else {
            self.found_message()
        })
    }

    /// LevelDB's text: the second number is N, not the number of reads.
    pub(super) fn found_message(&self) -> String {
        format!(
            "({} of {} found)",
            self.meter.found,
            self.task.plan.num / self.task.workload.divisor
        )
    }

    fn get_missing(&mut self) -> Result<String, Fault> {
        let length = self.key.len() - 1;
        let mut found = 0;
        while self.meter.wants() {
            let index = self.draw();
            self.key.set(index);
            let answer = self.session.get(&self.key.bytes()[..length], fold)?;
            if let Some(answer) = answer {
                found += 1;
                if self.task.judged {
                    let task = self.task;
                    self.meter.wrong(|| {
                        format!(
                            "{} (its last digit cut off)",
                            task.model.describe(index, Word::ABSENT, answer)
                        )
                    });
                }
            }
            self.meter.op();
        }
        self.meter.found = found;
        Ok(String::new())
    }

    /// Reads the row's keys several at a time.
    pub(super) fn multi_get(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let size = if task.plan.batch_size > 0 {
            task.plan.batch_size
        } else {
            MULTI_DEFAULT
        };
        let mut buffers = vec![KeyBuffer::new(task.plan.key_prefix); position(size)];
        let mut asked = vec![(0, Word::ABSENT); buffers.len()];
        let mut answers = vec![None; buffers.len()];
        let mut found = 0;
        while self.meter.wants() {
            let count = position(size.min(self.meter.left()));
            for (buffer, slot) in buffers.iter_mut().zip(&mut asked).take(count) {
                let index = self.draw();
                buffer.set(index);
                *slot = (index, task.model.load(position(index)));
            }
            let keys: Vec<&[u8]> = buffers[..count].iter().map(KeyBuffer::bytes).collect();
            self.session
                .multi_get(&keys, |at, value| answers[at] = value.map(fold))?;
            for at in 0..count {
                let (index, before) = asked[at];
                found += u64::from(answers[at].is_some());
                self.judge(index, before, answers[at]);
                self.meter.op();
            }
        }
        self.meter.found = found;
        Ok(self.found_message())
    }
}
