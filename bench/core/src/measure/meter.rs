//! One thread's counters, clock and progress.
//!
//! The measured loops call [`Meter::wants`] and [`Meter::op`]: two comparisons. Everything rarer
//! (the progress line, the clock of a histogram, the end of a duration, the operations of each
//! second) is behind one threshold.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::measure::histogram::Histogram;
use crate::measure::intervals::Intervals;
use crate::result::civil_date::Civil;
use crate::workload::plan::Every;

/// Operations between two looks at the clock if the row has a time limit.
const DURATION_CHECK_OPS: u64 = 1000;

/// With a histogram, an operation that takes longer than this is reported at once.
const LONG_OP: Duration = Duration::from_millis(20);

/// What one thread has done so far.
#[derive(Debug)]
pub struct Meter {
    done: u64,
    wake: u64,
    limit: u64,
    /// Operations at which the elapsed time is checked.
    next_check: u64,
    next_report: u64,
    histogram: Option<Histogram>,
    intervals: Intervals,
    progress: bool,
    /// Stderr is a terminal, where a bar is clearer than a number.
    bar: bool,
    every: Option<Every>,
    thread: u32,
    /// When the last line in RocksDB's form was printed, and how many operations were done by then.
    reported: (Instant, u64),
    duration: Duration,
    started: Instant,
    last_op: Instant,
    finished: Instant,
    /// Bytes for the MB/s of the line.
    pub bytes: u64,
    /// Bytes of keys and values read, which only RocksDB's line shows.
    pub read_bytes: u64,
    /// Raw key and value bytes written.
    pub user_bytes: u64,
    /// Keys found.
    pub found: u64,
    wrong: u64,
    first_wrong: Option<String>,
}

/// How a meter runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeterMode {
    /// Operations to do.
    pub ops: u64,
    /// When above zero it replaces the count.
    pub duration: Duration,
    /// Time every operation.
    pub histogram: bool,
    /// Print progress.
    pub progress: bool,
    /// When a line of it is due, in RocksDB's form.
    pub every: Option<Every>,
    /// The number of the thread, for those lines.
    pub thread: u32,
}

impl Meter {
    /// A meter that has not been started.
    pub fn new(mode: MeterMode) -> Self {
        let now = Instant::now();
        let mut meter = Self {
            done: 0,
            wake: 0,
            limit: if mode.duration.is_zero() {
                mode.ops
            } else {
                u64::MAX
            },
            next_check: DURATION_CHECK_OPS,
            next_report: mode.every.map_or(100, |every| every.ops),
            histogram: mode.histogram.then(Histogram::new),
            intervals: Intervals::default(),
            progress: mode.progress,
            bar: mode.progress && mode.every.is_none() && std::io::stderr().is_terminal(),
            every: mode.every,
            thread: mode.thread,
            reported: (now, 0),
            duration: mode.duration,
            started: now,
            last_op: now,
            finished: now,
            bytes: 0,
            read_bytes: 0,
            user_bytes: 0,
            found: 0,
            wrong: 0,
            first_wrong: None,
        };
        meter.plan_wake();
        meter
    }

    /// Starts the clock.
    pub fn start(&mut self) {
        self.started = Instant::now();
        self.last_op = self.started;
        self.reported.0 = self.started;
    }

    /// Records a pause: it belongs to no operation.
    pub fn rested(&mut self) {
        self.last_op = Instant::now();
    }

    /// Stops the clock.
    pub fn stop(&mut self) {
        self.finished = Instant::now();
        self.intervals.look(self.done, self.finished - self.started);
        if self.bar {
            notify(format_args!("{BAR_ERASED}"));
        }
    }

    /// Whether more operations are to be done.
    #[inline]
    pub const fn wants(&self) -> bool {
        self.done < self.limit
    }

    /// Operations left, for loops that take several at once.
    #[inline]
    pub const fn left(&self) -> u64 {
        self.limit - self.done
    }

    /// Operations done.
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

