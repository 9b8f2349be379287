//! An open LMDB environment and one thread's session.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CString, c_int, c_uint, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use bench_core::engine::{Durability, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use cairndb_env::{Env as _, RealEnv};
use engine_capi::path_text;

use crate::session::LmdbSession;
use crate::sys::{
    Api, COPY_COMPACT, CREATE, Info, NORDAHEAD, NOSYNC, NOTFOUND, RDONLY, Stat, WRITEMAP,
};

/// Minimum size of the map; the file is sparse, so an unused part costs nothing.
const MAP_BYTES_MIN: u64 = 8 << 30;
/// Map bytes per raw byte: pages are half full after random splits, and old pages are still being
/// freed.
const MAP_FACTOR: u64 = 8;
/// Number of reader slots: each session uses one, and the library's default of 126 is less than the
/// 1024 threads a row may have. Writers scan only the slots in use.
const READERS_MAX: c_uint = 1200;
const FILE_MODE: c_uint = 0o644;
/// The library's name for the data file in an environment's folder.
const DATA: &str = "data.mdb";
const COMPACTED: &str = "compacted.mdb";

/// An open LMDB environment.
#[derive(Debug)]
pub struct LmdbStore<'e> {
    api: &'e Api,
    dir: PathBuf,
    map_bytes: usize,
    flags: c_uint,
    env: *mut c_void,
    /// The names of the named databases.
    names: Vec<CString>,
    /// The unnamed database, or the named ones.
    databases: Vec<c_uint>,
    /// Requested settings that LMDB does not have.
    unused: Vec<(String, String)>,
}

// SAFETY: an environment may be used by any thread; transactions belong to sessions.
unsafe impl Sync for LmdbStore<'_> {}

/// Returns the flags with which an environment for `raw_bytes` of keys and values is opened.
///
/// When the database does not fit in memory, read-ahead replaces useful pages with pages that no
/// read requested, and the library's documentation advises turning it off. CairnDB also stops
/// mapping its tables at half the memory. The same code determines the memory size, which respects
/// a cgroup limit.
fn flags(access: c_uint, raw_bytes: u64, memory_bytes: u64) -> c_uint {
    let reading = if raw_bytes > memory_bytes / 2 {
        NORDAHEAD
    } else {
        0
    };
    access | reading
}

/// Returns the flags with which an environment is opened for writes.
const fn writing(durability: Durability) -> c_uint {
    match durability {
        Durability::Os => NOSYNC | WRITEMAP,
        Durability::Sync => 0,
    }
}

/// Returns the size in bytes of all keys and values.
const fn raw_bytes(settings: &Settings) -> u64 {
    let entry = settings.key_bytes + settings.value_bytes;
    settings.entries.saturating_mul(entry as u64)
}

impl<'e> LmdbStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        Self::open_with(api, dir, settings, writing(settings.durability))
    }

    pub(crate) fn open_reader(
        api: &'e Api,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        Self::open_with(api, dir, settings, RDONLY)
    }

    fn open_with(
        api: &'e Api,
        dir: &Path,
        settings: &Settings,
        access: c_uint,
    ) -> Result<Self, Fault> {
        let raw = raw_bytes(settings);
        let map = raw
            .saturating_mul(MAP_FACTOR)
            .max(MAP_BYTES_MIN)
            .next_multiple_of(1 << 20);
        let map_bytes = usize::try_from(map)
            .map_err(|_| Fault::new("the map does not fit the address space"))?;
        let mut store = Self {
            api,
            dir: dir.to_owned(),
            map_bytes,
            flags: flags(access, raw, RealEnv::default().memory_bytes()),
            env: null_mut(),
            names: settings
                .keyspace_names()
                .filter_map(|name| CString::new(name).ok())
                .collect(),
            databases: Vec::new(),
            unused: settings.unused(),
        };
        store.open_env()?;
        Ok(store)
    }

    fn open_env(&mut self) -> Result<(), Fault> {
        let api = self.api;
        let path = path_text(&self.dir)?;
        // SAFETY: returns an owned environment.
        api.check(unsafe { (api.env_create)(&raw mut self.env) })?;
        // SAFETY: the environment is live and not open yet.
        api.check(unsafe { (api.env_set_mapsize)(self.env, self.map_bytes) })?;
        // SAFETY: as above.
        api.check(unsafe { (api.env_set_maxreaders)(self.env, READERS_MAX) })?;
        if !self.names.is_empty() {
            let count = c_uint::try_from(self.names.len()).unwrap_or(c_uint::MAX);
            // SAFETY: as above.
            api.check(unsafe { (api.env_set_maxdbs)(self.env, count) })?;
        }
        // SAFETY: the path is NUL-terminated.
        api.check(unsafe { (api.env_open)(self.env, path.as_ptr(), self.flags, FILE_MODE) })?;
        // A read transaction is enough for what exists, and there is no wait for a writer.
        match self.open_databases(RDONLY, 0)? {
            NOTFOUND => api.check(self.open_databases(0, CREATE)?),
            code => api.check(code),
        }
    }

    /// Opens the databases in a transaction. Returns the code of the first that is refused.
    fn open_databases(&mut self, of_txn: c_uint, flags: c_uint) -> Result<c_int, Fault> {
        let (api, mut txn) = (self.api, null_mut());
        // SAFETY: the environment is open and no other transaction of this thread exists.
        api.check(unsafe { (api.txn_begin)(self.env, null_mut(), of_txn, &raw mut txn) })?;
        let mut starts: Vec<_> = self.names.iter().map(|name| name.as_ptr()).collect();
        if starts.is_empty() {
            // The unnamed database, which exists in a new environment too.
            starts.push(null());
        }
        self.databases = vec![0; starts.len()];
        let mut code = 0;
        for (name, dbi) in starts.iter().zip(&mut self.databases) {
            // SAFETY: the transaction is live; the name is null or NUL-terminated.
            code = unsafe { (api.dbi_open)(txn, *name, flags, dbi) };
            if code != 0 {
                // SAFETY: the transaction is live and not used again.
                unsafe { (api.txn_abort)(txn) };
                return Ok(code);
            }
        }
        // SAFETY: the transaction is live and not used again, whatever the result.
        api.check(unsafe { (api.txn_commit)(txn) })?;
        Ok(code)
    }

    fn close_env(&mut self) {
        if !self.env.is_null() {
            // SAFETY: no session outlives the store.
            unsafe { (self.api.env_close)(self.env) };
            self.env = null_mut();
        }
    }

    /// Returns the map size and the flags, as reported by the environment.
    fn effective(&self) -> Option<(Info, c_uint)> {
        let mut info = Info {
            map_address: null_mut(),
            map_bytes: 0,
            last_page: 0,
            last_txn: 0,
            readers_max: 0,
            readers: 0,
        };
        let mut flags = 0;
        // SAFETY: the environment is open and the output location is live.
        let reported = unsafe { (self.api.env_info)(self.env, &raw mut info) };
        // SAFETY: as above.
        let flagged = unsafe { (self.api.env_get_flags)(self.env, &raw mut flags) };
        (reported == 0 && flagged == 0).then_some((info, flags))
    }
}

