//! The writes of a row with readers, which come from this process.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::group::Group;
use super::values::ordinal;
use crate::engine::Session;
use crate::fault::Fault;
use crate::measure::loops::position;
use crate::measure::rate_limit::{Pace, rest};
use crate::measure::runner::contents::Contents;
use crate::workload::definition::{Readers, Values};
use crate::workload::draw::Draws;
use crate::workload::key::KeyBuffer;
use crate::workload::model::{Model, Words};
use crate::workload::plan::{Distribution, Plan};
use crate::workload::pool::ValueSet;
use crate::workload::random::Random;

/// Writes per second of the row that has a fixed rate.
const RATE: u64 = 50_000;

/// Returns the time of a clock that all processes share.
pub(super) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let number = |part: i64| u64::try_from(part).unwrap_or(0);
    number(time.tv_sec) * 1_000_000_000 + number(time.tv_nsec)
}

/// Returns a time in microseconds.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
pub(super) fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Returns a source of random keys, and its generator.
pub(super) fn random_keys(plan: &Plan, seed: u32) -> (Draws, Random) {
    let distribution = plan.distribution.unwrap_or(Distribution::Uniform);
    let draws = Draws::drawn(plan.keys, distribution, plan.num, seed);
    (draws, Random::new(seed))
}

/// Writes random keys.
pub(super) struct Writes<'w, S> {
    session: S,
    key: KeyBuffer,
    draws: Draws,
    random: Random,
    model: &'w Model,
    values: &'w ValueSet,
    words: Words,
    /// How often the row has written each key.
    generations: Vec<u32>,
    /// Number of writes.
    pub(super) count: u64,
    /// Bytes of their keys and values.
    pub(super) bytes: u64,
}

impl<'w, S: Session> Writes<'w, S> {
    pub(super) fn new(session: S, contents: &'w Contents<'_>, plan: &Plan, seed: u32) -> Self {
        let (draws, random) = random_keys(plan, seed);
        let model = &contents.model;
        Self {
            session,
            key: contents.pool.layout().buffer(),
            draws,
            random,
            model,
            values: contents.pool.set(Values::Flag),
            words: model.words(Values::Flag),
            generations: vec![0; model.keys()],
            count: 0,
            bytes: 0,
        }
    }

    /// Writes the next generation of a random key. Returns its index and that generation.
    fn next(&mut self) -> Result<(u64, u32), Fault> {
        let index = self.draws.next(&mut self.random);
        let at = position(index);
        self.generations[at] += 1;
        let generation = self.generations[at];
        let ordinal = ordinal(index, generation, self.values.count());
        let value = self.values.value(ordinal);
        self.session.put(self.key.set(index), value)?;
        self.model.store(at, self.words.word(ordinal));
        self.count += 1;
        self.bytes += (self.key.len() + value.len()) as u64;
        Ok((index, generation))
    }

    /// Writes without pause.
    pub(super) fn many(&mut self, count: u64) -> Result<(), Fault> {
        (0..count).try_for_each(|_| self.next().map(drop))
    }

    /// Writes at the fixed rate, or more slowly if the engine is slower.
    pub(super) fn at_a_fixed_rate(&mut self, time: Duration) -> Result<(), Fault> {
        let start = Instant::now();
        let mut pace = Pace::share(RATE, 1);
        while start.elapsed() < time {
            self.next()?;
            if let Some(pace) = &mut pace {
                rest(pace.spend(1), || true);
            }
        }
        Ok(())
    }

    /// Writes an entry each time the reader has seen the one before.
    pub(super) fn one_at_a_time(
        &mut self,
        group: &mut Group,
        count: u64,
        time: Duration,
    ) -> Result<(), Fault> {
        let start = Instant::now();
        while self.count < count && start.elapsed() < time {
            let (index, generation) = self.next()?;
            group.see([index, generation.into(), now_ns()])?;
        }
        Ok(())
    }

    /// Returns what the result line says about the writes, which took `time`.
    #[expect(clippy::cast_precision_loss, reason = "shown without decimals")]
    pub(super) fn message(&self, readers: Readers, time: Duration) -> Option<String> {
        let rate = self.count as f64 / time.as_secs_f64();
        match readers {
            Readers::Quiet | Readers::Fresh => None,
            Readers::Writing => Some(format!("(writer: {rate:.0} of {RATE} puts/s)")),
            Readers::Opening => Some(format!("(after {} bytes of puts)", self.bytes)),
            Readers::Cost { .. } => {
                let each = time.as_nanos() / u128::from(self.count.max(1));
                let each = micros(u64::try_from(each).unwrap_or(u64::MAX));
                Some(format!("(processor time; by the clock {each:.3})"))
            }
        }
    }
}
