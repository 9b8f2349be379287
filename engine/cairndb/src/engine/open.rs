//! Opening a database, step by step.
//!
//! look -> lock -> CURRENT -> manifest -> names -> (sizes -> replay -> new manifest -> sweep) ->
//! ready
//!
//! Nothing on disk changes until everything has been verified: a refused open leaves the directory
//! unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, PageCache, Result};
use cairndb_env::{Dir, Env};
use cairndb_files::{Ownership, ownership, refusal, unused_file};
use cairndb_format::evidence::{Evidence, other_store, other_store_in};
use cairndb_format::manifest::read_current;
use cairndb_format::name;
use cairndb_format::name::FileKind;
use cairndb_mem::ClockCache;

use crate::engine::configure::{contexts, opener, settings, validate};
use crate::engine::core::Core;
use crate::engine::first_state::Opened;
use crate::recovery::folded_log::FoundHistory;
use crate::recovery::leftovers::unlisted_files;
use crate::recovery::recover::{Recovery, remove_unused_logs};
use crate::recovery::recovered::Recovered;
use crate::recovery::report::OpenReport;
use crate::recovery::value_copier::LargeValues;
use crate::state::budget::Budget;
use crate::state::files::reaper::Reaper;
use crate::state::keyspaces::Keyspaces;
use crate::state::lineage::Stored;
use crate::state::options::Options;
use crate::state::sections::Sections;
use crate::state::version::Version;

/// Number of attempts that copy the large values of the log before an attempt leaves them in place.
/// There are two, because space may have been freed in the meantime, and values left in place have
/// a weaker guarantee.
const COPYING_TRIES: usize = 2;

/// Contents of the directory.
pub(super) enum DirContents {
    /// No files, or only a LOCK.
    Empty,
    /// A database, with the number of its manifest.
    Database(FileNumber),
}

/// Replaces the error of reading the manifest with a clearer one if the database is another
/// store's.
#[cold]
fn other_database(dir: &dyn Dir, error: Error) -> Error {
    match other_store_in(dir) {
        Ok(Some(store)) if error.kind() == ErrorKind::Corruption => refusal(dir, store),
        _ => error,
    }
}

/// Opens the directory, or creates it if allowed. Refuses a directory whose contents cannot be
/// opened.
fn directory(env: &dyn Env, path: &Path, options: &Options) -> Result<Arc<dyn Dir>> {
    let create = options.create_if_missing && !options.read_only;
    let (dir, made) = match env.open_dir(path, false) {
        Err(error) if create && error.kind() == ErrorKind::NotFound => {
            (env.open_dir(path, true)?, true)
        }
        opened => (opened?, false),
    };
    // Checked before LOCK is created, so that a refused open leaves no file. If LOCK exists,
    // locking creates nothing.
    if options.read_only || dir.size_of(name::LOCK)?.is_none() {
        let found = look(&*dir, options)?;
        if create && !made && matches!(found, DirContents::Empty) {
            // Its creator may have died before its name was durable. Checked only here, because an
            // empty directory has to be listed.
            return env.open_dir(path, true);
        }
    }
    if !options.read_only {
        // Refuses what is not a regular file. It is opened only after recovery wrote files.
        dir.size_of(name::SHARED)?;
    }
    Ok(dir)
}

/// Returns whether an interrupted creation may have left the file.
fn is_begun(dir: &dyn Dir, name: &str) -> bool {
    match FileKind::parse(name) {
        Some(FileKind::Manifest(number)) => other_store(dir, number).is_none(),
        Some(FileKind::Temp(_)) => true,
        _ => false,
    }
}

/// Returns the contents of the directory, or the reason why it cannot be opened. Changes nothing.
pub(super) fn look(dir: &dyn Dir, options: &Options) -> Result<DirContents> {
    if let Some(number) = read_current(dir)? {
        if options.error_if_exists {
            return Err(Error::invalid(
                "the database exists; open it without error_if_exists",
            ));
        }
        return Ok(DirContents::Database(number));
    }
    if let Some(store) = other_store_in(dir)? {
        return Err(refusal(dir, store));
    }
    let names = dir.list()?;
    let mut foreign = None;
    for found in &names {
        match FileKind::parse(found) {
            None => {
                foreign.get_or_insert(found);
                continue;
            }
            Some(FileKind::Lock | FileKind::Current | FileKind::Shared) => continue,
            Some(_) => {}
        }
        match ownership(dir, found)? {
            // An interrupted creation leaves the first manifest, complete or not, and no CURRENT.
            // Such a manifest holds nothing.
            _ if is_begun(dir, found) => {}
            Ownership::Ours => {
                return Err(Error::corruption(
                    "the directory holds database files but no CURRENT; restore CURRENT from a \
                     backup, or keep what the other files hold with `repair`",
                )
                .file(found.clone()));
            }
            Ownership::Other(Evidence::Foreign, _) => _ = foreign.get_or_insert(found),
            // An empty file holds nothing. It stays.
            Ownership::Other(..) | Ownership::Gone => {}
        }
    }
    if let Some(found) = foreign {
        return Err(Error::invalid(
            "the directory holds something other than a database; choose another directory",
        )
        .file(found.clone()));
    }
    if !options.create_if_missing || options.read_only {
        let advice = if options.read_only {
            "no database here; a read-only open does not create one"
        } else {
            "no database here; set create_if_missing to create one"
        };
        return Err(Error::new(ErrorKind::NotFound, advice).path(dir.path()));
    }
    Ok(DirContents::Empty)
}

