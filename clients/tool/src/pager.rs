//! Pages: in the shell, output stops when the screen is full, until the reader wants more.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

use crate::failure::{Failure, Result};
use crate::terminal;

/// Whether output is paged: set once, by the shell at a terminal.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// What asks for the next page.
const QUESTION: &str = "-- Enter: next page, q: end --";

/// Makes all further output stop after each page.
pub(crate) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// The rows that are printed since the last page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    columns: usize,
    rows: usize,
    used: usize,
}

impl Page {
    /// Returns the first page; `None` if output is not paged.
    pub(crate) fn first() -> Option<Page> {
        if !ENABLED.load(Ordering::Relaxed) {
            return None;
        }
        Some(Page {
            columns: terminal::columns()?,
            rows: terminal::rows()?,
            used: 0,
        })
    }

    /// Counts a line. Returns whether the page is full.
    pub(crate) fn add(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        // A tab takes as many columns at most.
        let width = terminal::width(&text) + 8 * text.matches('\t').count();
        self.used += width.div_ceil(self.columns).max(1);
        // One row is for the question.
        self.used + 1 >= self.rows
    }

    /// Asks for the next page. Fails with `OutputClosed` if the reader has seen enough.
    pub(crate) fn turn(&mut self) -> Result<()> {
        self.used = 0;
        match ask() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::closed()),
            Err(error) => Err(Failure::output(&error)),
        }
    }
}

fn ask() -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{QUESTION}")?;
    stdout.flush()?;
    let wanted = wants_more()?;
    write!(stdout, "\r{:1$}\r", "", QUESTION.len())?;
    stdout.flush()?;
    Ok(wanted)
}

/// Waits for a key. Ctrl-C and Ctrl-D mean the same as `q`.
fn wants_more() -> io::Result<bool> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut single = before.clone();
    // Without signals: a process that is killed here would leave the terminal in this mode.
    single
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    single.special_codes[SpecialCodeIndex::VMIN] = 1;
    single.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Now, &single)?;
    let wanted = key(&stdin);
    tcsetattr(&stdin, OptionalActions::Now, &before)?;
    wanted
}

fn key(stdin: &io::Stdin) -> io::Result<bool> {
    loop {
        let mut byte = [0];
        match (rustix::io::read(stdin.as_fd(), &mut byte)?, byte) {
            (0, _) | (_, [b'q' | b'Q' | 3 | 4]) => return Ok(false),
            (_, [b'\r' | b'\n' | b' ']) => return Ok(true),
            _ => {}
        }
    }
}
