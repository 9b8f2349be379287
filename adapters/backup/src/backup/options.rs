//! How a backup is made, and what it has done.

use cairndb::Place;

/// Default for the number of bytes of changes after which a base is made.
const BASE_BYTES_DEFAULT: u64 = 256 << 20;
/// Default for the number of bytes of the log that are kept for the backup.
const LOG_BYTES_DEFAULT: u64 = 4 << 30;

/// How a backup is made.
///
/// ```
/// use cairndb_backup::BackupOptions;
///
/// let options = BackupOptions::new().base_bytes(64 << 20).log_bytes_max(16 << 30);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "options do nothing until they are used"]
pub struct BackupOptions {
    pub(crate) base_bytes: Option<u64>,
    pub(crate) log_bytes_max: u64,
    pub(crate) takes_over: bool,
}

impl Default for BackupOptions {
    fn default() -> BackupOptions {
        BackupOptions {
            base_bytes: Some(BASE_BYTES_DEFAULT),
            log_bytes_max: LOG_BYTES_DEFAULT,
            takes_over: false,
        }
    }
}

impl BackupOptions {
    /// Returns the defaults.
    pub fn new() -> BackupOptions {
        BackupOptions::default()
    }

    /// Sets after how many bytes of changes a base is made, that is, the tables are uploaded which
    /// the place does not have. A restore applies the changes since. Default: 256 MiB.
    pub fn base_bytes(mut self, bytes: u64) -> BackupOptions {
        self.base_bytes = Some(bytes);
        self
    }

    /// Uploads only changes after the first base. A restore then applies all of them, so it takes
    /// longer. Another base is made only for what the log does not have: writes at
    /// [`Durability::None`](cairndb::Durability::None), after their flush.
    pub fn changes_only(mut self) -> BackupOptions {
        self.base_bytes = None;
        self
    }

    /// Sets how many bytes of the log are kept for the backup while it does not run, or its place
    /// cannot be reached. Past that, it begins anew with a base, and the moments in between cannot
    /// be restored. Default: 4 GiB.
    pub fn log_bytes_max(mut self, bytes: u64) -> BackupOptions {
        self.log_bytes_max = bytes;
        self
    }

    /// Takes the place over from another program that seems to write to it. That one is refused
    /// from then on.
    pub fn take_over(mut self, takes_over: bool) -> BackupOptions {
        self.takes_over = takes_over;
        self
    }
}

/// What a backup has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Up to where the place has everything.
    pub place: Option<Place>,
    /// Number of changes that were recorded.
    pub changes: u64,
    /// Number of bases that were recorded.
    pub bases: u64,
    /// Number of objects that were uploaded.
    pub objects: u64,
    /// Their bytes, as stored.
    pub bytes: u64,
}

impl BackupReport {
    /// Returns the sum of what two backups have done, the later one last.
    #[must_use]
    pub fn and(&self, later: &BackupReport) -> BackupReport {
        BackupReport {
            place: later.place.or(self.place),
            changes: self.changes + later.changes,
            bases: self.bases + later.bases,
            objects: self.objects + later.objects,
            bytes: self.bytes + later.bytes,
        }
    }

    pub(crate) fn count(&mut self, bytes: u64) {
        self.objects += u64::from(bytes > 0);
        self.bytes += bytes;
    }
}
