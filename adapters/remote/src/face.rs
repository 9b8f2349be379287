//! The two faces of an engine: asynchronous, which adapters implement, and blocking, which waits
//! for it.

mod again;
mod asynchronous;
mod blocking;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
mod deadline;
mod local;

pub use asynchronous::{
    AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncStoreExt, AsyncTransaction, Pending,
};
pub use blocking::Blocking;
pub use local::Local;

#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
pub(crate) use deadline::Deadline;

/// Waits before a transaction that conflicted for the `attempt`-th time runs again.
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
pub(crate) fn pause<'a>(attempt: u32) -> Pending<'a, ()> {
    Box::pin(async move {
        tokio::time::sleep(deadline::pause_before(attempt)).await;
        Ok(())
    })
}
