//! Native functions as JavaScript calls them.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{from_ref, null_mut};

use cairndb::{Error, ErrorKind};
use napi_sys::{napi_callback_info, napi_env, napi_value};

use crate::js::call::napi;
use crate::js::failure::{Failure, Outcome};
use crate::js::scope::{Env, Value};

/// Arguments that a function takes at most.
const ARGUMENTS_MAX: usize = 8;

/// A native function under its name.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) name: &'static str,
    pub(crate) body: for<'s> fn(&Call<'s>) -> Outcome<Value<'s>>,
}

/// A call of a native function.
#[derive(Debug)]
pub(crate) struct Call<'s> {
    pub(crate) env: Env<'s>,
    /// Missing arguments are `undefined`.
    arguments: [napi_value; ARGUMENTS_MAX],
}

impl<'s> Call<'s> {
    /// Returns the argument `N`.
    #[inline]
    pub(crate) fn argument<const N: usize>(&self) -> Value<'s> {
        const {
            assert!(
                N < ARGUMENTS_MAX,
                "a function takes eight arguments at most"
            );
        };
        Value::new(self.env, self.arguments[N])
    }

    /// Returns the arguments from `N` on, four of them.
    #[inline]
    pub(crate) fn four<const N: usize>(&self) -> [Value<'s>; 4] {
        const {
            assert!(
                N + 4 <= ARGUMENTS_MAX,
                "a function takes eight arguments at most"
            );
        };
        std::array::from_fn(|index| Value::new(self.env, self.arguments[N + index]))
    }
}

impl Export {
    /// Makes the JavaScript function.
    pub(crate) fn function<'s>(&'static self, env: Env<'s>) -> Outcome<Value<'s>> {
        let data = from_ref(self).cast_mut().cast();
        env.function(self.name, Some(enter), data)
    }
}

/// Runs `body`, and turns a panic into an error.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    // A panic leaves no broken state here: the store poisons what a panic of its own has broken.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let text = "the addon panicked; please report this as a bug";
        Err(Failure::Store(Error::new(ErrorKind::Poisoned, text)))
    })
}

/// The entry of every native function.
///
/// # Safety
/// Node calls it, with its environment and the call's information.
unsafe extern "C" fn enter(raw: napi_env, info: napi_callback_info) -> napi_value {
    let env = Env::new(raw);
    let mut call = Call {
        env,
        arguments: [null_mut(); ARGUMENTS_MAX],
    };
    let (mut count, mut data): (usize, *mut c_void) = (ARGUMENTS_MAX, null_mut());
    let received = napi!(napi_get_cb_info(
        raw,
        info,
        &raw mut count,
        call.arguments.as_mut_ptr(),
        null_mut(),
        &raw mut data,
    ));
    if received.is_err() {
        return null_mut();
    }
    // SAFETY: `Export::function` has passed a `&'static Export` as the data of every function.
    let export = unsafe { &*data.cast_const().cast::<Export>() };
    match guarded(|| (export.body)(&call)) {
        Ok(value) => value.raw(),
        Err(failure) => {
            env.throw(&failure);
            null_mut()
        }
    }
}
