//! Point reads shared by all handles. Each read loads the engine's view and reads at a sequence
//! number.

use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard;
use cairndb_base::{Error, ErrorKind, Result, SeqNo};

use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::cursor::ViewCursor;
use crate::read::get::{self, ReadAt};
use crate::read::hints::view_ref::ViewRef;
use crate::read::moment::{At, Moment};
use crate::read::presence::Presence;
use crate::read::view::View;
use crate::state::keyspaces::KeyspaceState;
use crate::state::ranges::RangeMap;
use crate::state::sections::{Section, StoredKey};

thread_local! {
    /// Buffer into which `get` decodes before it makes a [`Value`].
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Size above which a thread frees its buffer after use.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

/// The keyspace that a call reads; `None` for the default one.
pub(crate) type Space<'a> = Option<&'a Arc<KeyspaceState>>;

/// Passes the stored form of `key` to `read`. An error that names a key names the user's.
#[inline]
pub(crate) fn in_space<T>(
    space: Space<'_>,
    key: &[u8],
    read: impl FnOnce(StoredKey<'_>) -> Result<T>,
) -> Result<T> {
    match space {
        None => read(StoredKey::plain(key)),
        Some(keyspace) => {
            let found = keyspace.with_stored(key, read);
            found.map_err(|error| keyspace.users_error(error))
        }
    }
}

/// Checks that the keyspace was not dropped before the view that the caller has loaded.
#[inline]
pub(crate) fn check_space(space: Space<'_>) -> Result<()> {
    space.map_or(Ok(()), |keyspace| keyspace.check())
}

/// Returns the section of a keyspace.
#[inline]
fn section_of(space: Space<'_>) -> Section {
    space.map_or(Section::Default, |keyspace| keyspace.section())
}

/// Replaces the contents of `out` with the value of `key`.
#[inline]
pub(crate) fn get_into(
    core: &Core,
    space: Space<'_>,
    key: &[u8],
    at: At<'_>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    in_space(space, key, |key| {
        core.before_read(at)?;
        let (view, newest) = core.base.versions.read_point(key.section);
        check_space(space)?;
        // A deletion up to `newest` set this before that was published.
        if view.readers.ranges.any() || at.is_some_and(|moment| moment.views().is_some()) {
            return get_settled(core, key, at, out);
        }
        let point = (at.map_or(newest, |moment| moment.seq), &RangeMap::EMPTY);
        match get::get(&view, view.context(), key.bytes, point, out) {
            Ok(presence) => Ok(presence),
            Err(error) => retry_get(core, &view, error, key, at, out),
        }
    })
}

/// Like [`get_into`], while there are deleted ranges, or in views that a snapshot holds.
#[cold]
#[inline(never)]
fn get_settled(core: &Core, key: StoredKey<'_>, at: At<'_>, out: &mut Vec<u8>) -> Result<Presence> {
    let point = settled_read_point(core, key.section, at);
    let view = &point.view;
    let got = get::get(view, view.context(), key.bytes, point.at(), out);
    got.or_else(|error| retry_get(core, view, error, key, at, out))
}

/// Retries a failed get in a newer view.
#[cold]
fn retry_get(
    core: &Core,
    view: &Arc<View>,
    error: Error,
    key: StoredKey<'_>,
    at: At<'_>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    let point = newer_read_point(core, view, key.section, at, error)?;
    let got = get::get(
        &point.view,
        point.view.context(),
        key.bytes,
        point.at(),
        out,
    );
    core.base.context.with_directory(got)
}

/// Returns where to retry a read that failed in `view`. Returns the read's error if there is no
/// newer view.
#[cold]
fn newer_read_point(
    core: &Core,
    view: &Arc<View>,
    section: Section,
    at: At<'_>,
    error: Error,
) -> Result<ReadPoint> {
    // A closed handle may fail to open a file that has been removed since. In that case `Closed` is
    // the correct error.
    core.base.health.check_read()?;
    let is_held = at.is_some_and(|moment| moment.views().is_some());
    if let (ErrorKind::Revoked, false, Some(follower)) = (error.kind(), is_held, &core.follower) {
        // A follower that may not write holds no file.
        follower.refresh()?;
        return Ok(settled_read_point(core, section, at));
    }
    if is_held || Arc::ptr_eq(view, &core.base.versions.view_of(section)) {
        return Err(core.base.context.add_directory(error));
    }
    // A pointer written since then may refer to a value file that the older view does not know.
    // `settled_read_point` returns a pair for which this cannot happen, however often the view
    // changes in the meantime.
    Ok(settled_read_point(core, section, at))
}

