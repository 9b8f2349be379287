//! etcd and PostgreSQL, over the adapters of `cairndb-remote`.
//!
//! Their rows answer one question: what does a program pay that moves past one machine? They are
//! networked, so they are never ranked with stores in the process: every call waits for a round
//! trip, and the server's memory, disk and processor are not measured. Each row shows its round
//! trips.
//!
//! * **Where the entries are.** `--store=URL` names a store; the rows use one beside it, with
//!   `_db_bench` after the last part of the path, so no entry of the user's is touched. It is
//!   emptied where an embedded engine would begin a new directory.
//! * **Round trips** are counted here, one for each call of the adapter that waits and one for each
//!   page of a scan; etcd needs one for each 128 keys of a multi-get. The test compares the number
//!   with a proxy between adapter and server, which sees the same on PostgreSQL, and on etcd the
//!   messages of HTTP/2 too. A repetition after a lost connection is not counted.
//! * **Settings** of memory and compression have no effect: the server has its own. Both engines
//!   sync each write before they acknowledge it, as they are configured by default.
//! * **Left out:** batches on etcd, which takes 128 writes at most; snapshots, because a scan sees
//!   one state anyway.
//!
//! Threads: one of the runtime, and the caller's.

mod cursor;
mod engine;
mod kind;
mod server;
mod session;
mod space;
mod store;

pub use cursor::RemoteCursor;
pub use engine::Remote;
pub use kind::RemoteKind;
pub use session::RemoteSession;
pub use store::RemoteStore;
