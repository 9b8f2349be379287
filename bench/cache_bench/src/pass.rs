//! One measured pass: threads that draw operations and run them on one cache.

use std::panic::resume_unwind;
use std::sync::{Arc, Barrier, RwLock};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use bench_core::measure::rocksdb_histogram::RocksdbHistogram;

use crate::draw::{Draws, Op};
use crate::plan::Plan;
use crate::subject::Subject;
use crate::value::Values;

/// One thread's draws and values, which continue from pass to pass.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    draws: Draws,
    values: Values,
    hold: bool,
}

impl Worker {
    /// Creates the worker of one thread.
    pub(crate) fn new(plan: &Plan, thread: u64) -> Self {
        let bytes = usize::try_from(plan.value_bytes).unwrap_or(usize::MAX);
        Self {
            draws: Draws::new(plan, thread),
            values: Values::new(bytes, plan.lean),
            hold: plan.hold,
        }
    }

    /// Inserts this many drawn keys.
    fn populate(&mut self, cache: &impl Subject, entries: u64) {
        for _ in 0..entries {
            let key = self.draws.key();
            cache.insert(u128::from(key), self.values.make(key));
        }
    }

    /// Runs `ops` operations; `TIMED` times each of them.
    fn run<const TIMED: bool>(&mut self, cache: &impl Subject, ops: u64) -> Tally {
        let mut tally = Tally::default();
        let mut held = None;
        let started = Instant::now();
        for _ in 0..ops {
            let key = self.draws.key();
            let op = self.draws.op();
            let before = TIMED.then(Instant::now);
            self.step(cache, key, op, &mut held, &mut tally);
            if let Some(before) = before {
                let took = before.elapsed().as_nanos();
                tally.latency.add(u64::try_from(took).unwrap_or(u64::MAX));
            }
        }
        tally.ops = ops;
        tally.span = Some((started, Instant::now()));
        tally
    }

    #[inline]
    fn step(
        &mut self,
        cache: &impl Subject,
        key: u64,
        op: Op,
        held: &mut Option<Arc<[u8]>>,
        tally: &mut Tally,
    ) {
        match op {
            Op::LookupInsert => {
                if !self.lookup(cache, key, held, tally) {
                    self.insert(cache, key, held, tally);
                }
            }
            Op::Lookup => {
                self.lookup(cache, key, held, tally);
            }
            Op::Insert if self.hold => self.insert(cache, key, held, tally),
            Op::Insert | Op::BlindInsert => {
                cache.insert(u128::from(key), self.values.make(key));
                tally.inserts += 1;
            }
            Op::Erase => {
                tally.erases += 1;
                tally.erased += u64::from(cache.erase(u128::from(key)));
            }
        }
    }

    #[inline]
    fn insert(
        &mut self,
        cache: &impl Subject,
        key: u64,
        held: &mut Option<Arc<[u8]>>,
        tally: &mut Tally,
    ) {
        let value = self.values.make(key);
        *held = Some(Arc::clone(&value));
        cache.insert(u128::from(key), value);
        tally.inserts += 1;
    }

    #[inline]
    fn lookup(
        &self,
        cache: &impl Subject,
        key: u64,
        held: &mut Option<Arc<[u8]>>,
        tally: &mut Tally,
    ) -> bool {
        // Like RocksDB's program, releases the held value before the next lookup.
        *held = None;
        tally.lookups += 1;
        let Some(value) = cache.lookup(u128::from(key)) else {
            return false;
        };
        tally.hits += 1;
        if !self.values.is_right(key, &value) {
            tally.wrong(key, &value);
        }
        if self.hold {
            *held = Some(value);
        }
        true
    }
}

/// The counts of a pass or of one of its threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Operations.
    pub(crate) ops: u64,
    /// Lookups.
    pub(crate) lookups: u64,
    /// Lookups that found a value.
    pub(crate) hits: u64,
    /// Inserts.
    pub(crate) inserts: u64,
    /// Calls of erase.
    pub(crate) erases: u64,
    /// Erases that found something.
    pub(crate) erased: u64,
    /// Number of values that did not belong to their key.
    pub(crate) wrong: u64,
    /// Description of the first wrong value.
    pub(crate) first_wrong: Option<String>,
    /// Latencies of single operations in nanoseconds, if timed.
    pub(crate) latency: RocksdbHistogram,
    /// Sum of the times of all threads.
    pub(crate) thread_time: Duration,
    /// Time from the first thread's start to the last one's end.
    pub(crate) wall: Duration,
    span: Option<(Instant, Instant)>,
}

impl Tally {
    #[cold]
    fn wrong(&mut self, key: u64, value: &[u8]) {
        self.wrong += 1;
        if self.first_wrong.is_none() {
            let shown = &value[..value.len().min(16)];
            self.first_wrong = Some(format!(
                "the lookup of key {key} returned {} bytes starting with {shown:02x?}, which are not its value",
                value.len()
            ));
        }
    }

    fn merge(&mut self, other: Self) {
        self.ops += other.ops;
        self.lookups += other.lookups;
        self.hits += other.hits;
        self.inserts += other.inserts;
        self.erases += other.erases;
        self.erased += other.erased;
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        self.latency.merge(&other.latency);
        if let Some((start, end)) = other.span {
            self.thread_time += end - start;
            let (first, last) = self.span.unwrap_or((start, end));
            self.span = Some((first.min(start), last.max(end)));
        }
        self.wall = self
            .span
            .map_or(Duration::ZERO, |(first, last)| last - first);
    }
}

/// Fills a cache with `entries` drawn keys, inserted by all workers at once: allocators keep memory
/// per thread, so memory freed by one thread would not be available to the others.
pub(crate) fn populate(cache: &impl Subject, workers: &mut [Worker], entries: u64) {
    let each = entries.div_ceil(workers.len() as u64);
    at_once(workers, |worker| worker.populate(cache, each));
}

/// Runs all workers at once for `ops` operations each.
pub(crate) fn run<const TIMED: bool>(
    cache: &impl Subject,
    workers: &mut [Worker],
    ops: u64,
) -> Tally {
    let mut total = Tally::default();
    for tally in at_once(workers, |worker| worker.run::<TIMED>(cache, ops)) {
        total.merge(tally);
    }
    total
}

/// Runs `work` in a thread for each worker; all start together.
///
/// # Panics
/// If the system cannot start more threads. Waiting threads are released first.
fn at_once<R: Send>(workers: &mut [Worker], work: impl Fn(&mut Worker) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(workers.len());
    // Opens once every thread has started. A barrier alone would wait for threads that could not
    // start.
    let gate = RwLock::new(false);
    let (barrier, gate, work) = (&barrier, &gate, &work);
    std::thread::scope(|scope| {
        let closed = gate.write();
        let begin = |worker| {
            Builder::new().spawn_scoped(scope, move || {
                gate.read().is_ok_and(|open| *open).then(|| {
                    barrier.wait();
                    work(worker)
                })
            })
        };
        let threads: Result<Vec<_>, _> = workers.iter_mut().map(begin).collect();
        if let Ok(mut gate) = closed {
            *gate = threads.is_ok();
        }
        let threads = threads.unwrap_or_else(|error| {
            panic!("the system cannot start this many threads: {error}");
        });
        // If a cache panicked, the process ends as it would have without threads.
        let join = |thread: ScopedJoinHandle<'_, Option<R>>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().filter_map(join).collect()
    })
}

#[cfg(test)]
mod tests;
