//! Each faulty engine in a process of its own, as a user would run it: the row in which the defect
//! shows fails by name.

mod common;
mod crash;
mod defects;
