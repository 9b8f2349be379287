//! `KeyspaceManager`: creates, finds and drops keyspaces.
//!
//! Each change is one edit of the manifest, made durable before it takes effect. The commit lock is
//! held throughout, so a manifest that is started in the meantime has either the old or the new
//! set, and no write to a dropped keyspace follows the drop.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Env;
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::{KeyspaceEvent, KeyspaceRecord, VersionEdit};

use crate::durable::disk::Disk;
use crate::durable::intervals::Intervals;
use crate::log::commit::{Commit, closing};
use crate::state::keyspaces::{KeyspaceState, check_name};
use crate::state::options::KeyspaceOptions;
use crate::versions::base::Base;

#[cold]
fn no_such(name: &str) -> Error {
    let message = "there is no such keyspace; create it with `create_keyspace`";
    Error::new(ErrorKind::NotFound, message).found(format_args!("keyspace {name:?}"))
}

/// Returns the event for readers of changes, which takes a sequence number.
fn event(
    commit: &mut Commit,
    record: &KeyspaceRecord,
    created: bool,
    env: &dyn Env,
) -> Result<KeyspaceEvent> {
    let seq = commit.take_unlogged().ok_or_else(|| {
        let message = "too many writes in a row were not logged; flush first";
        Error::new(ErrorKind::NotSupported, message)
    })?;
    Ok(KeyspaceEvent {
        seq,
        number: record.number,
        created,
        time_ms: env.wall_ms(),
        name: record.name.clone(),
    })
}

pub(crate) struct KeyspaceManager<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
}

impl KeyspaceManager<'_> {
    /// Returns the keyspace `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for an impossible name, `NotFound`, `Closed`.
    pub(crate) fn open(&self, name: &str) -> Result<Arc<KeyspaceState>> {
        check_name(name)?;
        self.base.health.check_read()?;
        self.base.keyspaces.find(name).ok_or_else(|| no_such(name))
    }

    /// Creates the keyspace `name`.
    ///
    /// # Errors
    /// Those of `Db::create_keyspace`.
    pub(crate) fn create(
        &self,
        name: &str,
        options: &KeyspaceOptions,
    ) -> Result<Arc<KeyspaceState>> {
        check_name(name)?;
        let mut commit = self.lock()?;
        let record = self.base.keyspaces.record(name, options)?;
        let keyspace = self.base.keyspaces.prepare(record.clone())?;
        let event = event(&mut commit, &record, true, &*self.base.env)?;
        let edit = VersionEdit {
            created_keyspaces: vec![record],
            keyspace_events: vec![event.clone()],
            ..VersionEdit::default()
        };
        self.make_durable(&mut commit, &edit)?;
        self.add_event(event);
        self.base.keyspaces.add(Arc::clone(&keyspace));
        self.base.begin_keyspaces();
        Ok(keyspace)
    }

    /// Drops the keyspace `name`.
    ///
    /// # Errors
    /// Those of `Db::drop_keyspace`.
    pub(crate) fn drop(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let mut commit = self.lock()?;
        let found = self.base.keyspaces.find(name);
        let keyspace = found.ok_or_else(|| no_such(name))?;
        let event = event(&mut commit, &keyspace.record, false, &*self.base.env)?;
        let edit = VersionEdit {
            dropped_keyspaces: vec![keyspace.record.number],
            keyspace_events: vec![event.clone()],
            ..VersionEdit::default()
        };
        self.make_durable(&mut commit, &edit)?;
        self.add_event(event);
        let below = self.base.new_file();
        self.base.keyspaces.remove(&keyspace, below);
        drop(commit);
        self.base.versions.wake_idle_worker();
        Ok(())
    }

    fn lock(&self) -> Result<MutexGuard<'_, Commit>> {
        self.base.check_writable()?;
        let commit = self.disk.log.lock();
        self.base.check_writable()?;
        if commit.closing {
            return Err(closing());
        }
        Ok(commit)
    }

    /// Records an event for readers of changes, to whom no write may announce it.
    fn add_event(&self, event: KeyspaceEvent) {
        self.disk.log.history.add_event(event);
        Intervals { disk: self.disk }.begin();
    }

    /// Appends `edit` to the manifest and syncs it. After an error nothing has changed, unless the
    /// handle is poisoned: the next edit starts a manifest without this one.
    fn make_durable(&self, commit: &mut Commit, edit: &VersionEdit) -> Result<()> {
        self.base.origin.check()?;
        self.disk.log.ensure_manifest(commit)?;
        let _turn = self.disk.log.manifests.take_sync_turn()?;
        self.disk.append_durably(edit)
    }
}
