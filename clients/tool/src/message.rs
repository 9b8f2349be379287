//! Messages on stderr.
//!
//! The macros that print to stderr panic if it is full, so nothing uses them.

use std::io::{self, Write};

use crate::escape::visible;
use crate::terminal;

/// Prints a message to stderr, in lines that fit into a terminal and cannot control it.
pub(crate) fn notify(message: &str) {
    let columns = terminal::error_columns();
    let lines = message.lines();
    let parts = lines.flat_map(|line| terminal::wrapped(&visible(line), columns));
    let text: String = parts.map(|part| part + "\n").collect();
    // Without stderr, nobody reads the message; the exit code stays the command's.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
