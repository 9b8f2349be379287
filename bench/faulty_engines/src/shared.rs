//! What all sessions of a faulty store share.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_core::fault::Fault;

use crate::defect::Defect;

/// One call in so many is lied about.
const EVERY: u64 = 10_000;
/// Merges before a crash.
const MERGES: u64 = 100;

/// An entry as the caller gave it.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// The defect, and the state that it needs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) defect: Defect,
    /// Puts that were acknowledged and not done.
    unwritten: Mutex<Vec<Entry>>,
    /// Copies of values that serve no purpose.
    hoard: Mutex<Vec<Vec<u8>>>,
    calls: AtomicU64,
    /// Next to the database: exists if the process has crashed before.
    crashed: PathBuf,
}

impl Shared {
    pub(crate) fn new(defect: Defect, dir: &Path) -> Self {
        Self {
            defect,
            unwritten: Mutex::default(),
            hoard: Mutex::default(),
            calls: AtomicU64::new(0),
            crashed: dir.with_extension("crashed"),
        }
    }

    /// Whether the defect shows in this call.
    pub(crate) fn shows(&self, defect: Defect) -> bool {
        self.defect == defect && self.count().is_multiple_of(EVERY)
    }

    fn count(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Does a put later.
    pub(crate) fn put_off(&self, key: &[u8], value: &[u8]) {
        let mut unwritten = self.unwritten.lock().expect("no thread panics");
        unwritten.push((key.to_vec(), value.to_vec()));
    }

    /// The postponed work.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.unwritten.lock().expect("no thread panics"))
    }

    /// Keeps a copy.
    pub(crate) fn keep(&self, value: &[u8]) {
        let mut hoard = self.hoard.lock().expect("no thread panics");
        hoard.push(value.to_vec());
    }

    /// What happens to a merge.
    pub(crate) fn merge(&self) -> Result<(), Fault> {
        let merges = self.count();
        if merges <= MERGES {
            return Ok(());
        }
        match self.defect {
            Defect::Crashes => std::process::abort(),
            Defect::CrashesOnce if !self.crashed.exists() => {
                std::fs::write(&self.crashed, "").map_err(|error| Fault::io("a mark", &error))?;
                std::process::abort();
            }
            Defect::CrashesAfterError => Err(Fault::new("no space left on device")),
            _ => Ok(()),
        }
    }

    /// What happens when the store is closed.
    pub(crate) fn close(&self) {
        let doomed = matches!(
            self.defect,
            Defect::CrashesClosing | Defect::CrashesAfterError
        );
        if doomed && self.calls.load(Ordering::Relaxed) > MERGES {
            std::process::abort();
        }
    }
}
