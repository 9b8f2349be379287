//! The measured loops, one module per family.
//!
//! A [`Task`] contains what all threads of a row share; a [`Worker`] is one thread: its session,
//! its random generator, its key buffer and its [`Meter`]. [`run`] is the whole measured part of a
//! thread.

mod codec;
mod drawn_ahead;
mod fill;
mod get;
mod mixed;
mod reader;
mod scan;
mod seek;
mod short_scan;
pub mod storeless;
mod ycsb;

pub(crate) use mixed::by_hand;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use crate::engine::{Capabilities, Role, Session, Store};
use crate::fault::Fault;
use crate::measure::byte_sum::{ScanSum, fold};
use crate::measure::meter::{Meter, MeterMode};
use crate::measure::rate_limit::{Pace, rest};
use crate::workload::definition::{
    Action, Beside, LARGE_VALUE_BYTES, Order, Target, Values, Workload,
};
use crate::workload::draw::Draws;
use crate::workload::key::KeyBuffer;
use crate::workload::model::{ABSENT, Model, Word, Words};
use crate::workload::plan::{Distribution, Plan};
use crate::workload::pool::{Pool, ValueSet};
use crate::workload::random::Random;

use drawn_ahead::Ahead;
use reader::Reader;

/// Operations per second and thread for which space for new keys is reserved in rows with
/// `--duration`.
const TIMED_OPS_PER_SECOND: u64 = 500_000;

/// Answers and writes of a single thread are recorded and checked against the model in batches. The
/// model does not fit in the near caches: batched loads overlap their misses, while a store after
/// each write would delay the engine's next atomic operation.
const NOTED_AT_ONCE: usize = 128;

/// An answer or write that is still to be checked against the model.
#[derive(Clone, Copy, Debug)]
enum Noted {
    /// The fold of an answer for a key index.
    Answer(u64, u64),
    /// A seek to the key of this index found that key.
    Hit(u64),
    /// A write that has returned or is part of the current batch: its position in the model and the
    /// word written.
    Write(usize, Word),
}

/// The state shared by the threads of one row.
#[derive(Debug)]
pub struct Task<'a> {
    /// The flags.
    pub plan: &'a Plan,
    /// The row.
    pub workload: &'a Workload,
    /// The capabilities of the engine.
    pub capabilities: Capabilities,
    /// The pool that values are cut from.
    pub pool: &'a Pool,
    /// The model of the store.
    pub model: &'a Model,
    /// The values this row writes.
    pub values: &'a ValueSet,
    /// Their words.
    pub words: Words,
    /// Number of keys that exist, or may exist, when the row starts.
    pub records: u64,
    /// The next key to be added.
    pub next_record: AtomicU64,
    /// Whether answers are compared with the model.
    pub judged: bool,
    /// Whether some thread writes while another reads or writes.
    pub contended: bool,
    /// Number of readers that have not ended yet.
    pub running: AtomicU32,
    /// The barrier of the threads.
    pub barrier: Barrier,
}

