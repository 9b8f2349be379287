//! A check of the contract.

use crate::error::Result;
use crate::store::Store;

/// A check, on a store that is empty.
type Check = Box<dyn Fn(&dyn Store) -> Result<()>>;

/// One check of the contract.
pub struct Case {
    /// The name, of lower-case letters, digits and underscores.
    pub name: String,
    /// The check, on a store that is empty.
    pub run: Check,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
