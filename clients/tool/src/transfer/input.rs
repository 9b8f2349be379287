//! A file or stdin, read through one buffer: as lines, as records of several lines, or as bytes.
//!
//! The buffer grows with the longest line, up to a limit that a value of the greatest length fits
//! in, and gives the memory back afterwards. Every byte is copied and searched a bounded number of
//! times, however short the reads of a pipe are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use memchr::memchr;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::encoding::{HEAD_BYTES, utf8_mark_bytes};
use crate::failure::{Failure, Result};
use crate::progress::interrupt;

/// Length of the buffer while lines are short.
const BUFFER_BYTES: usize = 256 << 10;

/// Length of the longest line: a value of 1 GiB takes twice as much in hexadecimal digits.
const LINE_BYTES_MAX: usize = (2 << 30) + (256 << 20);

/// Time after which a reader looks for Ctrl-C.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Longest part of a first line that is looked at to recognise the encoding.
const FIRST_LINE_BYTES_MAX: usize = 1 << 10;

/// The part of a text that must be Latin if the text is in UTF-16 or UTF-32 without a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The first characters, because the syntax of the format prescribes them.
    Start,
    /// The first line, because its fields may hold any bytes.
    Line,
}

/// The record that was taken last.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    bytes: usize,
    lines: u64,
    first_line_bytes: usize,
}

/// A pipe or a terminal, whose reader may wait for long.
struct Stream(File);

impl Read for Stream {
    /// Reads, or ends with `Interrupted` after a while without anything to read: after a signal
    /// that is caught, the system's own read goes on.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&WAIT))? {
            0 => Err(io::ErrorKind::Interrupted.into()),
            _ => self.0.read(out),
        }
    }
}

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
    last: Taken,
    head: Head,
    /// Bytes that were moved within the buffer.
    #[cfg(test)]
    moved: u64,
    /// Length of the file; `None` if it is not a regular file.
    total: Option<u64>,
}

impl Input {
    /// Opens a file; `None` is stdin. `head` is where another encoding shows, if lines are taken.
    pub(crate) fn open(path: Option<&Path>, head: Head) -> Result<Input> {
        let (file, name, total): (Box<dyn Read>, _, _) = match path {
            None => {
                let name = "stdin".to_owned();
                let own = io::stdin().as_fd().try_clone_to_owned();
                let file = File::from(own.map_err(|error| unreadable(&name, &error))?);
                (Box::new(Stream(file)), name, None)
            }
            Some(path) => {
                let name = path.display().to_string();
                let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
                let (metadata, file) = opened.map_err(|error| unreadable(&name, &error))?;
                if metadata.is_dir() {
                    let message = format!("{name} is a directory; the format needs a file");
                    return Err(Failure::other(message));
                }
                if metadata.is_file() {
                    (Box::new(file), name, Some(metadata.len()))
                } else {
                    (Box::new(Stream(file)), name, None)
                }
            }
        };
        Ok(Input::new(file, name, head, total))
    }