impl Task<'_> {
    /// Returns the number of threads of the row, including an extra writer.
    pub const fn threads(plan: &Plan, workload: &Workload) -> u32 {
        match workload.action {
            Action::GetBeside(_) | Action::SeekBeside(_) => plan.threads + 1,
            _ => plan.threads,
        }
    }

    /// Returns the size in bytes of the values that a row writes.
    pub const fn value_bytes(plan: &Plan, workload: &Workload) -> usize {
        match workload.values {
            Values::Flag => plan.value_size,
            Values::Large => LARGE_VALUE_BYTES,
        }
    }

    /// Returns the number of entries per write.
    pub const fn batch(plan: &Plan, workload: &Workload) -> u64 {
        match workload.action {
            Action::Fill(_) if workload.batch == 1 && plan.batch_size > 1 => plan.batch_size,
            _ => workload.batch,
        }
    }

    /// Returns the maximum number of keys that a row may add.
    pub fn additions(plan: &Plan, workload: &Workload) -> u64 {
        let Action::Ycsb(mix) = workload.action else {
            return 0;
        };
        let ops = if plan.duration == 0 {
            Self::ops(plan, workload)
        } else {
            plan.duration.saturating_mul(TIMED_OPS_PER_SECOND)
        };
        if mix.insert == 0 {
            return 0;
        }
        // Twice the expected number; if a row needs more, it overwrites the last key.
        (ops / 100 * u64::from(mix.insert) * 2 + 1000).saturating_mul(u64::from(plan.threads))
    }

    /// Returns the number of operations per thread, which LevelDB calls N in messages.
    pub const fn ops(plan: &Plan, workload: &Workload) -> u64 {
        let count = match workload.action {
            Action::Fill(_) | Action::Merge | Action::Update => plan.writes,
            Action::Delete(_) => plan.deletes,
            Action::ReadWrite | Action::ReadMerge | Action::Ycsb(_) => {
                if plan.reads > plan.writes {
                    plan.reads
                } else {
                    plan.writes
                }
            }
            Action::AcquireLoad | Action::Open => plan.num,
            _ => plan.reads,
        };
        let divided = count / workload.divisor;
        match workload.action {
            Action::Open if divided == 0 => 1,
            _ => divided,
        }
    }

    /// Returns whether `--duration` replaces the count of a row.
    const fn timed(&self) -> bool {
        !matches!(
            self.workload.action,
            Action::Fill(Order::Sequential | Order::Unique)
                | Action::Delete(Order::Sequential)
                | Action::Scan { .. }
        ) && !self.workload.fresh
    }

    fn mode(&self, thread: u32) -> MeterMode {
        MeterMode {
            ops: Self::ops(self.plan, self.workload),
            duration: if self.timed() {
                Duration::from_secs(self.plan.duration)
            } else {
                Duration::ZERO
            },
            histogram: self.plan.histogram,
            progress: self.plan.progress,
            every: self.plan.every,
            thread,
        }
    }

    /// Returns whether thread `index` is the concurrent writer.
    const fn is_writer(&self, index: u32) -> bool {
        index == 0
            && matches!(
                self.workload.action,
                Action::GetBeside(_) | Action::SeekBeside(_)
            )
    }

    /// Returns the key distribution of a row, which `--distribution` overrides.
    const fn distribution(&self) -> Distribution {
        match self.plan.distribution {
            Some(distribution) => distribution,
            None => match self.workload.action {
                Action::Ycsb(mix) if mix.latest => Distribution::Latest,
                Action::Ycsb(_) => Distribution::Zipfian,
                _ => Distribution::Uniform,
            },
        }
    }
}

/// One thread of a row.
#[derive(Debug)]
pub struct Worker<'t, S> {
    task: &'t Task<'t>,
    session: S,
    random: Random,
    key: KeyBuffer,
    draws: Draws,
    ahead: Ahead,
    meter: Meter,
    /// Limits the rate of fills, or of the concurrent writer.
    write_pace: Option<Pace>,
    /// Limits the rate of point reads and seeks.
    read_pace: Option<Pace>,
    /// Pending checks, in rows in which no thread can see what another writes.
    noted: Vec<Noted>,
    /// Number of checks per batch: one if operations are timed individually, so that none pays for
    /// the others.
    noted_at_once: usize,
}

/// The results of a thread.
#[derive(Debug)]
pub struct Report {
    /// Counters and clock.
    pub meter: Meter,
    /// The text for the result line.
    pub message: String,
    /// Whether the thread was the concurrent writer, whose time does not count.
    pub beside: bool,
    /// The sums of a scan.
    pub scan: Option<ScanSum>,
}

