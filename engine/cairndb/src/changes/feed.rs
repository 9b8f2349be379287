//! `Feed`: the changes after a place, one after another.
//!
//! What is delivered is durable, unless the consumer asks otherwise: a record is delivered once
//! the log up to it was synced, or tables hold it durably. While a feed is open the writer's syncer
//! syncs the log at the feed's interval, which a write begins.
//!
//! The sequence numbers of a feed have no holes: numbers that no record has belong to writes that
//! were not logged, or to events of keyspaces, which the manifest has.
//!
//! Threads: one consumer. In the writer's process the commit lock is taken to wait, as by writers
//! that wait for a sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cairndb_base::{Error, Kind, Result, SeqNo, watch};
use cairndb_format::batch;
use cairndb_format::log::Record;
use cairndb_format::manifest::{KeyspaceEvent, KeyspaceRecord, VersionEdit};

use crate::changes::change::{Change, ChangeKind, ChangedEntries, Logged, Place, time_of};
use crate::changes::log_reader::LogReader;
use crate::changes::source::{Ready, Source};
use crate::log::history::fell_off;
use crate::read::value_ref::{decode_pointer, read_pointer_unmapped};
use crate::state::lineage::Lineage;
use crate::state::options::Durability;
use crate::state::sections::StoredKey;
use crate::state::version::Values;
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
    /// Whether changes are delivered as they are on disk.
    pub(crate) as_logged: bool,
}

pub(crate) struct Feed {
    source: Box<dyn Source>,
    durability: Durability,
    as_logged: bool,
    reader: LogReader,
    /// The last sequence number that was passed.
    seq: SeqNo,
    /// How far it may go, when that was last looked up.
    ready: Ready,
    /// Whether that is to be looked up again.
    looks: bool,
    time: Option<SystemTime>,
    /// Names of keyspaces by number.
    names: BTreeMap<u32, Arc<str>>,
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

    /// Returns the sequence number of the place to begin after, if that is in this history, whose
    /// last number is `last`.
    ///
    /// # Errors
    /// Those of [`Lineage::check`].
    pub(super) fn after_in(&self, lineage: &Lineage, last: SeqNo) -> Result<Option<SeqNo>> {
        let check = |place: Place| lineage.check(place.incarnation, place.seq, last);
        self.after.map(check).transpose()?;
        Ok(self.after.map(|place| place.seq))
    }
}

impl Feed {
    /// Returns the feed of what is wanted from a source.
    pub(crate) fn new(source: Box<dyn Source>, wanted: &Wanted) -> Feed {
        let after = wanted.after.map(|place| place.seq);
        Feed {
            durability: wanted.durability,
            as_logged: wanted.as_logged,
            reader: LogReader::default(),
            seq: after.unwrap_or_else(|| source.held()),
            source,
            ready: Ready::default(),
            looks: true,
            time: None,
            names: BTreeMap::new(),
        }
    }

    /// Continues after `seq`: a snapshot has everything before.
    ///
    /// # Errors
    /// Those of the manifest.
    pub(crate) fn skip_to(&mut self, seq: SeqNo) -> Result<()> {
        self.seq = self.seq.max(seq);
        self.source.advance(self.seq, true)
    }

    /// Waits until everything up to `seq` is durable, at most for `limit`. Returns whether it is.
    ///
    /// # Errors
    /// Same as [`Feed::next`]; `Interrupted`.
    pub(crate) fn wait_durable(&mut self, seq: SeqNo, limit: Duration) -> Result<bool> {
        let end = self.end_of(limit);
        loop {
            let durable = self.source.look(self.seq)?.durable;
            if durable >= seq {
                return Ok(true);
            }
            watch::check()?;
            let base = self.source.base();
            if base.stepped() || base.is_over(Some(end)) {
                return Ok(false);
            }
            self.source.wait(durable, Some(LOOK_AGAIN))?;
        }
    }

    fn end_of(&self, limit: Duration) -> u64 {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.source.base().env.now_ns().saturating_add(limit)
    }

    #[cfg(feature = "stream")]
    pub(crate) fn env(&self) -> Arc<dyn cairndb_env::Env> {
        Arc::clone(&self.source.base().env)
    }

    /// Returns the place after the last change.
    pub(crate) fn place(&self) -> Place {
        Place {
            incarnation: self.source.lineage().present(),
            seq: self.seq,
        }
    }

    /// Records that the consumer needs nothing up to `place`.
    ///
    /// # Errors
    /// Those of [`Lineage::check`], for the place; those of the manifest.
    pub(crate) fn acknowledge(&self, place: Place) -> Result<()> {
        let lineage = self.source.lineage();
        lineage.check(place.incarnation, place.seq, self.seq)?;
        if self.source.has_fallen(self.seq) {
            return Err(fell_off());
        }
        self.source.advance(place.seq, false)
    }

