//! The connection: the adapter, the runtime that its calls wait on, and the count of round trips.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_core::fault::Fault;
use cairndb_remote::AsyncStore;
use cairndb_store::Engine;
use tokio::runtime::{Builder, Runtime};

use crate::kind::RemoteKind;
use crate::space;

/// The file that says that a directory stands for what the store holds.
const MARK: &str = "store-of-the-rows";

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) kind: RemoteKind,
    runtime: Runtime,
    store: Arc<dyn AsyncStore>,
    round_trips: AtomicU64,
}

/// Turns an error of the store into a fault.
#[expect(
    clippy::needless_pass_by_value,
    reason = "used as a function of map_err"
)]
pub(crate) fn fault(error: cairndb_store::Error) -> Fault {
    Fault::new(error.to_string())
}

impl Server {
    /// Opens the store. An empty directory stands for an empty store.
    pub(crate) fn open(kind: RemoteKind, url: &str, dir: &Path) -> Result<Server, Fault> {
        let url = space::own_url(kind, url)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| Fault::io("the runtime", &error))?;
        let opened = runtime.block_on(cairndb_remote::open_async(&url));
        let store = opened.map_err(fault)?;
        let mark = dir.join(MARK);
        if !mark.exists() {
            runtime.block_on(space::clear(&*store)).map_err(fault)?;
            let written = std::fs::write(&mark, "the entries are on the server\n");
            written.map_err(|error| Fault::io(mark.display(), &error))?;
        }
        Ok(Server {
            kind,
            runtime,
            store,
            round_trips: AtomicU64::new(0),
        })
    }

    /// Waits for a call that takes `round_trips`.
    pub(crate) fn wait<T>(
        &self,
        round_trips: u64,
        call: impl Future<Output = cairndb_store::Result<T>>,
    ) -> Result<T, Fault> {
        self.round_trips.fetch_add(round_trips, Ordering::Relaxed);
        self.runtime.block_on(call).map_err(fault)
    }

    pub(crate) fn adapter(&self) -> &dyn AsyncStore {
        &*self.store
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.store.engine()
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) -> Result<(), Fault> {
        self.runtime.block_on(self.store.close()).map_err(fault)
    }
}
