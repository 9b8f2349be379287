//! A file or stdin, read through one buffer: as lines, as records of several lines, or as bytes.
//!
//! The buffer grows with the longest line, up to a limit that a value of the greatest length fits
//! in, and gives the memory back afterwards.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr;

use crate::failure::Failure;

/// Length of the buffer while lines are short.
const BUFFER_BYTES: usize = 256 << 10;

/// Length of the longest line: a value of 1 GiB takes twice as much in hexadecimal digits.
const LINE_BYTES_MAX: usize = (2 << 30) + (256 << 20);

/// An input and the position in it.
pub(crate) struct Input {
    file: Box<dyn Read>,
    name: String,
    buffer: Vec<u8>,
    /// The unread bytes of the buffer.
    start: usize,
    end: usize,
    is_complete: bool,
    /// Bytes that were taken.
    taken: u64,
    /// Lines that were taken.
    lines: u64,
    /// Length of the file; `None` if it is not a regular file.
    total: Option<u64>,
}

impl Input {
    /// Opens a file; `None` is stdin.
    pub(crate) fn open(path: Option<&Path>) -> Result<Input, Failure> {
        let (file, name, total): (Box<dyn Read>, _, _) = match path {
            None => (Box::new(io::stdin().lock()), "stdin".to_owned(), None),
            Some(path) => {
                let name = path.display().to_string();
                let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
                let (metadata, file) = opened.map_err(|error| unreadable(&name, &error))?;
                if metadata.is_dir() {
                    let message = format!("{name} is a directory; the format needs a file");
                    return Err(Failure::Other(message));
                }
                let total = metadata.is_file().then_some(metadata.len());
                (Box::new(file), name, total)
            }
        };
        Ok(Input {
            file,
            name,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            is_complete: false,
            taken: 0,
            lines: 0,
            total,
        })
    }

    /// What messages call the input.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Number of the last line that was taken, from 1.
    pub(crate) fn line_number(&self) -> u64 {
        self.lines
    }

    /// Bytes that were taken, and of the whole.
    pub(crate) fn progress(&self) -> Option<(u64, u64)> {
        self.total.map(|total| (self.taken, total))
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or(&[])
    }

    /// Reads more into the buffer. Returns whether there was more.
    fn read_more(&mut self) -> Result<bool, Failure> {
        if self.is_complete {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= LINE_BYTES_MAX {
                return Err(Failure::Other(format!(
                    "line {} of {} is longer than any entry; check the format",
                    self.lines + 1,
                    self.name
                )));
            }
            self.buffer.resize((2 * self.end).min(LINE_BYTES_MAX), 0);
        } else if self.buffer.len() > BUFFER_BYTES && self.end < BUFFER_BYTES / 2 {
            self.buffer.truncate(BUFFER_BYTES);
            self.buffer.shrink_to_fit();
        }
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.file.read(room) {
                Ok(0) => self.is_complete = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(&self.name, &error)),
            }
            return Ok(!self.is_complete);
        }
    }

    /// Takes a line, without its newline.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, Failure> {
        self.record(|_| false)
    }

    /// Takes lines, without the last newline, until `goes_on` returns false. It is given each line
    /// of the record with its newline.
    pub(crate) fn record(
        &mut self,
        mut goes_on: impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<&[u8]>, Failure> {
        // Lengths of the part that belongs to the record, and of the part without a newline.
        let (mut len, mut searched) = (0, 0);
        let (len, newline) = loop {
            let unread = self.unread();
            let rest = unread.get(searched..).unwrap_or(&[]);
            if let Some(at) = memchr(b'\n', rest) {
                let line_end = searched + at + 1;
                let line = unread.get(len..line_end).unwrap_or(&[]);
                let goes_on = goes_on(line);
                self.lines += 1;
                (len, searched) = (line_end, line_end);
                if !goes_on {
                    break (len, 1);
                }
                continue;
            }
            searched = unread.len();
            if !self.read_more()? {
                self.lines += u64::from(searched > len);
                break (searched, 0);
            }
        };
        if len == 0 {
            return Ok(None);
        }
        let start = self.start;
        self.start += len;
        self.taken += len as u64;
        Ok(self.buffer.get(start..start + len - newline))
    }

    /// Takes `len` bytes, or fewer at the end.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&[u8], Failure> {
        while self.end - self.start < len {
            if !self.read_more()? {
                break;
            }
        }
        let start = self.start;
        let len = len.min(self.end - start);
        self.start += len;
        self.taken += len as u64;
        Ok(self.buffer.get(start..start + len).unwrap_or(&[]))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::Other(format!("{name} cannot be read: {error}"))
}
