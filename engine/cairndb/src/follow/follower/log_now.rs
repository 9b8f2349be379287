//! What a feed of changes through a follower needs: what is kept of the log now, a slot that holds
//! it, and leases, which the writer records.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result, SeqNo, watch};
use cairndb_format::manifest::{ManifestReader, SegmentRecord, read_current};
use cairndb_format::name;
use cairndb_shared::{Answer, Asked, LogPosition, Request, Shared, SharedLog, Slot};

use super::{Follower, TRIES};
use crate::log::history::{History, fell_off};
use crate::recovery::folded::Folded;
use crate::state::lineage::Lineage;
use crate::versions::base::nanos;

/// How long a lease is waited for: the writer looks for requests every second.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a writer may take to look for requests the first time.
const BEGUN: Duration = Duration::from_secs(2);
/// Time between two looks for an answer.
const PAUSE: Duration = Duration::from_millis(2);

/// What a manifest states of the log.
#[derive(Debug)]
pub(crate) struct LogState {
    /// Session of the writer that has announced it; 0 if none has.
    pub(crate) session: u64,
    pub(crate) generation: u64,
    /// The segments that are not in tables, if a writer has announced them.
    pub(crate) live: BTreeMap<u64, SegmentRecord>,
    pub(crate) history: History,
    pub(crate) lineage: Lineage,
    /// Sequence number up to which everything is in tables.
    pub(crate) in_tables: SeqNo,
}

impl LogState {
    fn new(folded: &Folded, session: u64, generation: u64) -> LogState {
        let found = folded.log.found();
        // Without a writer, the live log is not delivered, not even what is also in tables.
        let live = folded.log.live.values().map(|record| record.start_seq - 1);
        let live = live.min().filter(|_| session == 0);
        let in_tables = folded.last_seq.min(live.unwrap_or(SeqNo::MAX));
        LogState {
            session,
            generation,
            live: match session {
                0 => BTreeMap::new(),
                _ => folded.log.live.clone(),
            },
            history: match session {
                0 => found.into_history(folded.last_seq),
                _ => found.into_live_history(folded.last_seq),
            },
            lineage: folded.stored.lineage.clone(),
            in_tables,
        }
    }
}

/// A state, and how far the writer has come since.
#[derive(Debug)]
pub(crate) struct LogNow {
    pub(crate) state: Arc<LogState>,
    pub(crate) position: LogPosition,
    /// Sequence number up to which everything is in tables or was read from the log, as far as it
    /// is delivered.
    read: SeqNo,
    /// Sequence number up to which the follower has read.
    last: SeqNo,
}

impl LogNow {
    /// Returns the last sequence number of the database.
    pub(crate) fn last(&self) -> SeqNo {
        self.last.max(self.published())
    }

    /// Returns the last sequence number that readers see. An event that follows has no record.
    pub(crate) fn published(&self) -> SeqNo {
        let event = |seq: &SeqNo| self.state.history.event_after(*seq);
        let next = |seq: &SeqNo| event(seq).map(|it| it.seq).filter(|it| *it == seq + 1);
        std::iter::successors(Some(self.read), next)
            .last()
            .unwrap_or(self.read)
    }
}

/// The log of a database that another process writes.
#[derive(Clone, Copy)]
pub(crate) struct FollowerLog<'f> {
    follower: &'f Follower,
}

impl Follower {
    /// Returns what a feed of changes needs.
    pub(crate) fn log(&self) -> FollowerLog<'_> {
        FollowerLog { follower: self }
    }
}

