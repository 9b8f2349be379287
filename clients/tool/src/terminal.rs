//! The terminal that stdout is, if it is one: its size, and whether to use colours.
//!
//! Text is fitted to the width of a terminal, so that no line wraps. In a pipe every line is whole.

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that are assumed if the system does not say.
const COLUMNS_DEFAULT: usize = 80;
/// Rows that are assumed if the system does not say.
const ROWS_DEFAULT: usize = 24;
/// Columns below which text is not fitted any more.
const COLUMNS_MIN: usize = 20;

/// Returns the number of columns of stdout; `None` if it is no terminal.
pub(crate) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// Returns the number of columns of stderr; `None` if it is no terminal.
pub(crate) fn error_columns() -> Option<usize> {
    columns_of(&io::stderr())
}

fn columns_of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let columns = known(size(stream)?.0, COLUMNS_DEFAULT);
    Some(columns.max(COLUMNS_MIN))
}

/// Returns the number of rows of stdout; `None` if it is no terminal.
pub(crate) fn rows() -> Option<usize> {
    Some(known(size(&io::stdout())?.1, ROWS_DEFAULT))
}

/// Returns columns and rows of a terminal; zeros if it does not say.
fn size(stream: &(impl AsFd + IsTerminal)) -> Option<(u16, u16)> {
    let is_terminal = stream.is_terminal();
    is_terminal.then(|| tcgetwinsize(stream).map_or((0, 0), |size| (size.ws_col, size.ws_row)))
}

fn known(number: u16, default: usize) -> usize {
    match number {
        0 => default,
        number => number.into(),
    }
}

/// Returns whether stdout shows colours: a terminal that is not dumb, unless `NO_COLOR` is set.
pub(crate) fn has_colours() -> bool {
    let forbidden = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && !forbidden && !dumb
}

/// Returns `text` in lines of at most `columns`, broken at spaces, those after the first indented.
pub(crate) fn wrapped(text: &str, columns: Option<usize>) -> Vec<String> {
    const INDENT: &str = "    ";
    let Some(columns) = columns else {
        return vec![text.to_owned()];
    };
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last_mut().expect("there is a line");
        if width(line) + width(word.trim_end()) > columns && !line.trim().is_empty() {
            lines.push(format!("{INDENT}{word}"));
        } else {
            line.push_str(word);
        }
    }
    let trimmed = lines.iter().map(|line| line.trim_end());
    trimmed.map(|line| shortened(line, columns)).collect()
}

/// Returns the number of columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns `text`, shortened to `columns` with an ellipsis if it is longer.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut out = String::new();
    for char in text.chars() {
        let width = char.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        out.push(char);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces() {
        let text = "  a report of what was lost";
        assert_eq!(wrapped(text, None), [text]);
        assert_eq!(
            wrapped(text, Some(14)),
            ["  a report of", "    what was", "    lost"]
        );
        assert_eq!(wrapped("unbreakable", Some(5)), ["unbr…"]);
        assert_eq!(wrapped("", Some(5)), [""]);
    }

    #[test]
    fn text_is_shortened_to_columns() {
        assert_eq!(shortened("granite", 7), "granite");
        assert_eq!(shortened("granite", 6), "grani…");
        // Two columns each.
        assert_eq!(shortened("石石石", 5), "石石…");
        assert_eq!(width("石石…"), 5);
    }
}
