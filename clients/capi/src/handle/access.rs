//! Access to objects through their handles: insert, use, destroy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use cairndb::Result;
use cairndb_env::Origin;

use crate::boundary::panicked;
use crate::handle::pins::{self, Pin};
use crate::handle::retired;
use crate::handle::table::{Slot, put_back, refusal, slot_of, take};
use crate::handle::{
    BUSY, GENERATION_MAX, Handle, HandleKind, Object, POISONED, STATE_GENERATION_SHIFT,
    SharedObject,
};

/// Stores `object` and returns its handle.
///
/// # Errors
/// `InvalidArgument` if too many handles are open.
pub(crate) fn insert<T: Object + 'static>(object: T) -> Result<Handle> {
    // Also installs the hook that counts forks.
    let _here = Origin::here();
    pins::prepare();
    let (index, slot) = take()?;
    let generation = (slot.state.load(Ordering::Acquire) >> STATE_GENERATION_SHIFT).max(1);
    let handle = Handle::new(index, generation, T::KIND);
    slot.entry.set(None);
    let object = Box::into_raw(Box::new(object));
    slot.object.store(object.cast(), Ordering::Release);
    slot.state.store(handle.live_state(), Ordering::SeqCst);
    Ok(handle)
}

/// Runs `run` with the object of `handle`, which other threads may use at the same time.
///
/// # Errors
/// Those of the handle and of `run`. A panic becomes `Poisoned`, and poisons the handle.
#[inline]
pub(crate) fn with_shared<T: SharedObject, R>(
    handle: Handle,
    run: impl FnOnce(&T) -> Result<R>,
) -> Result<R> {
    with_pinned(handle, |object, _| run(object))
}

/// Like [`with_shared`], with the pin, which has the thread's buffer.
///
/// # Errors
/// As above.
#[inline]
pub(crate) fn with_pinned<T: SharedObject, R>(
    handle: Handle,
    run: impl FnOnce(&T, &Pin) -> Result<R>,
) -> Result<R> {
    let pin = pins::pin(handle)?;
    let Some(slot) = slot_of(handle).filter(|_| handle.is_of(T::KIND)) else {
        return Err(refusal(handle, T::KIND));
    };
    // The object is read between two looks at the state: after the first, it is no older than the
    // handle; before the second, no newer.
    let before = slot.state.load(Ordering::Acquire);
    let object = slot.object.load(Ordering::Acquire);
    let after = slot.state.load(Ordering::Acquire);
    let live = handle.live_state();
    if before != live || after != live {
        return Err(handle.refusal(T::KIND, Some(after)));
    }
    // SAFETY: the handle was valid after it had been pinned, so the object lives until the pin is
    // dropped. It has the type of its kind, and shared kinds are `Sync`.
    let object = unsafe { &*object.cast::<T>() };
    match catch_unwind(AssertUnwindSafe(|| run(object, &pin))) {
        Ok(result) => result,
        Err(panic) => {
            // If the handle was destroyed meanwhile, there is nothing to poison.
            let poisoned = live | POISONED;
            let (relaxed, state) = (Ordering::Relaxed, &slot.state);
            let _ = state.compare_exchange(live, poisoned, Ordering::SeqCst, relaxed);
            Err(panicked(T::KIND, &*panic))
        }
    }
}

/// Marks the slot as idle again, also when the call panics.
struct Busy<'s> {
    slot: &'s Slot,
    idle: u64,
}

impl Drop for Busy<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.state.store(self.idle, Ordering::Release);
    }
}

/// Runs `run` with the object of `handle`, which no other thread uses at the same time: the headers
/// require that. A call from a callback of the same thread is an error.
///
/// The mark is set with a load and a store. One locked instruction would also exclude other threads
/// reliably, but takes 9 ns, and a step has 10.
///
/// # Errors
/// Those of the handle and of `run`; `InvalidArgument` if another call is using the object. A panic
/// becomes `Poisoned`, and poisons the handle.
#[inline]
pub(crate) fn with_exclusive<T: Object, R>(
    handle: Handle,
    run: impl FnOnce(&Slot, &mut T) -> Result<R>,
) -> Result<R> {
    let Some(slot) = slot_of(handle) else {
        return Err(refusal(handle, T::KIND));
    };
    let live = handle.live_state_as(T::KIND as u64);
    let state = slot.state.load(Ordering::Acquire);
    if state != live {
        return Err(handle.refusal(T::KIND, Some(state)));
    }
    slot.state.store(live | BUSY, Ordering::Relaxed);
    let mut busy = Busy { slot, idle: live };
    let object = slot.object.load(Ordering::Acquire);
    // SAFETY: the mark `BUSY` excludes every other use by this thread, and the object's
    // destruction; the headers exclude other threads. The object has the type of its kind.
    let object = unsafe { &mut *object.cast::<T>() };
    match catch_unwind(AssertUnwindSafe(|| run(slot, object))) {
        Ok(result) => result,
        Err(panic) => {
            busy.idle = live | POISONED;
            Err(panicked(T::KIND, &*panic))
        }
    }
}

/// Destroys the object of `handle`. It is freed when no call uses it any more.
///
/// # Errors
/// Those of the handle, except `Poisoned`; `InvalidArgument` if a call is using an exclusive
/// object.
pub(crate) fn destroy<T: Object + 'static>(handle: Handle) -> Result<()> {
    let Some(slot) = slot_of(handle).filter(|_| handle.is_of(T::KIND)) else {
        return Err(refusal(handle, T::KIND));
    };
    let next = handle.generation() + 1;
    let free = next.min(GENERATION_MAX) << STATE_GENERATION_SHIFT;
    let live = handle.live_state();
    let (order, state) = (Ordering::SeqCst, &slot.state);
    let removed = state
        .compare_exchange(live, free, order, order)
        .or_else(|_| state.compare_exchange(live | POISONED, free, order, order));
    if let Err(now) = removed {
        return Err(handle.refusal(T::KIND, Some(now)));
    }
    let object = slot.object.load(Ordering::Acquire).cast::<T>();
    // SAFETY: this call alone has changed the state from live to free, and the slot is not yet on
    // the list of free ones, so it owns the object, which `insert` made from a box of this type.
    let object = unsafe { Box::from_raw(object) };
    // A slot without further generations is left out for good.
    if next <= GENERATION_MAX {
        put_back(handle, slot);
    }
    let free = || match T::KIND {
        HandleKind::Database | HandleKind::Keyspace | HandleKind::Snapshot => {
            retired::retire(handle, object);
        }
        // Nobody uses it: it was not marked `BUSY`.
        HandleKind::Iterator | HandleKind::Batch | HandleKind::Comparison | HandleKind::Feed => {
            drop(object);
        }
    };
    catch_unwind(AssertUnwindSafe(free)).map_err(|panic| panicked(T::KIND, &*panic))
}