impl FollowerLog<'_> {
    /// Returns the state of the log now; `known` is an earlier one.
    ///
    /// # Errors
    /// Those of [`Follower::refresh`].
    pub(crate) fn now(self, known: Option<&Arc<LogState>>) -> Result<LogNow> {
        let mut tried = 0;
        let tail = loop {
            self.follower.refresh()?;
            let tail = self.follower.tail.lock();
            // Another thread may have failed to follow what is announced.
            let failed = tail.manifest.is_none()
                && tail.session != 0
                && self.follower.shared.announced().is_some();
            if !failed || tried == TRIES {
                break tail;
            }
            tried += 1;
        };
        let last = self.follower.base.versions.published();
        let is_known = |known: &&Arc<LogState>, session, generation| {
            known.session == session && known.generation == generation
        };
        if let Some(manifest) = &tail.manifest {
            let (session, generation) = (tail.session, tail.generation);
            let known = known.filter(|known| is_known(known, session, generation));
            let state = known.map_or_else(
                || Arc::new(LogState::new(&manifest.folded, session, generation)),
                Arc::clone,
            );
            let position = self
                .follower
                .seen_position
                .load(std::sync::atomic::Ordering::Acquire);
            return Ok(LogNow {
                state,
                position: LogPosition::of_word(position),
                read: last,
                last,
            });
        }
        let generation = self.follower.shared.generation();
        let known = known.filter(|known| is_known(known, 0, generation));
        let state = match known {
            Some(known) => Arc::clone(known),
            None => Arc::new(LogState::new(&self.folded_now()?, 0, generation)),
        };
        Ok(LogNow {
            position: LogPosition::default(),
            read: state.in_tables,
            last,
            state,
        })
    }

    /// Reads the manifest of a database that nobody writes.
    pub(super) fn folded_now(self) -> Result<Folded> {
        let dir = &*self.follower.base.dir;
        let mut tried = 0;
        loop {
            let read = || {
                let missing = || Error::new(ErrorKind::NotFound, "the database was removed");
                let number = read_current(dir)?.ok_or_else(missing)?;
                let mut reader = ManifestReader::open(dir, number)?;
                let mut folded = Folded::default();
                while let Some(edit) = reader.advance()? {
                    folded.apply(edit)?;
                }
                Ok(folded)
            };
            match read() {
                // A writer is replacing it.
                Err(_) if tried < TRIES && self.follower.shared.has_writer()? => tried += 1,
                read => return read,
            }
            self.pause(PAUSE);
        }
    }

    /// Returns the sequence number after which everything that was logged can be read. A slot that
    /// held the log before the call keeps it.
    pub(crate) fn floor(self, state: &LogState) -> SeqNo {
        match state.session {
            0 => state.history.floor(),
            _ => SharedLog::of(&self.follower.shared).floor(),
        }
    }

    /// Returns the sequence number up to which everything is durable.
    pub(crate) fn durable(self, state: &LogState) -> SeqNo {
        match state.session {
            0 => state.in_tables,
            _ => SharedLog::of(&self.follower.shared).durable(),
        }
    }

    /// Takes a separate slot for a consumer of changes.
    ///
    /// # Errors
    /// `Locked` if every slot is taken; those of [`Shared::open`].
    pub(crate) fn take_slot(self) -> Result<Option<Arc<Slot>>> {
        self.follower.check_file()?;
        // Opened again, because locks are those of the open file: the follower's own slot would be
        // taken twice.
        Slot::take(&Shared::open(&*self.follower.base.dir, name::SHARED)?)
    }

    /// Waits.
    pub(crate) fn pause(self, limit: Duration) {
        if !self.follower.base.stepped() {
            let mut paused = self.follower.paused.lock();
            self.follower.pauses.wait_for(&mut paused, limit);
        }
    }

    /// Asks the writer for something, and waits for the answer.
    ///
    /// # Errors
    /// `Locked` if no process writes the database, or it does not answer; `Revoked` if the log is
    /// no longer kept from there on; `NotFound` if there is no such lease; `Io` if the writer
    /// could not record it; `Interrupted`.
    pub(crate) fn ask(self, request: &Request) -> Result<()> {
        self.follower.base.origin.check()?;
        let _turn = self.follower.asking.lock();
        let now_ns = self.follower.base.env.now_ns();
        let end = now_ns.saturating_add(nanos(ANSWER));
        // The threads of a writer begin with its first write.
        let begun = now_ns.saturating_add(nanos(BEGUN));
        let mut asked = None;
        loop {
            if asked.is_none() {
                asked = SharedLog::of(&self.follower.shared).ask(request)?;
            }
            match asked.as_ref().and_then(Asked::answer) {
                None => {}
                Some(Answer::Done) => return Ok(()),
                Some(Answer::FellOff) => return Err(fell_off()),
                Some(Answer::Unknown) => {
                    return Err(Error::new(ErrorKind::NotFound, "there is no such lease"));
                }
                Some(Answer::Failed) => {
                    let message = "the process that writes could not record the lease";
                    return Err(Error::new(ErrorKind::Io, message));
                }
            }
            watch::check()?;
            if !self.follower.has_writer()? {
                let message = "a lease is recorded by the process that writes, and there is none; \
                               open the database for writing";
                return Err(Error::new(ErrorKind::Locked, message));
            }
            let shared = &self.follower.shared;
            let served = shared.has_writer()? && SharedLog::of(shared).is_served();
            if !served && self.follower.base.is_over(Some(begun)) {
                let message = "another process has the database open and has not written to it, so \
                               it records no leases; close it there";
                return Err(Error::new(ErrorKind::Locked, message));
            }
            if self.follower.base.is_over(Some(end)) || self.follower.base.stepped() {
                let message = "the process that writes has not recorded the lease yet; try again";
                return Err(Error::new(ErrorKind::Locked, message));
            }
            self.pause(PAUSE);
        }
    }

    /// Leaves an acknowledgement to the writer, if there is one. Another request is waited for, but
    /// not for long.
    pub(crate) fn leave(self, request: &Request) {
        if self.follower.base.origin.check().is_err() {
            // A thread of the parent may have held the lock at the fork.
            return;
        }
        let _turn = self.follower.asking.lock();
        let end = self.follower.base.env.now_ns().saturating_add(nanos(BEGUN));
        while self.follower.has_writer().unwrap_or(false) {
            match SharedLog::of(&self.follower.shared).ask(request) {
                Ok(Some(asked)) => return asked.leave(),
                Ok(None) if !self.follower.base.is_over(Some(end)) => self.pause(PAUSE),
                _ => return,
            }
            if self.follower.base.stepped() {
                return;
            }
        }
    }

    /// Drops a lease. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`FollowerLog::ask`].
    pub(crate) fn drop_lease(self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        match self.ask(&Request::Drop { name }) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            dropped => dropped.map(|()| true),
        }
    }
}
