//! Keeping the directory in order: beginning a new manifest, adopting spare log files, unlinking
//! what is obsolete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_base::{FileNumber, Result};
use cairndb_env::sync::{Mutex, MutexGuard};
use cairndb_format::manifest::{ManifestWriter, VersionEdit, prepare_current};
use cairndb_format::name;

use crate::durable::sweeper::Sweeper;
use crate::log::manifest::Manifest;
use crate::state::new_files::{create_unused, is_taken};
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;

/// The manifest that edits are appended to, and its replacement by a new one.
pub(crate) struct Manifests {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    manifest: Manifest,
    /// The manifest mentions a log or value file whose own name may not be durable yet.
    names_dirty: AtomicBool,
    /// Held from claiming dirty values, names and edits until their syncs are done: whoever finds
    /// nothing to claim must not acknowledge before the one who claimed it has finished.
    sync_turn: Mutex<()>,
}

impl Manifests {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
    ) -> Manifests {
        Manifests {
            shared,
            versions,
            sweeper,
            manifest: Manifest::default(),
            names_dirty: AtomicBool::new(false),
            sync_turn: Mutex::new(()),
        }
    }

    /// Whether this handle has begun a manifest.
    pub(crate) fn is_open(&self) -> bool {
        self.manifest.is_open()
    }

    /// Whether another manifest has to be begun before the next edit.
    pub(crate) fn is_broken(&self) -> bool {
        self.manifest.is_broken()
    }

    /// Whether another manifest would be a good deal shorter.
    pub(crate) fn is_long(&self) -> bool {
        self.manifest.is_long()
    }

    /// Bytes of the open manifest.
    pub(crate) fn bytes(&self) -> u64 {
        self.manifest.bytes()
    }

    /// Has nothing more appended to the open manifest.
    pub(crate) fn give_up(&self) {
        self.manifest.give_up();
    }

    /// Appends `edit`; the operating system has it when this returns.
    ///
    /// # Errors
    /// Of the file; the manifest is broken then.
    pub(crate) fn append(&self, edit: &VersionEdit) -> Result<()> {
        self.manifest.append(edit, &self.shared.stats)
    }

    /// As [`Manifests::append`], of an edit that names a file whose own name may not be durable.
    pub(crate) fn append_naming(&self, edit: &VersionEdit) -> Result<()> {
        self.names_dirty.store(true, Ordering::Release);
        let appended = self.append(edit);
        // Again: a sync pass may have taken the mark before the edit was there.
        self.names_dirty.store(true, Ordering::Release);
        appended
    }

    /// Claims the names that are not durable, for a sync of the directory; whether there are any.
    /// With the sync turn.
    pub(crate) fn take_names(&self) -> bool {
        self.names_dirty.swap(false, Ordering::AcqRel)
    }

    /// Gives a claim of names back that was not followed by a sync of the manifest.
    pub(crate) fn give_back_names(&self) {
        self.names_dirty.store(true, Ordering::Release);
    }

    /// Makes every appended edit durable.
    ///
    /// # Errors
    /// Of the sync, which the caller poisons the handle for.
    pub(crate) fn sync(&self) -> Result<()> {
        self.manifest.sync(&self.shared.stats)
    }

    /// The edit that makes the durable version from nothing, without a log.
    pub(crate) fn durable_edit(&self) -> VersionEdit {
        let state = self.versions.lock();
        let dead = state.durable_dead.iter();
        let value_dead = dead.map(|(file, dead)| (*file, *dead)).collect();
        VersionEdit {
            value_dead,
            ..self.shared.snapshot_edit(&state.durable, state.durable_seq)
        }
    }

    /// Writes `edit`, which says everything, into a new manifest and points CURRENT to it. Only a base
    /// can be several edits: one that is appended must be there or not.
    pub(crate) fn begin_manifest(&self, edit: VersionEdit) -> Result<()> {
        let old = self.versions.lock().manifest;
        let salt = self.shared.env.random_u64();
        let base = edit.divided(self.shared.settings.budget.edit);
        let mut begun_number = 0;
        let begun = create_unused(
            || {
                begun_number = self.shared.new_file();
                begun_number
            },
            |number| {
                let writer = ManifestWriter::create(&*self.shared.dir, number, salt, &base)?;
                let prepared = prepare_current(&*self.shared.dir, number);
                if prepared.as_ref().is_err_and(is_taken) {
                    // Another number is taken for both.
                    self.sweeper.reaper().add(name::manifest(number));
                }
                prepared.map(|()| writer)
            },
        );
        let (number, writer) = match begun {
            Ok(begun) => begun,
            Err(error) if is_taken(&error) => return Err(error),
            Err(error) => {
                // CURRENT is as it was, and nothing will ever need these two. But no durable record
                // says that the number is taken: its file stays as a sign for the next opening,
                // until a later attempt leaves another or succeeds.
                self.sweeper
                    .reaper()
                    .add(name::temp(FileNumber(begun_number)));
                self.forget_failed_manifest(begun_number);
                return Err(error);
            }
        };
        self.forget_failed_manifest(0);
        let poison = |error| self.versions.poison(error);
        self.shared.dir.sync().map_err(poison)?;
        // A failed rename may have been done on some file systems: both manifests stay, and nothing that the
        // new one does not know may be appended to the old one.
        self.shared
            .dir
            .rename(&name::temp(number), name::CURRENT)
            .inspect_err(|_| self.manifest.give_up())?;
        self.shared.dir.sync().map_err(poison)?;
        self.manifest.replace(writer);
        let mut state = self.versions.lock();
        state.manifest = number.0;
        drop(state);
        if old != 0 {
            self.sweeper.reaper().add(name::manifest(FileNumber(old)));
        }
        Ok(())
    }

    /// Lets go of the manifest that could not be begun before; `next` is one that could not be
    /// begun now, or 0.
    fn forget_failed_manifest(&self, next: u64) {
        let earlier = std::mem::replace(&mut self.versions.lock().failed_manifest, next);
        if earlier != 0 {
            self.sweeper
                .reaper()
                .add(name::manifest(FileNumber(earlier)));
        }
    }

    /// The turn to claim what waits for a sync and to sync it. Whoever claims and fails has poisoned the
    /// handle before he gives the turn up: whoever has it next finds nothing to claim, and must not take for
    /// durable what was lost.
    ///
    /// # Errors
    /// `Poisoned`, `Closed`.
    pub(crate) fn take_sync_turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.sync_turn.lock();
        self.shared.health.check_write()?;
        Ok(turn)
    }
}