impl Recovered {
    pub(super) fn created(next_file: u64) -> Recovered {
        Recovered {
            version: Version::default(),
            ranges: Sections::default(),
            sealed: Vec::new(),
            last_seq: 0,
            next_file,
            next_run: 1,
            next_segment: 1,
            manifest: 0,
            value_dead: BTreeMap::new(),
            stored: Stored::default(),
            history: FoundHistory::default(),
            report: OpenReport {
                created: true,
                ..OpenReport::default()
            },
            listed: None,
            logs: BTreeSet::new(),
            made: Vec::new(),
        }
    }
}

impl Core {
    /// Opens the database at `path`.
    pub(crate) fn open(options: &Options, path: &Path) -> Result<Arc<Core>> {
        Self::open_here(options, path).map_err(|error| error.directory(path))
    }

    fn open_here(options: &Options, path: &Path) -> Result<Arc<Core>> {
        validate(options)?;
        if options.following.follow {
            return Self::open_follower(options, path);
        }
        #[cfg(feature = "leveldb")]
        crate::engine::upgrade::before_open(options, path)?;
        let mut tries = 0;
        loop {
            let copies = tries < COPYING_TRIES;
            let large = if copies {
                LargeValues::default()
            } else {
                LargeValues::in_place()
            };
            match Self::open_once(options, path, &large) {
                Err(error) if error.kind() == ErrorKind::NoSpace => {
                    // The copies made by recovery, which may have filled the disk, are removed
                    // again.
                    if !copies && (!large.freed() || tries > 2 * COPYING_TRIES) {
                        return Err(error);
                    }
                    let again = !copies || large.may_try_again();
                    tries = if again { tries + 1 } else { COPYING_TRIES };
                }
                opened => return opened,
            }
        }
    }

    fn open_once(options: &Options, path: &Path, large: &LargeValues) -> Result<Arc<Core>> {
        let env = options.environment();
        let dir = directory(&*env, path, options)?;
        let lock = if options.read_only {
            dir.lock_shared(name::LOCK)?
        } else {
            Some(dir.lock(name::LOCK)?)
        };
        let budget = Budget::new(options.memory_budget);
        let cache: Arc<dyn PageCache> = Arc::new(ClockCache::new(budget.cache));
        let reaper = Arc::new(Reaper::default());
        let keyspaces = Arc::new(Keyspaces::new(options));
        let contexts = contexts(options, path, &keyspaces);
        let orders = Sections::from_fn(|section| contexts[section].order.clone());
        let opener = opener(options, &env, &dir, &cache, &reaper, orders);
        let settings = settings(options, budget, &opener);
        // Frees disk space for the next attempt while the directory is locked.
        let freed_if_full = |error: Error, dir: &dyn Dir| {
            let full = error.kind() == ErrorKind::NoSpace && !options.read_only;
            if full && remove_unused_logs(dir).unwrap_or(false) {
                large.note_freed();
            }
            error
        };
        // Checked again under the lock: another process may have created the database in the
        // meantime.
        let mut recovered = match look(&*dir, options)? {
            // Not 1: an interrupted creation may have left files, and a number is never used twice.
            DirContents::Empty => Recovered::created(unused_file(&dir.list()?, 1)),
            DirContents::Database(number) => {
                let recovery = Recovery {
                    opener: &opener,
                    settings: &settings,
                    contexts: &contexts,
                    keyspaces: &keyspaces,
                    mode: options.recovery,
                    large,
                    env: &*env,
                };
                let recovered = recovery.run(number);
                let named = |error| other_database(&*dir, error);
                recovered.map_err(|error| freed_if_full(named(error), &*dir))?
            }
        };
        recovered.begin_incarnation(&*env, options.read_only);
        let (listed, logs) = (recovered.listed.take(), std::mem::take(&mut recovered.logs));
        let core = Arc::new(Core::new(Opened {
            env,
            dir: Arc::clone(&dir),
            lock,
            contexts,
            keyspaces,
            settings,
            opener,
            recovered,
        }));
        let ready = core.after_open(listed, &logs);
        ready.map_err(|error| freed_if_full(error, &*dir))?;
        Ok(core)
    }

    /// Makes the result of recovery durable, and removes the files that it replaced.
    fn after_open(&self, listed: Option<Vec<String>>, logs: &BTreeSet<u64>) -> Result<()> {
        self.base.versions.note_first_view();
        let listed = listed.map_or_else(|| self.base.dir.list(), Ok)?;
        let (version, manifest) = {
            let state = self.base.versions.lock();
            (Arc::clone(&state.version), state.durable.manifest)
        };
        self.disk
            .log
            .leftovers()
            .note(unlisted_files(listed, &version, manifest, logs));
        if self.base.settings.read_only {
            return Ok(());
        }
        self.scheduler.start_when_reads_paid();
        // After a clean close, nothing is written or removed before the first write or compaction.
        if !self.disk.log.report().clean || self.disk.log.report().created {
            let mut commit = self.disk.log.lock();
            self.disk.log.ensure_manifest(&mut commit)?;
            drop(commit);
            self.base.sweeper.reap();
        }
        // Last, because threads keep the engine and its lock alive.
        if self
            .space
            .value_gc()
            .space_wanted(&self.base.versions.lock())
        {
            // The previous close had no time to free this space. If no thread can be started, the
            // space stays until the first write.
            let _ = self.scheduler.start_threads();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
