//! Feeds of changes.
//!
//! A read takes what there is, on the thread pool. JavaScript waits between two reads: a wait in a
//! task would keep a thread of the pool.

use std::mem;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use cairndb::{
    BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Durability, Error, LeaseState, Place,
    Result, Snapshot,
};

use super::feed::{Feed, Source, lock};
use crate::handle::Handle;
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::options::size;
use crate::results::Collector;
use crate::snapshot::give_snapshot;

/// Values that are passed for each change and each entry.
const COLUMNS: usize = 6;

impl Source for Changes {
    type Item = Change;

    const ENDS: bool = false;

    fn next_item(&mut self) -> Result<Option<Change>> {
        self.try_next()
    }

    fn len(item: &Change) -> usize {
        let ChangeKind::Batch(entries) = &item.kind else {
            return 0;
        };
        let parts = entries.iter().map(|(_, entry)| parts(entry));
        parts
            .map(|(_, key, value)| key.len() + value.map_or(0, <[u8]>::len))
            .sum()
    }
}

/// An open feed, of the database of a handle.
#[derive(Debug)]
struct Following {
    handle: Rc<Handle>,
    feed: Arc<Mutex<Feed<Changes>>>,
    /// What was taken with the feed, until JavaScript has it.
    snapshot: Mutex<Option<Snapshot>>,
}

/// Returns the name of an operation, the key or first key, and the value, operand or end.
fn parts(entry: BatchEntry<'_>) -> (&'static str, &[u8], Option<&[u8]>) {
    match entry {
        BatchEntry::Put { key, value } => ("put", key, Some(value)),
        BatchEntry::Delete { key } => ("del", key, None),
        BatchEntry::Merge { key, operand } => ("merge", key, Some(operand)),
        BatchEntry::DeleteRange { from, to } => ("deleteRange", from, to),
        _ => ("unknown", &[], None),
    }
}

/// Reads the options of a feed, without the place.
fn options(given: Value<'_>) -> Outcome<ChangesOptions> {
    let mut options = ChangesOptions::new();
    if let Some(name) = given.optional(c"lease")? {
        options = options.lease(name.string()?);
    }
    if let Some(bytes) = size(given, c"bytesMax")? {
        options = options.bytes_max(bytes as u64);
    }
    if let Some(ms) = size(given, c"syncInterval")? {
        options = options.sync_interval(Duration::from_millis(ms as u64));
    }
    if let Some(level) = given.optional(c"durability")? {
        options = options.durability(match &*level.string()? {
            "sync" => Durability::Sync,
            "os" => Durability::Os,
            other => {
                let message = "the durability of changes is 'os' or 'sync'";
                return Err(Error::invalid(message).found(other).into());
            }
        });
    }
    Ok(options)
}

/// `changesNew(handle, options, withSnapshot)`: returns a promise of a feed. With a snapshot, the
/// feed begins at that, which `changesSnapshot` returns.
pub(crate) fn changes_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Rc::clone(Handle::of(call)?);
    let given = call.argument::<1>();
    let mut options = options(given)?;
    let after = given.optional(c"after")?.map(Value::string).transpose()?;
    let with_snapshot = call.argument::<2>().boolean()?;
    handle.clone().promise(
        call.env,
        move |db| {
            if with_snapshot {
                let (snapshot, changes) = db.snapshot_and_changes(&options)?;
                return Ok((Some(snapshot), changes));
            }
            if let Some(place) = after {
                options = options.after(place.parse()?);
            }
            Ok((None, db.changes(&options)?))
        },
        move |env, made: Result<(Option<Snapshot>, Changes)>| {
            let (snapshot, changes) = made?;
            let following = Following {
                handle,
                feed: Arc::new(Mutex::new(Feed::new(changes))),
                snapshot: Mutex::new(snapshot),
            };
            external::give(env, following)
        },
    )
}

/// `changesSnapshot(feed)`: returns the snapshot that was taken with the feed, once.
pub(crate) fn changes_snapshot<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    match lock(&following.snapshot).take() {
        Some(snapshot) => give_snapshot(call.env, snapshot),
        None => call.env.undefined(),
    }
}

/// `changesPlace(feed)`: returns the place after the last change that was read, as text. Not during
/// a read.
pub(crate) fn changes_place<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    let place = lock(&following.feed).source.as_ref().map(Changes::place);
    let text = place.map(|place| place.to_string()).unwrap_or_default();
    call.env.string(text.as_bytes())
}

/// `changesRead(feed)`: returns a promise, after which `changesTake` has the changes that there
/// are.
pub(crate) fn changes_read<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    let feed = Arc::clone(&following.feed);
    following.handle.promise(
        call.env,
        move |_| lock(&feed).fetch(),
        |env, fetched: Result<()>| {
            fetched?;
            env.undefined()
        },
    )
}

