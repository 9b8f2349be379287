//! An open store: the adapter, the runtime that its calls wait on, and the count of round trips.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_core::engine::{Quiet, Role, Store};
use bench_core::fault::Fault;
use cairndb_remote::AsyncStore;
use cairndb_store::Engine;
use tokio::runtime::{Builder, Runtime};

use crate::kind::Kind;
use crate::session::RemoteSession;
use crate::space;

/// The file that says that a directory stands for what the store holds.
const MARK: &str = "store-of-the-rows";

/// An open store.
#[derive(Debug)]
pub struct RemoteStore {
    pub(crate) kind: Kind,
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

impl RemoteStore {
    /// Opens the store. An empty directory stands for an empty store.
    pub(crate) fn open(kind: Kind, url: &str, dir: &Path) -> Result<RemoteStore, Fault> {
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
        Ok(RemoteStore {
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

    fn engine(&self) -> &Engine {
        self.store.engine()
    }
}

impl Store for RemoteStore {
    type Session<'s> = RemoteSession<'s>;

    fn session(&self, _role: Role) -> Result<RemoteSession<'_>, Fault> {
        Ok(RemoteSession::new(self))
    }

    fn compact(&mut self) -> Result<(), Fault> {
        Err(Fault::new("the server compacts when it wants to"))
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        // All work of this process happens inside the calls.
        Ok(Quiet::Known)
    }

    fn property(&self, _name: &str) -> Option<String> {
        None
    }

    fn round_trips(&self) -> Option<u64> {
        Some(self.round_trips.load(Ordering::Relaxed))
    }

    fn options(&self) -> Vec<(String, String)> {
        let limits = self.engine().limits;
        let numbers = [
            ("key_bytes_max", limits.key_bytes),
            ("value_bytes_max", limits.value_bytes),
            ("batch_ops_max", limits.batch_ops),
            ("batch_bytes_max", limits.batch_bytes),
        ];
        let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
        let isolation = format!("{:?}", self.engine().isolation).to_lowercase();
        let mut options = vec![("isolation".to_owned(), isolation)];
        options.extend(numbers);
        options
    }

    fn close(self) -> Result<(), Fault> {
        self.runtime.block_on(self.store.close()).map_err(fault)
    }
}
