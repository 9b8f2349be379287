//! The iterator as JavaScript holds it.

use std::cell::{Ref, RefCell};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cairndb::{Cursor, Error, ErrorKind};

use crate::handle::{Handle, Place};
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::{Failure, Outcome};
use crate::js::scope::Value;
use crate::js::watch::AbortFlag;
use crate::results::Form;
use crate::scan::bounds::Bounds;
use crate::scan::{Amount, Scan};
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
struct ScanShared {
    scan: Mutex<Scan>,
    abort: AbortFlag,
}

/// An iterator.
#[derive(Debug)]
struct Object {
    /// `None` once the iterator was closed.
    handle: Option<Rc<Handle>>,
    shared: Arc<ScanShared>,
    singly: bool,
    /// Bounds and seek targets are bytes.
    key_bytes: bool,
}

/// What the external owns: an iterator, and after its end the next one.
type Held = RefCell<Object>;

impl ScanShared {
    fn scan(&self) -> MutexGuard<'_, Scan> {
        self.scan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart(&mut self, cursor: Option<Cursor>, bounds: Bounds, forms: [Form; 2]) {
        self.scan().restart(cursor, bounds, forms);
        self.abort = AbortFlag::default();
    }
}

/// Reads the bounds from the flags and the two arguments for their keys.
pub(crate) fn bounds(flags: u32, [lower, upper]: [Value<'_>; 2]) -> Outcome<Bounds> {
    let key = |value: Value<'_>, present, excluded| -> Outcome<Bound<Vec<u8>>> {
        if flags & present == 0 {
            return Ok(Bound::Unbounded);
        }
        let mut key = Vec::new();
        if flags & KEY_BYTES != 0 {
            key.extend_from_slice(value.bytes()?);
        } else {
            value.append_utf8(&mut key)?;
        }
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

/// `iteratorNew(handle, flags, lower, upper, snapshot, closed)`: returns an iterator over what is
/// there now. It is `closed`, if that is an iterator that was closed.
pub(crate) fn iterator_new<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let place = Place::of(call)?;
    place.check_open()?;
    let flags = call.argument::<1>().uint32()?;
    let bounds = bounds(flags, [call.argument::<2>(), call.argument::<3>()])?;
    let cursor = match Moment::from_argument(call.argument::<4>()) {
        Ok(moment) => Some(moment.cursor(&place.keyspace)?),
        // The snapshot is closed. `abstract-level` says so when the iterator is read.
        Err(Failure::Store(_)) => None,
        Err(failure) => return Err(failure),
    };
    let forms = [
        Form::from_code(flags >> KEY_FORM_SHIFT),
        Form::from_code(flags >> VALUE_FORM_SHIFT),
    ];
    let fresh = |bounds, cursor| {
        Arc::new(ScanShared {
            scan: Mutex::new(Scan::new(cursor, bounds, forms)),
            abort: AbortFlag::default(),
        })
    };
    let closed = call.argument::<5>();
    if !closed.is_external()? {
        let mut object = Object {
            handle: None,
            shared: fresh(bounds, cursor),
            singly: false,
            key_bytes: false,
        };
        object.begin(place, flags);
        return external::give(call.env, Held::new(object));
    }
    let mut object = external::borrow::<Held>(closed)?.borrow_mut();
    if object.handle.is_some() {
        return Err(Failure::Argument("expected a closed iterator"));
    }
    match Arc::get_mut(&mut object.shared) {
        Some(shared) => shared.restart(cursor, bounds, forms),
        None => object.shared = fresh(bounds, cursor),
    }
    object.begin(place, flags);
    Ok(closed)
}

fn object<'s>(call: &Call<'s>) -> Outcome<Ref<'s, Object>> {
    external::borrow::<Held>(call.argument::<0>()).map(RefCell::borrow)
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
    fn begin(&mut self, handle: &Rc<Handle>, flags: u32) {
        self.handle = Some(Rc::clone(handle));
        self.singly = flags & SINGLY != 0;
        self.key_bytes = flags & KEY_BYTES != 0;
    }

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
    let closed = || Error::new(ErrorKind::Closed, "the iterator was closed");
    let handle = object.handle.as_ref().ok_or_else(closed)?;
    if let Some(measured) = handle.gate.begin() {
        let mut scan = object.shared.scan();
        let fetched = scan.fetch(amount, || measured.elapsed_ns() < HERE_NS_MAX);
        let (entries, bytes) = (scan.chunk.len(), scan.chunk.byte_len());
        drop(scan);
        handle.gate.finish_many(measured, entries, bytes);
        fetched?;
        return object.pass(call, [call.argument::<3>(), call.argument::<4>()]);
    }
    let shared = Arc::clone(&object.shared);
    handle.read(
        call.env,
        entries,
        move |_| {
            let goes_on = || shared.abort.check().is_ok();
            let fetched = shared.scan().fetch(amount, goes_on);
            shared.abort.check().and(fetched)
        },
        |env, fetched: Result<(), Error>| {
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

/// `iteratorClose(iterator)`: releases what it holds. No read may be running.
pub(crate) fn iterator_close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let mut object = external::borrow::<Held>(call.argument::<0>())?.borrow_mut();
    object.handle = None;
    object.shared.scan().close();
    call.env.undefined()
}
