//! `FollowedLog`: the log that another process writes.
//!
//! A slot holds it, as the writer's own holders do, and leases are asked for. The writer also says
//! what is durable. Without a writer, everything up to what is in tables can be delivered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_format::name;
use cairndb_shared::{LogWish, Request, Slot, lease_key};

use crate::changes::feed::Wanted;
use crate::changes::log_reader::Readable;
use crate::changes::source::{Ready, Source};
use crate::follow::follower::{Follower, LogNow, LogState};
use crate::log::history::{History, fell_off};
use crate::log::segment_file::SegmentFile;
use crate::state::lineage::Lineage;
use crate::state::options::Durability;
use crate::versions::base::Base;

/// Number of attempts while the writer is changing what is kept.
const TRIES: u32 = 20;
/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) struct FollowedLog {
    base: Arc<Base>,
    follower: Arc<Follower>,
    /// `None` if this process may not write the shared memory: nothing is held then.
    slot: Option<Arc<Slot>>,
    lease: Option<String>,
    held: Mutex<SeqNo>,
    state: Arc<LogState>,
    /// Ends of segments after which another one begins, by number and salt.
    ends: Mutex<BTreeMap<(u64, u64), u64>>,
}

impl FollowedLog {
    /// Holds the log for a consumer. Asks the writer for a lease that does not exist.
    ///
    /// # Errors
    /// `Revoked` if changes after the place are gone, or writes before it were lost;
    /// `InvalidArgument` if the place is of another database; `Locked` if nobody records the lease;
    /// those of [`Follower::refresh`].
    pub(crate) fn open(
        base: &Arc<Base>,
        follower: &Arc<Follower>,
        wanted: &Wanted,
    ) -> Result<FollowedLog> {
        let now = follower.log().now(None)?;
        let mut log = FollowedLog {
            base: Arc::clone(base),
            follower: Arc::clone(follower),
            slot: follower.log().take_slot()?,
            lease: wanted.lease.clone(),
            held: Mutex::new(0),
            state: Arc::clone(&now.state),
            ends: Mutex::default(),
        };
        let mut tries = 0;
        while !log.begin(wanted)? {
            tries += 1;
            if tries == TRIES {
                return Err(fell_off());
            }
            follower.log().pause(PAUSE);
        }
        Ok(log)
    }

    /// Holds the log. Returns whether everything that is wanted is there.
    fn begin(&mut self, wanted: &Wanted) -> Result<bool> {
        let now = self.follower.log().now(Some(&self.state))?;
        self.state = Arc::clone(&now.state);
        let after = wanted.after_in(&self.state.lineage, now.last())?;
        if self.slot.is_none() && self.lease.is_some() {
            let message = "a lease is held in shared memory, which this process may not write; \
                           follow without one";
            return Err(Error::new(ErrorKind::ReadOnly, message).file(name::SHARED));
        }
        let held = match &self.lease {
            None => after.unwrap_or_else(|| now.published()),
            Some(name) => match self.state.history.lease(name) {
                Some(lease) if lease.has_fallen() => return Err(fell_off()),
                Some(lease) if after.is_some_and(|after| after < lease.seq()) => {
                    return Err(fell_off());
                }
                Some(lease) => lease.seq(),
                None => {
                    self.follower.log().ask(&Request::Lease {
                        name: name.clone(),
                        after,
                        bytes_max: wanted.bytes_max,
                    })?;
                    return Ok(false);
                }
            },
        };
        *self.held.lock() = held;
        if let Some(slot) = &self.slot {
            slot.hold_log(&LogWish {
                after: held,
                lease: self.lease.as_deref().map(lease_key),
                bytes_max: wanted.bytes_max,
                interval_us: match wanted.durability {
                    Durability::Sync => (wanted.interval_ns / 1000).max(1),
                    _ => 0,
                },
            });
        }
        Ok(self.follower.log().floor(&self.state) <= held)
    }

    /// Checks that another writer, which has announced `state`, holds what this consumer needs.
    fn check(&self, now: &LogNow, seq: SeqNo) -> Result<()> {
        let state = &now.state;
        let before = self.state.lineage.present();
        state.lineage.check(before, seq, now.last())?;
        let lease = self.lease.as_deref().map(|name| state.history.lease(name));
        let holds = match lease {
            Some(lease) => lease.is_some_and(|lease| !lease.has_fallen()),
            None => self.follower.log().floor(state) <= self.held(),
        };
        if holds { Ok(()) } else { Err(fell_off()) }
    }