    fn new(file: Box<dyn Read>, name: String, head: Head, total: Option<u64>) -> Input {
        Input {
            file,
            name,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            is_complete: false,
            taken: 0,
            lines: 0,
            last: Taken::default(),
            head,
            #[cfg(test)]
            moved: 0,
            total,
        }
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
    fn read_more(&mut self) -> Result<bool> {
        if self.is_complete {
            return Ok(false);
        }
        // Not for every read: a long record would be moved onto itself each time.
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            #[cfg(test)]
            {
                self.moved += self.end as u64;
            }
        }
        if self.end == self.buffer.len() {
            if self.end >= LINE_BYTES_MAX {
                return Err(Failure::other(format!(
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
            interrupt::check()?;
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
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>> {
        self.record(|_| false)
    }

    /// Takes lines, without the last newline, until `goes_on` returns false. It is given each line
    /// of the record with its newline.
    pub(crate) fn record(
        &mut self,
        mut goes_on: impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<&[u8]>> {
        if self.taken == 0 {
            self.begin_text()?;
        }
        let mut record = Taken::default();
        // Lengths of the part that belongs to the record, and of the part without a newline.
        let (mut len, mut searched) = (0, 0);
        let (len, newline) = loop {
            let unread = self.unread();
            let rest = unread.get(searched..).unwrap_or(&[]);
            if let Some(at) = memchr(b'\n', rest) {
                let line_end = searched + at + 1;
                let line = unread.get(len..line_end).unwrap_or(&[]);
                let goes_on = goes_on(line);
                if record.lines == 0 {
                    record.first_line_bytes = line_end;
                }
                record.lines += 1;
                (len, searched) = (line_end, line_end);
                if !goes_on {
                    break (len, 1);
                }
                continue;
            }
            searched = unread.len();
            if !self.read_more()? {
                record.lines += u64::from(searched > len);
                break (searched, 0);
            }
        };
        if len == 0 {
            return Ok(None);
        }
        record.bytes = len;
        self.last = record;
        let start = self.start;
        self.start += len;
        self.taken += len as u64;
        self.lines += record.lines;
        Ok(self.buffer.get(start..start + len - newline))
    }

    /// Gives back all lines of the last record but the first, to be taken again.
    pub(crate) fn give_back(&mut self) {
        let record = self.last;
        if record.lines > 1 {
            let bytes = record.bytes - record.first_line_bytes;
            self.start -= bytes;
            self.taken -= bytes as u64;
            self.lines -= record.lines - 1;
        }
    }

    /// Passes over the mark at the beginning of a text. Fails if the text is not UTF-8.
    fn begin_text(&mut self) -> Result<()> {
        let head_bytes = match self.head {
            Head::Start => HEAD_BYTES,
            Head::Line => FIRST_LINE_BYTES_MAX,
        };
        let has_head =
            |unread: &[u8]| unread.len() >= head_bytes || memchr(b'\n', unread).is_some();
        while !has_head(self.unread()) && self.read_more()? {}
        let head = self.unread();
        let line = memchr(b'\n', head).map_or(head.len(), |at| at + 1);
        let head = head.get(..line.min(head_bytes)).unwrap_or(head);
        let mark = utf8_mark_bytes(head, &self.name)?;
        self.start += mark;
        self.taken += mark as u64;
        Ok(())
    }

    /// Takes `len` bytes, or fewer at the end.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&[u8]> {
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
    Failure::other(format!("{name} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns at most `step` bytes a read, as a pipe may.
    struct Pipe {
        rest: Vec<u8>,
        step: usize,
    }

    impl Read for Pipe {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = self.step.min(out.len()).min(self.rest.len());
            let (head, _) = out.split_at_mut(len);
            head.copy_from_slice(&self.rest[..len]);
            self.rest.drain(..len);
            Ok(len)
        }
    }

    fn input(text: Vec<u8>, step: usize) -> Input {
        let pipe = Pipe { rest: text, step };
        Input::new(Box::new(pipe), "text".to_owned(), Head::Start, None)
    }

    #[test]
    fn a_long_record_is_not_moved_for_every_read() {
        let text = b"a\n".repeat(1 << 20);
        let mut input = input(text.clone(), 4096);
        assert_eq!(input.line().unwrap(), Some(&b"a"[..]));
        let rest = input.record(|_| true).unwrap().map(<[u8]>::len);
        assert_eq!(rest, Some(text.len() - 2));
        assert!(input.moved <= text.len() as u64, "{}", input.moved);
    }

    #[test]
    fn lines_that_are_given_back_are_taken_again() {
        for step in [1, 2, 100] {
            let mut input = input(b"\xef\xbb\xbfa\nbc\nd".to_vec(), step);
            assert_eq!(input.record(|_| true).unwrap(), Some(&b"a\nbc\nd"[..]));
            assert_eq!((input.taken(), input.line_number()), (9, 3));
            input.give_back();
            assert_eq!((input.taken(), input.line_number()), (5, 1));
            assert_eq!(input.line().unwrap(), Some(&b"bc"[..]));
            input.give_back();
            assert_eq!(input.line_number(), 2, "a line has no other lines");
            assert_eq!(input.line().unwrap(), Some(&b"d"[..]));
            assert_eq!(input.line().unwrap(), None);
        }
    }
}
