//! One thread's counters, clock and progress.
//!
//! The measured loops call [`Meter::wants`] and [`Meter::op`]: two comparisons. All less frequent
//! work (the progress line, the clock of a histogram, the end of a duration, the operations of each
//! second) is guarded by one threshold.

mod mode;
mod open_loop;
mod progress;

use std::time::{Duration, Instant};

use crate::measure::histogram::Histogram;
use crate::measure::intervals::Intervals;
use crate::measure::wrong_answers::WrongAnswers;

pub use mode::MeterMode;
use open_loop::OpenLoop;
use progress::Progress;

/// Number of operations between two clock readings if the row has a time limit.
const DURATION_CHECK_OPS: u64 = 1000;

/// Threshold above which an operation is reported immediately if a histogram is kept.
const LONG_OP: Duration = Duration::from_millis(20);

/// The time limit of a row.
#[derive(Clone, Copy, Debug)]
struct TimeLimit {
    duration: Duration,
    /// Operation count at which the elapsed time is checked next.
    next_check: u64,
}

impl TimeLimit {
    fn new(duration: Duration) -> Option<Self> {
        (!duration.is_zero()).then_some(Self {
            duration,
            next_check: DURATION_CHECK_OPS,
        })
    }

    /// Returns whether the time is up, if a check is due.
    fn is_over(&mut self, done: u64, started: Instant) -> bool {
        if done < self.next_check {
            return false;
        }
        self.next_check = (done / DURATION_CHECK_OPS + 1) * DURATION_CHECK_OPS;
        started.elapsed() >= self.duration
    }
}

/// Latencies of single operations.
#[derive(Debug)]
struct OpTimes {
    histogram: Histogram,
    /// When the last operation ended, or in an open loop, when the next one should begin.
    last: Instant,
    open_loop: Option<OpenLoop>,
}

impl OpTimes {
    /// Adds the time since the last operation.
    fn add(&mut self) -> Duration {
        let now = Instant::now();
        let took = now - self.last;
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.add(nanos);
        self.last = now;
        took
    }

    /// Waits until the operation after `done` others should begin, if that is fixed.
    fn wait(&mut self, done: u64) {
        if let Some(open_loop) = &self.open_loop {
            self.last = open_loop.wait(done);
        }
    }
}

/// The counters of one thread so far.
#[derive(Debug)]
pub struct Meter {
    done: u64,
    wake: u64,
    limit: u64,
    time_limit: Option<TimeLimit>,
    times: Option<OpTimes>,
    intervals: Intervals,
    progress: Progress,
    started: Instant,
    finished: Instant,
    /// The time of the row, if it is not that between start and stop.
    time: Option<Duration>,
    /// Bytes counted in the MB/s of the line.
    pub bytes: u64,
    /// Bytes of keys and values read, which only RocksDB's line shows.
    pub read_bytes: u64,
    /// Raw key and value bytes written.
    pub user_bytes: u64,
    /// Number of keys found.
    pub found: u64,
    wrong: WrongAnswers,
}

impl Meter {
    /// Creates a meter that has not been started.
    pub fn new(mode: MeterMode) -> Self {
        let now = Instant::now();
        let time_limit = TimeLimit::new(mode.duration);
        let mut meter = Self {
            done: 0,
            wake: 0,
            limit: time_limit.map_or(mode.ops, |_| u64::MAX),
            time_limit,
            times: (mode.histogram || mode.rate.is_some()).then(|| OpTimes {
                histogram: Histogram::new(),
                last: now,
                open_loop: mode.rate.map(|rate| {
                    let place = (mode.place, mode.places.max(1));
                    OpenLoop::new(rate, place, now)
                }),
            }),
            intervals: Intervals::default(),
            progress: Progress::new(&mode, now),
            started: now,
            finished: now,
            time: None,
            bytes: 0,
            read_bytes: 0,
            user_bytes: 0,
            found: 0,
            wrong: WrongAnswers::default(),
        };
        meter.plan_wake();
        meter
    }

    /// Starts the clock.
    pub fn start(&mut self) {
        self.started = Instant::now();
        self.next_op_begins(self.started);
        self.progress.start(self.started);
        if let Some(times) = &mut self.times {
            if let Some(open_loop) = &mut times.open_loop {
                open_loop.start(self.started);
            }
            times.wait(0);
        }
    }

