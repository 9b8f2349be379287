//! One interface to ordered key-value stores, embedded or distributed.
//!
//! A program that uses [`Store`] runs over a CairnDB database, in memory, or over a distributed
//! engine that already has consensus; the crate `cairndb-remote` has the adapters, and opens any of
//! them by a URL. [`cairndb::Db`] implements the trait, and so does [`MemoryStore`], for tests and
//! caches.
//!
//! ```
//! use cairndb_store::{Batch, Read, Scan, Store, StoreExt};
//! # fn main() -> cairndb_store::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! let store: Box<dyn Store> = Box::new(cairndb::Db::open(&dir)?);
//! let mut batch = Batch::new();
//! batch.put(b"stone/granite", b"grey");
//! batch.put(b"stone/slate", b"blue");
//! store.write(&batch)?;
//! for entry in store.scan(&Scan::prefix(b"stone/").limit(10))? {
//!     let (stone, colour) = entry?;
//!     println!("{stone:?} is {colour:?}");
//! }
//! store.transact(|transaction| {
//!     if let Some(colour) = transaction.get(b"stone/slate")? {
//!         transaction.put(b"roof", &colour)?;
//!     }
//!     Ok(())
//! })?;
//! store.close()?;
//! # Ok(()) }
//! ```
//!
//! # The contract
//!
//! Each trait states what every implementation does and what may differ: [`Read`], [`Snapshot`],
//! [`Transaction`], [`Store`]. Differences in size are values: [`Limits`]. The suite in `testing`
//! (feature `testing`) checks the contract case by case and with a random model; every adapter
//! passes it.
//!
//! # Cost for an embedded database
//!
//! A call through the trait is one indirect call more than the method of [`cairndb::Db`] that it
//! forwards to. Values are passed on as they are, and a [`Batch`] is encoded as the database logs
//! it.

mod batch;
mod db;
mod entries;
mod error;
mod limits;
mod memory;
mod options;
mod read;
mod scan;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod transaction;
mod window;

pub use cairndb::{KeyRange, Value};

pub use batch::{Batch, Write};
pub use entries::{Entries, Entry};
pub use error::{Error, ErrorKind, ExceededLimit, Result};
pub use limits::{Engine, Isolation, Limits};
pub use memory::MemoryStore;
pub use options::{CallOptions, Durability};
pub use read::{Read, Snapshot};
pub use scan::{Direction, Scan, prefix_end};
pub use store::{ATTEMPTS_MAX, Store, StoreExt};
pub use transaction::{OpenTransaction, Transaction};
pub use window::{OwnWrites, Window};
