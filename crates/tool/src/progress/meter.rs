//! The meter: a bar on stderr.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time after which the bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar, and when it was begun.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Meter {
    /// Returns the meter of some work, named by a verb, over about `bytes` bytes.
    pub(crate) fn new(verb: &'static str, bytes: u64) -> Arc<Meter> {
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
        bar.set_style(style(
            "{msg} {bytes} of about {total_bytes} [{bar:24}] {binary_bytes_per_sec}",
        ));
        bar.set_message(verb);
        Arc::new(Meter::of(bar))
    }

    /// Returns the meter of work whose length is not known.
    pub(super) fn without_length() -> Meter {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{spinner} {msg}"));
        Meter::of(bar)
    }

    fn of(bar: ProgressBar) -> Meter {
        Meter {
            bar,
            started: Instant::now(),
            shown: AtomicBool::new(false),
        }
    }

    /// Returns the meter of some work that reads the database in `directory`.
    pub(crate) fn over(verb: &'static str, directory: &Path) -> Arc<Meter> {
        Meter::new(verb, bytes_of(directory))
    }

    /// Counts bytes.
    pub(crate) fn add(&self, bytes: u64) {
        self.set(self.bar.position().saturating_add(bytes));
    }

    /// Sets the number of bytes that are done.
    pub(crate) fn set(&self, bytes: u64) {
        self.show();
        if self.bar.length().is_some_and(|length| length < bytes) {
            self.bar.set_length(bytes);
        }
        self.bar.set_position(bytes);
    }

    /// Sets verb and bytes of the next step.
    pub(crate) fn step(&self, verb: &'static str, bytes: u64) {
        self.bar.set_length(bytes);
        self.bar.set_message(verb);
    }

    /// Shows a message, and the position if it is known: the bytes done, and those of the whole.
    pub(super) fn tell(&self, message: String, position: Option<(u64, u64)>) {
        self.show();
        if let Some((done, total)) = position {
            if self.bar.length().is_none() {
                self.bar
                    .set_style(style("{msg} [{wide_bar}] {percent} %, {eta} left"));
                self.bar.set_length(total);
            }
            self.bar.set_position(done);
        }
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Returns the time since the work began.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn show(&self) {
        if self.started.elapsed() >= PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns a style without colours, so that `NO_COLOR` needs no other one.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

/// Returns the bytes of the files that hold the data of a database.
fn bytes_of(directory: &Path) -> u64 {
    let endings = ["tbl", "val", "ldb", "sst", "log"];
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let sizes = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let ending = path.extension()?.to_str()?;
        endings.contains(&ending).then(|| entry.metadata().ok())?
    });
    sizes.map(|metadata| metadata.len()).sum()
}
