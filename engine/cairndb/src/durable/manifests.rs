//! `Manifests`: the manifest to which edits are appended, and its replacement with a new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_base::{FileNumber, Result};
use cairndb_env::sync::{Mutex, MutexGuard};
use cairndb_files::{create_unused, is_taken};
use cairndb_format::manifest::{ManifestWriter, VersionEdit, prepare_current};
use cairndb_format::name;

use crate::log::manifest::Manifest;
use crate::state::version::Version;
use crate::versions::base::Base;

pub(crate) struct Manifests {
    base: Arc<Base>,
    manifest: Manifest,
    /// Number of the open manifest.
    number: AtomicU64,
    /// Whether the manifest names a log or value file whose directory entry may not be durable yet.
    names_dirty: AtomicBool,
    /// Held from claiming unsynced values, names and edits until they are synced. A thread that
    /// finds nothing to claim must not acknowledge its write before the claiming thread is done.
    sync_turn: Mutex<()>,
}

impl Manifests {
    pub(crate) fn new(base: &Arc<Base>) -> Manifests {
        Manifests {
            base: Arc::clone(base),
            manifest: Manifest::default(),
            number: AtomicU64::new(0),
            names_dirty: AtomicBool::new(false),
            sync_turn: Mutex::new(()),
        }
    }

    /// Returns whether this handle has started a manifest.
    pub(crate) fn is_open(&self) -> bool {
        self.manifest.is_open()
    }

    /// Returns whether a new manifest must be started before the next edit.
    pub(crate) fn is_broken(&self) -> bool {
        self.manifest.is_broken()
    }

    /// Returns whether a new manifest would be much shorter.
    pub(crate) fn is_long(&self) -> bool {
        self.manifest.is_long()
    }

