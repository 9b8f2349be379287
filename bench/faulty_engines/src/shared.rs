//! State shared by all sessions of a faulty store.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_core::fault::Fault;

use crate::defect::Defect;

/// The defect appears in one of this many calls.
const EVERY: u64 = 10_000;
/// Number of merges before a crash.
const MERGES: u64 = 100;

/// An entry as the caller gave it.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// The defect, and the state that it needs.
#[derive(Debug)]
pub(crate) struct DefectState {
    pub(crate) defect: Defect,
    /// Puts that were acknowledged but not executed.
    unwritten: Mutex<Vec<Entry>>,
    /// Copies of values that serve no purpose.
    hoard: Mutex<Vec<Vec<u8>>>,
    calls: AtomicU64,
    /// A file next to the database that exists if the process has crashed before.
    crashed: PathBuf,
}

impl DefectState {
    pub(crate) fn new(defect: Defect, dir: &Path) -> Self {
        Self {
            defect,
            unwritten: Mutex::default(),
            hoard: Mutex::default(),
            calls: AtomicU64::new(0),
            crashed: dir.with_extension("crashed"),
        }
    }

    /// Returns whether the defect appears in this call.
    pub(crate) fn shows(&self, defect: Defect) -> bool {
        self.defect == defect && self.count().is_multiple_of(EVERY)
    }

    fn count(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Postpones a put.
    pub(crate) fn put_off(&self, key: &[u8], value: &[u8]) {
        let mut unwritten = self.unwritten.lock().expect("no thread panics");
        unwritten.push((key.to_vec(), value.to_vec()));
    }

    /// Takes the postponed puts.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.unwritten.lock().expect("no thread panics"))
    }

    /// Stores a copy of a value.
    pub(crate) fn keep(&self, value: &[u8]) {
        let mut hoard = self.hoard.lock().expect("no thread panics");
        hoard.push(value.to_vec());
    }

    /// Applies the defect to a merge.
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

    /// Applies the defect to a close.
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
