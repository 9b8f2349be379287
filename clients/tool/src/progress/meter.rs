//! The meter: a bar on stderr, for work on bytes or on entries.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::interrupt;
use crate::failure::Result;

/// Time after which the bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// Bytes have the units of everything else that is printed: powers of 1,000.
const BYTES: &str = "{msg} {decimal_bytes} of about {decimal_total_bytes} [{bar:24}] \
    {decimal_bytes_per_sec}";

/// Entries between two updates.
const STEP_ENTRIES: u64 = 1 << 14;

/// A bar, which appears after a while.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
    is_shown: Cell<bool>,
}

/// The progress of one step of work on entries: their number and their rate.
#[derive(Debug)]
pub(crate) struct Progress {
    meter: Meter,
    work: &'static str,
    entries: u64,
}

/// Makes a call of the store, and shows how far it is if the call can be watched. Ctrl-C stops it.
pub(crate) fn watched<T>(verb: &'static str, call: impl FnOnce() -> T) -> T {
    let meter = Meter::new(verb);
    let watcher = move |at: cairndb::Progress| {
        meter.set(at.done, at.total);
        if interrupt::is_asked() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    cairndb::watch(watcher, call)
}

impl Meter {
    /// Returns the meter of some work on bytes, named by a verb.
    pub(crate) fn new(verb: &'static str) -> Meter {
        let meter = Meter::of(Some(0), BYTES);
        meter.bar.set_message(verb);
        meter
    }

    fn of(length: Option<u64>, template: &str) -> Meter {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        bar.set_style(style(template));
        let is_shown = Cell::new(false);
        Meter { bar, is_shown }
    }

    /// Sets the bytes done, and the estimate of all of them.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.show();
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
    }

    fn show(&self) {
        if self.bar.elapsed() >= PATIENCE && !self.is_shown.replace(true) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Progress {
    /// Begins a step, such as `importing`.
    pub(crate) fn begin(work: &'static str) -> Progress {
        Progress {
            meter: Meter::of(None, "{spinner} {msg}"),
            work,
            entries: 0,
        }
    }

    /// Counts an entry. `position` returns the bytes done and the bytes of the whole. Fails after
    /// Ctrl-C.
    #[inline]
    pub(crate) fn entry(&mut self, position: impl FnOnce() -> Option<(u64, u64)>) -> Result<()> {
        self.entries += 1;
        if self.entries.is_multiple_of(STEP_ENTRIES) {
            self.update(position());
        }
        interrupt::check()
    }

    /// Shows how far the work is.
    pub(crate) fn update(&self, position: Option<(u64, u64)>) {
        let bar = &self.meter.bar;
        self.meter.show();
        if let Some((done, total)) = position {
            if bar.length().is_none() {
                bar.set_style(style("{msg} [{wide_bar}] {percent} %, {eta} left"));
                bar.set_length(total);
            }
            bar.set_position(done);
        }
        let seconds = bar.elapsed().as_secs_f64().max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
        let rate = self.entries as f64 / seconds / 1e6;
        let (work, entries) = (self.work, self.entries);
        bar.set_message(format!("{work}: {entries} entries, {rate:.2} million/s"));
        bar.tick();
    }
}

impl Drop for Meter {
    /// Removes the bar.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns a style without colours, so that `NO_COLOR` needs no other one.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what is written to it.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("no panic").push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_has_the_units_of_all_output() {
        let (meter, screen) = (Meter::new("verifying"), Screen::default());
        meter.is_shown.set(true);
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        meter.bar.set_draw_target(target);
        meter.set(2_500_000, 10_000_000);
        meter.bar.force_draw();
        let shown = screen.0.lock().expect("no panic").clone();
        let expected = "verifying 2.50 MB of about 10.00 MB [======";
        assert!(shown.contains(expected), "{shown:?}");
        meter.set(20_000_000, 10_000_000);
        assert_eq!(meter.bar.length(), Some(20_000_000));
    }
}