impl Drop for LmdbStore<'_> {
    fn drop(&mut self) {
        self.close_env();
    }
}

impl Store for LmdbStore<'_> {
    type Session<'s>
        = LmdbSession<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<LmdbSession<'_>, Fault> {
        // SAFETY: the environment stays open while the session borrows the store.
        unsafe { LmdbSession::new(self.api, self.env, &self.databases, role) }
    }

    /// Writes a compacting copy, which then replaces the original.
    ///
    /// The library's own function to copy to a path is not used: it bypasses the page cache, so
    /// that everything would be read from the disk afterwards, and leaves the file size unsynced.
    fn compact(&mut self) -> Result<(), Fault> {
        let path = self.dir.join(COMPACTED);
        let io = |error: std::io::Error| Fault::io("the compacted copy", &error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = options.mode(FILE_MODE).open(&path).map_err(io)?;
        let (descriptor, flags) = (file.as_raw_fd(), COPY_COMPACT);
        // SAFETY: the environment is open, and the file until it is dropped below.
        let copied = unsafe { (self.api.env_copyfd2)(self.env, descriptor, flags) };
        self.api.check(copied)?;
        file.sync_all().map_err(io)?;
        drop(file);
        std::fs::rename(&path, self.dir.join(DATA)).map_err(io)?;
        let folder = File::open(&self.dir).map_err(io)?;
        folder.sync_all().map_err(io)?;
        self.close_env();
        self.open_env()
    }

    /// Drops a database in a transaction, which commits like those of rows.
    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        const DELETE: c_int = 1;
        let (api, mut txn) = (self.api, null_mut());
        // SAFETY: the environment is open and no other transaction of this thread exists.
        api.check(unsafe { (api.txn_begin)(self.env, null_mut(), 0, &raw mut txn) })?;
        // SAFETY: the transaction is live, and nothing else uses the database.
        let dropped = unsafe { (api.drop)(txn, self.databases[index as usize], DELETE) };
        // SAFETY: the transaction is live and not used again; after an error it fails.
        let committed = unsafe { (api.txn_commit)(txn) };
        api.check(dropped)?;
        api.check(committed)
    }

    /// Writes the dirty pages of the map, which `Os` rows leave to the system.
    fn flush(&mut self) -> Result<(), Fault> {
        self.api.sync(self.env)
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let mut stat = Stat::default();
        // SAFETY: the environment is open and the output location is live.
        let reported = unsafe { (self.api.env_stat)(self.env, &raw mut stat) };
        let (info, _) = self.effective()?;
        (reported == 0).then(|| {
            format!(
                "page bytes {}, depth {}, branch pages {}, leaf pages {}, overflow pages {}, entries {}, \
                 pages used {}, last transaction {}",
                stat.page_bytes,
                stat.depth,
                stat.branch_pages,
                stat.leaf_pages,
                stat.overflow_pages,
                stat.entries,
                info.last_page + 1,
                info.last_txn,
            )
        })
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = vec![(
            "memory".to_owned(),
            "no cache of its own (page cache)".to_owned(),
        )];
        if let Some((info, flags)) = self.effective() {
            let on = |flag| if flags & flag != 0 { "1" } else { "0" }.to_owned();
            options.push(("map_size".into(), info.map_bytes.to_string()));
            options.push(("maxreaders".into(), info.readers_max.to_string()));
            options.push(("nosync".into(), on(NOSYNC)));
            options.push(("writemap".into(), on(WRITEMAP)));
            options.push(("nordahead".into(), on(NORDAHEAD)));
        }
        options.push(("compression".into(), "none".into()));
        options.extend(self.unused.iter().cloned());
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_ahead_is_off_where_the_data_may_exceed_half_of_the_memory() {
        for durability in [Durability::Os, Durability::Sync] {
            let off = |raw| flags(writing(durability), raw, 1000) & NORDAHEAD != 0;
            assert!(!off(0) && !off(500));
            assert!(off(501) && off(u64::MAX));
        }
    }
}
