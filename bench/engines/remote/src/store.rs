//! An open store.

use std::path::Path;

use bench_core::engine::{Role, Store};
use bench_core::fault::Fault;

use crate::kind::RemoteKind;
use crate::server::Server;
use crate::session::RemoteSession;

/// An open store.
#[derive(Debug)]
pub struct RemoteStore(Server);

impl RemoteStore {
    /// Opens the store. An empty directory stands for an empty store.
    pub(crate) fn open(kind: RemoteKind, url: &str, dir: &Path) -> Result<RemoteStore, Fault> {
        Server::open(kind, url, dir).map(RemoteStore)
    }
}

impl Store for RemoteStore {
    type Session<'s> = RemoteSession<'s>;

    fn session(&self, _role: Role) -> Result<RemoteSession<'_>, Fault> {
        Ok(RemoteSession::new(&self.0))
    }

    fn round_trips(&self) -> Option<u64> {
        Some(self.0.round_trips())
    }

    fn options(&self) -> Vec<(String, String)> {
        let limits = self.0.engine().limits;
        let numbers = [
            ("key_bytes_max", limits.key_bytes),
            ("value_bytes_max", limits.value_bytes),
            ("batch_ops_max", limits.batch_ops),
            ("batch_bytes_max", limits.batch_bytes),
        ];
        let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
        let isolation = format!("{:?}", self.0.engine().isolation).to_lowercase();
        let mut options = vec![("isolation".to_owned(), isolation)];
        options.extend(numbers);
        options
    }

    fn close(self) -> Result<(), Fault> {
        self.0.close()
    }
}
