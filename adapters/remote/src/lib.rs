//! Stores beyond this machine: adapters to distributed engines that already exist.
//!
//! A program that has outgrown one disk, or must survive the loss of a machine, changes a URL:
//! [`open`] returns a [`Store`](cairndb_store::Store) over a CairnDB database, over memory, or over
//! etcd, PostgreSQL (and engines that speak its protocol) or TiKV. CairnDB itself has no consensus
//! and no server; these engines do.
//!
//! Adapters are asynchronous ([`AsyncStore`], [`open_async`]); the blocking face waits for them on
//! a runtime that it owns. Each engine has a feature of its name, none by default, so a
//! program compiles only the clients that it uses.
//!
//! ```
//! use cairndb_store::{Read, Store, StoreExt};
//! # fn main() -> cairndb_store::Result<()> {
//! // Or "file:///var/lib/stones", "etcd://10.0.0.1,10.0.0.2,10.0.0.3/stones", ...
//! let store = cairndb_remote::open("memory:")?;
//! store.put(b"slate", b"blue")?;
//! let colour = store.transact(|transaction| transaction.get(b"slate"))?;
//! assert_eq!(colour.as_deref(), Some(&b"blue"[..]));
//! # Ok(()) }
//! ```
//!
//! # Cancellation, deadlines and retries
//!
//! * Every call has a deadline: [`CallOptions::timeout`](cairndb_store::CallOptions::timeout), or
//!   else the setting `timeout` of the URL, or else 30 seconds.
//! * Reads are repeated until then after a lost connection or a change of leader. A write is
//!   repeated only if the engine has refused it, or nothing was sent.
//! * A write whose answer was lost returns `OutcomeUnknown`, and so does one whose deadline passes
//!   after it was sent. A dropped future of a write leaves the same uncertainty.
//! * A connection on which an answer is outstanding is closed, never used again.

mod face;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
mod limits;
mod open;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
mod paging;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "tikv"))]
mod tls;
mod url;

#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "tikv")]
mod tikv;

pub use face::{
    AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncStoreExt, AsyncTransaction, Blocking,
    Local, Pending,
};
pub use open::{open, open_async};
pub use url::{Address, Choice, Host, Secret, TIMEOUT_DEFAULT};

#[cfg(feature = "etcd")]
pub use etcd::{Change, EtcdStore, Watch};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "tikv")]
pub use tikv::TikvStore;

/// Compiles and runs the code of the user document as a test.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/guide/past-one-machine.md")]
    mod past_one_machine {}
}
