//! Stdout with a large buffer: entries are formatted in it, without an allocation for each.
//!
//! `std::io::Stdout` writes at every newline, also into a pipe, which is too slow for a scan.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use crate::escape::visible;
use crate::failure::Failure;
use crate::json::append_json;
use crate::pager::Page;
use crate::terminal::{self, wrapped};

/// Length at which the buffer is written: as much as a pipe holds by default on Linux.
const FLUSH_BYTES: usize = 64 << 10;

/// Bytes that a pipe on stdout should hold. With the default, program and reader wait for each
/// other after every write, which takes as long as the scan.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// Length above which the buffer's memory is given back after a long entry.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Buffered stdout. Call [`Output::finish`] at the end: dropping discards the buffer.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    buffer: Vec<u8>,
    /// Where the current line begins in the buffer, and the page; at a prompt only.
    page: Option<(usize, Page)>,
}

impl Output {
    /// Opens stdout, on a descriptor of its own.
    pub(crate) fn stdout() -> Result<Output, Failure> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        let own = own.map_err(|error| Failure::output(&error))?;
        // Fails if stdout is no pipe, or its user has many: then it stays as it is.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&own, PIPE_BYTES);
        Ok(Output {
            file: File::from(own),
            buffer: Vec::with_capacity(2 * FLUSH_BYTES),
            page: Page::first().map(|page| (0, page)),
        })
    }

    /// The buffer, to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Appends a line of text, in which nothing can control a terminal.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.buffer.extend_from_slice(visible(text).as_bytes());
        self.end_line()
    }

    /// Appends lines of text, broken so that they fit into the terminal.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let columns = terminal::columns();
        let mut lines = text.lines().flat_map(|line| wrapped(line, columns));
        lines.try_for_each(|line| self.line(&line))
    }

    /// Ends a line, and writes the buffer if it is full.
    #[inline]
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        if self.page.is_some() {
            return self.end_paged_line();
        }
        self.buffer.push(b'\n');
        if self.buffer.len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Ends a line, and waits for the reader if the page is full before it.
    #[cold]
    fn end_paged_line(&mut self) -> Result<(), Failure> {
        let Some((start, mut page)) = self.page else {
            return Ok(());
        };
        let is_full = page.add(self.buffer.get(start..).unwrap_or_default());
        self.buffer.push(b'\n');
        self.page = Some((self.buffer.len(), page));
        if is_full {
            self.flush()?;
            page.turn()?;
            self.page = Some((0, page));
        } else if self.buffer.len() >= FLUSH_BYTES {
            self.flush()?;
            self.page = Some((0, page));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        written.map_err(|error| Failure::output(&error))
    }

    /// Writes what is left in the buffer.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }
}

/// Prints lines of text to stdout.
pub(crate) fn print<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let mut output = Output::stdout()?;
    let mut lines = lines.into_iter();
    lines.try_for_each(|line| output.line(line.as_ref()))?;
    output.finish()
}

/// Prints lines of text to stdout, broken so that they fit into a terminal.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    let mut output = Output::stdout()?;
    output.text(text)?;
    output.finish()
}

/// Prints JSON that another writer has made to stdout.
pub(crate) fn print_json(json: &str) -> Result<(), Failure> {
    let mut output = Output::stdout()?;
    append_json(json, output.buffer());
    output.end_line()?;
    output.finish()
}

/// Returns a number with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// Returns a size with a unit, in powers of 1,000.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_250_000), "1.2 MB");
        assert_eq!(size(u64::MAX), "18446744.0 TB");
    }
}
