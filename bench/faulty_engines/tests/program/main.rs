//! Runs each faulty engine in its own process, as a user would: the row in which the defect appears
//! fails by name.

mod common;
mod crash;
mod defects;
