//! `Feed`: the changes after a place, one after another.
//!
//! What is delivered is durable, unless the consumer asks otherwise: a record is delivered once
//! the log up to it was synced, or tables hold it durably. While a feed is open the syncer syncs
//! the log at the feed's interval, which a write begins.
//!
//! The sequence numbers of a feed have no holes: numbers that no record has belong to writes that
//! were not logged, or to events of keyspaces, which the manifest has.
//!
//! Threads: one consumer. The commit lock is taken to wait, as by writers that wait for a sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo, watch};
use cairndb_format::batch;
use cairndb_format::log::Record;

use crate::changes::change::{Change, ChangeKind, ChangedEntries, Place, time_of};
use crate::changes::log_reader::{LogReader, Readable};
use crate::durable::disk::Disk;
use crate::log::history::Holder;
use crate::read::value_ref::read_pointer_unmapped;
use crate::state::options::Durability;
use crate::state::sections::StoredKey;
use crate::state::version::Values;
use crate::versions::base::Base;
use crate::versions::version_set::WATCHED_WAIT;

/// Maximum length of the name of a lease.
const NAME_BYTES_MAX: usize = 255;

/// How long a consumer of changes that are not durable waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What a consumer wants.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// `None`: what the lease has not seen or, without a lease, everything from now on.
    pub(crate) after: Option<Place>,
    pub(crate) lease: Option<String>,
    pub(crate) bytes_max: u64,
    pub(crate) durability: Durability,
    pub(crate) interval_ns: u64,
}

pub(crate) struct Feed {
    base: Arc<Base>,
    disk: Arc<Disk>,
    holder: Arc<Holder>,
    durability: Durability,
    reader: LogReader,
    /// The last sequence number that was passed.
    seq: SeqNo,
    /// What can be delivered, and what of that is durable, when this was last looked up.
    ready: (SeqNo, SeqNo),
    time: Option<SystemTime>,
    /// Names of keyspaces by number.
    names: BTreeMap<u32, Arc<str>>,
}

#[cold]
fn fell_off() -> Error {
    let message = "the changes after this place are no longer kept; begin again with a snapshot";
    Error::new(ErrorKind::Revoked, message)
}

impl Wanted {
    /// Checks what a consumer wants.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.durability == Durability::None {
            let message = "unlogged writes cannot be delivered; ask for `Sync` or `Os`";
            return Err(Error::invalid(message));
        }
        let len = self.lease.as_ref().map(String::len);
        match len.filter(|len| !(1..=NAME_BYTES_MAX).contains(len)) {
            None => Ok(()),
            Some(len) => Err(Error::invalid("the name of a lease has 1 to 255 bytes").found(len)),
        }
    }
}

impl Feed {
    /// Opens a feed.
    ///
    /// # Errors
    /// `Revoked` if changes after the place are gone, or writes before it were lost;
    /// `InvalidArgument` if the place is of another database; those of a sync.
    pub(crate) fn open(base: &Arc<Base>, disk: &Arc<Disk>, wanted: Wanted) -> Result<Feed> {
        base.check_writable()?;
        // From here on the syncer makes durable what is written.
        disk.sync_written()?;
        let mut commit = disk.log.lock();
        let history = &disk.log.history;
        let last = match wanted.durability {
            Durability::Sync => disk.durable_seq(&commit),
            _ => base.versions.published(),
        };
        let after = wanted
            .after
            .map(|place| {
                base.stored
                    .lineage
                    .check(place.incarnation, place.seq, commit.last_seq)
                    .map(|()| place.seq)
            })
            .transpose()?;
        let known = wanted.lease.as_deref().and_then(|name| history.lease(name));
        let holder = match known {
            Some(lease) if lease.has_fallen() => return Err(fell_off()),
            Some(lease) if after.is_none_or(|after| after >= lease.seq()) => lease,
            Some(_) => return Err(fell_off()),
            None => {
                let holder = Holder::new(
                    wanted.lease.clone(),
                    after.unwrap_or(last),
                    wanted.bytes_max,
                );
                history.hold(holder).ok_or_else(fell_off)?
            }
        };
        holder.read_each(wanted.interval_ns);
        commit.ask_for_mark();
        drop(commit);
        let seq = after.unwrap_or(holder.seq());
        let feed = Feed {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            holder,
            durability: wanted.durability,
            reader: LogReader::default(),
            seq,
            ready: (seq, seq),
            time: None,
            names: BTreeMap::new(),
        };
        if wanted.lease.is_some() {
            disk.note_leases()?;
        }
        Ok(feed)
    }

