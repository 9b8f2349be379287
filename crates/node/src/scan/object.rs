//! The iterator as JavaScript holds it.

use std::cell::Cell;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::Error;

use crate::handle::Handle;
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::{Failure, Outcome};
use crate::js::scope::Value;
use crate::results::Form;
use crate::scan::bounds::Bounds;
use crate::scan::chunk::Chunk;
use crate::scan::{AbortFlag, Amount, Scan};
use crate::scratch::with_scratch;
use crate::snapshot::Moment;
use crate::writes::{KEY_BYTES, bytes_of};

/// Duration after which a read on the environment's thread ends, with what it has.
const HERE_NS_MAX: u64 = 1_000_000;

// The flags of `iteratorNew`; `KEY_BYTES` says that the bounds are bytes.
const REVERSE: u32 = 2;
/// There is a lower bound.
pub(crate) const LOWER: u32 = 4;
/// The lower bound itself is not in the range.
const LOWER_EXCLUDED: u32 = 8;
/// There is an upper bound.
pub(crate) const UPPER: u32 = 16;
/// The upper bound itself is not in the range.
const UPPER_EXCLUDED: u32 = 32;
/// Keys or values are returned, not entries.
const SINGLY: u32 = 64;
/// Where the codes of the forms of keys and values are.
const KEY_FORM_SHIFT: u32 = 8;
const VALUE_FORM_SHIFT: u32 = 10;

/// What the reads on the pool share with the object.
#[derive(Debug)]
struct Shared {
    scan: Mutex<Scan>,
    abort: AbortFlag,
}

/// An iterator.
#[derive(Debug)]
struct Object {
    handle: Rc<Handle>,
    shared: Arc<Shared>,
    singly: bool,
    /// Bounds and seek targets are bytes.
    key_bytes: bool,
    closed: Cell<bool>,
}

impl Shared {
    fn scan(&self) -> MutexGuard<'_, Scan> {
        self.scan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the bounds from the flags and the two arguments for their keys.
pub(crate) fn bounds(flags: u32, [lower, upper]: [Value<'_>; 2]) -> Outcome<Bounds> {
    let key = |value, present, excluded| -> Outcome<Bound<Vec<u8>>> {
        if flags & present == 0 {
            return Ok(Bound::Unbounded);
        }
        let mut scratch = Vec::new();
        let key = bytes_of(value, flags & KEY_BYTES != 0, &mut scratch)?.to_vec();
        Ok(if flags & excluded == 0 {
            Bound::Included(key)
        } else {
            Bound::Excluded(key)
        })
    };
    Ok(Bounds {
        lower: key(lower, LOWER, LOWER_EXCLUDED)?,
        upper: key(upper, UPPER, UPPER_EXCLUDED)?,
        reverse: flags & REVERSE != 0,
    })
}

/// `iteratorNew(handle, flags, lower, upper, snapshot)`: returns an iterator over what is there
/// now.
pub(crate) fn iterator_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    handle.check_open()?;
    let flags = call.argument::<1>().uint32()?;
    let bounds = bounds(flags, [call.argument::<2>(), call.argument::<3>()])?;
    let cursor = match Moment::from_argument(call.argument::<4>()) {
        Ok(moment) => Some(moment.cursor(handle.db())),
        // The snapshot is closed. `abstract-level` says so when the iterator is read.
        Err(Failure::Store(_)) => None,
        Err(failure) => return Err(failure),
    };
    let chunk = Chunk::new(
        Form::from_code(flags >> KEY_FORM_SHIFT),
        Form::from_code(flags >> VALUE_FORM_SHIFT),
    );
    let scan = Scan::new(cursor, bounds, chunk);
    let object = Object {
        handle: Rc::clone(handle),
        shared: Arc::new(Shared {
            scan: Mutex::new(scan),
            abort: AbortFlag::default(),
        }),
        singly: flags & SINGLY != 0,
        key_bytes: flags & KEY_BYTES != 0,
        closed: Cell::new(false),
    };
    external::give(call.env, object)
}

fn object<'s>(call: &Call<'s>) -> Outcome<&'s Object> {
    external::borrow(call.argument::<0>())
}

/// `iteratorSeek(iterator, target)`.
pub(crate) fn iterator_seek<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let object = object(call)?;
    with_scratch(|scratch| {
        let target = call.argument::<1>();
        let target = bytes_of(target, object.key_bytes, &mut scratch.key)?;
        object.shared.scan().seek(target);
        call.env.undefined()
    })
}

impl Object {
    /// Passes the fetched chunk on, and returns whether the iterator has ended.
    fn pass<'s>(&self, call: &Call<'s>, to: [Value<'s>; 2]) -> Outcome<Value<'s>> {
        let mut scan = self.shared.scan();
        scan.chunk.pass(call.env, self.singly, to)?;
        call.env.boolean(scan.has_ended())
    }
}

/// `iteratorRead(iterator, entries, bytes, sink, collect)`: appends entries to `sink` and returns
/// whether the iterator has ended; or returns a promise, after which `iteratorTake` does so.
pub(crate) fn iterator_read<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let object = object(call)?;
    let (entries, bytes) = (
        call.argument::<1>().uint32()?,
        call.argument::<2>().uint32()?,
    );
    let amount = Amount {
        entries: usize::try_from(entries).unwrap_or(usize::MAX),
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
    };
    if let Some(measured) = object.handle.gate.begin() {
        let mut scan = object.shared.scan();
        let fetched = scan.fetch(amount, || measured.elapsed_ns() < HERE_NS_MAX);
        let (entries, bytes) = (scan.chunk.len(), scan.chunk.byte_len());
        drop(scan);
        object.handle.gate.finish_many(measured, entries, bytes);
        fetched?;
        return object.pass(call, [call.argument::<3>(), call.argument::<4>()]);
    }
    let shared = Arc::clone(&object.shared);
    object.handle.read(
        call.env,
        entries,
        move |_| {
            let fetched = shared.scan().fetch(amount, || !shared.abort.is_set());
            (fetched, shared.abort.is_set())
        },
        |env, (fetched, aborted): (Result<(), Error>, bool)| {
            if aborted {
                return Err(Failure::Aborted);
            }
            fetched?;
            env.undefined()
        },
    )
}

/// `iteratorTake(iterator, sink, collect)`: appends what a read on the pool has fetched to `sink`
/// and returns whether the iterator has ended.
pub(crate) fn iterator_take<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    object(call)?.pass(call, [call.argument::<1>(), call.argument::<2>()])
}

/// `iteratorAbort(iterator)`: ends the read that runs on the pool.
pub(crate) fn iterator_abort<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    object(call)?.shared.abort.set();
    call.env.undefined()
}

/// `iteratorClose(iterator)`: releases what it holds.
pub(crate) fn iterator_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let object = object(call)?;
    if !object.closed.replace(true) {
        object.shared.scan().close();
    }
    call.env.undefined()
}
