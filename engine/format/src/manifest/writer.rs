//! Manifest writer.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, FileSync, WritableFile};

use crate::checksum::crc32c_append;
use crate::manifest::edit::VersionEdit;
use crate::manifest::frame::{EDIT_BYTES_MAX, FRAME_BYTES, Frame};
use crate::manifest::header::{HEADER_BYTES, ManifestHeader};
use crate::name;

/// The only writer of a manifest.
///
/// Edits are appended in order and not synced. After a failed append or sync the end of the file is
/// unknown: every later append is refused, and the engine writes a new manifest or stops. Threads:
/// one appends; any number of [`ManifestSyncer`]s sync.
#[derive(Debug)]
pub struct ManifestWriter {
    file: Box<dyn WritableFile>,
    header: ManifestHeader,
    progress: Arc<Mutex<Progress>>,
    encoded: Vec<u8>,
}

/// Number of bytes written to the file, and number of bytes known to be durable.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    appended: u64,
    synced: u64,
    /// An append failed: no more appends, but earlier edits may be synced.
    append_failed: bool,
    /// A sync failed: no more appends or syncs.
    sync_failed: bool,
}

impl ManifestWriter {
    /// Creates manifest `number` with the edits of `base` and syncs it. `CURRENT` names it only
    /// after [`install_current`](crate::manifest::install_current).
    ///
    /// # Errors
    /// `Io` or `NoSpace`; the file is then useless.
    pub fn create(
        dir: &dyn Dir,
        number: FileNumber,
        salt: u64,
        base: &[VersionEdit],
    ) -> Result<ManifestWriter> {
        let file = dir.create(&name::manifest(number))?;
        ManifestWriter::new(file, number, salt, base)
    }

    /// Like [`ManifestWriter::create`], but writes to an empty file.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    ///
    /// # Panics
    /// Panics if the file is not empty.
    pub fn new(
        file: Box<dyn WritableFile>,
        number: FileNumber,
        salt: u64,
        base: &[VersionEdit],
    ) -> Result<ManifestWriter> {
        assert_eq!(file.size(), 0, "a manifest is written from its start");
        let mut header = ManifestHeader {
            number,
            salt,
            base_end: HEADER_BYTES as u64,
        };
        let mut encoded = Vec::new();
        for edit in base {
            encoded.clear();
            edit.encode(&mut encoded);
            if !encoded.is_empty() {
                header.base_end += (FRAME_BYTES + encoded.len()) as u64;
            }
        }
        let progress = Arc::new(Mutex::new(Progress::default()));
        let mut writer = ManifestWriter {
            file,
            header,
            progress,
            encoded,
        };
        writer.write(&[&header.encode()])?;
        for edit in base {
            writer.append(edit)?;
        }
        assert_eq!(writer.bytes(), header.base_end, "encoding is deterministic");
        writer.sync()?;
        Ok(writer)
    }

    /// Appends an edit without syncing it. An empty edit is not written.
    ///
    /// # Errors
    /// `InvalidArgument` for an edit of 2 GiB or more; `Io` or `NoSpace` from the file, and `Io`
    /// for every call after such a failure.
    pub fn append(&mut self, edit: &VersionEdit) -> Result<()> {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        edit.encode(&mut encoded);
        let result = self.append_encoded(&encoded);
        self.encoded = encoded;
        self.encoded.shrink_to(1 << 16);
        result
    }

    fn append_encoded(&mut self, edit: &[u8]) -> Result<()> {
        if edit.is_empty() {
            return Ok(());
        }
        let len = u32::try_from(edit.len())
            .ok()
            .filter(|len| *len <= EDIT_BYTES_MAX);
        let len = len.ok_or_else(|| {
            Error::invalid("version edit is too large")
                .expected(format_args!("at most {EDIT_BYTES_MAX} bytes"))
                .found(edit.len())
        })?;
        let progress = *self.progress.lock();
        let mut frame = Frame {
            crc: 0,
            len,
            synced: progress.synced,
        };
        let before = frame.checksum_before(self.header.seed(), progress.appended);
        frame.crc = crc32c_append(before, edit);
        self.write(&[&frame.encode(), edit])
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.check()?;
        let result = self.file.append_parts(parts);
        let mut progress = self.progress.lock();
        progress.append_failed |= result.is_err();
        if result.is_ok() {
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            progress.appended += bytes as u64;
        }
        result
    }

    fn check(&self) -> Result<()> {
        let progress = *self.progress.lock();
        if !progress.append_failed && !progress.sync_failed {
            return Ok(());
        }
        Err(failed_earlier()
            .file(name::manifest(self.header.number))
            .offset(progress.synced))
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// `Io`; never retried: every later call fails.
    pub fn sync(&mut self) -> Result<()> {
        self.syncer().sync()
    }

    /// Returns a handle that syncs this manifest from another thread.
    pub fn syncer(&self) -> ManifestSyncer {
        ManifestSyncer {
            file: self.file.syncer(),
            progress: Arc::clone(&self.progress),
        }
    }

    /// Returns the number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.progress.lock().appended
    }

    /// Returns the number of bytes known to be durable.
    pub fn synced_bytes(&self) -> u64 {
        self.progress.lock().synced
    }

    /// Returns the manifest's number.
    pub fn number(&self) -> FileNumber {
        self.header.number
    }
}

/// Syncs a manifest and records what became durable, so that later records can store it.
#[derive(Clone, Debug)]
pub struct ManifestSyncer {
    file: Arc<dyn FileSync>,
    progress: Arc<Mutex<Progress>>,
}

impl ManifestSyncer {
    /// Makes every edit appended before this call durable. Appending may continue meanwhile. Works
    /// after a failed append, too: the edits before it may still be needed.
    ///
    /// # Errors
    /// `Io`; never retried: every later call fails, appends included.
    pub fn sync(&self) -> Result<()> {
        let before = *self.progress.lock();
        if before.sync_failed {
            return Err(failed_earlier().offset(before.synced));
        }
        let result = self.file.sync();
        let mut progress = self.progress.lock();
        match &result {
            Ok(()) => progress.synced = progress.synced.max(before.appended),
            Err(_) => progress.sync_failed = true,
        }
        result
    }
}

#[cold]
fn failed_earlier() -> Error {
    Error::new(
        ErrorKind::Io,
        "an earlier write or sync of this manifest failed; reopen",
    )
}
