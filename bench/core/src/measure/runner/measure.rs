//! The measured part of a row, and the comparison of what is stored with what was written.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use super::Runner;
use super::spent::Before;
use crate::engine::{Cursor, Durability, Engine, Quiet, Role, Session, Store};
use crate::fault::Fault;
use crate::host::process::SAMPLER_THREAD;
use crate::measure::byte_sum::{ScanSum, bind, fold};
use crate::measure::histogram::Histogram;
use crate::measure::idle;
use crate::measure::intervals;
use crate::measure::loops::{self, Report, Task, storeless};
use crate::measure::wrong_answers::WrongAnswers;
use crate::result::result_line::Outcome;
use crate::workload::definition::{Action, Order, Workload};
use crate::workload::key;
use crate::workload::model::{ABSENT, Expected};

/// What all threads of a row did together.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Read after everything is prepared, before the clock runs.
    pub(super) before: Before,
    pub(super) outcome: Outcome,
    pub(super) user_bytes: u64,
    pub(super) found: Option<u64>,
    pub(super) writer_ops: Option<u64>,
    pub(super) histogram: Option<Histogram>,
    pub(super) intervals: Vec<u64>,
    pub(super) wrong: WrongAnswers,
    /// The results of the concurrent writer.
    beside: String,
    scans: Vec<ScanSum>,
    span: Option<(Instant, Instant)>,
}

impl Totals {
    fn add(&mut self, report: Report) {
        self.wrong.merge(report.meter.wrong_answers());
        self.user_bytes += report.meter.user_bytes;
        if report.beside {
            self.writer_ops = Some(report.meter.found);
            report.message.trim_start().clone_into(&mut self.beside);
            return;
        }
        let (start, end) = report.meter.span();
        self.span = Some(self.span.map_or((start, end), |(first, last)| {
            (first.min(start), last.max(end))
        }));
        self.outcome.ops += report.meter.done();
        self.outcome.thread_seconds += (end - start).as_secs_f64();
        self.outcome.bytes += report.meter.bytes;
        self.outcome.read_bytes += report.meter.read_bytes;
        *self.found.get_or_insert(0) += report.meter.found;
        self.scans.extend(report.scan);
        intervals::merge(&mut self.intervals, report.meter.intervals());
        if let Some(histogram) = report.meter.histogram() {
            self.histogram
                .get_or_insert_with(Histogram::new)
                .merge(histogram);
        }
        // Only the first thread's text is kept.
        if self.outcome.message.is_empty() {
            self.outcome.message = report.message;
        }
        if let Some((start, end)) = self.span {
            self.outcome.elapsed_seconds = (end - start).as_secs_f64();
        }
    }

    fn timed(start: Instant, ops: u64) -> Self {
        Self::took(start.elapsed(), ops)
    }

    fn took(time: Duration, ops: u64) -> Self {
        let seconds = time.as_secs_f64();
        Self {
            outcome: Outcome {
                ops,
                thread_seconds: seconds,
                elapsed_seconds: seconds,
                ..Outcome::default()
            },
            ..Self::default()
        }
    }
}

/// What the threads of a row leave.
struct Joined {
    reports: Result<Vec<Report>, Fault>,
    /// Keys there are now.
    records: u64,
    before: Before,
}

