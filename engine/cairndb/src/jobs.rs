//! Flushes and compactions as values: a job turns sorted inputs into tables and depends on no owner
//! of the engine.

pub(crate) mod gathered;
pub(crate) mod inputs;
pub(crate) mod job;
pub(crate) mod loser_tree;
pub(crate) mod operands;
pub(crate) mod plain;
pub(crate) mod plan;
pub(crate) mod relocation;
pub(crate) mod rules;
#[cfg(test)]
mod testing;
