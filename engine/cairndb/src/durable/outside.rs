//! `Outside`: tends to the readers of changes in other processes.
//!
//! Nothing wakes a writer for them. Its syncer looks at shared memory once a second, and a pass of
//! the persister before it decides what of the log is gone.

use std::time::Duration;

use cairndb_base::{ErrorKind, Result};
use cairndb_shared::{Answer, Request};

use crate::durable::disk::Disk;
use crate::log::history::LOOK_INTERVAL_NS;

pub(super) struct Outside<'d> {
    pub(super) disk: &'d Disk,
}

impl Outside<'_> {
    /// Looks what readers in other processes need and ask for, if that is due. Returns when it will
    /// be due.
    pub(super) fn tend(&self) -> Option<Duration> {
        let followers = &self.disk.base.sweeper.followers;
        if !followers.are_informed() || self.disk.base.health.check_write().is_err() {
            return None;
        }
        let history = &self.disk.log.history;
        let left = history.until_look(self.disk.base.env.now_ns());
        if left > 0 && !self.disk.base.stepped() {
            return Some(Duration::from_nanos(left));
        }
        let before = history.is_wanted();
        history.look_outside(followers);
        if !before && history.is_wanted() {
            self.disk.log.lock().ask_for_mark();
        }
        // Failures poison the handle, or are met again by the next pass.
        if history.is_read() {
            let _ = self.disk.sync_written();
        }
        if history.frees() {
            let _ = self.disk.note_leases();
        }
        if let Some((ticket, request)) = followers.requested() {
            let served = self
                .serve(&request)
                .unwrap_or_else(|error| match error.kind() {
                    ErrorKind::Revoked => Answer::FellOff,
                    _ => Answer::Failed,
                });
            followers.answer(ticket, served);
        }
        Some(Duration::from_nanos(LOOK_INTERVAL_NS))
    }

    /// Does what a follower asks for.
    fn serve(&self, request: &Request) -> Result<Answer> {
        match request {
            Request::Drop { name } => {
                let dropped = self.disk.drop_lease(name)?;
                Ok(if dropped {
                    Answer::Done
                } else {
                    Answer::Unknown
                })
            }
            Request::Lease {
                name,
                after,
                bytes_max,
            } => {
                let mut commit = self.disk.log.lock();
                let last = self.disk.durable_seq(&commit);
                self.disk
                    .hold(&mut commit, Some(name), (*after, last), *bytes_max)?;
                drop(commit);
                self.disk.note_leases().map(|()| Answer::Done)
            }
        }
    }
}
