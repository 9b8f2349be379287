//! Comparators and merge operators that keyspaces may name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cairndb_base::limits::KEYSPACE_NAME_BYTES_MAX;
use cairndb_base::{Comparator, Error, Order, Result};
use cairndb_format::manifest::KeyspaceRecord;

use crate::state::keyspaces::keyspace::KeyspaceState;
use crate::state::merge_operator::{Add, Append, Max, MergeOperator};

/// Comparators and merge operators that keyspaces may name, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registered {
    pub(crate) comparators: BTreeMap<String, Arc<dyn Comparator>>,
    pub(crate) operators: BTreeMap<String, Arc<dyn MergeOperator>>,
}

#[cold]
fn missing(what: &str, name: &str, keyspace: &str, registered: Vec<&str>) -> Error {
    Error::invalid(format!(
        "the keyspace needs a {what} that is not registered; register it in the options of the \
         open"
    ))
    .expected(format_args!("{what} {name:?} of keyspace {keyspace:?}"))
    .found(format_args!("{registered:?}"))
}

impl Registered {
    /// Returns the merge operator `name`, if it is registered or one of this crate's.
    fn operator(&self, name: &str) -> Option<Arc<dyn MergeOperator>> {
        let own =
            || -> [Arc<dyn MergeOperator>; 3] { [Arc::new(Add), Arc::new(Append), Arc::new(Max)] };
        let registered = self.operators.get(name).cloned();
        registered.or_else(|| own().into_iter().find(|it| it.name() == name))
    }

    /// Returns the keyspace that `record` describes.
    ///
    /// # Errors
    /// `InvalidArgument`, with the name, if its comparator or its merge operator is not registered.
    pub(super) fn keyspace(&self, record: KeyspaceRecord) -> Result<Arc<KeyspaceState>> {
        let names = [&record.comparator, &record.merge_operator];
        let long = |name: &String| name.len() > KEYSPACE_NAME_BYTES_MAX;
        if names.into_iter().flatten().any(long) {
            return Err(Error::invalid(
                "the name of a keyspace's comparator or merge operator is longer than 255 bytes",
            ));
        }
        let order = match &record.comparator {
            None => Order::Bytewise,
            Some(name) => {
                let found = self.comparators.get(name).ok_or_else(|| {
                    let names = self.comparators.keys().map(String::as_str).collect();
                    missing("comparator", name, &record.name, names)
                })?;
                Order::Custom(Arc::clone(found))
            }
        };
        let operator = match &record.merge_operator {
            None => None,
            Some(name) => Some(self.operator(name).ok_or_else(|| {
                let names = self.operators.keys().map(String::as_str).collect();
                missing("merge operator", name, &record.name, names)
            })?),
        };
        Ok(Arc::new(KeyspaceState {
            record,
            order,
            operator,
            dropped: AtomicBool::new(false),
        }))
    }
}
