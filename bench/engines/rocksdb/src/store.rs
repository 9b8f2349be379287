//! An open RocksDB database.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bench_core::engine::{Quiet, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::database::Database;
use crate::session::RocksSession;
use crate::sys::Api;
use crate::{counters, effective};

/// Numeric properties that are all zero if no background work is left.
const WORK: [&CStr; 5] = [
    c"rocksdb.num-immutable-mem-table",
    c"rocksdb.mem-table-flush-pending",
    c"rocksdb.num-running-flushes",
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-compactions",
];
const FAILURES: &CStr = c"rocksdb.background-errors";
/// `BottommostLevelCompaction::kForceOptimized`.
const FORCE_OPTIMIZED: u8 = 3;
/// Interval at which these properties are polled.
const LOOK: Duration = Duration::from_millis(1);
/// Time after which the harness watches the threads instead.
const PATIENCE: Duration = Duration::from_mins(10);

/// An open RocksDB database.
#[derive(Debug)]
pub struct RocksStore<'e> {
    database: Database<'e>,
    dir: PathBuf,
}

impl<'e> RocksStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        Ok(Self {
            database: Database::open(api, dir, None, settings)?,
            dir: dir.to_owned(),
        })
    }

    /// Opens a secondary instance, with a folder for its log of messages.
    pub(crate) fn open_reader(
        api: &'e Api,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let folder = dir.join(format!("secondary-{}", std::process::id()));
        Ok(Self {
            database: Database::open(api, dir, Some(&folder), settings)?,
            dir: dir.to_owned(),
        })
    }

    /// Returns the pending work that the library reports; `None` if it does not have the property.
    fn work(&self) -> Option<u64> {
        let all = |&name| self.database.number_of_all(name);
        WORK.iter().map(all).sum()
    }

    /// Checks for errors of background work, which no call returns.
    fn failures(&self) -> Result<(), Fault> {
        match self.database.number(FAILURES) {
            Some(0) | None => Ok(()),
            Some(count) => Err(Fault::new(format!(
                "{count} background errors: see the file LOG"
            ))),
        }
    }
}

impl Store for RocksStore<'_> {
    type Session<'s>
        = RocksSession<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<RocksSession<'_>, Fault> {
        Ok(RocksSession::new(&self.database, role))
    }

    /// Compacts everything, including files in the lowest level that this compaction did not write,
    /// as RocksDB's own program does under this name.
    fn compact(&mut self) -> Result<(), Fault> {
        let api = self.database.api;
        api.count_nothing();
        // SAFETY: takes no arguments, returns an owned object.
        let options = unsafe { (api.compactoptions_create)() };
        // SAFETY: the object was just created.
        unsafe { (api.compactoptions_set_bottommost_level_compaction)(options, FORCE_OPTIMIZED) };
        let db = self.database.db;
        for &family in &self.database.families {
            // SAFETY: the family is live; null ends mean the whole range.
            unsafe { (api.compact_range_cf_opt)(db, family, options, null(), 0, null(), 0) };
        }
        // SAFETY: not used again.
        unsafe { (api.compactoptions_destroy)(options) };
        self.failures()
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let api = self.database.api;
        api.count_nothing();
        // SAFETY: takes no arguments, returns an owned object, which waits until the flush is done.
        let options = unsafe { (api.flushoptions_create)() };
        let flushed = self.database.families.iter().try_for_each(|&family| {
            let mut error = null_mut();
            // SAFETY: database, family and options are live; the error pointer starts as null.
            unsafe { (api.flush_cf)(self.database.db, options, family, &raw mut error) };
            api.outcome(error)
        });
        // SAFETY: not used again.
        unsafe { (api.flushoptions_destroy)(options) };
        flushed
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        self.database.drop_family(index as usize + 1)
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        let since = Instant::now();
        // A receiver whose sender stays alive provides a timed wait without `sleep`.
        let (alive, never) = mpsc::channel::<()>();
        // Checked twice, because the numbers are not read at the same moment.
        let mut rests = 0;
        while rests < 2 {
            match self.work() {
                Some(0) => rests += 1,
                Some(_) if since.elapsed() < PATIENCE => {
                    rests = 0;
                    let _ = never.recv_timeout(LOOK);
                }
                _ => return Ok(Quiet::Watch),
            }
        }
        drop(alive);
        self.failures()?;
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        if name == "statistics" {
            return self.database.statistics();
        }
        self.database.text(&counters::property_name(name))
    }

    fn bytes_written(&self) -> Option<u64> {
        counters::bytes_written(&self.database.statistics()?)
    }

    fn count_passed_entries(&self) {
        self.database.count_passed();
    }

    fn passed_entries(&self) -> Option<u64> {
        self.database.passed()
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = effective::options(&self.dir);
        if let Some(bytes) = self.database.number(c"rocksdb.block-cache-capacity") {
            options.insert(0, ("block_cache".to_owned(), bytes.to_string()));
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
    use bench_core::workload::settings::{Memory, Settings};

    use super::*;
    use crate::RocksDb;

    fn settings() -> Settings {
        Settings::plain(Memory::split(4 << 20, false))
    }

    #[test]
    fn options_are_read_when_they_are_asked_for_and_not_by_opening() {
        let Ok(engine) = RocksDb::load(None) else {
            bench_core::host::test_skip::skip("install librocksdb7.8");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let store = (&engine).open(home.path(), &settings()).expect("opens");
        let later = "[DBOptions]\n  max_open_files=77\n";
        std::fs::write(home.path().join("OPTIONS-999999"), later).expect("written");
        let reported = store.options();
        assert!(reported.contains(&("max_open_files".to_owned(), "77".to_owned())));
        store.close().expect("closes");
    }
    /// Returns the number of key comparisons that the library has counted in the calling thread.
    fn comparisons(api: &Api) -> u64 {
        type Create = unsafe extern "C" fn() -> *mut c_void;
        type Metric = unsafe extern "C" fn(*mut c_void, c_int) -> u64;
        type Destroy = unsafe extern "C" fn(*mut c_void);
        const USER_KEY_COMPARISONS: c_int = 0;
        let library = &api.library;
        // SAFETY: the type is that of RocksDB's c.h.
        let create = unsafe { library.get::<Create>(b"rocksdb_perfcontext_create") };
        // SAFETY: as above.
        let metric = unsafe { library.get::<Metric>(b"rocksdb_perfcontext_metric") };
        // SAFETY: as above.
        let destroy = unsafe { library.get::<Destroy>(b"rocksdb_perfcontext_destroy") };
        // SAFETY: takes no arguments, returns an owned object: a view of the calling thread's
        // counters.
        let context = unsafe { create.expect("found")() };
        // SAFETY: the object was just created.
        let count = unsafe { metric.expect("found")(context, USER_KEY_COMPARISONS) };
        // SAFETY: not used again.
        unsafe { destroy.expect("found")(context) };
        count
    }

    #[test]
    fn nothing_is_counted_in_the_thread_of_a_session() {
        let Ok(engine) = RocksDb::load(None) else {
            bench_core::host::test_skip::skip("install librocksdb7.8");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let store = (&engine).open(home.path(), &settings()).expect("opens");
        let write = || {
            let role = Role::single(Durability::Os);
            let mut session = store.session(role).expect("a session");
            for key in 0..100_u32 {
                session.put(&key.to_le_bytes(), b"value").expect("put");
            }
            comparisons(&engine.api)
        };
        // The level is per thread, so this tests a thread other than the one that opened the store.
        let counted = std::thread::scope(|scope| scope.spawn(write).join().expect("ended"));
        assert_eq!(counted, 0);
        store.close().expect("closes");
    }
}
