//! A store, such as PostgreSQL: a change and the state are one transaction.

use cairndb_store::{Error, ErrorKind, Scan, Store};

use super::STATE;
use crate::replica::{Entries, State, Target, Trouble, Write};

struct Remote(Box<dyn Store>);

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        match error.kind() {
            // The stored state shows what became of it.
            ErrorKind::Conflict
            | ErrorKind::Unavailable
            | ErrorKind::DeadlineExceeded
            | ErrorKind::OutcomeUnknown
            | ErrorKind::SnapshotExpired => Trouble::Again(error.to_string()),
            _ => Trouble::Wrong(error.to_string()),
        }
    }
}

/// Opens the store at `url`, runs `then` and closes it.
pub(super) fn with<T>(
    url: &str,
    then: impl FnOnce(&mut dyn Target) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let mut remote = Remote(cairndb_remote::open(url)?);
    let done = then(&mut remote)?;
    remote.0.close()?;
    Ok(done)
}

impl Target for Remote {
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
        let transaction = self.0.begin()?;
        let stored = transaction.get(STATE)?;
        let stored = stored.map(|stored| State::parse(&stored)).transpose()?;
        if stored != before {
            // A commit whose answer was lost was applied after all.
            let text = format!("the state is {stored:?} instead of {before:?}");
            return Err(Trouble::Again(text));
        }
        for write in writes {
            match write {
                Write::Put(key, value) => transaction.put(key, value)?,
                Write::Delete(key) => transaction.delete(key)?,
                Write::Append(key, operand) => {
                    let value = transaction.get(key)?;
                    let value = value.as_deref().unwrap_or_default();
                    transaction.put(key, &[value, *operand].concat())?;
                }
                Write::DeleteRange(from, to) => {
                    let range = Scan::range(&from[..]..&to[..]);
                    let found: Result<Vec<_>, _> = transaction.scan(&range)?.collect();
                    for (key, _) in found? {
                        transaction.delete(&key)?;
                    }
                }
            }
        }
        transaction.put(STATE, after.to_string().as_bytes())?;
        Ok(transaction.commit()?)
    }

    fn sync(&mut self) -> Result<(), Trouble> {
        Ok(self.0.sync()?)
    }

    fn contents(&mut self) -> Result<Entries, Trouble> {
        let mut found = Vec::new();
        for entry in self.0.scan(&Scan::range(..STATE))? {
            let (key, value) = entry?;
            found.push((key.to_vec(), value.into_vec()));
        }
        Ok(found)
    }
}
