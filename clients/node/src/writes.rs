//! Puts, deletions and batches.
//!
//! A write that the store can make without waiting is made at once, on the environment's thread:
//! it is a few copies in memory. Everything else goes to the queue (`write_queue.rs`).

use std::cell::RefCell;
use std::rc::Rc;

use cairndb::WriteBatch;

use crate::handle::Handle;
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};
use crate::js::task::Deferred;
use crate::scratch::{Scratch, with_scratch};
use crate::staged::Staged;
use crate::write_queue::Work;

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

/// Queues a batch that cannot be written at once.
fn submit_batch<'s>(
    handle: &Rc<Handle>,
    env: Env<'s>,
    batch: WriteBatch,
    flags: u32,
) -> Outcome<Value<'s>> {
    let sync = flags & SYNC != 0;
    submit(handle, env, Work::Write { batch, sync })
}

/// `put(handle, flags, key, value)`: returns `undefined` if the write is done, or a promise.
pub(crate) fn put<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        let value = call.argument::<3>();
        let value = bytes_of(value, flags & VALUE_BYTES != 0, &mut scratch.value)?;
        let at_once = flags & SYNC == 0 && handle.writes.is_idle();
        if at_once && handle.db().try_put(key, value)? {
            return call.env.undefined();
        }
        let mut batch = WriteBatch::new();
        batch.put(key, value);
        submit_batch(handle, call.env, batch, flags)
    })
}

/// `del(handle, flags, key)`: returns `undefined` if the write is done, or a promise.
pub(crate) fn del<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        let at_once = flags & SYNC == 0 && handle.writes.is_idle();
        if at_once && handle.db().try_delete(key)? {
            return call.env.undefined();
        }
        let mut batch = WriteBatch::new();
        batch.delete(key);
        submit_batch(handle, call.env, batch, flags)
    })
}

/// Writes `batch` at once if it is short and need not wait; leaves it empty otherwise.
fn write_batch<'s>(
    handle: &Rc<Handle>,
    call: &Call<'s>,
    flags: u32,
    batch: &mut WriteBatch,
) -> Outcome<Value<'s>> {
    let at_once =
        flags & SYNC == 0 && handle.writes.is_idle() && batch.byte_len() <= AT_ONCE_BYTES_MAX;
    if at_once && handle.db().try_write(batch)? {
        return call.env.undefined();
    }
    submit_batch(handle, call.env, std::mem::take(batch), flags)
}

/// `write(handle, flags, lengths, count, text, bytes)`: a batch of staged operations. Returns
/// `undefined` if the write is done, or a promise.
pub(crate) fn write<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let Scratch { text, batch, .. } = scratch;
        batch.clear();
        Staged::new(call.four::<2>(), text)?.append_to(batch)?;
        write_batch(handle, call, flags, batch)
    })
}

/// A batch that is too long for one call.
type LongBatch = RefCell<WriteBatch>;

/// `batchNew()`: returns an empty batch.
pub(crate) fn batch_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    external::give(call.env, LongBatch::default())
}

/// `batchAppend(batch, lengths, count, text, bytes)`: appends staged operations.
pub(crate) fn batch_append<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let batch = external::borrow::<LongBatch>(call.argument::<0>())?;
    with_scratch(|scratch| {
        let staged = Staged::new(call.four::<1>(), &mut scratch.text)?;
        staged.append_to(&mut batch.borrow_mut())
    })?;
    call.env.undefined()
}

/// `batchWrite(handle, flags, batch)`: writes a batch and leaves it empty.
pub(crate) fn batch_write<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let batch = external::borrow::<LongBatch>(call.argument::<2>())?;
    let mut batch = batch.take();
    write_batch(handle, call, flags, &mut batch)
}

/// `batchPut(batch, flags, key, value)`: appends one put, of a value too large to be staged.
pub(crate) fn batch_put<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let batch = external::borrow::<LongBatch>(call.argument::<0>())?;
    let flags = call.argument::<1>().uint32()?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        let value = call.argument::<3>();
        let value = bytes_of(value, flags & VALUE_BYTES != 0, &mut scratch.value)?;
        batch.borrow_mut().put(key, value);
        call.env.undefined()
    })
}