pub(crate) fn get_value(
    core: &Core,
    space: Space<'_>,
    key: &[u8],
    at: At<'_>,
) -> Result<Option<Value>> {
    in_space(space, key, |key| {
        with_scratch(|scratch| {
            core.before_read(at)?;
            let point = read_point(core, key.section, at);
            check_space(space)?;
            value_at(&point, key.bytes, scratch).or_else(|error| {
                let point = newer_read_point(core, &point.view, key.section, at, error)?;
                let value = value_at(&point, key.bytes, scratch);
                core.base.context.with_directory(value)
            })
        })
    })
}

/// Returns the value of `key`: borrowed if its file is mapped, otherwise made from the bytes read
/// into `scratch`.
#[inline]
fn value_at(point: &ReadPoint, key: &[u8], scratch: &mut Vec<u8>) -> Result<Option<Value>> {
    let (view, context) = (&point.view, point.view.context());
    Ok(
        match get::get_or_pointer(view, context, key, point.at(), scratch)? {
            Presence::MISSING => None,
            Presence::POINTER => Some(match get::borrowed(view, context, key, scratch)? {
                Some(borrowed) => Value::borrowed(borrowed),
                None => Value::from_scratch(scratch),
            }),
            _ => Some(Value::from_scratch(scratch)),
        },
    )
}

/// Number of keys that [`for_each`] prefetches at once. A processor can have a few dozen cache
/// misses outstanding, and a prefetched line must stay in the first-level cache until it is read.
const KEYS_PREFETCHED: usize = 16;

/// The same while pages have to come from the disk: a device takes some dozens of reads at a time,
/// and each wait is for the slowest of them.
const KEYS_REQUESTED: usize = 256;

/// Returns the values of `keys`, all as of the same moment: now, or the moment of a snapshot.
pub(crate) fn multi_get<K: AsRef<[u8]>>(
    core: &Core,
    space: Space<'_>,
    keys: &[K],
    at: At<'_>,
) -> Result<Vec<Option<Value>>> {
    let mut values = Vec::with_capacity(keys.len());
    for_each(core, space, keys, at, |value| {
        values.push(value?);
        Ok(())
    })?;
    Ok(values)
}

/// Like [`multi_get`], but returns the error of a key in place of its value.
pub(crate) fn multi_get_each<K: AsRef<[u8]>>(
    core: &Core,
    space: Space<'_>,
    keys: &[K],
    at: At<'_>,
) -> Result<Vec<Result<Option<Value>>>> {
    let mut values = Vec::with_capacity(keys.len());
    for_each(core, space, keys, at, |value| {
        values.push(value);
        Ok(())
    })?;
    Ok(values)
}

/// Passes the value of each of `keys` to `take`, all as of the same moment. An error from `take`
/// ends the loop. A read error names its key.
///
/// # Errors
/// The errors of `take`; `Closed`.
#[inline]
fn for_each<K: AsRef<[u8]>>(
    core: &Core,
    space: Space<'_>,
    keys: &[K],
    at: At<'_>,
    mut take: impl FnMut(Result<Option<Value>>) -> Result<()>,
) -> Result<()> {
    core.before_read(at)?;
    let point = settled_read_point(core, section_of(space), at);
    check_space(space)?;
    let mut scratch = Vec::new();
    let (mut left, mut count) = (keys, KEYS_PREFETCHED);
    while !left.is_empty() {
        let (keys, later) = left.split_at(count.min(left.len()));
        left = later;
        if keys.len() > 1 {
            let asked = match space {
                None => ask_for(&point, keys, &mut scratch),
                Some(keyspace) => {
                    let stored = keys
                        .iter()
                        .map(|key| [&keyspace.prefix(), key.as_ref()].concat());
                    ask_for(&point, &stored.collect::<Vec<_>>(), &mut scratch)
                }
            };
            count = if asked {
                KEYS_REQUESTED
            } else {
                KEYS_PREFETCHED
            };
        }
        for key in keys {
            core.base.health.check_read()?;
            let key = key.as_ref();
            let value = in_space(space, key, |key| value_at(&point, key.bytes, &mut scratch));
            take(value.map_err(|error| core.base.context.add_directory(error).key(key)))?;
        }
    }
    Ok(())
}

/// Prefetches what gets of `keys` will read, and requests what has to come from the disk. Returns
/// whether anything has.
fn ask_for<K: AsRef<[u8]>>(point: &ReadPoint, keys: &[K], scratch: &mut Vec<u8>) -> bool {
    let view = &point.view;
    let asked = get::prefetch(view, view.context(), keys);
    if asked && !view.version.values.is_empty() {
        get::request_values(view, view.context(), keys, point.at(), scratch);
    }
    asked
}

/// Runs `read` with the thread's buffer. The buffer is taken rather than borrowed, because a merge
/// operator may also read the database; that nested read then allocates its own buffer. So does a
/// read on a thread whose thread-local storage has already been destroyed.
fn with_scratch<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    let result = read(&mut scratch);
    if scratch.capacity() <= SCRATCH_BYTES_MAX {
        let _ = SCRATCH.try_with(|place| place.set(scratch));
    }
    result
}

