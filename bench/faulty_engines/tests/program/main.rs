//! Each liar in a process of its own, as a user would run it: the row it lies in fails by name.

mod common;
mod crash;
mod defects;
