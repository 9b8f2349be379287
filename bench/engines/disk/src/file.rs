//! Contiguous records in a file: key length, value length, key, value.
//!
//! The stored key length is one larger, so that prewritten zeros are not a record; a value length
//! of [`GONE`] marks the removal of its key.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bench_core::fault::Fault;

/// Number of zero bytes at the start of the file: more than the synced rows of the suites write.
pub const PREWRITTEN: u64 = 4 << 20;

const PREFIX_BYTES: usize = 8;
const GONE: u32 = u32::MAX;

/// The location of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueLocation {
    offset: u64,
    len: u32,
}

/// The file.
#[derive(Debug)]
pub(crate) struct Records {
    file: File,
}

impl Records {
    /// Opens the file, creating and prewriting it if needed, and calls `each` for every record.
    /// Returns the end of the last record.
    pub(crate) fn open(
        path: &Path,
        mut each: impl FnMut(Vec<u8>, Option<ValueLocation>),
    ) -> Result<(Records, u64), Fault> {
        let fault = |error| Fault::io(path.display(), &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let file = options.create_new(true).open(path).map_err(fault)?;
                let zeros = vec![0; 1 << 20];
                for offset in (0..PREWRITTEN).step_by(zeros.len()) {
                    file.write_all_at(&zeros, offset).map_err(fault)?;
                }
                file.sync_data().map_err(fault)?;
                file
            }
            opened => opened.map_err(fault)?,
        };
        let size = file.metadata().map_err(fault)?.len();
        let mut at = 0;
        while at + PREFIX_BYTES as u64 <= size {
            let mut prefix = [0; PREFIX_BYTES];
            file.read_exact_at(&mut prefix, at).map_err(fault)?;
            let (key_len, value_len) = lengths(prefix);
            let Some(key_len) = key_len.checked_sub(1) else {
                break;
            };
            let key_at = at + PREFIX_BYTES as u64;
            let offset = key_at + u64::from(key_len);
            let place = (value_len != GONE).then_some(ValueLocation {
                offset,
                len: value_len,
            });
            let end = offset + u64::from(place.map_or(0, |place| place.len));
            if end > size {
                // A killed process left an incomplete record.
                break;
            }
            let mut key = vec![0; key_len as usize];
            file.read_exact_at(&mut key, key_at).map_err(fault)?;
            each(key, place);
            at = end;
        }
        Ok((Records { file }, at))
    }

    /// Returns the size of a record in bytes.
    pub(crate) fn bytes_of(key: &[u8], value: Option<&[u8]>) -> u64 {
        (PREFIX_BYTES + key.len() + value.map_or(0, <[u8]>::len)) as u64
    }

    /// Makes all records so far survive a power loss.
    pub(crate) fn sync(&self) -> Result<(), Fault> {
        let synced = self.file.sync_data();
        synced.map_err(|error| Fault::io("the file", &error))
    }

    /// Writes a record at `offset`. Returns the location of its value.
    pub(crate) fn write(
        &self,
        offset: u64,
        key: &[u8],
        value: Option<&[u8]>,
        sync: bool,
    ) -> Result<Option<ValueLocation>, Fault> {
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).ok().filter(|len| *len < GONE);
        let key_len = len(key).map(|len| len + 1);
        let value_len = value.map_or(Some(GONE), len);
        let (Some(key_len), Some(value_len)) = (key_len, value_len) else {
            return Err(Fault::new("a record is longer than 4 GiB"));
        };
        let prefix = (u64::from(value_len) << 32 | u64::from(key_len)).to_le_bytes();
        self.write_all(offset, [&prefix, key, value.unwrap_or_default()])?;
        if sync {
            self.sync()?;
        }
        Ok(value.map(|_| ValueLocation {
            offset: offset + (PREFIX_BYTES + key.len()) as u64,
            len: value_len,
        }))
    }

    /// Writes the parts with one system call, unless the system accepts fewer bytes at once.
    fn write_all(&self, offset: u64, parts: [&[u8]; 3]) -> Result<(), Fault> {
        let mut slices = parts.map(IoSlice::new);
        let (mut left, mut offset) = (&mut slices[..], offset);
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match rustix::io::pwritev(&self.file, left, offset) {
                Ok(0) => return Err(Fault::new("the file accepts no bytes")),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Fault::io("the file", &errno.into())),
            }
        }
        Ok(())
    }

    /// Reads a value.
    pub(crate) fn read(&self, place: ValueLocation, value: &mut Vec<u8>) -> Result<(), Fault> {
        value.resize(place.len as usize, 0);
        self.file
            .read_exact_at(value, place.offset)
            .map_err(|error| Fault::io("the file", &error))
    }
}

/// Returns the stored lengths of key and value from a record's prefix.
fn lengths(prefix: [u8; PREFIX_BYTES]) -> (u32, u32) {
    let word = u64::from_le_bytes(prefix);
    let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0);
    (half(word), half(word >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &Path) -> (Vec<Vec<u8>>, u64) {
        let mut keys = Vec::new();
        let (_, end) = Records::open(path, |key, _| keys.push(key)).expect("opens");
        (keys, end)
    }

    #[test]
    fn a_record_that_a_killed_process_cut_short_is_none() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("records");
        assert_eq!(found(&path), (Vec::new(), 0), "zeros are not a record");
        let (records, _) = Records::open(&path, |_, _| ()).expect("opens");
        let value = vec![7; 3 << 20];
        let mut at = 0;
        for key in [b"a", b"b"] {
            let place = records.write(at, key, Some(&value), true).expect("written");
            let mut back = Vec::new();
            records
                .read(place.expect("a value"), &mut back)
                .expect("read");
            assert_eq!(back, value);
            at += Records::bytes_of(key, Some(&value));
        }
        let all = vec![b"a".to_vec(), b"b".to_vec()];
        assert_eq!(found(&path), (all, at));
        records.file.set_len(at - 1).expect("cut");
        let first = Records::bytes_of(b"a", Some(&value));
        assert_eq!(found(&path), (vec![b"a".to_vec()], first));
    }
}
