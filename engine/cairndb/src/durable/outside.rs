//! `Outside`: tends to the readers of changes in other processes.
//!
//! Nothing wakes a writer for them. Its syncer looks at shared memory once a second, and a pass of
//! the persister before it decides what of the log is gone.

use cairndb_base::{ErrorKind, Result};
use cairndb_shared::{Answer, Request};

use crate::durable::disk::Disk;

pub(super) struct Outside<'d> {
    pub(super) disk: &'d Disk,
}

impl Outside<'_> {
    /// Looks what readers in other processes need and ask for, if that is due.
    pub(super) fn tend(&self) {
        let followers = &self.disk.base.sweeper.followers;
        let history = &self.disk.log.history;
        let now_ns = self.disk.base.env.now_ns();
        if history.until_look(now_ns) > 0 && !self.disk.base.stepped() {
            return;
        }
        history.look_again_after(now_ns);
        if !followers.are_informed() || self.disk.base.health.check_write().is_err() {
            return;
        }
        history.look_outside(followers);
        if history.is_wanted() && history.interval_left(now_ns).is_none() {
            self.disk.log.lock().ask_for_mark();
        }
        // Failures poison the handle, or are met again by the next pass.
        if history.is_sync_due(now_ns) == Some(true) {
            let _ = self.disk.sync_written();
        }
        let _ = self.disk.free_acknowledged();
        if let Some((ticket, request)) = followers.requested() {
            let served = self
                .serve(&request)
                .unwrap_or_else(|error| match error.kind() {
                    ErrorKind::Revoked => Answer::FellOff,
                    _ => Answer::Failed,
                });
            followers.answer(ticket, served);
        }
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
            Request::Acknowledge { name, seq } => {
                let lease = self.disk.log.history.lease(name);
                // What was delivered before it was durable must not be taken back now.
                self.disk.sync_written()?;
                let durable = self.disk.durable_seq(&self.disk.log.lock());
                if let Some(lease) = lease.filter(|_| *seq <= durable) {
                    lease.advance(*seq);
                    self.disk.note_leases()?;
                }
                Ok(Answer::Done)
            }
            Request::Lease {
                name,
                after,
                bytes_max,
            } => {
                // The lease begins after everything that is written now.
                self.disk.sync_written()?;
                let mut commit = self.disk.log.lock();
                let last = self.disk.durable_seq(&commit);
                if after.is_some_and(|after| after > last) {
                    return Ok(Answer::Failed);
                }
                self.disk
                    .hold(&mut commit, Some(name), (*after, last), *bytes_max)?;
                drop(commit);
                self.disk.note_leases().map(|()| Answer::Done)
            }
        }
    }
}
