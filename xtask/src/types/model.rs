//! The types of a target with their sizes and dependencies, and how they are named.

use std::collections::BTreeMap;

/// A struct, enum or union.
#[derive(Debug)]
pub(crate) struct Type {
    /// Its path from the crate's root.
    pub(crate) path: Vec<String>,
    /// Index of the file that defines it.
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// Fields of a struct or union; 0 for an enum.
    pub(crate) fields: usize,
    /// Functions of its inherent implementations.
    pub(crate) methods: usize,
    /// Whether it is a struct that is not `Copy`.
    pub(super) has_state: bool,
    /// Whether it is such a struct with a method that takes `self`, its own or that of a trait of
    /// the workspace: an object, not a value.
    pub(crate) owner: bool,
    /// What it depends on.
    pub(crate) links: BTreeMap<usize, Link>,
}

/// Why a type depends on another: the first place that names it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// The trait through which it does; empty if it names the type.
    pub(crate) by_trait: String,
}

/// The types of one target.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) types: Vec<Type>,
}

/// A trait, be it of this target or of another crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trait {
    /// Its path from the crate's root.
    Local(Vec<String>),
    /// Its name alone.
    Foreign(String),
}

impl Types {
    /// The type's name, with as much of its path as parts it from others of that name.
    pub(crate) fn name(&self, index: usize) -> String {
        let path = &self.types[index].path;
        let parts = (1..path.len()).find(|count| {
            let tail = &path[path.len() - count..];
            let others = self.types.iter().filter(|other| other.path.ends_with(tail));
            others.count() == 1
        });
        path[path.len() - parts.unwrap_or(path.len())..].join("::")
    }

    /// The type that a name in the settings means.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let wanted: Vec<&str> = name.split("::").collect();
        let fits = |found: &Type| {
            let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
            path.ends_with(&wanted)
        };
        self.types.iter().position(fits)
    }
}
