//! Log syncs of [`Disk`], shared by concurrent writers.
//!
//! One writer runs a pass for everything appended so far. Writers that arrive in the meantime wait,
//! and one of them runs the next pass for all of them.

use cairndb_base::{Result, SeqNo};
use cairndb_env::sync::MutexGuard;

use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::state::stats::Stats;

impl Disk {
    /// Makes every logged write so far durable, as a `Sync` write does for earlier writes.
    pub(crate) fn sync_written(&self) -> Result<()> {
        self.base.check_writable()?;
        let commit = self.log.lock();
        let last = commit.last_seq;
        self.run_passes(commit, |commit| commit.synced.0 >= last)
    }

    /// Waits for the sync pass that covers `last`, or runs it.
    #[cold]
    pub(crate) fn wait_published<'a>(
        &'a self,
        commit: MutexGuard<'a, Commit>,
        last: SeqNo,
    ) -> Result<()> {
        self.run_passes(commit, |_| self.base.versions.published() >= last)
    }

    /// Waits for sync passes, or runs them, until `enough` returns true.
    fn run_passes<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        enough: impl Fn(&Commit) -> bool,
    ) -> Result<()> {
        while !enough(&commit) {
            self.base.health.check_write()?;
            if commit.syncing {
                self.log.wait(&mut commit);
                continue;
            }
            self.base.origin.check()?;
            assert!(
                commit.synced.0 <= commit.last_seq,
                "only what was written is synced"
            );
            commit.syncing = true;
            let (target, position) = (commit.last_seq, commit.position);
            drop(commit);
            let result = self.sync_pass();
            commit = self.log.lock();
            assert!(
                commit.syncing && commit.last_seq >= target,
                "one pass runs at a time"
            );
            commit.syncing = false;
            let result = result.map_err(|error| self.base.poison(error));
            // A comparator may have panicked in the meantime; the memtable may then hold half of a
            // batch.
            if result.is_ok() && !self.base.health.is_poisoned() {
                commit.note_synced(target, position);
                self.base.sweeper.followers.announce_durable(target);
                let (publishable, position) = commit.publishable();
                assert!(
                    commit
                        .awaiting_sync
                        .front()
                        .is_none_or(|seq| publishable < *seq),
                    "a write that waits for its sync is not published"
                );
                if self.base.versions.publish_up_to(publishable) {
                    self.base.sweeper.followers.publish(position);
                }
                if std::mem::take(&mut commit.look_again) {
                    self.base.versions.wake_idle_worker();
                }
            }
            self.log.notify();
            result?;
        }
        Ok(())
    }

    /// Makes everything appended before the call durable: value files, then names, then segments.
    pub(crate) fn sync_pass(&self) -> Result<()> {
        let plan = {
            let _turn = self.log.manifests.take_sync_turn()?;
            // Planned first: a record in the plan has its value in a file that is synced next. If
            // the segments were planned later, a record appended in between would be durable
            // without its value.
            let plan = self.log.segments().plan_sync();
            // Within the turn: no other thread may treat claimed but lost data as clean.
            let poison = |error| self.base.poison(error);
            let files = self.value_files.values().sync().map_err(poison)?;
            Stats::add(&self.base.stats.file_syncs, files);
            if self.log.manifests.take_names() || plan.name_first {
                self.base.dir.sync().map_err(poison)?;
                self.log.manifests.sync().map_err(poison)?;
                plan.mark_named();
            }
            plan
        };
        let segments = plan.sync_segments()?;
        Stats::add(&self.base.stats.log_syncs, segments);
        Ok(())
    }
}