    /// Counts operations that one call did. With a histogram, the call has one time: that of a
    /// batch, or of a read of several keys, is not divided among its operations.
    pub fn ops(&mut self, count: u64) {
        if self.histogram.is_some() {
            self.done += count;
            self.awake();
        } else {
            (0..count).for_each(|_| self.op());
        }
    }

    /// Records a wrong answer; only the first is described.
    #[cold]
    pub fn wrong(&mut self, describe: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.first_wrong.is_none() {
            self.first_wrong = Some(describe());
        }
    }

    /// Wrong answers, and what the first was.
    pub fn verdict(&self) -> (u64, Option<&str>) {
        (self.wrong, self.first_wrong.as_deref())
    }

    /// Times of single operations, where kept.
    pub const fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// Operations of each second so far.
    pub fn intervals(&self) -> &[u64] {
        self.intervals.counts()
    }

    /// When the clock ran.
    pub const fn span(&self) -> (Instant, Instant) {
        (self.started, self.finished)
    }

    #[cold]
    fn awake(&mut self) {
        if let Some(histogram) = &mut self.histogram {
            let now = Instant::now();
            let took = now - self.last_op;
            histogram.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            self.last_op = now;
            if took > LONG_OP && self.progress {
                let micros = took.as_secs_f64() * 1e6;
                notify(format_args!("long op: {micros:.1} micros{:30}\r", ""));
            }
        }
        if self.done >= self.intervals.next_look() {
            self.intervals.look(self.done, self.started.elapsed());
        }
        if !self.duration.is_zero() && self.done >= self.next_check {
            self.next_check = (self.done / DURATION_CHECK_OPS + 1) * DURATION_CHECK_OPS;
            if self.started.elapsed() >= self.duration {
                self.limit = self.done;
            }
        }
        while self.done >= self.next_report {
            self.report();
        }
        self.plan_wake();
    }

    /// Reports progress, in LevelDB's form or in RocksDB's.
    fn report(&mut self) {
        let Some(every) = self.every else {
            if self.bar {
                let elapsed = self.started.elapsed();
                notify(format_args!(
                    "{}\r",
                    bar(self.share(elapsed), self.done, elapsed)
                ));
            } else if self.progress {
                notify(format_args!("... finished {} ops{:30}\r", self.done, ""));
            }
            self.next_report += report_step(self.next_report);
            return;
        };
        self.next_report += every.ops;
        let now = Instant::now();
        let (last, done) = self.reported;
        let (part, whole) = (now - last, now - self.started);
        if self.progress && part >= Duration::from_secs(every.seconds) {
            let ops = (self.done - done, self.done);
            let line = interval_line(unix_seconds(), self.thread, ops, (part, whole));
            notify(format_args!("{line}\n"));
            self.reported = (now, self.done);
        }
    }

    /// The share of the row that is done, by operations or by time.
    #[expect(clippy::cast_precision_loss, reason = "a share for the eye")]
    fn share(&self, elapsed: Duration) -> f64 {
        if self.duration.is_zero() {
            self.done as f64 / self.limit.max(1) as f64
        } else {
            elapsed.as_secs_f64() / self.duration.as_secs_f64()
        }
    }

    /// Sets the next operation count at which something other than counting is due.
    fn plan_wake(&mut self) {
        let rare = self.next_report.min(self.intervals.next_look());
        self.wake = if self.histogram.is_some() {
            self.done + 1
        } else if self.duration.is_zero() {
            rare
        } else {
            rare.min(self.next_check)
        };
    }
}

/// Cells of a bar of progress.
const BAR_CELLS: usize = 30;
/// Clears the line of a progress bar, where `\r` has left the cursor.
const BAR_ERASED: &str = "\x1b[K";

/// A bar of progress: the share done, and operations a second so far.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cells and rates for the eye"
)]
fn bar(share: f64, done: u64, elapsed: Duration) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = "=".repeat((share * BAR_CELLS as f64) as usize);
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let percent = share * 100.0;
    format!("[{full:<BAR_CELLS$}] {percent:3.0} %  {rate:.0} ops/s{BAR_ERASED}")
}

