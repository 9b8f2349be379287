//! What reading takes besides a view: the components that the entries of a database cannot be read without, its order and
//! the operator that its operands are for; and where it stands, which an error tells.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result};

use crate::state::batch::WriteBatch;
use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::MergeOperator;

/// The components a read needs besides its view, and where the database is.
#[derive(Clone, Debug)]
pub(crate) struct ReadContext {
    pub(crate) path: Arc<Path>,
    pub(crate) order: Order,
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(crate) fold_limits: FoldLimits,
}

impl ReadContext {
    /// What came of a call, as it leaves the database: an error that is about a file names the directory as well, since a
    /// program may have several databases and each has such a file.
    #[inline]
    pub(crate) fn with_directory<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.add_directory(error))
    }

    /// The same of an error. `NotFound` says of a path that no database is there, so no call on a
    /// handle gives it: the system has said it of another name, such as that of a directory that
    /// was removed.
    #[cold]
    pub(crate) fn add_directory(&self, error: Error) -> Error {
        let error = match error.kind() {
            ErrorKind::NotFound => error.with_kind(ErrorKind::Io),
            _ => error,
        };
        error.directory(&self.path)
    }

    /// Whether the operator takes `operand`.
    ///
    /// # Errors
    /// `InvalidArgument` without an operator, else the operator's.
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        match &self.merge_operator {
            Some(operator) => operator.check(operand),
            None => Err(Error::invalid(
                "no merge operator; open the database with Options::merge_operator",
            )),
        }
    }

    /// Whether the operator takes every operand of a batch.
    ///
    /// # Errors
    /// As [`ReadContext::check_operand`].
    pub(crate) fn check_operands(&self, batch: &WriteBatch) -> Result<()> {
        for entry in batch.writer() {
            let entry = entry?;
            if entry.kind == Kind::Merge {
                self.check_operand(entry.value)?;
            }
        }
        Ok(())
    }
}
