//! The types of one target: how large they are, and which of them depend on which.
//!
//! A type depends on another if its fields, or the parameters of its functions, name it: directly,
//! inside any generic (`Arc<B>`, `Weak<B>`, `&mut B`, `Box<dyn Fn(&B)>`), through an alias, or
//! through a trait that the other implements (`Arc<dyn T>`, `S: T`). What a function returns is
//! made, not depended on.
//!
//! Three things are no dependency, because they would be noise:
//!
//! * what an implementation of a standard trait names (`From<B>`, `PartialEq<B>`): it converts or
//!   compares;
//! * an implementer of a trait that takes others by that trait (an iterator over iterators): it
//!   knows the trait alone;
//! * a type that names itself.

mod model;
mod names;
mod read;

pub(crate) use model::{Type, Types};
pub(crate) use read::read;