    /// Continues after `seq`: a snapshot has everything before.
    ///
    /// # Errors
    /// Those of the manifest.
    pub(crate) fn skip_to(&mut self, seq: SeqNo) -> Result<()> {
        self.seq = self.seq.max(seq);
        self.holder.advance(self.seq);
        if self.holder.name.is_some() {
            self.disk.note_leases()?;
        }
        Ok(())
    }

    #[cfg(feature = "stream")]
    pub(crate) fn env(&self) -> Arc<dyn cairndb_env::Env> {
        Arc::clone(&self.base.env)
    }

    /// Returns the place after the last change.
    pub(crate) fn place(&self) -> Place {
        Place {
            incarnation: self.base.stored.lineage.present(),
            seq: self.seq,
        }
    }

    /// Records that the consumer needs nothing up to `place`.
    ///
    /// # Errors
    /// As [`Feed::open`], for the place; those of the manifest.
    pub(crate) fn acknowledge(&self, place: Place) -> Result<()> {
        let lineage = &self.base.stored.lineage;
        lineage.check(place.incarnation, place.seq, self.seq)?;
        self.holder.advance(place.seq);
        if self.holder.name.is_some() && self.disk.log.history.frees() {
            self.disk.note_leases()?;
        }
        Ok(())
    }

    /// Returns the next change; `None` if nothing more is delivered yet.
    ///
    /// # Errors
    /// `Revoked` if the consumer fell off; `Corruption`, `Io`, `Closed`.
    pub(crate) fn next(&mut self) -> Result<Option<Change>> {
        let found = self.next_ready();
        if self.holder.has_fallen() {
            // Whatever was read, its file may have been used again.
            return Err(fell_off());
        }
        let found = found?;
        if found.is_none() {
            // The next call looks again.
            self.ready.0 = self.seq;
        }
        Ok(found)
    }

    fn next_ready(&mut self) -> Result<Option<Change>> {
        if self.holder.name.is_none() {
            // What was delivered before is done with.
            self.holder.advance(self.seq);
        }
        self.base.health.check_read()?;
        if self.seq >= self.ready.0 {
            // The lock is the writers': it is taken once for all that is ready.
            let durable = self.disk.durable_seq(&self.disk.log.lock());
            self.ready = match self.durability {
                Durability::Sync => (durable, durable),
                _ => (self.base.versions.published(), durable),
            };
        }
        let (last, durable) = self.ready;
        while self.seq < last {
            let dir = &*self.base.dir;
            let found = self
                .reader
                .fill(dir, self.seq, || Ok(readable(&self.disk)))?;
            let record = self.reader.record()?.filter(|_| found);
            let Some(record) = record else {
                return Ok(self.unlogged_until(last, durable));
            };
            let end = record.end;
            let count = record.count()?;
            let newest = record.seq + count.saturating_sub(1);
            if newest > last {
                return Ok(self.unlogged_until(last, durable));
            }
            if newest > self.seq && record.seq > self.seq + 1 {
                let until = record.seq - 1;
                return Ok(Some(self.unlogged(until, durable)));
            }
            let file = self.reader.file().map(str::to_owned);
            let entries = decode(&self.base, &self.disk, &mut self.names, &record);
            let (entries, time) = entries.map_err(|error| match (error.file_name(), file) {
                (None, Some(file)) => error.file(file).offset(record.offset),
                _ => error,
            })?;
            self.time = time.or(self.time);
            self.reader.pass(end);
            let is_new = newest > self.seq;
            self.seq = self.seq.max(newest);
            if is_new && !entries.is_empty() {
                return Ok(Some(self.change(ChangeKind::Batch(entries), durable)));
            }
        }
        Ok(None)
    }

    /// Returns the change that ends at the last sequence number.
    fn change(&self, kind: ChangeKind, durable: SeqNo) -> Change {
        Change {
            place: self.place(),
            time: self.time,
            durability: if self.seq <= durable {
                Durability::Sync
            } else {
                Durability::Os
            },
            kind,
        }
    }

    /// Returns the next change up to `until`, where no record is left: an event, or what was not
    /// logged and is in tables durably.
    fn unlogged_until(&mut self, until: SeqNo, _durable: SeqNo) -> Option<Change> {
        let in_tables = self.base.versions.lock().durable.seq;
        let event = self.disk.log.history.event_after(self.seq);
        let event = event.map_or(0, |event| event.seq);
        let until = until.min(event.max(in_tables));
        (until > self.seq).then(|| self.unlogged(until, until))
    }

