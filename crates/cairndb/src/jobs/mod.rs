//! Band d: background work as values. A picker turns a version into a plan, a job turns a plan into
//! an outcome; neither knows the engine, and only the engine installs what they return.

pub(crate) mod census;
pub(crate) mod gathered;
pub(crate) mod inputs;
pub(crate) mod loser_tree;
pub(crate) mod merge;
pub(crate) mod operands;
pub(crate) mod output;
pub(crate) mod picker;
pub(crate) mod plain;
pub(crate) mod relocation;
pub(crate) mod rules;
