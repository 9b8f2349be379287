//! The call of a function of Node-API.

#![allow(
    unsafe_code,
    reason = "every function of Node-API is a foreign function"
)]

/// Calls a function of Node-API and returns `Err(Failure::Pending)` unless it succeeds.
macro_rules! napi {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the environment is that of the running callback (invariant of `Env`), values
        // belong to the callback's scope (invariant of `Value`), and pointers are made from
        // references and slices that outlive the call.
        let status = unsafe { napi_sys::$name($($argument),*) };
        $crate::js::failure::check(status)
    }};
}
pub(crate) use napi;