    /// Returns the next change up to `until`, of which no number is in the log.
    fn unlogged(&mut self, until: SeqNo, durable: SeqNo) -> Change {
        let event = self.disk.log.history.event_after(self.seq);
        let event = event.filter(|event| event.seq <= until);
        let kind = match event {
            Some(event) if event.seq == self.seq + 1 => {
                self.seq = event.seq;
                let name: Arc<str> = event.name.into();
                self.names.insert(event.number, Arc::clone(&name));
                if event.created {
                    ChangeKind::KeyspaceCreated { name }
                } else {
                    ChangeKind::KeyspaceDropped { name }
                }
            }
            event => {
                let end = event.map_or(until, |event| event.seq - 1);
                let entries = end - self.seq;
                self.seq = end;
                ChangeKind::Unlogged { entries }
            }
        };
        self.change(kind, durable)
    }

    /// Returns the next change, once there is one; `None` after `limit`, and if nobody else could
    /// make one in a stepped environment.
    ///
    /// # Errors
    /// Same as [`Feed::next`]; `Interrupted`.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> Result<Option<Change>> {
        let end = limit.map(|limit| {
            let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
            self.base.env.now_ns().saturating_add(limit)
        });
        loop {
            let seen = self.disk.durable_seq(&self.disk.log.lock());
            if let Some(change) = self.next()? {
                return Ok(Some(change));
            }
            watch::check()?;
            if self.base.stepped() {
                if self.disk.sync_written().is_ok()
                    && self.disk.durable_seq(&self.disk.log.lock()) > seen
                {
                    continue;
                }
                return Ok(None);
            }
            // After a failed sync, nothing becomes durable any more.
            self.base.health.check_write()?;
            if self.base.is_over(end) {
                return Ok(None);
            }
            self.wait_for_more(seen, end);
        }
    }

    /// Waits until more than `seen` is durable, or for a while.
    fn wait_for_more(&self, seen: SeqNo, end: Option<u64>) {
        let left = end.map(|end| end.saturating_sub(self.base.env.now_ns()));
        let left = left.map(Duration::from_nanos);
        let watched = watch::is_watched().then_some(WATCHED_WAIT);
        let unsynced = (self.durability != Durability::Sync).then_some(LOOK_AGAIN);
        let limit = left.into_iter().chain(watched).chain(unsynced).min();
        let mut commit = self.disk.log.lock();
        if self.disk.durable_seq(&commit) > seen || commit.closing {
            return;
        }
        match limit {
            None => self.disk.log.wait(&mut commit),
            Some(limit) => self.disk.log.wait_for(&mut commit, limit),
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.holder.read_each(0);
        if self.holder.name.is_none() {
            self.disk.log.history.let_go(&self.holder);
        }
    }
}

fn readable(disk: &Disk) -> Readable {
    let mut found = Readable::new();
    for segment in disk.log.segments().live() {
        found.insert(segment.number, (segment.record(), segment.written()));
    }
    // Then those that were retired in the meantime, or are about to be, in their copies.
    disk.log.history.add_readable(&mut found);
    found
}

/// Returns the entries of a record, with the values that are in value files, and the time that it
/// states.
fn decode(
    base: &Base,
    disk: &Disk,
    names: &mut BTreeMap<u32, Arc<str>>,
    record: &Record<'_>,
) -> Result<(ChangedEntries, Option<SystemTime>)> {
    let (mut entries, mut time) = (ChangedEntries::default(), None);
    let mut values: Option<Arc<Values>> = None;
    let mut large = Vec::new();
    for entry in batch::iter(record.payload)? {
        let entry = entry?;
        let stored = StoredKey::of_entry(&entry);
        let number = stored.keyspace();
        let keyspace = (number > 0).then(|| name_of(base, disk, names, number));
        let value = match entry.kind {
            Kind::TimeMark => {
                time = time_of(entry.value);
                continue;
            }
            Kind::RangeDelete => stored.end_of_range(entry.value),
            Kind::Pointer => {
                let values =
                    values.get_or_insert_with(|| Arc::clone(&base.versions.version().values));
                let order = &base.opener.orders[stored.section];
                read_pointer_unmapped(order, values, stored.bytes, entry.value, &mut large)?;
                Some(&large[..])
            }
            _ => Some(entry.value),
        };
        entries.add(keyspace, entry.kind, stored.users(), value);
    }
    Ok((entries, time))
}

/// Returns the name of a keyspace, which may have been dropped since.
fn name_of(base: &Base, disk: &Disk, names: &mut BTreeMap<u32, Arc<str>>, number: u32) -> Arc<str> {
    let name = names.entry(number).or_insert_with(|| {
        let known = base.keyspaces.get(number);
        let known = known.map(|keyspace| keyspace.record.name.clone());
        let name = known.or_else(|| disk.log.history.name_of(number));
        name.unwrap_or_else(|| number.to_string()).into()
    });
    Arc::clone(name)
}
