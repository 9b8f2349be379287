//! Gets: single, synchronous, of many keys; and whether keys exist.
//!
//! While the gate is warm (`gate.rs`), they run on the environment's thread and return their
//! result; otherwise they run on the thread pool and return a promise. `binding.js` passes either
//! on.

use std::cell::RefCell;

use cairndb::{Db, Error, Keyspace, Value as Found};

use crate::handle::Place;
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::scope::{Env, Value};
use crate::results::Collector;
use crate::scratch::{Scratch, with_scratch};
use crate::snapshot::Moment;
use crate::staged::Staged;
use crate::writes::{KEY_BYTES, bytes_of};

/// The value is to be a `Buffer`, not a string.
const VALUE_BYTES: u32 = 2;
/// The last argument is a snapshot.
const SNAPSHOT: u32 = 8;

/// Keys that are read between two looks at the clock.
const KEYS_AT_ONCE: usize = 64;
/// Keys from which a call runs on the pool in any case.
const KEYS_HERE_MAX: usize = 2048;
/// Duration after which a call with many keys is left to the pool.
const HERE_NS_MAX: u64 = 2_000_000;

#[inline]
fn moment<const N: usize>(call: &Call<'_>, flags: u32) -> Outcome<Option<Moment>> {
    if flags & SNAPSHOT == 0 {
        return Ok(None);
    }
    Moment::from_argument(call.argument::<N>()).map(Some)
}

#[inline]
fn get_into(
    of: &Keyspace,
    moment: Option<&Moment>,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, Error> {
    match moment {
        None => of.get_into(key, out),
        Some(moment) => moment.get_into(of, key, out),
    }
}

/// Length up to which bytes are written to the slab of `slab.js`.
const SLAB_VALUE_MAX: usize = 1024;

/// Makes the value that was found. Short bytes are written to the slab, of which the arguments 4
/// and 5 are the memory and the offset; then the value is their length.
#[inline]
fn value_of<'s>(call: &Call<'s>, bytes: &[u8], as_bytes: bool) -> Outcome<Value<'s>> {
    if !as_bytes {
        return call.env.string(bytes);
    }
    if bytes.len() > SLAB_VALUE_MAX {
        return call.env.buffer(bytes);
    }
    let offset = usize::try_from(call.argument::<5>().uint32()?).unwrap_or(usize::MAX);
    let len = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    call.argument::<4>().write_bytes(offset, bytes)?;
    call.env.integer(len)
}

/// `get(handle, flags, key, snapshot, slab, offset)`: returns the value, `undefined`, the length of
/// a value in the slab, or a promise of one of the first two.
pub(crate) fn get<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let moment = moment::<3>(call, flags)?;
    let as_bytes = flags & VALUE_BYTES != 0;
    with_scratch(|scratch| {
        let Scratch { key, value, .. } = scratch;
        let key = bytes_of(call.argument::<2>(), flags & KEY_BYTES != 0, key)?;
        if let Some(measured) = place.gate.begin() {
            let found = get_into(&place.keyspace, moment.as_ref(), key, value);
            place
                .gate
                .finish(measured, if let Ok(true) = found { value.len() } else { 0 });
            if !found? {
                return call.env.undefined();
            }
            return value_of(call, value, as_bytes);
        }
        let (key, keyspace) = (key.to_vec(), place.keyspace.clone());
        place.read(
            call.env,
            1,
            move |_| {
                let mut out = Vec::new();
                let found = get_into(&keyspace, moment.as_ref(), &key, &mut out)?;
                Ok(found.then_some(out))
            },
            move |env, found: Result<Option<Vec<u8>>, Error>| match found? {
                None => env.undefined(),
                Some(bytes) if as_bytes => env.buffer_of(bytes),
                Some(bytes) => env.string(&bytes),
            },
        )
    })
}

/// `getSync(handle, flags, key, snapshot, slab, offset)`: returns the value, `undefined`, or the
/// length of a value in the slab, however long it takes.
pub(crate) fn get_sync<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let moment = moment::<3>(call, flags)?;
    with_scratch(|scratch| {
        let Scratch { key, value, .. } = scratch;
        let key = bytes_of(call.argument::<2>(), flags & KEY_BYTES != 0, key)?;
        if !get_into(&place.keyspace, moment.as_ref(), key, value)? {
            return call.env.undefined();
        }
        value_of(call, value, flags & VALUE_BYTES != 0)
    })
}

/// `has(handle, flags, key, snapshot)`: returns a boolean or a promise of one.
pub(crate) fn has<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let moment = Moment::from_argument(call.argument::<3>())?;
    with_scratch(|scratch| {
        let key = call.argument::<2>();
        let key = bytes_of(key, flags & KEY_BYTES != 0, &mut scratch.key)?;
        if let Some(measured) = place.gate.begin() {
            let found = moment.contains(&place.keyspace, key);
            place.gate.finish(measured, 0);
            return call.env.boolean(found?);
        }
        let (key, keyspace) = (key.to_vec(), place.keyspace.clone());
        place.read(
            call.env,
            1,
            move |_| moment.contains(&keyspace, &key),
            |env, found: Result<bool, Error>| env.boolean(found?),
        )
    })
}

/// The result of a `getMany` on the pool, and how much of it was passed on.
type Pending = RefCell<(Vec<Option<Found>>, usize)>;