/// `changesTake(feed, sink, collect)`: appends what was read to `sink`: for each change its kind, a
/// keyspace, the place, the time in milliseconds, the durability and a number of entries that were
/// not logged; then for each of its entries the operation, the keyspace, and the ends of key and
/// value, each of which may be `undefined`.
pub(crate) fn changes_take<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    let mut feed = lock(&following.feed);
    let read = mem::take(&mut feed.read);
    let mut bytes = Vec::with_capacity(mem::take(&mut feed.bytes));
    let mut rows = read.len();
    for change in &read {
        if let ChangeKind::Batch(entries) = &change.kind {
            rows += entries.len();
            for (_, key, value) in entries.iter().map(|(_, entry)| parts(entry)) {
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(value.unwrap_or_default());
            }
        }
    }
    let buffer = Some(call.env.buffer_of(bytes)?);
    let to = [call.argument::<1>(), call.argument::<2>()];
    let mut collector = Collector::new(call.env, to, buffer, rows * COLUMNS)?;
    for change in &read {
        collect(change, &mut collector)?;
    }
    collector.flush()?;
    call.env.undefined()
}

fn collect(change: &Change, collector: &mut Collector<'_>) -> Outcome<()> {
    let (kind, keyspace, unlogged) = match &change.kind {
        ChangeKind::Batch(_) => ("batch", None, 0),
        ChangeKind::Unlogged { entries } => ("unlogged", None, *entries),
        ChangeKind::KeyspaceCreated { name } => ("keyspaceCreated", Some(&**name), 0),
        ChangeKind::KeyspaceDropped { name } => ("keyspaceDropped", Some(&**name), 0),
        _ => ("unknown", None, 0),
    };
    collector.text(kind.as_bytes())?;
    collector.optional_text(keyspace)?;
    collector.text(change.place.to_string().as_bytes())?;
    let since = change
        .time
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    match since {
        Some(since) => collector.count(u64::try_from(since.as_millis()).unwrap_or(0))?,
        None => collector.absent(),
    }
    collector.text(match change.durability {
        Durability::Sync => b"sync",
        _ => b"os",
    })?;
    collector.count(unlogged)?;
    collector.end_entry()?;
    let ChangeKind::Batch(entries) = &change.kind else {
        return Ok(());
    };
    for (keyspace, entry) in entries.iter() {
        let (operation, key, value) = parts(entry);
        collector.text(operation.as_bytes())?;
        collector.optional_text(keyspace)?;
        collector.bytes(key.len())?;
        match value {
            Some(value) => collector.bytes(value.len())?,
            None => collector.absent(),
        }
        collector.absent();
        collector.absent();
        collector.end_entry()?;
    }
    Ok(())
}

/// `changesAcknowledge(feed, place)`: returns a promise.
pub(crate) fn changes_acknowledge<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    let place: Place = call.argument::<1>().string()?.parse()?;
    let feed = Arc::clone(&following.feed);
    following.handle.promise(
        call.env,
        move |_| match &lock(&feed).source {
            Some(changes) => changes.acknowledge(place),
            None => Ok(()),
        },
        |env, acknowledged: Result<()>| {
            acknowledged?;
            env.undefined()
        },
    )
}

/// `changesClose(feed)`: releases what it holds. Not during a read.
pub(crate) fn changes_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let following = external::borrow::<Following>(call.argument::<0>())?;
    lock(&following.feed).source = None;
    call.env.undefined()
}

/// `place(handle)`: returns a promise of the place of everything written so far, as text.
pub(crate) fn place<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    Handle::of(call)?.promise(
        call.env,
        |db| Ok(db.place()?.to_string()),
        |env, place: Result<String>| env.string(place?.as_bytes()),
    )
}

/// `leases(handle, sink, collect)`: appends to `sink` the name and the place of each lease, and a
/// text that is empty unless it fell off.
pub(crate) fn leases<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let leases: Vec<LeaseState> = Handle::of(call)?.db().leases()?;
    let to = [call.argument::<1>(), call.argument::<2>()];
    let mut collector = Collector::new(call.env, to, None, leases.len() * 3)?;
    for lease in &leases {
        collector.text(lease.name.as_bytes())?;
        collector.text(lease.place.to_string().as_bytes())?;
        collector.text(if lease.fell_off { b"fell off" } else { b"" })?;
        collector.end_entry()?;
    }
    collector.flush()?;
    call.env.undefined()
}

/// `leaseDrop(handle, name)`: returns a promise.
pub(crate) fn lease_drop<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let name = call.argument::<1>().string()?;
    Handle::of(call)?.promise(
        call.env,
        move |db| db.drop_lease(&name),
        |env, dropped: Result<()>| {
            dropped?;
            env.undefined()
        },
    )
}
