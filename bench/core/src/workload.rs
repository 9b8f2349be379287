//! Workloads: definitions, keys, values, draws, and the expected answers.

pub mod catalog;
pub mod definition;
pub mod draw;
pub mod durability;
pub mod key;
pub mod model;
pub mod placement;
pub mod plan;
pub mod pool;
pub mod random;
pub mod rate;
pub mod settings;
pub mod step;
