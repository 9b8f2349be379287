//! An open faulty store.

use std::path::Path;

use bench_core::engine::{Cursor as _, Durability, Quiet, Role, Session as _, Store};
use bench_core::fault::Fault;
use engine_cairndb::CairnStore;

use crate::defect::Defect;
use crate::session::FaultySession;
use crate::shared::DefectState;

const ROLE: Role = Role::single(Durability::Os);

/// The store.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    shared: DefectState,
    inner: CairnStore,
}

impl FaultyStore {
    pub(crate) fn new(defect: Defect, dir: &Path, inner: CairnStore) -> Self {
        let shared = DefectState::new(defect, dir);
        Self { shared, inner }
    }

    /// Executes the postponed puts.
    fn catch_up(&self) -> Result<(), Fault> {
        self.session(ROLE)?.catch_up()
    }

    /// Deletes the first entry silently.
    fn lose_first(&self) -> Result<(), Fault> {
        let mut session = self.inner.session(ROLE)?;
        let mut cursor = session.cursor()?;
        cursor.first()?;
        let first = cursor.valid().then(|| cursor.key().to_vec());
        drop(cursor);
        first.map_or(Ok(()), |key| session.delete(&key))
    }
}

impl Store for FaultyStore {
    type Session<'s> = FaultySession<'s>;

    fn session(&self, role: Role) -> Result<FaultySession<'_>, Fault> {
        let inner = self.inner.session(role)?;
        Ok(FaultySession {
            shared: &self.shared,
            inner,
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.catch_up()?;
        if self.shared.defect == Defect::LosesCompacting {
            self.lose_first()?;
        }
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