/// LevelDB's steps between progress lines.
const fn report_step(reported: u64) -> u64 {
    match reported {
        0..1000 => 100,
        1000..5000 => 500,
        5000..10_000 => 1000,
        10_000..50_000 => 5000,
        50_000..100_000 => 10_000,
        100_000..500_000 => 50_000,
        _ => 100_000,
    }
}

/// The clock of the system, for a line of progress.
fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// RocksDB's line of progress: operations since the last line and in all, their rates, their times.
#[expect(clippy::cast_precision_loss, reason = "rates with one decimal")]
fn interval_line(at: u64, thread: u32, ops: (u64, u64), took: (Duration, Duration)) -> String {
    let at = Civil::of(at);
    let rate = |ops: u64, took: Duration| ops as f64 / took.as_secs_f64().max(1e-9);
    format!(
        "{:04}/{:02}/{:02}-{:02}:{:02}:{:02}  ... thread {thread}: ({},{}) ops and ({:.1},{:.1}) ops/second in ({:.6},{:.6}) seconds",
        at.year,
        at.month,
        at.day,
        at.hour,
        at.minute,
        at.second,
        ops.0,
        ops.1,
        rate(ops.0, took.0),
        rate(ops.1, took.1),
        took.0.as_secs_f64(),
        took.1.as_secs_f64(),
    )
}

/// Writes to stderr; a closed stderr is no reason to stop measuring.
fn notify(text: std::fmt::Arguments<'_>) {
    // In one piece: stderr has no buffer, and padding would be a system call a space.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(ops: u64) -> MeterMode {
        MeterMode {
            ops,
            ..MeterMode::default()
        }
    }

    #[test]
    fn lines_of_progress_have_rocks_fields() {
        let took = (Duration::from_millis(500), Duration::from_secs(2));
        assert_eq!(
            interval_line(951_782_461, 3, (1000, 3000), took),
            "2000/02/29-00:01:01  ... thread 3: (1000,3000) ops and (2000.0,1500.0) ops/second in (0.500000,2.000000) seconds"
        );
    }

    #[test]
    fn lines_of_progress_are_reported_no_oftener_than_asked() {
        let every = |ops, seconds| {
            let mut meter = Meter::new(MeterMode {
                progress: true,
                every: Some(Every { ops, seconds }),
                ..mode(2500)
            });
            meter.start();
            while meter.wants() {
                meter.op();
            }
            meter.reported.1
        };
        assert_eq!(every(1000, 0), 2000);
        assert_eq!(every(1000, 3600), 0);
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
        let text = meter.histogram().expect("asked for").to_text();
        assert!(text.starts_with("Count: 500 "), "{text}");
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

    #[test]
    fn a_bar_is_as_full_as_the_row_is_done() {
        let second = Duration::from_secs(1);
        assert_eq!(
            bar(0.0, 0, second),
            format!("[{:30}]   0 %  0 ops/s{BAR_ERASED}", "")
        );
        let half = format!("[{:<30}]  50 %  1500 ops/s{BAR_ERASED}", "=".repeat(15));
        assert_eq!(bar(0.5, 3000, 2 * second), half);
        let whole = format!("[{}] 100 %  7 ops/s{BAR_ERASED}", "=".repeat(30));
        assert_eq!(bar(1.5, 7, second), whole);
        let mut meter = Meter::new(mode(400));
        meter.start();
        (0..100).for_each(|_| meter.op());
        assert!((meter.share(second) - 0.25).abs() < 1e-9);
        meter.duration = 4 * second;
        assert!((meter.share(second) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn progress_steps_are_levels() {
        let mut reports = vec![];
        let mut at = 100;
        while at < 1_000_000 {
            reports.push(at);
            at += report_step(at);
        }
        assert_eq!(
            reports[..11],
            [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1500]
        );
        assert_eq!(
            reports[reports.len() - 5..],
            [500_000, 600_000, 700_000, 800_000, 900_000]
        );
    }
}
