//! The engines, as the harness sees them.

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Placement};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::kind::RemoteKind;
use crate::store::RemoteStore;

/// Longest value that etcd takes, less room for its key.
const ETCD_VALUE_BYTES_MAX: usize = 1 << 20;

/// An engine, and the URL of the store that it is measured over.
#[derive(Clone, Debug)]
pub struct Remote {
    kind: RemoteKind,
    url: Option<String>,
}

impl Remote {
    /// Returns the engine over the store at `url`, which may be missing until a store is opened.
    pub fn new(kind: RemoteKind, url: Option<&str>) -> Remote {
        let url = url.map(str::to_owned);
        Remote { kind, url }
    }
}

impl Engine for Remote {
    type Store = RemoteStore;

    fn name(&self) -> &'static str {
        match self.kind {
            RemoteKind::Etcd => "etcd",
            RemoteKind::Postgres => "postgres",
        }
    }

    fn title(&self) -> &'static str {
        match self.kind {
            RemoteKind::Etcd => "etcd",
            RemoteKind::Postgres => "PostgreSQL",
        }
    }

    /// The version of the adapter: the client reports none of the server.
    fn version(&self) -> String {
        format!("adapter {}", env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: self.kind == RemoteKind::Postgres,
            merge: false,
            snapshot: false,
            compact: false,
            flush: false,
            sync_later: false,
            ..Capabilities::ALL
        }
    }

    fn contends(&self) -> bool {
        false
    }

    fn placement(&self) -> Placement {
        match self.kind {
            RemoteKind::Etcd => Placement::Replicated,
            RemoteKind::Postgres => Placement::Networked,
        }
    }

    fn declines(&self, value_bytes: usize, _durability: Durability) -> Option<&'static str> {
        let is_long = self.kind == RemoteKind::Etcd && value_bytes > ETCD_VALUE_BYTES_MAX;
        is_long.then_some("etcd takes values of about a megabyte at most")
    }

    fn without_batch(&self) -> Option<&'static str> {
        (self.kind == RemoteKind::Etcd).then_some("etcd takes 128 writes at most")
    }

    fn open(&self, dir: &Path, _settings: &Settings) -> Result<RemoteStore, Fault> {
        let Some(url) = &self.url else {
            let name = self.name();
            return Err(Fault::new(format!(
                "--engine={name} needs --store=URL, such as {}",
                match self.kind {
                    RemoteKind::Etcd => "etcd://127.0.0.1:2379/bench",
                    RemoteKind::Postgres => "postgres://user@127.0.0.1/database/bench",
                }
            )));
        };
        RemoteStore::open(self.kind, url, dir)
    }
}
