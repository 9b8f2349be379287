//! The progress of a thread on stderr: LevelDB's counts, a bar on a terminal, or RocksDB's lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::mode::MeterMode;
use crate::result::civil_date::civil;
use crate::workload::plan::Every;

/// The progress output and when it is due next.
#[derive(Debug)]
pub(super) struct Progress {
    /// Whether progress is printed; if not, it is only counted.
    shown: bool,
    /// Whether stderr is a terminal, where a bar is clearer than a number.
    bar: bool,
    every: Option<Every>,
    thread: u32,
    /// Number of operations to do, unless `duration` replaces it.
    ops: u64,
    /// Duration of the row, if not zero.
    duration: Duration,
    started: Instant,
    next_report: u64,
    /// The time of the last line in RocksDB's format, and the operations done by then.
    reported: (Instant, u64),
}

impl Progress {
    pub(super) fn new(mode: &MeterMode, now: Instant) -> Self {
        Self {
            shown: mode.progress,
            bar: mode.progress && mode.every.is_none() && std::io::stderr().is_terminal(),
            every: mode.every,
            thread: mode.thread,
            ops: mode.ops,
            duration: mode.duration,
            started: now,
            next_report: mode.every.map_or(100, |every| every.ops),
            reported: (now, 0),
        }
    }

    /// Starts counting at `now`.
    pub(super) const fn start(&mut self, now: Instant) {
        self.started = now;
        self.reported.0 = now;
    }

    /// Removes the bar.
    pub(super) fn stop(&self) {
        if self.bar {
            notify(format_args!("{BAR_ERASED}"));
        }
    }

    /// Returns the count of operations at which the next report is due.
    pub(super) const fn next_report(&self) -> u64 {
        self.next_report
    }

    /// Prints the reports that are due after `done` operations.
    pub(super) fn report(&mut self, done: u64) {
        while done >= self.next_report {
            match self.every {
                Some(every) => self.report_interval(done, every),
                None => self.report_count(done),
            }
        }
    }

    /// Reports an operation that took unusually long.
    pub(super) fn long_op(&self, took: Duration) {
        if self.shown {
            let micros = took.as_secs_f64() * 1e6;
            notify(format_args!("long op: {micros:.1} micros{:30}\r", ""));
        }
    }

    /// Reports in LevelDB's format or as a bar.
    fn report_count(&mut self, done: u64) {
        if self.bar {
            let elapsed = self.started.elapsed();
            let text = bar(self.share(done, elapsed), done, elapsed);
            notify(format_args!("{text}\r"));
        } else if self.shown {
            notify(format_args!("... finished {done} ops{:30}\r", ""));
        }
        self.next_report += report_step(self.next_report);
    }

    /// Reports in RocksDB's format if the last line is old enough.
    fn report_interval(&mut self, done: u64, every: Every) {
        self.next_report += every.ops;
        let now = Instant::now();
        let (last, done_then) = self.reported;
        let (part, whole) = (now - last, now - self.started);
        if self.shown && part >= Duration::from_secs(every.seconds) {
            let ops = (done - done_then, done);
            let line = interval_line(unix_seconds(), self.thread, ops, (part, whole));
            notify(format_args!("{line}\n"));
            self.reported = (now, done);
        }
    }

    /// Returns the share of the row that is done, by operations or by time.
    #[expect(clippy::cast_precision_loss, reason = "the share is only displayed")]
    fn share(&self, done: u64, elapsed: Duration) -> f64 {
        if self.duration.is_zero() {
            done as f64 / self.ops.max(1) as f64
        } else {
            elapsed.as_secs_f64() / self.duration.as_secs_f64()
        }
    }
}

/// Number of cells of a progress bar.
const BAR_CELLS: usize = 30;
/// Clears the line of a progress bar, where `\r` has left the cursor.
const BAR_ERASED: &str = "\x1b[K";

/// Returns a progress bar: the share done and the operations per second so far.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cells and rates are only displayed"
)]
fn bar(share: f64, done: u64, elapsed: Duration) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = "=".repeat((share * BAR_CELLS as f64) as usize);
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let percent = share * 100.0;
    format!("[{full:<BAR_CELLS$}] {percent:3.0} %  {rate:.0} ops/s{BAR_ERASED}")
}

/// Returns LevelDB's step to the next progress line.
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

/// Returns the system time for a progress line.
fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Returns RocksDB's progress line: operations since the last line and in total, their rates and
/// their times.
#[expect(clippy::cast_precision_loss, reason = "rates with one decimal")]
fn interval_line(at: u64, thread: u32, ops: (u64, u64), took: (Duration, Duration)) -> String {
    let ([year, month, day, hour, minute, second], _) = civil(at);
    let rate = |ops: u64, took: Duration| ops as f64 / took.as_secs_f64().max(1e-9);
    format!(
        "{year:04}/{month:02}/{day:02}-{hour:02}:{minute:02}:{second:02}  ... thread {thread}: ({},{}) ops and ({:.1},{:.1}) ops/second in ({:.6},{:.6}) seconds",
        ops.0,
        ops.1,
        rate(ops.0, took.0),
        rate(ops.1, took.1),
        took.0.as_secs_f64(),
        took.1.as_secs_f64(),
    )
}

/// Writes to stderr; errors are ignored, because a closed stderr must not stop the measurement.
fn notify(text: std::fmt::Arguments<'_>) {
    // One write: stderr is unbuffered, and padding would take one system call per space.
    let _ = std::io::stderr().write_all(text.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mode = MeterMode {
                progress: true,
                every: Some(Every { ops, seconds }),
                ..MeterMode::default()
            };
            let mut progress = Progress::new(&mode, Instant::now());
            (1..=2500).for_each(|done| progress.report(done));
            progress.reported.1
        };
        assert_eq!(every(1000, 0), 2000);
        assert_eq!(every(1000, 3600), 0);
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
        let share = |ops, duration| {
            let mode = MeterMode {
                ops,
                duration,
                ..MeterMode::default()
            };
            Progress::new(&mode, Instant::now()).share(100, second)
        };
        assert!((share(400, Duration::ZERO) - 0.25).abs() < 1e-9);
        assert!((share(5, 4 * second) - 0.25).abs() < 1e-9);
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
