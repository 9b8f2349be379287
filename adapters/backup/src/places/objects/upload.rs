//! `Sent`: an object on its way into an object store.
//!
//! `WriteMultipart` of `object_store` does the same, but if the last request fails and the abort
//! after it, too, it returns the error of the abort, which says nothing.

use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _};
use tokio::task::JoinSet;

use super::bucket::{Bucket, PART_BYTES};
use super::refusal::Doing;
use crate::place::{Upload, failed};

/// Parts that travel at once, while the next is filled.
const PARTS_IN_FLIGHT: usize = 2;

/// Time that a dropped upload waits for its abort.
const ABORT_WAIT: Duration = Duration::from_secs(10);

/// An upload.
pub(super) struct Sent<'a> {
    bucket: &'a Bucket,
    name: String,
    path: Path,
    /// Bytes that were not sent yet, at most a part.
    part: Vec<u8>,
    state: State,
}

enum State {
    /// Nothing was sent.
    Short,
    /// Parts were sent.
    Long(Parts),
    /// Nothing more can be written.
    Ended,
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    under_way: JoinSet<object_store::Result<()>>,
}

impl Parts {
    /// Waits until at most `count` parts are under way.
    async fn wait_for(&mut self, count: usize) -> object_store::Result<()> {
        while self.under_way.len() > count {
            if let Some(sent) = self.under_way.join_next().await {
                sent??;
            }
        }
        Ok(())
    }

    async fn send(&mut self, part: Vec<u8>) -> object_store::Result<()> {
        self.wait_for(PARTS_IN_FLIGHT - 1).await?;
        self.under_way.spawn(self.upload.put_part(part.into()));
        Ok(())
    }

    async fn abort(mut self) -> object_store::Result<()> {
        self.under_way.shutdown().await;
        self.upload.abort().await
    }
}

impl<'a> Sent<'a> {
    pub(super) fn new(bucket: &'a Bucket, name: &str) -> Result<Sent<'a>> {
        let path = bucket.path(name)?;
        Ok(Sent {
            bucket,
            name: name.to_owned(),
            path,
            part: Vec::new(),
            state: State::Short,
        })
    }

    /// Sends the part, which has its full length or is the last one.
    async fn send(&mut self) -> object_store::Result<()> {
        if let State::Short = self.state {
            let upload = self.bucket.store.put_multipart(&self.path).await?;
            self.state = State::Long(Parts {
                upload,
                under_way: JoinSet::new(),
            });
        }
        let part = std::mem::take(&mut self.part);
        match &mut self.state {
            State::Long(parts) => parts.send(part).await,
            State::Short | State::Ended => Ok(()),
        }
    }

    async fn append(&mut self, mut bytes: &[u8]) -> object_store::Result<()> {
        while !bytes.is_empty() {
            if self.part.len() == PART_BYTES {
                self.send().await?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    async fn end(&mut self) -> object_store::Result<()> {
        if let State::Short = self.state {
            let whole = std::mem::take(&mut self.part);
            self.bucket.store.put(&self.path, whole.into()).await?;
        } else {
            self.send().await?;
            if let State::Long(parts) = &mut self.state {
                parts.wait_for(0).await?;
                parts.upload.complete().await?;
            }
        }
        self.state = State::Ended;
        Ok(())
    }

    fn check_open(&self) -> Result<()> {
        match self.state {
            State::Short | State::Long(_) => Ok(()),
            State::Ended => {
                let message = "the upload has failed earlier; begin it again";
                Err(failed(ErrorKind::Io, &self.bucket.url, &self.name, message))
            }
        }
    }

    /// Removes the parts that were sent.
    fn abort(&mut self) {
        if let State::Long(parts) = std::mem::replace(&mut self.state, State::Ended) {
            // What stays is removed by a rule of the bucket.
            let _ = self.bucket.driver.wait(async {
                let _ = tokio::time::timeout(ABORT_WAIT, parts.abort()).await;
            });
        }
    }

    fn failed(&mut self, error: &object_store::Error) -> Error {
        self.abort();
        self.bucket.refused(Doing::Other, &self.name, error)
    }
}

impl Upload for Sent<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_open()?;
        let bucket = self.bucket;
        let written = bucket.driver.wait(self.append(bytes))?;
        written.map_err(|error| self.failed(&error))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.check_open()?;
        let bucket = self.bucket;
        let ended = bucket.driver.wait(self.end())?;
        ended.map_err(|error| self.failed(&error))
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.abort();
    }
}