impl<S: Session> Worker<'_, S> {
    /// Returns the next key index of this row.
    #[inline]
    fn draw(&mut self) -> u64 {
        let (draws, random, model) = (&mut self.draws, &mut self.random, self.task.model);
        let mut draw = || draws.next(random);
        // If operations are timed individually, none must pay for the next.
        if !self.task.contended || self.task.plan.histogram {
            return draw();
        }
        self.ahead.next(draw, |index| model.touch(position(index)))
    }

    /// Pauses after `reads` reads if reads are rate-limited.
    #[inline]
    fn pace_read(&mut self, reads: u64) {
        if let Some(pace) = &mut self.read_pace {
            rest(pace.spend(reads), || true);
            self.meter.rested();
        }
    }

    /// Pauses after a write of `bytes` bytes, while `goes_on`, if writes are rate-limited.
    #[inline]
    fn pace_write(&mut self, bytes: u64, goes_on: impl Fn() -> bool) {
        if let Some(pace) = &mut self.write_pace {
            rest(pace.spend(bytes), goes_on);
            self.meter.rested();
        }
    }

    /// Writes one key and updates the model; if no other thread reads the model, the update happens
    /// later in [`Worker::settle`].
    #[inline]
    fn write(
        &mut self,
        index: u64,
        word: Word,
        write: impl FnOnce(&mut S, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let at = position(index);
        self.key.set(index);
        if self.task.contended {
            let before = self.task.model.begin(at);
            write(&mut self.session, self.key.bytes())?;
            self.task.model.end(at, before, word);
        } else {
            write(&mut self.session, self.key.bytes())?;
            self.note(Noted::Write(at, word));
        }
        Ok(())
    }

    /// Reads one key, checks the answer (later if no other thread writes) and returns whether the
    /// key was found.
    #[inline]
    fn read(&mut self, index: u64) -> Result<bool, Fault> {
        if !self.task.contended {
            let answer = self.answer(index)?;
            self.note(Noted::Answer(index, answer.unwrap_or(ABSENT)));
            return Ok(answer.is_some());
        }
        let before = self.task.model.load(position(index));
        let answer = self.answer(index)?;
        self.judge(index, before, answer);
        Ok(answer.is_some())
    }

    /// Reads one key. Returns the fold of its value.
    #[inline]
    fn answer(&mut self, index: u64) -> Result<Option<u64>, Fault> {
        self.key.set(index);
        let mut bytes = 0;
        let answer = self.session.get(self.key.bytes(), |value| {
            bytes = value.len();
            fold(value)
        })?;
        if answer.is_some() {
            self.meter.read_bytes += (self.key.len() + bytes) as u64;
        }
        Ok(answer)
    }

    #[inline]
    fn note(&mut self, noted: Noted) {
        if self.noted.len() >= self.noted_at_once {
            self.settle();
        }
        self.noted.push(noted);
    }

    /// Checks the recorded answers and applies the writes in order. Must be called before any other
    /// use of the model.
    fn settle(&mut self) {
        let mut noted = std::mem::take(&mut self.noted);
        for noted in noted.drain(..) {
            match noted {
                Noted::Answer(index, folded) => {
                    let word = self.task.model.load(position(index));
                    self.judge(index, word, Some(folded));
                }
                Noted::Hit(index) => self.judge_hit(index),
                Noted::Write(at, word) => self.task.model.store(at, word),
            }
        }
        self.noted = noted;
    }

    /// Compares the fold of an answer with the word that the model held before the read.
    #[inline]
    fn judge(&mut self, index: u64, before: Word, answer: Option<u64>) {
        let task = self.task;
        let folded = answer.unwrap_or(ABSENT);
        if folded == task.model.expected(before) || !task.judged {
            return;
        }
        let after = task.model.load(position(index));
        // With one writer this is the same comparison again; a key with two concurrent writes stays
        // ambiguous in later rows.
        if !task.model.allows(before, after, folded) {
            self.meter
                .wrong(|| task.model.describe(index, before, folded));
        }
    }
}

/// Returns a key index as a position in the model.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "key indexes are below --num, which fits memory"
)]
const fn position(index: u64) -> usize {
    index as usize
}

