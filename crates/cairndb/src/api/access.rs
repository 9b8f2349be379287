//! How every handle reads: through the engine's view, at a sequence number.

use std::cell::Cell;
use std::sync::Arc;

use arc_swap::Guard;
use cairndb_base::{Error, Result, SeqNo};

use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::cursor::ViewCursor;
use crate::read::get;
use crate::read::presence::Presence;
use crate::read::view::View;
use crate::read::view_guard::HeldView;

thread_local! {
    /// Where `get` decodes before it makes a [`Value`].
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A thread's buffer above this size is given back after use.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

/// Replaces `out` by the value of `key`.
#[inline]
pub(crate) fn get_into(
    core: &Core,
    key: &[u8],
    at: Option<SeqNo>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    core.shared.health.check_read()?;
    let (view, newest) = core.versions.read_point();
    match get::get(&view, &core.shared.context, key, at.unwrap_or(newest), out) {
        Ok(presence) => Ok(presence),
        Err(error) => get_again(core, &view, error, key, at, out),
    }
}

/// What a get says that has failed.
#[cold]
fn get_again(
    core: &Core,
    view: &Arc<View>,
    error: Error,
    key: &[u8],
    at: Option<SeqNo>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    let (view, newest) = moved_on(core, view, error)?;
    let got = get::get(&view, &core.shared.context, key, at.unwrap_or(newest), out);
    core.shared.context.with_directory(got)
}

/// Where a read that has failed in `view` may do better; its error where it may not.
#[cold]
fn moved_on(core: &Core, view: &Arc<View>, error: Error) -> Result<(Guard<Arc<View>>, SeqNo)> {
    // What a closed handle did not open yet may be gone.
    core.shared.health.check_read()?;
    if Arc::ptr_eq(view, &core.versions.view()) {
        return Err(core.shared.context.add_directory(error));
    }
    // A pointer written since may lead to a value file that the older view does not know. At a
    // moment there is no such pair, however often views change meanwhile.
    Ok(moment(core))
}

pub(crate) fn get_value(core: &Core, key: &[u8], at: Option<SeqNo>) -> Result<Option<Value>> {
    with_scratch(|scratch| {
        core.shared.health.check_read()?;
        let (view, newest) = core.versions.read_point();
        value_at(core, &view, key, at.unwrap_or(newest), scratch).or_else(|error| {
            let (view, newest) = moved_on(core, &view, error)?;
            let value = value_at(core, &view, key, at.unwrap_or(newest), scratch);
            core.shared.context.with_directory(value)
        })
    })
}

/// The value of `key`, lent where its file is mapped, else made of what is read into `scratch`.
#[inline]
fn value_at(
    core: &Core,
    view: &View,
    key: &[u8],
    seq: SeqNo,
    scratch: &mut Vec<u8>,
) -> Result<Option<Value>> {
    let context = &core.shared.context;
    Ok(
        match get::get_or_pointer(view, context, key, seq, scratch)? {
            Presence::MISSING => None,
            Presence::POINTER => Some(match get::lent(view, context, key, scratch)? {
                Some(lent) => Value::lent(lent),
                None => Value::from_scratch(scratch),
            }),
            _ => Some(Value::from_scratch(scratch)),
        },
    )
}

/// Keys that [`for_each`] requests at once: a processor waits for some dozens of lines at a time,
/// and what is requested has to stay in the nearest cache until it is read.
const KEYS_REQUESTED: usize = 16;

/// The values of `keys` at one moment: now, or that of a snapshot.
pub(crate) fn multi_get<K: AsRef<[u8]>>(
    core: &Core,
    keys: &[K],
    at: Option<SeqNo>,
) -> Result<Vec<Option<Value>>> {
    let mut values = Vec::with_capacity(keys.len());
    for_each(core, keys, at, |value| {
        values.push(value?);
        Ok(())
    })?;
    Ok(values)
}

/// As [`multi_get`], with the error of a key in its place.
pub(crate) fn multi_get_each<K: AsRef<[u8]>>(
    core: &Core,
    keys: &[K],
    at: Option<SeqNo>,
) -> Result<Vec<Result<Option<Value>>>> {
    let mut values = Vec::with_capacity(keys.len());
    for_each(core, keys, at, |value| {
        values.push(value);
        Ok(())
    })?;
    Ok(values)
}

/// Hands the value of each of `keys` at one moment to `take`, whose error ends the loop. An error
/// of a key names it.
///
/// # Errors
/// That of `take`; `Closed`.
#[inline]
fn for_each<K: AsRef<[u8]>>(
    core: &Core,
    keys: &[K],
    at: Option<SeqNo>,
    mut take: impl FnMut(Result<Option<Value>>) -> Result<()>,
) -> Result<()> {
    core.shared.health.check_read()?;
    let (view, newest) = moment(core);
    let seq = at.unwrap_or(newest);
    let mut scratch = Vec::new();
    for keys in keys.chunks(KEYS_REQUESTED) {
        if keys.len() > 1 {
            get::request(&view, &core.shared.context, keys);
        }
        for key in keys {
            core.shared.health.check_read()?;
            let key = key.as_ref();
            let value = value_at(core, &view, key, seq, &mut scratch);
            take(value.map_err(|error| core.shared.context.add_directory(error).key(key)))?;
        }
    }
    Ok(())
}

/// Hands out the thread's buffer. It is taken for that long and not borrowed: a merge operator may
/// read the database too, and then works in a buffer of its own. A thread that is ending has none.
fn with_scratch<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    let result = read(&mut scratch);
    if scratch.capacity() <= SCRATCH_BYTES_MAX {
        let _ = SCRATCH.try_with(|place| place.set(scratch));
    }
    result
}

/// A view and the number to read all of it at. The newest before and after: a pointer visible at
/// this number leads to a value file that the view knows. Asked by its number: to borrow the newest once more
/// for a comparison took two locked operations.
pub(crate) fn moment(core: &Core) -> (Guard<Arc<View>>, SeqNo) {
    loop {
        let view = core.versions.view();
        let newest = core.versions.published();
        let newest_view = core.versions.newest_view();
        // The second, where a newer one is announced and not shown yet: its maker may have been set aside.
        if newest_view == view.number || Arc::ptr_eq(&view, &core.versions.view()) {
            return (view, newest);
        }
    }
}

pub(crate) fn view_cursor(core: &Core, at: Option<SeqNo>) -> ViewCursor {
    let (view, newest) = moment(core);
    ViewCursor::new(HeldView::new(view), at.unwrap_or(newest))
}

pub(crate) fn contains(core: &Core, key: &[u8], at: Option<SeqNo>) -> Result<bool> {
    core.shared.health.check_read()?;
    let (view, newest) = core.versions.read_point();
    let seq = at.unwrap_or(newest);
    let found =
        with_scratch(|scratch| get::contains(&view, &core.shared.context, key, seq, scratch));
    core.shared.context.with_directory(found)
}
