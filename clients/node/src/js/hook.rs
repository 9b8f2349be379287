//! What is called when an environment ends: the process, or a worker thread.

use std::ffi::c_void;
use std::rc::Rc;

use crate::js::call::napi;
use crate::js::failure::Outcome;
use crate::js::scope::Env;

/// An object that is notified when its environment ends.
pub(crate) trait Ending: 'static {
    /// Called once, on the environment's thread. No JavaScript runs any more.
    fn environment_ends(&self);
}

/// Registers `object`, which stays alive until [`remove`] or the end of the environment.
pub(crate) fn add<T: Ending>(env: Env<'_>, object: &Rc<T>) -> Outcome<()> {
    let kept = Rc::into_raw(Rc::clone(object));
    let added = napi!(napi_add_env_cleanup_hook(
        env.raw(),
        Some(end::<T>),
        kept.cast_mut().cast(),
    ));
    if added.is_err() {
        // SAFETY: the count was raised above, and Node has refused the pointer.
        drop(unsafe { Rc::from_raw(kept) });
    }
    added
}

/// Undoes [`add`], which must have succeeded for `object`.
pub(crate) fn remove<T: Ending>(env: Env<'_>, object: &Rc<T>) {
    let kept = Rc::as_ptr(object);
    let removed = napi!(napi_remove_env_cleanup_hook(
        env.raw(),
        Some(end::<T>),
        kept.cast_mut().cast(),
    ));
    if removed.is_ok() {
        // SAFETY: `add` has raised the count, and Node no longer has the pointer.
        drop(unsafe { Rc::from_raw(kept) });
    }
}

/// Notifies an object.
///
/// # Safety
/// Node calls it once, on the environment's thread, with the pointer from `add`.
unsafe extern "C" fn end<T: Ending>(data: *mut c_void) {
    // SAFETY: `add` has raised the count for this pointer.
    let object = unsafe { Rc::from_raw(data.cast_const().cast::<T>()) };
    object.environment_ends();
}
