//! The contents of a list's database, as far as the harness knows.

use std::io;

use super::judge::Judge;
use crate::fault::Fault;
use crate::host::directory;
use crate::workload::definition::Workload;
use crate::workload::model::Model;
use crate::workload::plan::Plan;
use crate::workload::pool::Pool;

/// The contents of the database: what was written, and how much of it is certain.
pub(super) struct Contents<'r> {
    plan: &'r Plan,
    /// Whether the engine keeps what is written.
    stores: bool,
    /// The values are cut from it.
    pub(super) pool: Pool,
    pub(super) model: Model,
    /// Whether no row has written since the directory was created.
    pub(super) empty: bool,
    /// Whether the note next to the database describes its contents.
    noted: bool,
    /// The reason why there is no database for rows that need one.
    missing: Option<String>,
}

impl<'r> Contents<'r> {
    /// Creates the contents of an empty database, with the values that rows will write.
    pub(super) fn load(plan: &'r Plan, stores: bool) -> Result<Self, Fault> {
        let pool = Pool::load(plan)?;
        let keys =
            usize::try_from(plan.num).map_err(|_| Fault::new("--num does not fit this machine"))?;
        let model = Model::new(&pool, keys);
        Ok(Self {
            plan,
            stores,
            pool,
            model,
            empty: false,
            noted: false,
            missing: None,
        })
    }

    /// Takes over an existing database.
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        let db = &self.plan.db;
        let holds = std::fs::read_dir(db).is_ok_and(|mut entries| entries.next().is_some());
        if !holds && self.stores {
            return Err(Fault::new(format!(
                "--use_existing_db: there is no database in {}",
                db.display()
            )));
        }
        directory::enter(db)?;
        self.noted = directory::recall(db, self.plan, &mut self.model);
        if !self.noted {
            self.model.set_unknown();
        }
        Ok(())
    }

    /// Creates the directory before anything is written.
    pub(super) fn make(&mut self) -> Result<(), Fault> {
        directory::make_fresh(&self.plan.db)?;
        self.noted = false;
        self.missing = None;
        self.empty = true;
        Ok(())
    }

    /// Recreates the directory and clears the model.
    pub(super) fn begin_anew(&mut self) -> Result<(), Fault> {
        self.make()?;
        self.model.clear();
        Ok(())
    }

    /// Clears the state in the note next to the database, before the first row that changes it.
    pub(super) fn forget_note(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.noted) {
            return Ok(());
        }
        directory::forget(&self.plan.db)
            .map_err(|error| Fault::io("the note next to the database", &error))
    }

    /// Writes the model to the note next to the database.
    pub(super) fn keep(&self) -> io::Result<()> {
        directory::keep(&self.plan.db, self.plan, &self.model)
    }

    /// Records that there is no database for the rows that need that of `workload`.
    pub(super) fn set_missing(&mut self, workload: &Workload) {
        self.missing = Some(format!(
            "the database it needs does not exist: {} before it failed",
            workload.name
        ));
    }

    /// Returns why there is no database for a row that needs one.
    pub(super) fn missing(&self, workload: &Workload) -> Option<String> {
        let needed = !workload.fresh && !workload.is_engineless();
        self.missing.clone().filter(|_| needed)
    }

    /// Returns whether answers can be compared with what was written.
    pub(super) const fn judged(&self) -> bool {
        self.plan.verify && self.stores && self.model.is_known()
    }

    /// Returns a judge that compares a store with these contents.
    pub(super) const fn judge<'j, S>(&'j self, store: Option<&'j S>) -> Judge<'j, S> {
        Judge {
            plan: self.plan,
            model: &self.model,
            keyspaces: self.plan.keyspaces,
            judged: self.judged(),
            store,
        }
    }

    /// Returns the bytes of the live keys and values, if they are known.
    pub(super) fn live_bytes(&self) -> Option<u64> {
        let known = self.model.is_known() && self.stores;
        known.then(|| self.model.live_bytes(&self.pool))
    }

    /// Reserves space for keys that a row adds.
    pub(super) fn make_room(&mut self, additions: u64) -> Result<(), Fault> {
        let room = self.model.keys() as u64 + additions;
        let room = usize::try_from(room).map_err(|_| Fault::new("too many keys to add"))?;
        self.model.grow(room);
        Ok(())
    }

    /// Releases the space that a row did not use; there are `keys` keys now.
    pub(super) fn shrink(&mut self, keys: u64) {
        self.model
            .shrink(usize::try_from(keys).unwrap_or(usize::MAX));
    }
}
