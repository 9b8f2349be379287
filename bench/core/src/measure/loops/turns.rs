//! Rows in which cursors step over what was deleted: queues, stacks, windows and deleted ranges.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Worker;
use super::deletions::{Part, check};
use crate::engine::{Cursor as _, Session};
use crate::fault::Fault;
use crate::workload::definition::Pattern;
use crate::workload::key::KeyBuffer;
use crate::workload::model::Word;
use crate::workload::pool::ValueStream;

/// Number of turns between two looks at the clock.
const STEP: u64 = 10;
/// Number of entries that a stack grows and shrinks by.
const BURST: u64 = 1000;
/// Number of entries that a window is read for.
const WINDOW_READ: u64 = 10;
/// Time after which the turns end early, unless `--duration` is given.
const TIME: Duration = Duration::from_secs(5);

impl<S: Session> Worker<'_, S> {
    /// Executes turns until their number or their time is reached.
    pub(super) fn turns(&mut self, pattern: Pattern, ranges: bool) -> Result<String, Fault> {
        let task = self.task;
        let mut turns = Turns {
            pattern,
            part: Part::new(task, self.thread),
            values: self.values(),
            ends: ranges.then(|| [(); 2].map(|()| task.pool.layout().buffer())),
            worker: self,
        };
        // Relaxed: read after the threads have ended.
        task.next_record
            .fetch_max(turns.part.end + 1, Ordering::Relaxed);
        let time = match task.plan.duration {
            0 => TIME,
            seconds => Duration::from_secs(seconds),
        };
        let start = Instant::now();
        let (mut looks, mut now) = (vec![(0, start)], start);
        while turns.worker.meter.wants() && now - start < time {
            turns.step()?;
            now = Instant::now();
            looks.push((turns.worker.meter.done(), now));
        }
        let (done, since) = looks[looks.len() - 2 - (looks.len() - 1) / 10];
        let late = (now - since).as_nanos() / u128::from(self.meter.done() - done);
        self.late_ns = u64::try_from(late).ok();
        Ok(String::new())
    }
}

/// The turns of one thread.
struct Turns<'w, 't, S> {
    worker: &'w mut Worker<'t, S>,
    pattern: Pattern,
    part: Part,
    values: ValueStream<'t>,
    /// Keys for the ends of deleted ranges; `None` if entries are deleted by their key.
    ends: Option<[KeyBuffer; 2]>,
}

impl<S: Session> Turns<'_, '_, S> {
    /// Executes the turns between two looks at the clock. The latency of a stack's turn is that of
    /// its removal.
    fn step(&mut self) -> Result<(), Fault> {
        let (is_stack, left) = (self.pattern == Pattern::Stack, self.worker.meter.left());
        let turns = left.min(if is_stack { BURST } else { STEP });
        if is_stack {
            for _ in 0..turns {
                self.push()?;
            }
            self.worker.meter.rested();
        }
        for _ in 0..turns {
            self.turn()?;
            self.worker.meter.op();
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), Fault> {
        let start = self.part.start;
        match self.pattern {
            Pattern::Queue => {
                self.push()?;
                self.find(start, self.part.from..self.part.from + 1)?;
                self.remove_first()
            }
            Pattern::Window => {
                self.push()?;
                self.remove_first()?;
                let to = self.part.to.min(self.part.from + WINDOW_READ);
                self.find(start, self.part.from..to)
            }
            Pattern::All => self.write_and_seek(self.part.end, self.part.end),
            Pattern::Middle => {
                let found = self.part.gone(self.pattern).end;
                self.write_and_seek(self.part.to - 1, found)
            }
            Pattern::Stack => {
                self.part.to -= 1;
                let last = self.part.to;
                self.find(self.part.end, last..last + 1)?;
                self.remove(last)
            }
        }
    }

    /// Writes an entry and seeks the first one that was deleted, after which `found` comes.
    fn write_and_seek(&mut self, written: u64, found: u64) -> Result<(), Fault> {
        self.worker.put_next(written, &mut self.values)?;
        let sought = self.part.gone(self.pattern).start;
        self.find(sought, found..found + 1)
    }

    fn push(&mut self) -> Result<(), Fault> {
        self.worker.put_next(self.part.to, &mut self.values)?;
        self.part.to += 1;
        Ok(())
    }

    fn remove_first(&mut self) -> Result<(), Fault> {
        self.part.from += 1;
        self.remove(self.part.from - 1)
    }

    fn remove(&mut self, index: u64) -> Result<(), Fault> {
        let gone = match self.pattern {
            Pattern::Stack => index..self.part.end,
            _ => self.part.start..index + 1,
        };
        match &mut self.ends {
            None => self.worker.write(index, Word::ABSENT, Session::delete)?,
            Some([from, to]) => self.worker.write(index, Word::ABSENT, |session, _| {
                session.delete_range(from.set(gone.start), to.set(gone.end))
            })?,
        }
        self.worker.meter.user_bytes += self.worker.key.len() as u64;
        Ok(())
    }

    /// Seeks a key and checks that the cursor finds the entries `expected`, or, if the key is after
    /// them, the one before the key.
    fn find(&mut self, sought: u64, expected: Range<u64>) -> Result<(), Fault> {
        let worker = &mut *self.worker;
        worker.settle();
        let mut cursor = worker.session.cursor()?;
        cursor.seek(worker.key.set(sought))?;
        if sought > expected.start && cursor.valid() {
            cursor.prev()?;
        }
        let first = expected.start;
        for index in expected {
            if index > first && cursor.valid() {
                cursor.next()?;
            }
            let buffers = (&mut worker.key, &mut worker.meter);
            check(worker.task, &mut cursor, index, buffers)?;
        }
        Ok(())
    }
}
