//! `Intervals`: when the log is synced for readers of changes, and the time is logged.
//!
//! A write begins an interval, and the syncer ends it. Between two intervals, and without a reader,
//! nothing is done.

use std::time::Duration;

use cairndb_base::Result;

use crate::durable::disk::Disk;
use crate::durable::outside::Outside;
use crate::log::commit::Commit;
use crate::log::payload::Payload;

pub(crate) struct Intervals<'d> {
    pub(crate) disk: &'d Disk,
}

impl Intervals<'_> {
    /// Logs the time before `next`, and begins the interval after which everything logged is synced
    /// and the time is logged again.
    ///
    /// # Errors
    /// Errors of the log.
    pub(crate) fn log_mark(&self, commit: &mut Commit, next: &Payload<'_>) -> Result<()> {
        commit.mark_due = false;
        if !self.disk.log.history.is_wanted() {
            return Ok(());
        }
        if commit.log_mark(self.disk.base.env.wall_ms(), next)? {
            self.begin();
        } else {
            commit.ask_for_mark();
        }
        Ok(())
    }

    /// Has what was written since the last interval delivered after this one.
    pub(crate) fn begin(&self) {
        if self.disk.log.history.is_wanted() {
            self.disk
                .log
                .history
                .begin_interval(self.disk.base.env.now_ns());
            // The syncer does not miss this between its look and its wait.
            drop(self.disk.base.versions.lock());
            self.disk.base.versions.notify_work();
        }
    }

    /// Does what is due: looks what readers in other processes need and ask for, and ends an
    /// interval that is over.
    pub(crate) fn tick(&self) {
        Outside { disk: self.disk }.tend();
        self.end();
    }

    /// Returns the time until the next [`Intervals::tick`]. A caller that makes it shorter then
    /// takes the state lock and wakes the syncer.
    pub(crate) fn until_tick(&self) -> Option<Duration> {
        let now_ns = self.disk.base.env.now_ns();
        let outside = self.disk.base.sweeper.followers.are_informed();
        let outside = outside.then(|| self.disk.log.history.until_look(now_ns));
        let left = self.disk.log.history.interval_left(now_ns).into_iter();
        left.chain(outside).min().map(Duration::from_nanos)
    }

    /// Ends the interval if it is over: syncs what was logged, if it is being read, and lets the
    /// next write log the time.
    fn end(&self) {
        let history = &self.disk.log.history;
        let now_ns = self.disk.base.env.now_ns();
        if !history.end_interval(now_ns) {
            return;
        }
        // Before the sync: a write that it does not cover begins another interval.
        self.disk.log.lock().ask_for_mark();
        match history.is_sync_due(now_ns) {
            None => {}
            // A failure poisons the handle, which readers of changes report.
            Some(true) => drop(self.disk.sync_written()),
            // What was written must be synced, although nothing else may be.
            Some(false) => history.begin_interval(now_ns),
        }
    }
}