    /// Returns the next change; `None` if nothing more is delivered yet.
    ///
    /// # Errors
    /// `Revoked` if the consumer fell off; `Corruption`, `Io`, `Closed`.
    pub(crate) fn next(&mut self) -> Result<Option<Change>> {
        let before = self.seq;
        let found = self.next_ready();
        if self.source.has_fallen(before) {
            // Whatever was read, its file may have been used again.
            return Err(fell_off());
        }
        let found = found?;
        // Otherwise the next call looks again.
        self.looks = found.is_none();
        Ok(found)
    }

    fn next_ready(&mut self) -> Result<Option<Change>> {
        if !self.source.is_leased() {
            // What was delivered before is done with.
            self.source.advance(self.seq, false)?;
        }
        self.source.base().health.check_read()?;
        if self.looks || self.seq >= self.last() {
            self.ready = self.source.look(self.seq)?;
        }
        let last = self.last();
        while self.seq < last {
            let source = &*self.source;
            let dir = &*source.base().dir;
            let found = self.reader.fill(dir, self.seq, || source.readable())?;
            let record = self.reader.record()?.filter(|_| found);
            let Some(record) = record else {
                return Ok(self.unlogged_until(last));
            };
            let end = record.end;
            let count = record.count()?;
            let newest = record.seq + count.saturating_sub(1);
            if newest > last {
                return Ok(self.unlogged_until(last));
            }
            if newest > self.seq && record.seq > self.seq + 1 {
                let until = record.seq - 1;
                return Ok(Some(self.unlogged(until)));
            }
            let file = self.reader.file().map(str::to_owned);
            let is_new = newest > self.seq;
            let decoded = if self.as_logged {
                logged(source, &record)
            } else {
                decode(source, &mut self.names, &record, is_new)
            };
            let (kind, time) = decoded.map_err(|error| match (error.file_name(), file) {
                (None, Some(file)) => error.file(file).offset(record.offset),
                _ => error,
            })?;
            self.time = time.or(self.time);
            self.reader.pass(end);
            self.seq = self.seq.max(newest);
            if let Some(kind) = kind.filter(|_| is_new) {
                return Ok(Some(self.change(kind)));
            }
        }
        Ok(None)
    }

    /// Returns the last sequence number that may be delivered.
    fn last(&self) -> SeqNo {
        match self.durability {
            Durability::Sync => self.ready.durable,
            _ => self.ready.published,
        }
    }

    /// Returns the change that ends at the last sequence number.
    fn change(&self, kind: ChangeKind) -> Change {
        Change {
            place: self.place(),
            time: self.time,
            durability: if self.seq <= self.ready.durable {
                Durability::Sync
            } else {
                Durability::Os
            },
            kind,
        }
    }

    /// Returns the next change up to `until`, where no record is left: an event, or what was not
    /// logged and is in tables durably.
    fn unlogged_until(&mut self, until: SeqNo) -> Option<Change> {
        let event = self.source.history().event_after(self.seq);
        let event = event.map_or(0, |event| event.seq);
        let until = until.min(event.max(self.ready.in_tables));
        (until > self.seq).then(|| self.unlogged(until))
    }

    /// Returns the next change up to `until`, of which no number is in the log.
    fn unlogged(&mut self, until: SeqNo) -> Change {
        let event = self.source.history().event_after(self.seq);
        let event = event.filter(|event| event.seq <= until);
        let kind = match event {
            Some(event) if event.seq == self.seq + 1 => {
                self.seq = event.seq;
                self.time = time_of(&event.time_ms.to_le_bytes());
                let name: Arc<str> = event.name.clone().into();
                self.names.insert(event.number, Arc::clone(&name));
                match event.created {
                    _ if self.as_logged => ChangeKind::Logged(self.edit_of(&event)),
                    true => ChangeKind::KeyspaceCreated { name },
                    false => ChangeKind::KeyspaceDropped { name },
                }
            }
            event => {
                let end = event.map_or(until, |event| event.seq - 1);
                let entries = end - self.seq;
                self.seq = end;
                ChangeKind::Unlogged { entries }
            }
        };
        self.change(kind)
    }

    /// Returns the edit of the manifest with an event.
    fn edit_of(&self, event: &KeyspaceEvent) -> Logged {
        let mut edit = VersionEdit::default();
        if event.created {
            let known = self.source.base().keyspaces.get(event.number);
            let known = known.map(|keyspace| keyspace.record.clone());
            // Of a keyspace that was dropped since, only this is known.
            edit.created_keyspaces
                .push(known.unwrap_or_else(|| KeyspaceRecord {
                    number: event.number,
                    name: event.name.clone(),
                    ..KeyspaceRecord::default()
                }));
        } else {
            edit.dropped_keyspaces.push(event.number);
        }
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        Logged::Edit(bytes)
    }

