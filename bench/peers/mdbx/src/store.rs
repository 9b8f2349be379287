//! An open libmdbx environment.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bench_core::engine::{Durability, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use cairndb_env::{Env as _, RealEnv};
use mdbx_sys as sys;

use crate::env::{Env, Options};
use crate::session::MdbxSession;
use crate::txn::Txn;

/// Smallest upper bound of the file size: address space that costs nothing.
const UPPER_BYTES_MIN: u64 = 8 << 30;
/// File bytes per raw byte: pages are half full after random splits, and old pages are still being
/// freed.
const UPPER_FACTOR: u64 = 8;
/// Number of reader slots: each session uses one, and a row may have 1024 threads. Writers scan
/// only the slots in use.
const READERS: u32 = 1200;
const FILE_MODE: u32 = 0o644;
/// The library's name for the data file in an environment's folder.
const DATA: &str = "mdbx.dat";
const COMPACTED: &str = "compacted.dat";

/// An open environment.
#[derive(Debug)]
pub struct MdbxStore {
    dir: PathBuf,
    options: Options,
    /// `None` only after a compaction that could not open it again.
    env: Option<Env>,
    /// The names of the named databases.
    names: Vec<CString>,
    /// The unnamed database, or the named ones.
    databases: Vec<sys::MDBX_dbi>,
    /// Requested settings that libmdbx does not have.
    unused: Vec<(String, String)>,
}

/// Returns the flags with which an environment is opened for writes.
const fn writing(durability: Durability) -> sys::MDBX_env_flags_t {
    match durability {
        Durability::Os => sys::MDBX_UTTERLY_NOSYNC | sys::MDBX_WRITEMAP,
        Durability::Sync => sys::MDBX_SYNC_DURABLE | sys::MDBX_LIFORECLAIM,
    }
}

/// Returns the flags with which an environment for `raw_bytes` of keys and values is opened.
///
/// The library turns read-ahead off where the file exceeds the free memory, but looks only when the
/// file grows. The bound here is the one of the adapter of LMDB.
const fn flags(
    access: sys::MDBX_env_flags_t,
    raw_bytes: u64,
    memory_bytes: u64,
) -> sys::MDBX_env_flags_t {
    let reading = if raw_bytes > memory_bytes / 2 {
        sys::MDBX_NORDAHEAD
    } else {
        0
    };
    access | reading | sys::MDBX_NOSTICKYTHREADS
}

/// Returns the size in bytes of all keys and values.
const fn raw_bytes(settings: &Settings) -> u64 {
    let entry = settings.key_bytes + settings.value_bytes;
    settings.entries.saturating_mul(entry as u64)
}

impl MdbxStore {
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        Self::open_with(dir, settings, writing(settings.durability))
    }

    pub(crate) fn open_reader(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        Self::open_with(dir, settings, sys::MDBX_RDONLY)
    }

    fn open_with(
        dir: &Path,
        settings: &Settings,
        access: sys::MDBX_env_flags_t,
    ) -> Result<Self, Fault> {
        let raw = raw_bytes(settings);
        let upper = raw.saturating_mul(UPPER_FACTOR).max(UPPER_BYTES_MIN);
        let upper_bytes = isize::try_from(upper)
            .map_err(|_| Fault::new("the map does not fit the address space"))?;
        let names: Vec<CString> = settings
            .keyspace_names()
            .filter_map(|name| CString::new(name).ok())
            .collect();
        let mut store = Self {
            dir: dir.to_owned(),
            options: Options {
                flags: flags(access, raw, RealEnv::default().memory_bytes()),
                upper_bytes,
                readers: READERS,
                databases: names.len(),
            },
            env: None,
            names,
            databases: Vec::new(),
            unused: settings.unused(),
        };
        store.open_env()?;
        Ok(store)
    }

    fn open_env(&mut self) -> Result<(), Fault> {
        let env = Env::open(&self.dir, &self.options)?;
        // A read transaction is enough for what exists, and there is no wait for a writer.
        self.databases = match self.open_databases(Txn::read(&env)?, 0)? {
            Some(databases) => databases,
            None => self
                .open_databases(Txn::write(&env)?, sys::MDBX_CREATE)?
                .ok_or_else(|| Fault::new("a database was not created"))?,
        };
        self.env = Some(env);
        Ok(())
    }

    /// Opens the databases; `None` if one does not exist.
    fn open_databases(
        &self,
        mut txn: Txn<'_>,
        flags: sys::MDBX_db_flags_t,
    ) -> Result<Option<Vec<sys::MDBX_dbi>>, Fault> {
        let mut names: Vec<_> = self
            .names
            .iter()
            .map(|name| Some(name.as_c_str()))
            .collect();
        if names.is_empty() {
            // The unnamed database, which exists in a new environment too.
            names.push(None);
        }
        let mut databases = Vec::with_capacity(names.len());
        for name in names {
            match txn.open(name, flags)? {
                Some(dbi) => databases.push(dbi),
                None => return Ok(None),
            }
        }
        txn.commit()?;
        Ok(Some(databases))
    }

    fn env(&self) -> Result<&Env, Fault> {
        self.env
            .as_ref()
            .ok_or_else(|| Fault::new("the store is closed"))
    }
}