impl<E: Engine> Runner<'_, E> {
    /// Whether answers can be compared with what was written.
    pub(super) fn judged(&self) -> bool {
        self.plan.verify && self.engine.capabilities().stores && self.model.is_known()
    }

    fn opened(&mut self) -> Result<&mut E::Store, Fault> {
        self.store
            .as_mut()
            .ok_or_else(|| Fault::new("the store is not open"))
    }

    /// Runs the row once. The answers of a reading row are still to be judged.
    pub(super) fn measure(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let before = self.before();
        let totals = match workload.action {
            Action::Open => return self.reopen(workload),
            _ if workload.is_engineless() => self.engineless(workload),
            _ if workload.is_event() => self.event(workload)?,
            _ => return self.threads(workload),
        };
        Ok(Totals { before, ..totals })
    }

    /// Something that happens once.
    fn event(&mut self, workload: &Workload) -> Result<Totals, Fault> {
        let start = Instant::now();
        match workload.action {
            Action::Compact => {
                self.opened()?.compact()?;
                Ok(Totals::timed(start, 1))
            }
            Action::Flush => {
                self.opened()?.flush()?;
                Ok(Totals::timed(start, 1))
            }
            Action::Wait => {
                let rested = self.rest()?;
                Ok(Totals::took(rested.unwrap_or_else(|| start.elapsed()), 1))
            }
            Action::Verify => {
                let mut totals = Totals::timed(start, 1);
                self.check_contents(&mut totals)?;
                let found = totals.found;
                Ok(Totals {
                    found,
                    wrong: totals.wrong,
                    ..Totals::timed(start, found.unwrap_or(1))
                })
            }
            _ => Err(Fault::new(
                "a row of many operations was taken for one event",
            )),
        }
    }

    /// Compares what a row has stored or read with the model, after the clock has stopped and all
    /// costs have been read.
    pub(super) fn judge(&self, workload: &Workload, totals: &mut Totals) -> Result<(), Fault> {
        match workload.action {
            Action::Scan { backward } if self.judged() => {
                let expected = self.model.scan(Task::ops(self.plan, workload), backward);
                for sum in std::mem::take(&mut totals.scans) {
                    self.judge_scan(totals, sum, expected)?;
                }
                Ok(())
            }
            // Reads after a compaction thus start as warm as reads after writes, for engines that
            // map files and for others; and a compaction that lost something is detected.
            Action::Open | Action::Compact => {
                self.check_contents(totals)?;
                totals.found = None;
                Ok(())
            }
            _ if workload.changes() => self.check_contents(totals),
            _ => Ok(()),
        }
    }

    /// Waits for background work. Returns how long it took, or `None` if it did not end.
    pub(super) fn rest(&self) -> Result<Option<Duration>, Fault> {
        let since = Instant::now();
        let known = self
            .store
            .as_ref()
            .map_or(Ok(Quiet::Known), Store::quiesce)?;
        Ok(match known {
            Quiet::Known => Some(since.elapsed()),
            Quiet::Progress(first) => idle::wait_still(since, first, || {
                match self.store.as_ref().map(Store::quiesce) {
                    Some(Ok(Quiet::Progress(now))) => Ok(now),
                    Some(Err(fault)) => Err(fault),
                    _ => Ok(first),
                }
            })?,
            Quiet::Watch => idle::wait(since, &[SAMPLER_THREAD]),
        })
    }

    /// Closes and opens the store again and again.
    fn reopen(&mut self, workload: &Workload) -> Result<Totals, Fault> {
        let count = Task::ops(self.plan, workload);
        let durability = self.opened_for;
        // The first close writes and syncs what the rows before left: milliseconds that are theirs.
        self.open(durability)?;
        let before = self.before();
        let start = Instant::now();
        for _ in 0..count {
            self.open(durability)?;
        }
        let totals = Totals::timed(start, count);
        Ok(Totals { before, ..totals })
    }

    /// The threads of a row that has nothing to do with a store.
    fn engineless(&self, workload: &Workload) -> Totals {
        let (mut totals, plan, pool) = (Totals::default(), self.plan, &self.pool);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.threads)
                .map(|_| scope.spawn(|| storeless::run_engineless(plan, pool, workload)))
                .collect();
            for thread in threads {
                if let Ok(Some(report)) = thread.join() {
                    totals.add(report);
                }
            }
        });
        totals.found = None;
        totals
    }

    /// The threads of a row over the store.
    fn threads(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let records = self.model.keys() as u64;
        let room = records + Task::additions(self.plan, workload);
        self.model
            .grow(usize::try_from(room).map_err(|_| Fault::new("too many keys to add"))?);
        let joined = self.reports(workload, records)?;
        self.model
            .shrink(usize::try_from(joined.records).unwrap_or(usize::MAX));
        let mut totals = Totals {
            before: joined.before,
            ..Totals::default()
        };
        for report in joined.reports? {
            totals.add(report);
        }
        if !totals.beside.is_empty() {
            totals.outcome.message = format!("{} {}", totals.outcome.message, totals.beside);
        }
        Ok(totals)
    }

    /// Runs the threads over `records` keys.
    fn reports(&self, workload: &'static Workload, records: u64) -> Result<Joined, Fault> {
        let count = Task::threads(self.plan, workload);
        let task = Task {
            plan: self.plan,
            workload,
            capabilities: self.engine.capabilities(),
            pool: &self.pool,
            model: &self.model,
            values: self.pool.set(workload.values),
            words: self.model.words(workload.values),
            records,
            next_record: AtomicU64::new(records),
            judged: self.judged(),
            contended: workload.changes() && count > 1,
            running: AtomicU32::new(self.plan.threads),
            // This thread is one more.
            barrier: Barrier::new(count as usize + 1),
        };
        let appends = workload.action == Action::Fill(Order::Sequential);
        let role = Role {
            durability: self.opened_for,
            appending: self.empty && appends && count == 1,
            sessions: count,
            changing: workload.changes(),
        };
        let store = self
            .store
            .as_ref()
            .ok_or_else(|| Fault::new("the store is not open"))?;
        let first_seed = self.plan.seed + self.threads_so_far + 1;
        let (reports, before) = std::thread::scope(|scope| {
            let task = &task;
            let threads: Vec<_> = (0..count)
                .map(|index| {
                    scope.spawn(move || loops::run(store, task, role, index, first_seed + index))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Fault::new("a thread of the row panicked")))
            };
            // They meet once when everything is prepared, and again to begin.
            task.barrier.wait();
            let before = self.before();
            task.barrier.wait();
            // All of them: the scope panics for a thread that was not joined.
            let ended: Vec<_> = threads.into_iter().map(join).collect();
            (ended.into_iter().collect(), before)
        });
        Ok(Joined {
            reports,
            records: task.next_record.into_inner(),
            before,
        })
    }

    /// Compares what a scan summed up with what it had to be; on a difference the first wrong entry
    /// is looked for.
    fn judge_scan(
        &self,
        totals: &mut Totals,
        sum: ScanSum,
        expected: Expected,
    ) -> Result<(), Fault> {
        let total_is_right = sum.total == expected.total || !expected.exact;
        if sum.entries == expected.entries && total_is_right && sum.disorders == 0 {
            return Ok(());
        }
        let summary = format!(
            "a scan gave {} entries where {} were expected, {} out of order",
            sum.entries, expected.entries, sum.disorders
        );
        let detail = self
            .first_difference()?
            .map_or(String::new(), |text| format!("; {text}"));
        totals.wrong.add(|| format!("{summary}{detail}"));
        Ok(())
    }

    /// Walks through everything stored, outside any clock, and judges it.
    pub(super) fn check_contents(&self, totals: &mut Totals) -> Result<(), Fault> {
        if !self.judged() {
            return Ok(());
        }
        let Some(store) = &self.store else {
            return Ok(());
        };
        let mut session = store.session(Role::single(Durability::Os))?;
        let mut cursor = session.cursor()?;
        let mut sum = ScanSum::default();
        cursor.first()?;
        while cursor.valid() {
            let key = fold(cursor.key());
            sum.total = sum.total.wrapping_add(bind(key, fold(cursor.value()?)));
            sum.entries += 1;
            cursor.next()?;
        }
        cursor.check()?;
        drop(cursor);
        drop(session);
        totals.found.get_or_insert(sum.entries);
        self.judge_scan(totals, sum, self.model.scan(u64::MAX, false))
    }

    /// The first entry that is missing, too much or wrong.
    fn first_difference(&self) -> Result<Option<String>, Fault> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let mut session = store.session(Role::single(Durability::Os))?;
        let mut cursor = session.cursor()?;
        cursor.first()?;
        let mut next = 0;
        let present =
            |from: usize| (from..self.model.keys()).find(|&at| self.model.load(at).is_present());
        while cursor.valid() {
            let found = self
                .model
                .layout()
                .index_of(cursor.key())
                .and_then(|index| usize::try_from(index).ok());
            let Some(found) = found.filter(|&found| found < self.model.keys()) else {
                return Ok(Some(format!(
                    "key {} was never written",
                    key::show(cursor.key())
                )));
            };
            let answer = fold(cursor.value()?);
            match present(next) {
                Some(wanted) if wanted < found => {
                    return Ok(Some(self.model.describe(
                        wanted as u64,
                        self.model.load(wanted),
                        ABSENT,
                    )));
                }
                Some(wanted) if wanted == found => {
                    let word = self.model.load(found);
                    if !self.model.allows(word, word, answer) {
                        return Ok(Some(self.model.describe(found as u64, word, answer)));
                    }
                }
                _ => {
                    return Ok(Some(self.model.describe(
                        found as u64,
                        self.model.load(found),
                        answer,
                    )));
                }
            }
            next = found + 1;
            cursor.next()?;
        }
        Ok(present(next).map(|wanted| {
            self.model
                .describe(wanted as u64, self.model.load(wanted), ABSENT)
        }))
    }
}