/// Returns a view and the sequence number at which to read it. The view is the newest both before
/// and after the number is loaded, so a pointer visible at this number refers to a value file that
/// the view knows. Views are compared by number first, because loading the newest view again takes
/// two locked operations.
pub(crate) fn consistent_read_point(core: &Core, section: Section) -> (Guard<Arc<View>>, SeqNo) {
    loop {
        let view = core.base.versions.view_of(section);
        let newest = core.base.versions.published();
        let newest_view = core.base.versions.newest_view();
        // The second test holds if a newer view has been announced but not yet stored. The
        // publishing thread may have been descheduled, and a reader does not wait for it.
        if newest_view == view.number || Arc::ptr_eq(&view, &core.base.versions.view_of(section)) {
            let seq = view.newest_readable(newest);
            return (view, seq);
        }
    }
}

/// Where a read begins.
pub(crate) struct ReadPoint {
    view: Guard<Arc<View>>,
    seq: SeqNo,
    /// Deleted by then.
    ranges: RangeMap,
}

impl ReadPoint {
    #[inline]
    fn at(&self) -> ReadAt<'_> {
        (self.seq, &self.ranges)
    }
}

/// Returns where a read of one key begins, now or at the snapshot `at`. Without deleted ranges, it
/// may find a state of any moment of the call.
#[inline]
fn read_point(core: &Core, section: Section, at: At<'_>) -> ReadPoint {
    #[cold]
    #[inline(never)]
    fn among_ranges(core: &Core, section: Section, at: At<'_>) -> ReadPoint {
        settled_read_point(core, section, at)
    }
    let (view, newest) = core.base.versions.read_point(section);
    // A deletion up to `newest` set this before that was published.
    if view.readers.ranges.any() || at.is_some_and(|moment| moment.views().is_some()) {
        return among_ranges(core, section, at);
    }
    ReadPoint {
        view,
        seq: at.map_or(newest, |moment| moment.seq),
        ranges: RangeMap::EMPTY,
    }
}

/// Returns where a read begins, now or at the snapshot `at`: a view that has everything up to its
/// sequence number, with exactly the ranges deleted by then. Of a batch that deletes a range and
/// puts keys in it, a read sees all or nothing.
fn settled_read_point(core: &Core, section: Section, at: At<'_>) -> ReadPoint {
    loop {
        let (view, newest) = match at.and_then(Moment::views) {
            Some(views) => held_view(&views[section]),
            None => consistent_read_point(core, section),
        };
        let seq = at.map_or(newest, |moment| moment.seq);
        let (ranges, exact) = if view.readers.ranges.any() {
            view.readers.ranges.at(seq)
        } else {
            (RangeMap::EMPTY, true)
        };
        // Later deletions may have replaced those of this moment, unless a snapshot keeps them.
        if exact {
            return ReadPoint { view, seq, ranges };
        }
        assert!(at.is_none(), "the ranges of an open snapshot are kept");
    }
}

/// Returns a view that a snapshot holds, which is read at the snapshot's number.
#[cold]
#[inline(never)]
fn held_view(view: &Arc<View>) -> (Guard<Arc<View>>, SeqNo) {
    (Guard::from_inner(Arc::clone(view)), 0)
}

/// Returns a cursor over the section of a keyspace. If the read cannot begin, its moves report
/// that.
pub(crate) fn view_cursor(core: &Core, space: Space<'_>, at: At<'_>) -> ViewCursor {
    let section = section_of(space);
    let point = if core.base.health.is_plain() {
        settled_read_point(core, section, at)
    } else {
        prepared_read_point(core, section, at)
    };
    let ReadPoint { view, seq, ranges } = point;
    ViewCursor::new(ViewRef::new(view), seq, ranges)
}

/// Returns where the read of a cursor begins, if that has to be prepared.
#[cold]
#[inline(never)]
fn prepared_read_point(core: &Core, section: Section, at: At<'_>) -> ReadPoint {
    let begun = core.before_read(at);
    let point = settled_read_point(core, section, at);
    match begun {
        Ok(()) => point,
        Err(error) => ReadPoint {
            view: Guard::from_inner(Arc::new(point.view.failing(error))),
            ..point
        },
    }
}

pub(crate) fn contains(core: &Core, space: Space<'_>, key: &[u8], at: At<'_>) -> Result<bool> {
    in_space(space, key, |key| {
        core.before_read(at)?;
        let point = read_point(core, key.section, at);
        check_space(space)?;
        let view = &point.view;
        let found = with_scratch(|scratch| {
            get::contains(view, view.context(), key.bytes, point.at(), scratch)
        });
        core.base.context.with_directory(found)
    })
}
