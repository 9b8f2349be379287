//! Rust values that JavaScript holds as externals.

use std::any::TypeId;
use std::ffi::c_void;
use std::ptr::null_mut;

use napi_sys::napi_env;

use crate::js::call::napi;
use crate::js::failure::{Failure, Outcome};
use crate::js::scope::{Env, Value};

/// A value with its type, so that one external in place of another is an error.
#[repr(C)]
struct Tagged<T> {
    kind: TypeId,
    value: T,
}

/// Makes an external that owns `value` and drops it, on this thread, when it is collected or the
/// environment ends.
pub(crate) fn give<T: 'static>(env: Env<'_>, value: T) -> Outcome<Value<'_>> {
    let kept = Box::into_raw(Box::new(Tagged {
        kind: TypeId::of::<T>(),
        value,
    }));
    let mut external = null_mut();
    let made = napi!(napi_create_external(
        env.raw(),
        kept.cast(),
        Some(finalize::<T>),
        null_mut(),
        &raw mut external,
    ));
    if let Err(failure) = made {
        // SAFETY: Node has refused the pointer, so the box is still ours.
        drop(unsafe { Box::from_raw(kept) });
        return Err(failure);
    }
    Ok(Value::new(env, external))
}

/// Drops the value of an external.
///
/// # Safety
/// `data` is the box of an external of `T`, and is passed here once.
unsafe extern "C" fn finalize<T>(_env: napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: see above.
    drop(unsafe { Box::from_raw(data.cast::<Tagged<T>>()) });
}

/// Returns the value that an external owns, borrowed for the callback.
#[inline]
pub(crate) fn borrow<T: 'static>(value: Value<'_>) -> Outcome<&T> {
    const WRONG: Failure = Failure::Argument("expected another kind of object");
    let mut data = null_mut();
    napi!(napi_get_value_external(
        value.env().raw(),
        value.raw(),
        &raw mut data
    ))
    .map_err(|_| WRONG)?;
    let kind = data.cast::<TypeId>();
    // SAFETY: the externals that reach the addon are its own (`binding.js` passes no others), each
    // a live `Tagged`, whose first field is its type.
    if unsafe { *kind } != TypeId::of::<T>() {
        return Err(WRONG);
    }
    let tagged: *const Tagged<T> = data.cast();
    // SAFETY: the type is `T`, and the external lives until the callback returns, because the value
    // does.
    Ok(unsafe { &(*tagged).value })
}
