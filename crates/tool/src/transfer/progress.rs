//! The progress of long work, on stderr if that is a terminal: a bar, the number of entries, and
//! their rate. Otherwise nothing is printed. The bar has no colours.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// Entries between two updates.
const STEP_ENTRIES: u64 = 1 << 14;

/// The progress of one step of the work.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    work: &'static str,
    begun: Instant,
    entries: u64,
}

impl Progress {
    /// Begins a step, such as `importing`.
    pub(crate) fn begin(work: &'static str) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::no_length();
            bar.set_style(style("{spinner} {msg}"));
            bar
        });
        Progress {
            bar,
            work,
            begun: Instant::now(),
            entries: 0,
        }
    }

    /// Counts an entry. `position` returns the bytes done and the bytes of the whole.
    #[inline]
    pub(crate) fn entry(&mut self, position: impl FnOnce() -> Option<(u64, u64)>) {
        self.entries += 1;
        if self.entries.is_multiple_of(STEP_ENTRIES) {
            self.show(position());
        }
    }

    fn show(&self, position: Option<(u64, u64)>) {
        let Some(bar) = &self.bar else { return };
        if let Some((done, total)) = position {
            if bar.length().is_none() {
                bar.set_style(style("{msg} [{wide_bar}] {percent} %, {eta} left"));
                bar.set_length(total);
            }
            bar.set_position(done);
        }
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-3);
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let rate = self.entries as f64 / seconds / 1e6;
        let (work, entries) = (self.work, self.entries);
        bar.set_message(format!("{work}: {entries} entries, {rate:.2} million/s"));
        bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