    /// Returns the length of the open manifest in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.manifest.bytes()
    }

    /// Stops appending to the open manifest.
    pub(crate) fn give_up(&self) {
        self.manifest.give_up();
    }

    /// Appends `edit`. Once this returns, the edit survives the death of the process.
    ///
    /// # Errors
    /// Errors of the file, after which the manifest is broken.
    pub(crate) fn append(&self, edit: &VersionEdit) -> Result<()> {
        let end = self.manifest.append(edit, &self.base.stats)?;
        // Relaxed: replaced under the commit lock, while no edit is appended.
        let number = self.number.load(Ordering::Relaxed);
        self.base.sweeper.followers.announce(number, end);
        Ok(())
    }

    /// Like [`Manifests::append`], but for an edit that names a file whose directory entry may not
    /// be durable.
    pub(crate) fn append_naming(&self, edit: &VersionEdit) -> Result<()> {
        self.names_dirty.store(true, Ordering::Release);
        let appended = self.append(edit);
        // Set again: a sync pass may have claimed the names before the edit was appended.
        self.names_dirty.store(true, Ordering::Release);
        appended
    }

    /// Claims the names that are not durable and returns whether there are any. The caller holds
    /// the sync turn and syncs the directory.
    pub(crate) fn take_names(&self) -> bool {
        self.names_dirty.swap(false, Ordering::AcqRel)
    }

    /// Gives back a claim of names, if the manifest was not synced.
    pub(crate) fn give_back_names(&self) {
        self.names_dirty.store(true, Ordering::Release);
    }

    /// Makes every appended edit durable.
    ///
    /// # Errors
    /// Errors of the sync, after which the caller poisons the handle.
    pub(crate) fn sync(&self) -> Result<()> {
        self.manifest.sync(&self.base.stats)
    }

    /// Returns the edit that builds the durable version from an empty one, without a log.
    pub(crate) fn durable_edit(&self) -> VersionEdit {
        self.durable_state().1
    }

    /// Returns the durable version, and the edit that builds it from an empty one.
    pub(crate) fn durable_state(&self) -> (Arc<Version>, VersionEdit) {
        let state = self.base.versions.lock();
        let version = Arc::clone(&state.durable.version);
        let dead = state.durable.dead.iter();
        let value_dead = dead.map(|(file, dead)| (*file, *dead)).collect();
        let edit = VersionEdit {
            value_dead,
            ..self.base.snapshot_edit(&version, state.durable.seq)
        };
        (version, edit)
    }

    /// Writes `edit`, which describes everything, into a new manifest and points CURRENT to it.
    /// Only this first edit may be divided into several: an appended edit must be present
    /// completely or not at all.
    pub(crate) fn begin_manifest(&self, edit: VersionEdit) -> Result<()> {
        let old = self.base.versions.lock().durable.manifest;
        let salt = self.base.env.random_u64();
        let base = edit.divided(self.base.settings.budget.edit);
        let mut begun_number = 0;
        let begun = create_unused(
            || {
                begun_number = self.base.new_file();
                begun_number
            },
            |number| {
                let writer = ManifestWriter::create(&*self.base.dir, number, salt, &base)?;
                let prepared = prepare_current(&*self.base.dir, number);
                if prepared.as_ref().is_err_and(is_taken) {
                    // Both names must be free.
                    self.base.sweeper.reaper().add(name::manifest(number));
                }
                prepared.map(|()| writer)
            },
        );
        let (number, writer) = match begun {
            Ok(begun) => begun,
            Err(error) if is_taken(&error) => return Err(error),
            Err(error) => {
                // CURRENT is unchanged and nothing needs these two files. However, no durable
                // record states that the number is taken, so the manifest stays as a mark for the
                // next open until a later attempt succeeds or leaves another.
                let number = FileNumber(begun_number);
                self.base.sweeper.reaper().add(name::temp(number));
                // An attempt that could not create its manifest leaves no mark, so the earlier one
                // is still needed.
                if matches!(self.base.dir.size_of(&name::manifest(number)), Ok(Some(_))) {
                    self.forget_failed_manifest(begun_number);
                }
                return Err(error);
            }
        };
        assert!(old < number.0, "CURRENT moves on to a newer manifest");
        self.forget_failed_manifest(0);
        let poison = |error| self.base.poison(error);
        self.base.dir.sync().map_err(poison)?;
        // Some file systems rename the file although they report a failure. Both manifests are
        // kept, and nothing that the new one lacks is appended to the old one.
        self.base
            .dir
            .rename(&name::temp(number), name::CURRENT)
            .inspect_err(|_| self.manifest.give_up())?;
        self.base.dir.sync().map_err(poison)?;
        self.replace(number, writer);
        let mut state = self.base.versions.lock();
        state.durable.manifest = number.0;
        drop(state);
        if old != 0 {
            self.base
                .sweeper
                .reaper()
                .add(name::manifest(FileNumber(old)));
        }
        Ok(())
    }

    /// Appends to `writer` from now on.
    fn replace(&self, number: FileNumber, writer: ManifestWriter) {
        let end = writer.bytes();
        self.manifest.replace(writer);
        self.number.store(number.0, Ordering::Relaxed);
        self.base.sweeper.followers.announce(number.0, end);
    }

    /// Removes the manifest left by an earlier attempt. `next` is the number of the one that this
    /// attempt leaves, or 0.
    fn forget_failed_manifest(&self, next: u64) {
        let earlier =
            std::mem::replace(&mut self.base.versions.lock().durable.failed_manifest, next);
        if earlier != 0 {
            self.base
                .sweeper
                .reaper()
                .add(name::manifest(FileNumber(earlier)));
        }
    }

    /// Takes the turn to claim and sync unsynced data. A thread whose sync fails poisons the handle
    /// before it releases the turn: the next thread finds nothing to claim and must not treat lost
    /// data as durable.
    ///
    /// # Errors
    /// `Poisoned`, `Closed`.
    pub(crate) fn take_sync_turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.sync_turn.lock();
        self.base.health.check_write()?;
        Ok(turn)
    }
}
