//! What a caller asks of a follower: to look now, to wait for a write, whether there is a writer.

use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result, SeqNo, watch};
use cairndb_env::{Dir, LockState};
use cairndb_format::name;

use super::{Follower, PAUSE_MIN};
use crate::versions::base::nanos;

/// Returns an error if the process that writes does not inform followers.
///
/// # Errors
/// `NotSupported`; those of [`Dir::lock_state`].
pub(crate) fn check_writer(dir: &dyn Dir) -> Result<()> {
    if dir.lock_state(name::LOCK)? == LockState::Silent {
        let message = "an older version of the store has the database open for writing, and does \
                       not inform followers; close it there";
        return Err(Error::new(ErrorKind::NotSupported, message).file(name::LOCK));
    }
    Ok(())
}

impl Follower {
    /// Like [`Follower::refresh`], and checks that the writer informs followers.
    ///
    /// # Errors
    /// `NotSupported` if it does not; those of [`Follower::refresh`].
    pub(crate) fn refresh_now(&self) -> Result<()> {
        check_writer(&*self.base.dir)?;
        self.check_file()?;
        self.refresh()
    }

    /// Waits until the state has everything up to `seq`, at most for `limit`. Returns whether it
    /// has.
    ///
    /// # Errors
    /// Those of [`Follower::refresh`]; `Interrupted`.
    pub(crate) fn wait_for(&self, seq: SeqNo, limit: Duration) -> Result<bool> {
        let end = self.base.env.now_ns().saturating_add(nanos(limit));
        let mut pause = PAUSE_MIN;
        loop {
            self.refresh()?;
            if self.base.versions.published() >= seq {
                return Ok(true);
            }
            watch::check()?;
            if self.base.is_over(Some(end)) || self.base.stepped() {
                return Ok(false);
            }
            check_writer(&*self.base.dir)?;
            self.check_file()?;
            self.pause(&mut pause);
        }
    }

    /// Returns whether a process has the database open for writing.
    ///
    /// # Errors
    /// `NotSupported` if it is of a version that does not inform followers; `Io`.
    pub(crate) fn has_writer(&self) -> Result<bool> {
        check_writer(&*self.base.dir)?;
        self.check_file()?;
        Ok(self.base.dir.lock_state(name::LOCK)? == LockState::Exclusive)
    }

    /// Checks that the writer still uses the shared memory that this process has mapped.
    ///
    /// # Errors
    /// `Closed` if it has replaced the file; `Io`.
    pub(super) fn check_file(&self) -> Result<()> {
        if self.shared.file().is_named()? {
            return Ok(());
        }
        let message = "the shared memory was replaced; open the follower again";
        Err(Error::new(ErrorKind::Closed, message).file(name::SHARED))
    }
}
