//! The status line of a terminal: one line on stderr that is rewritten in place.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::tcgetwinsize;

/// Width of a terminal that does not report it.
const COLUMNS_DEFAULT: usize = 80;

/// Length of the line currently shown; 0 without one.
static SHOWN: Mutex<usize> = Mutex::new(0);

fn shown() -> MutexGuard<'static, usize> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the width of the terminal that stderr goes to; `None` if it goes elsewhere.
pub(crate) fn columns() -> Option<usize> {
    let stderr = io::stderr();
    let columns = stderr.is_terminal().then(|| width(&stderr));
    columns.map(|columns| columns.unwrap_or(COLUMNS_DEFAULT))
}

/// Returns the width that a terminal reports; `None` if it does not.
pub(crate) fn width(terminal: impl AsFd) -> Option<usize> {
    let columns = usize::from(tcgetwinsize(terminal).ok()?.ws_col);
    (columns > 0).then_some(columns)
}

/// Replaces the status line with a text, cut to fit the terminal.
pub(crate) fn show(text: &str, columns: usize) {
    let mut shown = shown();
    let (line, length) = rewritten(text, columns, *shown);
    let _ = io::stderr().lock().write_all(line.as_bytes());
    *shown = length;
}

/// Removes the status line, so that other output begins in the first column.
pub(crate) fn clear() {
    let mut shown = shown();
    if *shown > 0 {
        let blank = format!("\r{:width$}\r", "", width = *shown);
        let _ = io::stderr().lock().write_all(blank.as_bytes());
        *shown = 0;
    }
}

/// Returns the characters that rewrite a line of `before` characters, and the length of the new
/// line. Spaces overwrite the rest of a longer line; every terminal supports that.
fn rewritten(text: &str, columns: usize, before: usize) -> (String, usize) {
    let fitting: String = text.chars().take(columns.saturating_sub(1)).collect();
    let length = fitting.chars().count();
    let rest = before.saturating_sub(length);
    (format!("\r{fitting}{:rest$}", ""), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_line_overwrites_a_longer_one() {
        assert_eq!(rewritten("abcdef", 80, 0), ("\rabcdef".into(), 6));
        assert_eq!(rewritten("abc", 80, 6), ("\rabc   ".into(), 3));
    }

    #[test]
    fn a_line_never_reaches_the_last_column() {
        assert_eq!(rewritten("abcdef", 4, 0), ("\rabc".into(), 3));
        assert_eq!(rewritten("abc", 0, 0), ("\r".into(), 0));
    }
}
