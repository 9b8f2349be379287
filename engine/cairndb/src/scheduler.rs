//! Background threads, and callers that wait for background work or do it themselves.

pub(crate) mod idle_space;
pub(crate) mod policy;
pub(crate) mod runner;
pub(crate) mod steps;
pub(crate) mod syncer;
pub(crate) mod threads;
pub(crate) mod worker;
