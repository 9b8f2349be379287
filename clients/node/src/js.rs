//! Node-API, as far as the addon needs it: values, functions, externals, work on the thread pool.
//!
//! This folder has all `unsafe` of the crate except for one system call. We do not use the crate
//! `napi`, whose macros generate these parts: a get takes half a microsecond, of which its
//! conversions would be a third, and an environment that ends must not meet the tables that it
//! keeps for each thread.
//!
//! Invariants: an [`Env`] and a [`Value`] exist only on the thread of their environment, and only
//! until the callback returns in which Node passed them in; neither is `Send`.

#![allow(
    unsafe_code,
    reason = "foreign functions; none of them has a safe twin"
)]

pub(crate) mod call;
pub(crate) mod callback;
pub(crate) mod env;
pub(crate) mod external;
pub(crate) mod failure;
pub(crate) mod hook;
mod module;
pub(crate) mod scope;
pub(crate) mod task;
mod throw;
pub(crate) mod value;
pub(crate) mod watch;
