//! Point reads. Every value is folded completely, and the fold is compared with the model's.

use super::{Worker, position};
use crate::engine::Session;
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::workload::definition::{Action, Target};
use crate::workload::key::KeyBuffer;
use crate::workload::model::Word;
use crate::workload::plan::Format;

/// Number of keys per multi-get if `--batch_size` is not given.
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
            self.pace_read(1);
        }
        self.meter.found = found;
        Ok(
            if target == Target::Hot && self.task.plan.format == Format::LevelDb {
                String::new()
            } else {
                self.found_message()
            },
        )
    }

    /// Returns LevelDB's text, whose second number is N rather than the number of reads, or
    /// RocksDB's. With a duration instead of a count, which LevelDB's program does not support, N
    /// is meaningless.
    pub(super) fn found_message(&self) -> String {
        let found = self.meter.found;
        match self.task.plan.format {
            Format::LevelDb => {
                let timed = self.task.plan.duration > 0;
                let num = self.task.plan.num / self.task.workload.divisor;
                let of = if timed { self.meter.done() } else { num };
                format!("({found} of {of} found)")
            }
            Format::RocksDb => {
                // RocksDB's program ends some of these texts with an extra line feed.
                let end = if self.task.workload.action == Action::MultiGet {
                    ""
                } else {
                    "\n"
                };
                format!("({found} of {} found){end}", self.meter.done())
            }
        }
    }

    fn get_missing(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let mut found = 0;
        while self.meter.wants() {
            let index = self.draw();
            self.key.set(index);
            let answer = self.session.get(self.key.missing(), fold)?;
            if let Some(answer) = answer {
                found += 1;
                // A data file may contain such a key after all.
                let layout = task.model.layout();
                let is_there =
                    layout.limit().is_some() && layout.index_of(self.key.bytes()).is_some();
                if task.judged && !is_there {
                    self.meter.wrong(|| {
                        format!(
                            "{} (turned into a missing key)",
                            task.model.describe(index, Word::ABSENT, answer)
                        )
                    });
                }
            }
            self.meter.op();
            self.pace_read(1);
        }
        self.meter.found = found;
        Ok(match task.plan.format {
            Format::LevelDb => String::new(),
            Format::RocksDb => self.found_message(),
        })
    }

    /// Reads the row's keys several at a time.
    pub(super) fn multi_get(&mut self) -> Result<String, Fault> {
        let task = self.task;
        let size = if task.plan.batch_size > 0 {
            task.plan.batch_size
        } else {
            MULTI_DEFAULT
        };
        let mut buffers = vec![task.pool.layout().buffer(); position(size)];
        let mut asked = vec![(0, None); buffers.len()];
        let mut answers = vec![None; buffers.len()];
        let (mut found, mut bytes) = (0, 0);
        while self.meter.wants() {
            let count = position(size.min(self.meter.left()));
            for (buffer, slot) in buffers.iter_mut().zip(&mut asked).take(count) {
                let index = self.draw();
                buffer.set(index);
                // With a single thread, the word is loaded when the answer is checked, where the
                // misses overlap.
                let before = task.contended.then(|| task.model.load(position(index)));
                *slot = (index, before);
            }
            let keys: Vec<&[u8]> = buffers[..count].iter().map(KeyBuffer::bytes).collect();
            self.session.multi_get(&keys, |at, value| {
                answers[at] = value.map(fold);
                bytes += value.map_or(0, |value| keys[at].len() + value.len());
            })?;
            for at in 0..count {
                let (index, before) = asked[at];
                let before = before.unwrap_or_else(|| task.model.load(position(index)));
                found += u64::from(answers[at].is_some());
                self.judge(index, before, answers[at]);
            }
            self.meter.ops(count as u64);
            self.pace_read(count as u64);
        }
        self.meter.found = found;
        self.meter.read_bytes += bytes as u64;
        Ok(self.found_message())
    }
}