/// Reads `keys` in steps of one moment. Returns `None` as soon as `goes_on` returns false.
fn read_many(
    db: &Db,
    of: &Keyspace,
    moment: Moment,
    keys: &[&[u8]],
    goes_on: impl Fn() -> bool,
) -> Result<Option<Vec<Option<Found>>>, Error> {
    if keys.len() <= KEYS_AT_ONCE {
        return moment.multi_get(of, keys).map(Some);
    }
    let moment = moment.fixed(db);
    let mut found = Vec::with_capacity(keys.len());
    for keys in keys.chunks(KEYS_AT_ONCE) {
        if !goes_on() {
            return Ok(None);
        }
        found.append(&mut moment.multi_get(of, keys)?);
    }
    Ok(Some(found))
}

fn total_len(values: Option<&[Option<Found>]>) -> usize {
    let values = values.unwrap_or_default().iter().flatten();
    values.map(|value| value.len()).sum()
}

/// Passes values to the function `collect`, which appends them to `sink`.
fn pass<'s>(
    env: Env<'s>,
    values: &[Option<Found>],
    as_bytes: bool,
    to: [Value<'s>; 2],
) -> Outcome<()> {
    let mut buffer = None;
    if as_bytes {
        let total = values.iter().flatten().map(|value| value.len()).sum();
        let mut bytes = Vec::with_capacity(total);
        for value in values.iter().flatten() {
            bytes.extend_from_slice(value);
        }
        buffer = Some(env.buffer_of(bytes)?);
    }
    let mut collector = Collector::new(env, to, buffer, values.len())?;
    for value in values {
        match value {
            None => collector.absent(),
            Some(value) if as_bytes => collector.bytes(value.len())?,
            Some(value) => collector.text(value)?,
        }
        collector.end_entry()?;
    }
    collector.flush()
}

/// `getMany(handle, flags, lengths, count, text, bytes, [sink, collect], snapshot)`: appends the
/// values of the staged keys to `sink` and returns `undefined`; or returns a promise of an object
/// for `takeMany`.
pub(crate) fn get_many<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let flags = call.argument::<1>().uint32()?;
    let moment = Moment::from_argument(call.argument::<7>())?;
    with_scratch(|scratch| {
        let keys = Staged::new(call.four::<2>(), &mut scratch.text)?.keys()?;
        if keys.len() <= KEYS_HERE_MAX
            && let Some(measured) = place.gate.begin()
        {
            let goes_on = || measured.elapsed_ns() < HERE_NS_MAX;
            let found = read_many(place.db(), &place.keyspace, moment.clone(), &keys, goes_on);
            let bytes = found
                .as_ref()
                .map_or(0, |found| total_len(found.as_deref()));
            place.gate.finish_many(measured, keys.len(), bytes);
            if let Some(found) = found? {
                let to = call.argument::<6>();
                let to = [to.property(c"sink")?, to.property(c"collect")?];
                pass(call.env, &found, flags & VALUE_BYTES != 0, to)?;
                return call.env.undefined();
            }
        }
        let keys: Vec<Vec<u8>> = keys.into_iter().map(<[u8]>::to_vec).collect();
        let keyspace = place.keyspace.clone();
        let reads = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        place.read(
            call.env,
            reads,
            move |db| {
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                read_many(db, &keyspace, moment, &keys, || true)
            },
            |env, found: Result<Option<Vec<Option<Found>>>, Error>| {
                let found = found?.unwrap_or_default();
                external::give(env, Pending::new((found, 0)))
            },
        )
    })
}

/// `takeMany(pending, flags, count, [sink, collect])`: appends up to `count` more values to `sink`
/// and returns whether there are more.
pub(crate) fn take_many<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let mut pending = external::borrow::<Pending>(call.argument::<0>())?.borrow_mut();
    let flags = call.argument::<1>().uint32()?;
    let count = usize::try_from(call.argument::<2>().uint32()?).unwrap_or(usize::MAX);
    let (values, taken) = &mut *pending;
    let end = taken.saturating_add(count).min(values.len());
    let part = values.get(*taken..end).unwrap_or_default();
    let to = call.argument::<3>();
    let to = [to.property(c"sink")?, to.property(c"collect")?];
    pass(call.env, part, flags & VALUE_BYTES != 0, to)?;
    *taken = end;
    call.env.boolean(end < values.len())
}

/// `hasMany(handle, lengths, count, text, bytes, snapshot)`: returns a `Buffer` with a byte for
/// each key, or a promise of one.
pub(crate) fn has_many<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    let moment = Moment::from_argument(call.argument::<5>())?.fixed(place.db());
    with_scratch(|scratch| {
        let keys = Staged::new(call.four::<1>(), &mut scratch.text)?.keys()?;
        if keys.len() <= KEYS_AT_ONCE
            && let Some(measured) = place.gate.begin()
        {
            let found = have(&place.keyspace, &moment, &keys);
            place.gate.finish_many(measured, keys.len(), 0);
            return call.env.buffer(&found?);
        }
        let keys: Vec<Vec<u8>> = keys.into_iter().map(<[u8]>::to_vec).collect();
        let keyspace = place.keyspace.clone();
        let reads = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        place.read(
            call.env,
            reads,
            move |_| have(&keyspace, &moment, &keys),
            |env, found: Result<Vec<u8>, Error>| env.buffer_of(found?),
        )
    })
}

fn have<K: AsRef<[u8]>>(of: &Keyspace, moment: &Moment, keys: &[K]) -> Result<Vec<u8>, Error> {
    let found = keys.iter().map(|key| moment.contains(of, key.as_ref()));
    found.map(|found| found.map(u8::from)).collect()
}