    fn ready(&self, now: &LogNow) -> Ready {
        let published = now.published();
        Ready {
            published,
            durable: self.follower.log().durable(&now.state).min(published),
            in_tables: now.state.in_tables,
        }
    }

    /// Returns the segments that can be read, each with its end.
    fn ends(&self, now: &LogNow) -> Result<Readable> {
        let mut found = Readable::new();
        let mut ends = self.ends.lock();
        let live = &now.state.live;
        let last = live.keys().rfind(|number| now.position.is_in(**number));
        let Some(last) = last.copied() else {
            now.state.history.add_readable(&mut found);
            return Ok(found);
        };
        let mut records = live.range(..=last).peekable();
        while let Some((number, record)) = records.next() {
            let end = match records.peek() {
                None => now.position.offset(),
                Some((_, next)) => match ends.get(&(*number, record.salt)) {
                    Some(end) => *end,
                    // The next segment states where this one ends.
                    None => {
                        SegmentFile::open(&*self.base.dir, next)?
                            .header
                            .previous_end
                    }
                },
            };
            if *number < last {
                ends.insert((*number, record.salt), end);
            }
            found.insert(*number, (*record, end));
        }
        ends.retain(|(number, salt), _| live.get(number).is_some_and(|it| it.salt == *salt));
        now.state.history.add_readable(&mut found);
        Ok(found)
    }
}

impl Source for FollowedLog {
    fn base(&self) -> &Arc<Base> {
        &self.base
    }

    fn look(&mut self, seq: SeqNo) -> Result<Ready> {
        let now = self.follower.log().now(Some(&self.state))?;
        if self.state.session != now.state.session {
            self.check(&now, seq)?;
        }
        self.state = Arc::clone(&now.state);
        Ok(self.ready(&now))
    }

    fn readable(&self) -> Result<Readable> {
        let mut tries = 0;
        loop {
            let now = self.follower.log().now(Some(&self.state))?;
            match self.ends(&now) {
                // A segment was retired meanwhile.
                Err(_) if tries < TRIES && self.follower.generation() != now.state.generation => {
                    tries += 1;
                }
                found => return found,
            }
        }
    }

    fn history(&self) -> &History {
        &self.state.history
    }

    fn lineage(&self) -> &Lineage {
        &self.state.lineage
    }

    fn held(&self) -> SeqNo {
        *self.held.lock()
    }

    fn is_leased(&self) -> bool {
        self.lease.is_some()
    }

    fn advance(&self, seq: SeqNo, at_once: bool) -> Result<()> {
        let mut held = self.held.lock();
        *held = seq.max(*held);
        if let Some(slot) = &self.slot {
            slot.advance_log(seq);
        }
        drop(held);
        match &self.lease {
            Some(name) if at_once => self.follower.log().ask(&Request::Acknowledge {
                name: name.clone(),
                seq,
            }),
            _ => Ok(()),
        }
    }

    fn has_fallen(&self, seq: SeqNo) -> bool {
        match &self.slot {
            Some(slot) => slot.has_lost_log(),
            None => self.follower.log().floor(&self.state) > seq,
        }
    }

    fn durable(&self) -> SeqNo {
        self.follower.log().durable(&self.state)
    }

    fn wait(&self, seen: SeqNo, limit: Option<Duration>) -> Result<()> {
        if self.durable() <= seen {
            self.follower
                .log()
                .pause(limit.map_or(PAUSE, |limit| limit.min(PAUSE)));
        }
        Ok(())
    }

    fn step(&self, _seen: SeqNo) -> bool {
        false
    }
}

impl Drop for FollowedLog {
    fn drop(&mut self) {
        let Some(name) = self.lease.take() else {
            return;
        };
        let seq = self.held();
        let lease = self.state.history.lease(&name);
        if lease.is_some_and(|lease| lease.seq() < seq) {
            // The writer may not look at the slot before it is free.
            self.follower
                .log()
                .leave(&Request::Acknowledge { name, seq });
        }
    }
}
