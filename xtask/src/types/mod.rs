//! The types of one target: their sizes and their dependencies on each other.
//!
//! A type depends on another if its fields, or the parameters of its functions, name it: directly,
//! inside any generic (`Arc<B>`, `Weak<B>`, `&mut B`, `Box<dyn Fn(&B)>`), through an alias, or
//! through a trait that the other implements (`Arc<dyn T>`, `S: T`). A return type is created, not
//! depended on.
//!
//! Three things do not count as dependencies, because they would be noise:
//!
//! * types that an implementation of a standard trait names (`From<B>`, `PartialEq<B>`): it
//!   converts or compares;
//! * other implementers of a trait that a type both implements and takes (an iterator over
//!   iterators): the type knows only the trait;
//! * a type that names itself.

mod model;
mod names;
mod read;

pub(crate) use model::{Type, Types};
pub(crate) use read::read;
