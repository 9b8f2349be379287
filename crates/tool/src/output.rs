//! Stdout with a large buffer: entries are formatted in it, without an allocation for each.
//!
//! `std::io::Stdout` writes at every newline, also into a pipe, which is too slow for a scan.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use crate::failure::Failure;

/// Length at which the buffer is written: as much as a pipe holds by default on Linux.
const FLUSH_BYTES: usize = 64 << 10;

/// Length above which the buffer's memory is given back after a long entry.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Buffered stdout. Call [`Output::finish`] at the end: dropping discards the buffer.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    buffer: Vec<u8>,
}

impl Output {
    /// Opens stdout, on a descriptor of its own.
    pub(crate) fn stdout() -> Result<Output, Failure> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        Ok(Output {
            file: File::from(own.map_err(|error| Failure::output(&error))?),
            buffer: Vec::with_capacity(2 * FLUSH_BYTES),
        })
    }

    /// The buffer, to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Appends a line of text.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.buffer.extend_from_slice(text.as_bytes());
        self.end_line()
    }

    /// Ends a line, and writes the buffer if it is full.
    #[inline]
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        self.buffer.push(b'\n');
        if self.buffer.len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush()
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

/// Returns a number with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}
