//! `Received`: an object on its way out of an object store, in ranges.
//!
//! One request for the whole would hold its connection while the caller works, and fail on an
//! object that takes longer than a request may.

use std::ops::Range;

use cairndb_base::{ErrorKind, Result};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStoreExt as _};

use super::bucket::{Bucket, PART_BYTES};
use super::refusal::Doing;
use crate::place::{Download, failed};

/// A download.
pub(super) struct Received<'a> {
    bucket: &'a Bucket,
    name: String,
    path: Path,
    /// Length of the object.
    bytes: u64,
    /// Version of the object, which all ranges must have.
    tag: Option<String>,
    /// End of the range that was fetched last.
    fetched: u64,
    range: Vec<u8>,
    /// Bytes of the range that the caller has.
    read: usize,
}

impl<'a> Received<'a> {
    pub(super) fn open(bucket: &'a Bucket, name: &str) -> Result<Received<'a>> {
        let mut received = Received {
            bucket,
            name: name.to_owned(),
            path: bucket.path(name)?,
            bytes: PART_BYTES as u64,
            tag: None,
            fetched: 0,
            range: Vec::new(),
            read: 0,
        };
        let first = bucket.wait(Doing::Reading, name, received.fetch());
        match first {
            Err(error) if error.kind() == ErrorKind::Io => {
                // An empty object has no range.
                let head = bucket.store.head(&received.path);
                match bucket.wait(Doing::Reading, name, head) {
                    Ok(head) if head.size == 0 => received.bytes = 0,
                    _ => return Err(error),
                }
            }
            first => first?,
        }
        received.check_range(0)?;
        Ok(received)
    }

    /// Fetches the next range.
    async fn fetch(&mut self) -> object_store::Result<()> {
        let wanted = self.wanted();
        let options = GetOptions {
            range: Some(GetRange::Bounded(wanted)),
            if_match: self.tag.clone(),
            ..GetOptions::default()
        };
        let answer = self.bucket.store.get_opts(&self.path, options).await?;
        self.bytes = answer.meta.size;
        self.tag.clone_from(&answer.meta.e_tag);
        self.range = answer.bytes().await?.into();
        self.read = 0;
        Ok(())
    }

    fn wanted(&self) -> Range<u64> {
        self.fetched..self.bytes.min(self.fetched + PART_BYTES as u64)
    }

    /// Checks that the range that begins at `start` came as a whole.
    fn check_range(&mut self, start: u64) -> Result<()> {
        let wanted = self.wanted();
        let found = self.range.len() as u64;
        if found != wanted.end - start {
            let message = "the place sent less or more than was asked for";
            let error = failed(ErrorKind::Io, &self.bucket.url, &self.name, message);
            return Err(error
                .offset(start)
                .expected(wanted.end - start)
                .found(found));
        }
        self.fetched = wanted.end;
        Ok(())
    }
}

impl Download for Received<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            if self.read == self.range.len() {
                if self.fetched == self.bytes {
                    break;
                }
                let (bucket, name, start) = (self.bucket, self.name.clone(), self.fetched);
                bucket.wait(Doing::Reading, &name, self.fetch())?;
                self.check_range(start)?;
            }
            let left = &self.range[self.read..];
            let len = left.len().min(out.len() - filled);
            out[filled..filled + len].copy_from_slice(&left[..len]);
            self.read += len;
            filled += len;
        }
        Ok(filled)
    }
}
