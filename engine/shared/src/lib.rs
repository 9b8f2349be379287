//! The memory in which a writer says what it has done, and followers in other processes say which
//! files they need.
//!
//! Floor 3. Everything is 64-bit atomic words of one small file. No process waits for another one:
//! a writer stores, followers load, and a file is removed only if no slot needs it. Processes may
//! die at any moment and leave any words, so no value is trusted further than its meaning reaches.
//!
//! * `layout`: where each value is
//! * `log_reader`: what a consumer of changes needs of the log
//! * `request`: what a follower asks the writer to do
//! * `shared`: [`Shared`], the protocol between the writer and its followers
//! * `slot`: what one follower needs
//! * `sync`: the words, which loom replaces to try all executions

#![forbid(unsafe_code)]

pub mod layout;
mod log_reader;
#[cfg(not(loom))]
mod request;
mod shared;
mod slot;
mod sync;

#[cfg(all(test, not(loom)))]
mod golden;
#[cfg(test)]
#[cfg(loom)]
mod loom_models;

pub use layout::{LogPosition, Needs};
pub use log_reader::{LogReader, LogWish, SharedLog, lease_key};
#[cfg(not(loom))]
pub use request::{Answer, Asked, Request};
pub use shared::{Announced, Holder, Shared};
pub use slot::{Pin, Slot, revoked};
