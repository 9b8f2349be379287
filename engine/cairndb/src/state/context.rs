//! Components that a read needs besides a view: the key order, the merge operator, and, for errors,
//! the database directory.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Order, Result};

use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::MergeOperator;
use crate::state::sections::Section;

/// The components that a read needs besides its view, and the directory of the database.
#[derive(Clone, Debug)]
pub(crate) struct ReadContext {
    pub(crate) path: Arc<Path>,
    /// The section that is read.
    pub(crate) section: Section,
    pub(crate) order: Order,
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(crate) fold_limits: FoldLimits,
}

impl ReadContext {
    /// Adds the database directory to the error, to identify the database in a process with
    /// several.
    #[inline]
    pub(crate) fn with_directory<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.add_directory(error))
    }

    /// Adds the database directory to `error`. `NotFound` is reserved for paths without a database,
    /// so a handle returns `Io` instead: the operating system reported something else as missing,
    /// such as a removed directory.
    #[cold]
    pub(crate) fn add_directory(&self, error: Error) -> Error {
        let error = match error.kind() {
            ErrorKind::NotFound => error.with_kind(ErrorKind::Io),
            _ => error,
        };
        error.directory(&self.path)
    }

    /// Checks that the operator accepts `operand`.
    ///
    /// # Errors
    /// `InvalidArgument` without an operator, otherwise the operator's error.
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        match &self.merge_operator {
            Some(operator) => operator.check(operand),
            None => Err(Error::invalid(
                "no merge operator; open the database with Options::merge_operator",
            )),
        }
    }
}
