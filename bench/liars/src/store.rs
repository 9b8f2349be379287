//! An open store that lies.

use std::path::Path;

use bench_core::engine::{Durability, Quiet, Role, Store};
use bench_core::fault::Fault;
use engine_cairndb::CairnStore;

use crate::lie::Lie;
use crate::session::LiarSession;
use crate::shared::Shared;

/// The store.
#[derive(Debug)]
pub(crate) struct LiarStore {
    shared: Shared,
    inner: CairnStore,
}

impl LiarStore {
    pub(crate) fn new(lie: Lie, dir: &Path, inner: CairnStore) -> Self {
        let shared = Shared::new(lie, dir);
        Self { shared, inner }
    }

    /// Does what was put off.
    fn catch_up(&self) -> Result<(), Fault> {
        let role = Role {
            durability: Durability::Os,
            appending: false,
        };
        self.session(role)?.catch_up()
    }
}

impl Store for LiarStore {
    type Session<'s> = LiarSession<'s>;

    fn session(&self, role: Role) -> Result<LiarSession<'_>, Fault> {
        let inner = self.inner.session(role)?;
        Ok(LiarSession {
            shared: &self.shared,
            inner,
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.catch_up()?;
        self.inner.compact()
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.catch_up()?;
        self.inner.flush()
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        self.catch_up()?;
        self.inner.quiesce()
    }

    fn property(&self, name: &str) -> Option<String> {
        self.inner.property(name)
    }

    fn options(&self) -> Vec<(String, String)> {
        self.inner.options()
    }

    fn close(self) -> Result<(), Fault> {
        self.catch_up()?;
        self.shared.close();
        self.inner.close()
    }
}