/// Runs the measured part of one thread: prepares everything, waits for the other threads, starts
/// the clock, runs the row and stops the clock.
///
/// # Errors
/// The engine's error; the threads that wait at the barrier are released first.
pub fn run<St: Store>(
    store: &St,
    task: &Task<'_>,
    role: Role,
    index: u32,
    seed: u32,
) -> Result<Report, Fault> {
    let mut random = Random::new(seed);
    let beside = task.is_writer(index);
    // A panic here would leave the other threads waiting at the barrier.
    let prepared = catch_unwind(AssertUnwindSafe(|| {
        let draws = draws_of(task, beside, seed, &mut random);
        (draws, store.session(role))
    }));
    let key = task.pool.layout().buffer();
    let mut meter = Meter::new(task.mode(index));
    let leaving = (!beside).then(|| Reader(&task.running));
    // Between the two waits, the counters of the process are read.
    task.barrier.wait();
    task.barrier.wait();
    let (draws, session) =
        prepared.map_err(|_| Fault::new("a thread of the row panicked before it began"))?;
    let session = session?;
    meter.start();
    let mut worker = Worker {
        task,
        session,
        random,
        key,
        draws,
        ahead: Ahead::default(),
        meter,
        write_pace: Pace::share(
            task.plan.write_rate_limit,
            if beside { 1 } else { task.plan.threads },
        ),
        read_pace: Pace::share(task.plan.read_rate_limit, task.plan.threads),
        noted: Vec::with_capacity(NOTED_AT_ONCE),
        noted_at_once: if task.plan.histogram {
            1
        } else {
            NOTED_AT_ONCE
        },
    };
    let mut scan = None;
    let result = perform(&mut worker, beside, &mut scan);
    // Done even if a later operation failed: these calls have returned.
    worker.settle();
    worker.meter.stop();
    drop(leaving);
    let message = result?;
    Ok(Report {
        meter: worker.meter,
        message,
        beside,
        scan,
    })
}

/// Returns the key source of a thread.
fn draws_of(task: &Task<'_>, beside: bool, seed: u32, random: &mut Random) -> Draws {
    let plan = task.plan;
    let (order, range) = match task.workload.action {
        Action::Ycsb(_) => {
            return Draws::drawn(plan.keys, task.distribution(), task.records, seed);
        }
        Action::Fill(order) | Action::Delete(order) => (order, plan.num),
        Action::Get(Target::Hot) => (Order::Random, plan.num.div_ceil(100)),
        Action::Get(Target::Stored) => match task.model.stored() {
            list if list.is_empty() => (Order::Random, plan.num / task.workload.divisor),
            list => return Draws::among(list, plan, seed, random),
        },
        _ => (Order::Random, plan.num),
    };
    if beside {
        return Draws::drawn(plan.keys, task.distribution(), range, seed);
    }
    Draws::new(plan, order, range, seed, random)
}

/// Runs the loop of the row. Returns the text for its result line.
fn perform<S: Session>(
    worker: &mut Worker<'_, S>,
    beside: bool,
    scan: &mut Option<ScanSum>,
) -> Result<String, Fault> {
    match worker.task.workload.action {
        Action::Fill(_) => worker.fill(),
        Action::Delete(_) => worker.delete(),
        Action::Scan { backward } => {
            *scan = Some(worker.scan(backward)?);
            Ok(String::new())
        }
        Action::GetBeside(kind) | Action::SeekBeside(kind) if beside => {
            worker.write_beside(kind == Beside::Merge)
        }
        Action::Get(target) => worker.get(target),
        Action::GetBeside(_) => worker.get(Target::All),
        Action::MultiGet => worker.multi_get(),
        Action::Seek | Action::SeekBeside(_) => worker.seek(),
        Action::SeekOrdered => worker.seek_ordered(),
        Action::Update => worker.update(),
        Action::ReadWrite => worker.read_write(),
        Action::Merge => worker.merge(),
        Action::ReadMerge => worker.read_merge(),
        Action::Ycsb(mix) => worker.ycsb(mix),
        Action::Open
        | Action::Compact
        | Action::Flush
        | Action::Wait
        | Action::Verify
        | Action::Crc32c
        | Action::AcquireLoad
        | Action::Codec { .. }
        | Action::Property(_)
        | Action::HeapProfile
        | Action::ResetStats => Err(Fault::new("a row without threads was given to one")),
    }
}
