//! Puts, deletions and batches.
//!
//! A write that the store can make without waiting is made at once, on the environment's thread:
//! it is a few copies in memory. Everything else goes to the queue (`write_queue.rs`).

use std::cell::RefCell;
use std::rc::Rc;

use cairndb::WriteBatch;

use crate::handle::{Handle, Place};
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};
use crate::js::task::Deferred;
use crate::scratch::{Scratch, with_scratch};
use crate::staged::Staged;
use crate::write_queue::{Places, Work};

/// The key is bytes, not a string.
pub(crate) const KEY_BYTES: u32 = 1;
/// The value is bytes, not a string.
const VALUE_BYTES: u32 = 2;
/// The write survives a power failure.
const SYNC: u32 = 4;

/// Bytes of a batch up to which it is written at once: about a millisecond.
const AT_ONCE_BYTES_MAX: usize = 256 << 10;

/// Reads a key or value. A string is copied to `scratch`.
#[inline]
pub(crate) fn bytes_of<'a>(
    value: Value<'a>,
    as_bytes: bool,
    scratch: &'a mut Vec<u8>,
) -> Outcome<&'a [u8]> {
    if as_bytes {
        return value.bytes();
    }
    scratch.clear();
    value.append_utf8(scratch)?;
    Ok(scratch)
}

/// Queues `work` and returns a promise of it.
pub(crate) fn submit<'s>(handle: &Rc<Handle>, env: Env<'s>, work: Work) -> Outcome<Value<'s>> {
    handle.check_open()?;
    let (deferred, promise) = Deferred::new(env)?;
    let idle = handle.writes.is_idle();
    handle.writes.push(work, deferred);
    if idle {
        run_next(handle, env);
    }
    Ok(promise)
}

/// Does the next work of the queue on the thread pool, and then what follows it.
fn run_next(handle: &Rc<Handle>, env: Env<'_>) {
    let Some((work, promises)) = handle.writes.next() else {
        return;
    };
    let again = Rc::clone(handle);
    let begun = handle.spawn(
        env,
        move |db| work.run(db),
        move |env, done| {
            promises.settle(env, &done.and_then(|done| done));
            run_next(&again, env);
        },
    );
    // Fails only if the environment is ending; then nobody waits any more.
    drop(begun);
}

/// `put(handle, flags, key, value)`: returns `undefined` if the write is done, or a promise.
pub(crate) fn put<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        let value = call.argument::<3>();
        let value = bytes_of(value, flags & VALUE_BYTES != 0, &mut scratch.value)?;
        if place.id == 0 && may_be_at_once(place, flags) && place.db().try_put(key, value)? {
            return call.env.undefined();
        }
        let batch = &mut scratch.batch;
        batch.clear();
        batch.put_in(&place.keyspace, key, value);
        write_batch(place, call, flags, batch, Places::One(place.id))
    })
}

/// `del(handle, flags, key)`: returns `undefined` if the write is done, or a promise.
pub(crate) fn del<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        if place.id == 0 && may_be_at_once(place, flags) && place.db().try_delete(key)? {
            return call.env.undefined();
        }
        let batch = &mut scratch.batch;
        batch.clear();
        batch.delete_in(&place.keyspace, key);
        write_batch(place, call, flags, batch, Places::One(place.id))
    })
}

/// Returns whether a write need not wait for others, nor for a sync.
#[inline]
fn may_be_at_once(handle: &Handle, flags: u32) -> bool {
    flags & SYNC == 0 && handle.writes.is_idle()
}

/// Writes `batch` at once if it is short and need not wait; otherwise queues it and leaves it
/// empty.
pub(crate) fn write_batch<'s>(
    handle: &Rc<Handle>,
    call: &Call<'s>,
    flags: u32,
    batch: &mut WriteBatch,
    places: Places,
) -> Outcome<Value<'s>> {
    let at_once = may_be_at_once(handle, flags) && batch.byte_len() <= AT_ONCE_BYTES_MAX;
    if at_once && handle.db().try_write(batch)? {
        return call.env.undefined();
    }
    let work = Work::Write {
        batch: std::mem::take(batch),
        places,
        sync: flags & SYNC != 0,
    };
    submit(handle, call.env, work)
}

/// `write(handle, flags, lengths, count, text, bytes)`: a batch of staged operations. Returns
/// `undefined` if the write is done, or a promise.
pub(crate) fn write<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let Scratch { text, batch, .. } = scratch;
        batch.clear();
        Staged::new(call.four::<2>(), text)?.append_to(batch, &place.keyspace)?;
        write_batch(place, call, flags, batch, Places::One(place.id))
    })
}

/// A batch that is too long for one call, or writes to several keyspaces.
type LongBatch = RefCell<(WriteBatch, Places)>;

/// `batchNew()`: returns an empty batch.
pub(crate) fn batch_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    external::give(call.env, LongBatch::default())
}

/// `batchAppend(batch, handle, lengths, count, text, bytes)`: appends staged operations.
pub(crate) fn batch_append<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let batch = external::borrow::<LongBatch>(call.argument::<0>())?;
    let place = Place::argument::<1>(call)?;
    with_scratch(|scratch| {
        let staged = Staged::new(call.four::<2>(), &mut scratch.text)?;
        let (batch, places) = &mut *batch.borrow_mut();
        places.add(place.id);
        staged.append_to(batch, &place.keyspace)
    })?;
    call.env.undefined()
}

/// `batchWrite(handle, flags, batch)`: writes a batch and leaves it empty.
pub(crate) fn batch_write<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let batch = external::borrow::<LongBatch>(call.argument::<2>())?;
    let (mut batch, places) = batch.take();
    write_batch(handle, call, flags, &mut batch, places)
}

/// `batchPut(batch, handle, flags, key, value)`: appends one put, of a value too large to be
/// staged.
pub(crate) fn batch_put<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let batch = external::borrow::<LongBatch>(call.argument::<0>())?;
    let place = Place::argument::<1>(call)?;
    let flags = call.argument::<2>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<3>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        let value = call.argument::<4>();
        let value = bytes_of(value, flags & VALUE_BYTES != 0, &mut scratch.value)?;
        let (batch, places) = &mut *batch.borrow_mut();
        places.add(place.id);
        batch.put_in(&place.keyspace, key, value);
        call.env.undefined()
    })
}