    /// Records the end of a pause, which belongs to no operation.
    pub fn rested(&mut self) {
        self.next_op_begins(Instant::now());
    }

    const fn next_op_begins(&mut self, now: Instant) {
        if let Some(times) = &mut self.times
            && times.open_loop.is_none()
        {
            times.last = now;
        }
    }

    /// Stops the clock.
    pub fn stop(&mut self) {
        self.finished = Instant::now();
        self.intervals.look(self.done, self.finished - self.started);
        self.progress.stop();
    }

    /// Returns whether more operations are to be done.
    #[inline]
    pub const fn wants(&self) -> bool {
        self.done < self.limit
    }

    /// Returns the number of operations left, for loops that run several at once.
    #[inline]
    pub const fn left(&self) -> u64 {
        self.limit - self.done
    }

    /// Returns the number of operations done.
    pub const fn done(&self) -> u64 {
        self.done
    }

    /// Counts one operation.
    #[inline]
    pub fn op(&mut self) {
        self.done += 1;
        if self.done >= self.wake {
            self.awake();
        }
    }

    /// Counts the operations of one call. With a histogram, the call has one latency: that of a
    /// batch or a multi-get is not divided among its operations.
    pub fn ops(&mut self, count: u64) {
        if self.times.is_some() {
            self.done += count;
            self.awake();
        } else {
            (0..count).for_each(|_| self.op());
        }
    }

    /// Records a wrong answer; only the first is described.
    #[cold]
    pub fn wrong(&mut self, describe: impl FnOnce() -> String) {
        self.wrong.add(describe);
    }

    /// Returns the wrong answers so far.
    pub const fn wrong_answers(&self) -> &WrongAnswers {
        &self.wrong
    }

    /// Returns the latencies of single operations, if kept.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.times.as_ref().map(|times| &times.histogram)
    }

    /// Returns the operations of each second so far.
    pub fn intervals(&self) -> &[u64] {
        self.intervals.counts()
    }

    /// Sets the time of the row, for a row that times only a part of what it does.
    pub const fn set_time(&mut self, time: Duration) {
        self.time = Some(time);
    }

    /// Returns the start and end time of the clock.
    pub fn span(&self) -> (Instant, Instant) {
        let end = self.time.map_or(self.finished, |time| self.started + time);
        (self.started, end)
    }

    #[cold]
    fn awake(&mut self) {
        if let Some(times) = &mut self.times {
            let took = times.add();
            if took > LONG_OP {
                self.progress.long_op(took);
            }
        }
        if self.done >= self.intervals.next_look() {
            self.intervals.look(self.done, self.started.elapsed());
        }
        if let Some(limit) = &mut self.time_limit
            && limit.is_over(self.done, self.started)
        {
            self.limit = self.done;
        }
        self.progress.report(self.done);
        self.plan_wake();
        if self.done < self.limit
            && let Some(times) = &mut self.times
        {
            times.wait(self.done);
        }
    }

    /// Sets the next operation count at which something other than counting is due.
    fn plan_wake(&mut self) {
        let rare = self.progress.next_report().min(self.intervals.next_look());
        self.wake = match (&self.times, self.time_limit) {
            (Some(_), _) => self.done + 1,
            (None, None) => rare,
            (None, Some(limit)) => rare.min(limit.next_check),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::test_text::begins;

    fn mode(ops: u64) -> MeterMode {
        MeterMode {
            ops,
            ..MeterMode::default()
        }
    }

    #[test]
    fn counts_exactly_what_was_asked() {
        for ops in [0, 1, 99, 100, 101, 123_456] {
            let mut meter = Meter::new(mode(ops));
            meter.start();
            while meter.wants() {
                meter.op();
            }
            assert_eq!(meter.done(), ops);
        }
    }

    #[test]
    fn a_histogram_sees_every_operation() {
        let mut meter = Meter::new(MeterMode {
            histogram: true,
            ..mode(500)
        });
        meter.start();
        while meter.wants() {
            meter.op();
        }
        let text = meter.histogram().expect("requested").to_text();
        begins(&text, "Count: 500 ");
    }

    #[test]
    fn a_duration_ends_the_loop_on_a_look_at_the_clock() {
        let mut meter = Meter::new(MeterMode {
            duration: Duration::from_nanos(1),
            ..mode(5)
        });
        meter.start();
        while meter.wants() {
            meter.op();
        }
        assert_eq!(meter.done(), DURATION_CHECK_OPS);
    }
}