    /// Returns the next change, once there is one; `None` after `limit`, and if nobody else could
    /// make one in a stepped environment.
    ///
    /// # Errors
    /// Same as [`Feed::next`]; `Interrupted`.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> Result<Option<Change>> {
        let end = limit.map(|limit| self.end_of(limit));
        loop {
            let seen = self.source.durable();
            if let Some(change) = self.next()? {
                return Ok(Some(change));
            }
            watch::check()?;
            let base = self.source.base();
            if base.stepped() {
                if self.source.step(seen) {
                    continue;
                }
                return Ok(None);
            }
            if base.is_over(end) {
                return Ok(None);
            }
            let left = end.map(|end| end.saturating_sub(base.env.now_ns()));
            let left = left.map(Duration::from_nanos);
            let watched = watch::is_watched().then_some(WATCHED_WAIT);
            let unsynced = (self.durability != Durability::Sync).then_some(LOOK_AGAIN);
            let limit = left.into_iter().chain(watched).chain(unsynced).min();
            self.source.wait(seen, limit)?;
        }
    }
}

/// Returns the time that a record states and, if it `is_new`, its entries, with the values that are
/// in value files. Those of a record that was passed may be gone.
fn decode(
    source: &dyn Source,
    names: &mut BTreeMap<u32, Arc<str>>,
    record: &Record<'_>,
    is_new: bool,
) -> Result<(Option<ChangeKind>, Option<SystemTime>)> {
    let base = source.base();
    let (mut entries, mut time) = (ChangedEntries::default(), None);
    let mut values: Option<Arc<Values>> = None;
    let mut large = Vec::new();
    for entry in batch::iter(record.payload)? {
        let entry = entry?;
        if !is_new && entry.kind != Kind::TimeMark {
            break;
        }
        let stored = StoredKey::of_entry(&entry);
        let number = stored.keyspace();
        let keyspace = (number > 0).then(|| name_of(source, names, number));
        let value = match entry.kind {
            Kind::TimeMark => {
                time = time_of(entry.value);
                continue;
            }
            Kind::RangeDelete => stored.end_of_range(entry.value),
            Kind::Pointer => {
                let values =
                    values.get_or_insert_with(|| Arc::clone(&base.versions.version().values));
                let pointer = decode_pointer(stored.bytes, entry.value)?;
                if !values.contains_key(&pointer.file.0) {
                    // Dropped before the consumer held it.
                    return Err(fell_off());
                }
                let order = &base.opener.orders[stored.section];
                read_pointer_unmapped(order, values, stored.bytes, entry.value, &mut large)?;
                Some(&large[..])
            }
            _ => Some(entry.value),
        };
        entries.add(keyspace, entry.kind, stored.users(), value);
    }
    let kind = (!entries.is_empty()).then_some(ChangeKind::Batch(entries));
    Ok((kind, time))
}

/// Returns a record as it is in the log, and the time that it states.
fn logged(
    source: &dyn Source,
    record: &Record<'_>,
) -> Result<(Option<ChangeKind>, Option<SystemTime>)> {
    let (mut time, mut values) = (None, BTreeMap::<u64, u64>::new());
    for entry in batch::iter(record.payload)? {
        let entry = entry?;
        match entry.kind {
            Kind::TimeMark => time = time_of(entry.value),
            Kind::Pointer => {
                let pointer = decode_pointer(entry.key, entry.value)?;
                let end = pointer.end().unwrap_or(u64::MAX);
                let known = values.entry(pointer.file.0).or_default();
                *known = end.max(*known);
            }
            _ => {}
        }
    }
    let there = source.base().versions.version();
    if values.keys().any(|file| !there.values.contains_key(file)) {
        return Err(fell_off());
    }
    let batch = Logged::Batch {
        first: record.seq,
        payload: record.payload.to_vec(),
        values: values.into_iter().collect(),
    };
    let kind = (record.count()? > 0).then_some(ChangeKind::Logged(batch));
    Ok((kind, time))
}

/// Returns the name of a keyspace, which may have been dropped since.
fn name_of(source: &dyn Source, names: &mut BTreeMap<u32, Arc<str>>, number: u32) -> Arc<str> {
    let name = names.entry(number).or_insert_with(|| {
        let known = source.base().keyspaces.get(number);
        let known = known.map(|keyspace| keyspace.record.name.clone());
        let name = known.or_else(|| source.history().name_of(number));
        name.unwrap_or_else(|| number.to_string()).into()
    });
    Arc::clone(name)
}
