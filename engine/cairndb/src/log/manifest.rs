//! The end of the manifest, to which commits (new segments) and the syncer (tables) append edits.
//!
//! Appending holds the lock. Syncing does not, so that a commit that names a new segment never
//! waits for the disk. After a failed append the end of the file is unknown: nothing more is
//! appended to it, and the next edit must go to a new manifest ([`Manifest::is_broken`]).

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::Mutex;
use cairndb_format::manifest::{ManifestSyncer, ManifestWriter, VersionEdit};

use crate::state::stats::Stats;

#[derive(Debug)]
struct Tail {
    writer: ManifestWriter,
    sync: ManifestSyncer,
    /// Kind of the error after which nothing more may be appended.
    broken: Option<ErrorKind>,
    /// Whether edits were appended since the last sync.
    dirty: bool,
    /// Initial length in bytes.
    begun: u64,
}

/// Length above which a manifest is replaced at the next opportunity, if it is also more than twice
/// its initial length.
const BYTES_MAX: u64 = 4 << 20;

/// The open manifest; `None` until this handle has written one.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    tail: Mutex<Option<Tail>>,
    /// Length of the manifest, for callers that must not wait for an append.
    bytes: AtomicU64,
}

impl Manifest {
    /// Makes `writer` the manifest to append to.
    pub(crate) fn replace(&self, writer: ManifestWriter) {
        let sync = writer.syncer();
        self.bytes.store(writer.bytes(), Ordering::Relaxed);
        *self.tail.lock() = Some(Tail {
            begun: writer.bytes(),
            writer,
            sync,
            broken: None,
            dirty: false,
        });
    }

    /// Returns the length of the open manifest in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // Relaxed: an approximate measure.
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.tail.lock().is_some()
    }

    /// Returns whether a new manifest must be started before the next edit.
    pub(crate) fn is_broken(&self) -> bool {
        self.tail
            .lock()
            .as_ref()
            .is_some_and(|tail| tail.broken.is_some())
    }

    /// Marks the manifest as broken, so that a new one must be started.
    pub(crate) fn give_up(&self) {
        if let Some(tail) = self.tail.lock().as_mut() {
            tail.broken = Some(ErrorKind::Io);
        }
    }

    /// Returns whether a new manifest would be considerably shorter.
    pub(crate) fn is_long(&self) -> bool {
        let long = |tail: &Tail| tail.writer.bytes() >= BYTES_MAX.max(2 * tail.begun);
        self.tail.lock().as_ref().is_some_and(long)
    }

    /// Appends `edit`, and returns the offset after it. Once this returns, it has been passed to
    /// the operating system.
    pub(crate) fn append(&self, edit: &VersionEdit, stats: &Stats) -> Result<u64> {
        let mut tail = self.tail.lock();
        let Some(tail) = tail.as_mut() else {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "no manifest is open for writing",
            ));
        };
        if let Some(kind) = tail.broken {
            return Err(Error::new(kind, "an earlier append to the manifest failed"));
        }
        let before = tail.writer.bytes();
        let result = tail.writer.append(edit);
        self.bytes.store(tail.writer.bytes(), Ordering::Relaxed);
        Stats::add(
            &stats.manifest_bytes,
            tail.writer.bytes().saturating_sub(before),
        );
        tail.dirty = true;
        tail.broken = result.as_ref().err().map(Error::kind);
        result.map(|()| tail.writer.bytes())
    }

    /// Makes every appended edit durable.
    pub(crate) fn sync(&self, stats: &Stats) -> Result<()> {
        let sync = {
            let mut tail = self.tail.lock();
            let Some(tail) = tail.as_mut() else {
                return Ok(());
            };
            // Done even after a failed append: earlier edits name segments that are in use.
            if !tail.dirty {
                return Ok(());
            }
            tail.dirty = false;
            tail.sync.clone()
        };
        Stats::add(&stats.file_syncs, 1);
        sync.sync()
    }
}
