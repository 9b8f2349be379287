//! A CairnDB database: a change and the state are one batch.

use std::path::Path;
use std::sync::Arc;

use cairndb::{Append, Db, Options, WriteBatch};

use super::STATE;
use crate::replica::{Entries, State, Target, Trouble, Write};

struct Cairn(Db);

/// Opens the database in `dir`, runs `then` and closes it.
pub(super) fn with<T>(
    dir: &Path,
    then: impl FnOnce(&mut dyn Target) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let options = Options::new().create_if_missing(true);
    let options = options.memory_budget(1 << 20);
    let db = options.merge_operator(Arc::new(Append)).open(dir)?;
    let done = then(&mut Cairn(db.clone()))?;
    db.close()?;
    Ok(done)
}

impl Target for Cairn {
    fn state(&mut self) -> Result<Option<State>, Trouble> {
        let stored = self.0.get(STATE)?;
        stored.map(|stored| State::parse(&stored)).transpose()
    }

    fn apply(
        &mut self,
        writes: &[Write<'_>],
        before: Option<State>,
        after: State,
    ) -> Result<(), Trouble> {
        // One process has the database open.
        assert_eq!(self.state()?, before);
        let mut batch = WriteBatch::new();
        for write in writes {
            match write {
                Write::Put(key, value) => batch.put(key, value),
                Write::Delete(key) => batch.delete(key),
                Write::Append(key, operand) => batch.merge(key, operand),
                Write::DeleteRange(from, to) => batch.delete_range(&from[..]..&to[..]),
            }
        }
        batch.put(STATE, after.to_string().as_bytes());
        Ok(self.0.write(&batch)?)
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        Ok(self.0.sync()?)
    }

    fn contents(&mut self) -> Result<Entries, Trouble> {
        let mut found = Vec::new();
        for entry in self.0.range(..STATE) {
            let (key, value) = entry?;
            found.push((key.to_vec(), value.to_vec()));
        }
        Ok(found)
    }
}