impl Store for MdbxStore {
    type Session<'s> = MdbxSession<'s>;

    fn session(&self, role: Role) -> Result<MdbxSession<'_>, Fault> {
        MdbxSession::new(self.env()?, &self.databases, role)
    }

    /// Writes a compacting copy, which then replaces the original.
    fn compact(&mut self) -> Result<(), Fault> {
        let path = self.dir.join(COMPACTED);
        let io = |error: std::io::Error| Fault::io("the compacted copy", &error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let file = options.mode(FILE_MODE).open(&path).map_err(io)?;
        self.env()?.copy_to(&file)?;
        file.sync_all().map_err(io)?;
        drop(file);
        if let Some(env) = self.env.take() {
            env.close()?;
        }
        std::fs::rename(&path, self.dir.join(DATA)).map_err(io)?;
        let folder = File::open(&self.dir).map_err(io)?;
        folder.sync_all().map_err(io)?;
        self.open_env()
    }

    /// Writes the dirty pages of the map, which `Os` rows leave to the system.
    fn flush(&mut self) -> Result<(), Fault> {
        self.env()?.sync()
    }

    /// Drops a database in a transaction, which commits like those of rows.
    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let mut txn = Txn::write(self.env()?)?;
        txn.drop_database(self.databases[index as usize])?;
        txn.commit()
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let env = self.env.as_ref()?;
        let (stat, info) = (env.stat()?, env.info()?);
        let pages = &info.mi_pgop_stat;
        Some(format!(
            "page bytes {}, depth {}, branch pages {}, leaf pages {}, overflow pages {}, entries {}, \
             pages used {}, last transaction {}, pages added {}, copied {}, split {}, merged {}, \
             spilled {}, write calls {}",
            stat.ms_psize,
            stat.ms_depth,
            stat.ms_branch_pages,
            stat.ms_leaf_pages,
            stat.ms_overflow_pages,
            stat.ms_entries,
            info.mi_last_pgno + 1,
            info.mi_recent_txnid,
            pages.newly,
            pages.cow,
            pages.split,
            pages.merge,
            pages.spill,
            pages.wops,
        ))
    }

    fn options(&self) -> Vec<(String, String)> {
        let mut options = vec![(
            "memory".to_owned(),
            "no cache of its own (page cache)".to_owned(),
        )];
        if let Some(info) = self.env.as_ref().and_then(Env::info) {
            let on = |flags| {
                let all = info.mi_mode & flags == flags;
                if all { "1" } else { "0" }.to_owned()
            };
            options.push(("size_upper".into(), info.mi_geo.upper.to_string()));
            options.push(("growth_step".into(), info.mi_geo.grow.to_string()));
            options.push(("max_readers".into(), info.mi_maxreaders.to_string()));
            options.push(("utterly_nosync".into(), on(sys::MDBX_UTTERLY_NOSYNC)));
            options.push(("writemap".into(), on(sys::MDBX_WRITEMAP)));
            options.push(("liforeclaim".into(), on(sys::MDBX_LIFORECLAIM)));
            options.push(("nordahead".into(), on(sys::MDBX_NORDAHEAD)));
            options.push(("nostickythreads".into(), on(sys::MDBX_NOSTICKYTHREADS)));
        }
        options.push(("compression".into(), "none".into()));
        options.extend(self.unused.iter().cloned());
        options
    }

    fn close(mut self) -> Result<(), Fault> {
        self.env.take().map_or(Ok(()), Env::close)
    }
}
