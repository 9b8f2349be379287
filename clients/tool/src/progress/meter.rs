//! The meter: a bar on stderr.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::interrupt;

/// Time after which the bar appears.
const PATIENCE: Duration = Duration::from_millis(300);

/// Bytes have the units of everything else that is printed: powers of 1,000.
const BYTES: &str = "{msg} {decimal_bytes} of about {decimal_total_bytes} [{bar:24}] \
    {decimal_bytes_per_sec}";

/// A bar, and when it was begun.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
    started: Instant,
    is_shown: Cell<bool>,
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

    /// Returns the meter of work whose length is not known.
    pub(super) fn without_length() -> Meter {
        Meter::of(None, "{spinner} {msg}")
    }

    fn of(length: Option<u64>, template: &str) -> Meter {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        bar.set_style(style(template));
        Meter {
            bar,
            started: Instant::now(),
            is_shown: Cell::new(false),
        }
    }

    /// Sets the bytes done, and the estimate of all of them.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.show();
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
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
        if self.started.elapsed() >= PATIENCE && !self.is_shown.replace(true) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
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
