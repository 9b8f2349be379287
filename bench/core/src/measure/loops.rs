//! The measured loops, one module per family.
//!
//! A [`Task`] contains what all threads of a row share; a [`Worker`] is one thread: its session,
//! its random generator, its key buffer and its [`Meter`]. [`run`] is the whole measured part of a
//! thread.

mod codec;
pub(crate) mod deletions;
mod drawn_ahead;
mod fill;
mod get;
mod mixed;
mod reader;
mod scan;
mod seek;
mod shapes;
mod short_scan;
pub mod storeless;
mod task;
mod turns;
mod ycsb;

pub(crate) use mixed::by_hand;
pub use task::Task;
pub(crate) use task::position;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::{Role, Session, Store};
use crate::fault::Fault;
use crate::measure::byte_sum::{ScanSum, fold};
use crate::measure::meter::Meter;
use crate::measure::rate_limit::{Pace, rest};
use crate::workload::definition::{Action, Beside, Order, Target};
use crate::workload::draw::{Draws, HotRanges, ZipfLaw};
use crate::workload::key::KeyBuffer;
use crate::workload::model::{ABSENT, Word};
use crate::workload::random::Random;

use drawn_ahead::Ahead;
use reader::ReaderGuard;

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

/// One thread of a row.
#[derive(Debug)]
pub struct Worker<'t, S> {
    task: &'t Task<'t>,
    session: S,
    /// The number of the thread in its row.
    thread: u32,
    random: Random,
    key: KeyBuffer,
    draws: Draws,
    ahead: Ahead,
    meter: Meter,
    /// Time of a turn in the last tenth of a row of turns.
    late_ns: Option<u64>,
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
    /// Time of an operation in the last tenth of a row of turns in nanoseconds.
    pub late_ns: Option<u64>,
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
        self.task.enter(&mut self.session, index)?;
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
        self.task.enter(&mut self.session, index)?;
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
        (draws, deletions::session(store, task, role, index))
    }));
    let key = task.pool.layout().buffer();
    let mut meter = Meter::new(task.mode(index));
    let leaving = (!beside).then(|| ReaderGuard(&task.running));
    // Between the two waits, the counters of the process are read.
    task.barrier.wait();
    task.barrier.wait();
    let (draws, session) =
        prepared.map_err(|_| Fault::new("a thread of the row panicked before it began"))?;
    meter.start();
    let mut worker = Worker {
        task,
        session: session?,
        thread: index,
        random,
        key,
        draws,
        ahead: Ahead::default(),
        meter,
        late_ns: None,
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
        late_ns: worker.late_ns,
        scan,
    })
}

/// Returns the key source of a thread.
fn draws_of(task: &Task<'_>, beside: bool, seed: u32, random: &mut Random) -> Draws {
    let plan = task.plan;
    let (order, range) = match task.workload.action {
        Action::Ycsb(mix) if mix.zipf > 0 && plan.distribution.is_none() => {
            let exponent = f64::from(mix.zipf) / 100.0;
            return Draws::Skewed(ZipfLaw::new(task.records, exponent));
        }
        Action::Ycsb(mix) if mix.graph && plan.distribution.is_none() => {
            return Draws::Ranges(HotRanges::new(task.records));
        }
        Action::Ycsb(_) => {
            return Draws::drawn(plan.keys, task.distribution(), task.records, seed);
        }
        Action::Fill(order) | Action::Delete(order) => (order, plan.num),
        Action::Stall => (Order::Unique, plan.num),
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
        Action::Append => worker.append(),
        Action::Delete(_) => worker.delete(),
        Action::Pop(end) => worker.pop(end),
        Action::Extract => worker.extract(),
        Action::Stall => worker.stall(),
        Action::SyncBurst => worker.sync_burst(),
        Action::Turns {
            pattern, ranges, ..
        } => worker.turns(pattern, ranges),
        Action::Scan { backward } => {
            *scan = Some(worker.scan(backward)?);
            Ok(String::new())
        }
        Action::Iterate => {
            *scan = Some(worker.iterate()?);
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
        | Action::Readers(_)
        | Action::DropKeyspaces
        | Action::DeleteRanges
        | Action::Compact
        | Action::Flush
        | Action::Wait
        | Action::Verify
        | Action::Crc32c
        | Action::Depth
        | Action::Chase(_)
        | Action::Amp(_)
        | Action::AcquireLoad
        | Action::Codec { .. }
        | Action::Property(_)
        | Action::HeapProfile
        | Action::ResetStats => Err(Fault::new("a row without threads was given to one")),
    }
}
