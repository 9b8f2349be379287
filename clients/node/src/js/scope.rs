//! The environment of the running callback, and the values in it.

use std::cell::Cell;
use std::marker::PhantomData;

use napi_sys::{napi_env, napi_value};

/// The environment, valid for the callback that `'s` stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env<'s> {
    raw: napi_env,
    /// Neither `Send` nor valid longer than the callback.
    scope: PhantomData<&'s Cell<()>>,
}

impl<'s> Env<'s> {
    /// Wraps the environment that Node passed to a callback.
    pub(crate) fn new(raw: napi_env) -> Env<'s> {
        Env {
            raw,
            scope: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn raw(self) -> napi_env {
        self.raw
    }
}

/// A value, valid for the callback that `'s` stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'s> {
    env: Env<'s>,
    raw: napi_value,
    scope: PhantomData<&'s Cell<()>>,
}

impl<'s> Value<'s> {
    #[inline]
    pub(crate) fn new(env: Env<'s>, raw: napi_value) -> Value<'s> {
        Value {
            env,
            raw,
            scope: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn raw(self) -> napi_value {
        self.raw
    }

    #[inline]
    pub(crate) fn env(self) -> Env<'s> {
        self.env
    }
}
