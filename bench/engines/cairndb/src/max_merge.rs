//! The merge operator of the benchmark: keeps the greater value in byte order.

use cairndb::{MergeOperator, Result};

/// Keeps the greatest of the value and the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greater;

impl MergeOperator for Greater {
    fn name(&self) -> &'static str {
        "db_bench.Greater"
    }

    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        Ok(base
            .into_iter()
            .chain(operands.iter().copied())
            .max()
            .unwrap_or_default()
            .to_vec())
    }

    /// The greatest of several operands has the same effect as all of them, like in RocksDB's
    /// operator here.
    fn combine(&self, _key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        operands.iter().max().map(|greatest| greatest.to_vec())
    }
}
