//! `OwnLog`: the log that the feed's own handle writes.

use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Result, SeqNo};
use cairndb_format::log::HEADER_BYTES;

use crate::changes::feed::Wanted;
use crate::changes::log_reader::Readable;
use crate::changes::source::{Ready, Source};
use crate::durable::disk::Disk;
use crate::log::history::{History, Holder};
use crate::state::lineage::Lineage;
use crate::state::options::Durability;
use crate::versions::base::Base;

pub(crate) struct OwnLog {
    base: Arc<Base>,
    disk: Arc<Disk>,
    holder: Arc<Holder>,
}

impl OwnLog {
    /// Holds the log for a consumer.
    ///
    /// # Errors
    /// `Revoked` if changes after the place are gone, or writes before it were lost;
    /// `InvalidArgument` if the place is of another database; those of a sync.
    pub(crate) fn open(base: &Arc<Base>, disk: &Arc<Disk>, wanted: &Wanted) -> Result<OwnLog> {
        base.check_writable()?;
        // From here on the syncer makes durable what is written.
        disk.sync_written()?;
        let mut commit = disk.log.lock();
        let last = match wanted.durability {
            Durability::Sync => disk.durable_seq(&commit),
            _ => base.versions.published(),
        };
        let after = wanted.after_in(&base.stored.lineage, commit.last_seq)?;
        let name = wanted.lease.as_deref();
        let holder = disk.hold(&mut commit, name, (after, last), wanted.bytes_max)?;
        holder.read_each(wanted.interval_ns);
        drop(commit);
        let own = OwnLog {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            holder,
        };
        if own.is_leased() {
            disk.note_leases()?;
        }
        Ok(own)
    }
}

impl Source for OwnLog {
    fn base(&self) -> &Arc<Base> {
        &self.base
    }

    fn look(&mut self, _seq: SeqNo) -> Result<Ready> {
        // The lock is the writers': it is taken once for all that is ready.
        let durable = self.durable();
        Ok(Ready {
            published: self.base.versions.published(),
            durable,
            in_tables: self.base.versions.lock().durable.seq,
        })
    }

    fn readable(&self) -> Result<Readable> {
        let mut found = Readable::new();
        for segment in self.disk.log.segments().live() {
            // One without a record may still be abandoned.
            if segment.written() > HEADER_BYTES as u64 {
                found.insert(segment.number, (segment.record(), segment.written()));
            }
        }
        // Then those that were retired in the meantime, or are about to be, in their copies.
        self.history().add_readable(&mut found);
        Ok(found)
    }

    fn history(&self) -> &History {
        &self.disk.log.history
    }

    fn lineage(&self) -> &Lineage {
        &self.base.stored.lineage
    }

    fn held(&self) -> SeqNo {
        self.holder.seq()
    }

    fn is_leased(&self) -> bool {
        self.holder.name.is_some()
    }

    fn advance(&self, seq: SeqNo, at_once: bool) -> Result<()> {
        self.holder.advance(seq);
        match (self.is_leased(), at_once) {
            (false, _) => Ok(()),
            (true, true) => self.disk.note_leases(),
            (true, false) => self.disk.free_acknowledged(),
        }
    }

    fn has_fallen(&self, seq: SeqNo) -> bool {
        self.holder.has_fallen() || seq < self.history().floor()
    }

    fn durable(&self) -> SeqNo {
        self.disk.durable_seq(&self.disk.log.lock())
    }

    fn wait(&self, seen: SeqNo, limit: Option<Duration>) -> Result<()> {
        // After a failed sync, nothing becomes durable any more.
        self.base.health.check_write()?;
        let mut commit = self.disk.log.lock();
        if self.disk.durable_seq(&commit) > seen || commit.closing {
            return Ok(());
        }
        match limit {
            None => self.disk.log.wait(&mut commit),
            Some(limit) => self.disk.log.wait_for(&mut commit, limit),
        }
        Ok(())
    }

    fn step(&self, seen: SeqNo) -> bool {
        self.disk.sync_written().is_ok() && self.durable() > seen
    }
}

impl Drop for OwnLog {
    fn drop(&mut self) {
        self.holder.end_reading();
        if !self.is_leased() {
            self.history().let_go(&self.holder);
        }
    }
}
