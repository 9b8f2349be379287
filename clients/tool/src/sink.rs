//! Where output goes: stdout or a file, through one buffer.
//!
//! `std::io::Stdout` writes at every newline, also into a pipe, which is too slow for a scan.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::failure::{Failure, Result};

/// Length at which the buffer is written: as much as a pipe holds by default on Linux.
const FLUSH_BYTES: usize = 64 << 10;

/// Bytes that a pipe on stdout should hold. With the default, program and reader wait for each
/// other after every write, which takes as long as the scan.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// Length above which the buffer's memory is given back after a long entry.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A buffered output. Dropping discards the buffer.
#[derive(Debug)]
pub(crate) struct Sink {
    file: File,
    /// What messages call the output; `None` is stdout.
    name: Option<String>,
    buffer: Vec<u8>,
    /// Bytes that were written to the file.
    written: u64,
}

impl Sink {
    /// Opens stdout, on a descriptor of its own.
    pub(crate) fn stdout() -> Result<Sink> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        let file = File::from(own.map_err(|error| Failure::output(&error))?);
        // Fails if stdout is no pipe, or its user has many: then it stays as it is.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_BYTES);
        Ok(Sink::new(file, None, 0))
    }

    /// Writes to `file`, which stands at its end, after `written` bytes.
    pub(crate) fn file(file: File, name: String, written: u64) -> Sink {
        Sink::new(file, Some(name), written)
    }

    fn new(file: File, name: Option<String>, written: u64) -> Sink {
        Sink {
            file,
            name,
            buffer: Vec::with_capacity(2 * FLUSH_BYTES),
            written,
        }
    }

    /// The buffer, to append to.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer if it is full.
    #[inline]
    pub(crate) fn flush_full(&mut self) -> Result<()> {
        if self.buffer.len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        written.map_err(|error| self.failure(&error))
    }

    /// Fails if the output is a pipe or socket whose reader has gone.
    pub(crate) fn check(&self) -> Result<()> {
        let mut polled = [PollFd::new(&self.file, PollFlags::empty())];
        // An error is met again by the next write.
        let ready = poll(&mut polled, Some(&Timespec::default())).unwrap_or(0);
        if ready > 0 && polled[0].revents().intersects(PollFlags::ERR) {
            return Err(Failure::closed());
        }
        Ok(())
    }

    /// Writes the buffer and syncs the file. Returns its length.
    pub(crate) fn sync(&mut self) -> Result<u64> {
        self.flush()?;
        self.file.sync_all().map_err(|error| self.failure(&error))?;
        Ok(self.written)
    }

    fn failure(&self, error: &io::Error) -> Failure {
        match &self.name {
            None => Failure::output(error),
            Some(_) if error.kind() == io::ErrorKind::BrokenPipe => Failure::closed(),
            Some(name) => Failure::other(format!("{name} cannot be written: {error}")),
        }
    }
}
