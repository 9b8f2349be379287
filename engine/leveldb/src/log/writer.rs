//! Log writer: appends records in the form that [`super::LogReader`] reads.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::Result;
use cairndb_env::WritableFile;

use super::{BLOCK_BYTES, FIRST, FULL, HEADER_BYTES, LAST, MIDDLE};
use crate::checksum::masked;

/// Appends records to a new file.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # let env = MemEnv::new(Background::Stepped);
/// # let dir = env.open_dir(Path::new("db"), true)?;
/// use cairndb_leveldb::LogWriter;
/// let mut writer = LogWriter::new(dir.create("000003.log")?);
/// writer.append(b"a record")?;
/// writer.sync()?;
/// assert_eq!(dir.size_of("000003.log")?, Some(7 + 8));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct LogWriter {
    file: Box<dyn WritableFile>,
    /// Bytes of the current block that are used.
    used: usize,
}

impl LogWriter {
    /// A writer to an empty file.
    ///
    /// # Panics
    /// If the file is not empty.
    pub fn new(file: Box<dyn WritableFile>) -> LogWriter {
        assert_eq!(file.size(), 0, "a log is written from its beginning");
        LogWriter { file, used: 0 }
    }

    /// Appends one record.
    ///
    /// # Errors
    /// `NoSpace` or `Io`; nothing must be appended after an error.
    pub fn append(&mut self, payload: &[u8]) -> Result<()> {
        let (mut rest, mut first) = (payload, true);
        loop {
            let mut room = BLOCK_BYTES.saturating_sub(self.used);
            if room < HEADER_BYTES {
                let zeros = [0; HEADER_BYTES];
                self.file.append(zeros.get(..room).unwrap_or_default())?;
                (self.used, room) = (0, BLOCK_BYTES);
            }
            let len = room.saturating_sub(HEADER_BYTES).min(rest.len());
            let (part, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let kind = match (first, after.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, true) => LAST,
                (false, false) => MIDDLE,
            };
            self.append_piece(kind, part)?;
            (rest, first) = (after, false);
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn append_piece(&mut self, kind: u8, part: &[u8]) -> Result<()> {
        let len = u16::try_from(part.len()).expect("a piece is shorter than a block");
        let [sum0, sum1, sum2, sum3] = masked(&[kind], part).to_le_bytes();
        let [low, high] = len.to_le_bytes();
        let header: [u8; HEADER_BYTES] = [sum0, sum1, sum2, sum3, low, high, kind];
        self.file.append_parts(&[&header, part])?;
        self.used = self
            .used
            .saturating_add(HEADER_BYTES)
            .saturating_add(part.len());
        debug_assert!(self.used <= BLOCK_BYTES);
        Ok(())
    }

    /// Makes all records durable.
    ///
    /// # Errors
    /// `Io`; never retried.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }
}
