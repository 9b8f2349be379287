//! The types of a target with their sizes, dependencies and names.

use std::collections::BTreeMap;

/// A struct, enum or union.
#[derive(Debug)]
pub(crate) struct Type {
    /// Path of the type from the crate's root.
    pub(crate) path: Vec<String>,
    /// Index of the file that defines it.
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// Number of fields of a struct or union; 0 for an enum.
    pub(crate) fields: usize,
    /// Number of functions in inherent implementations.
    pub(crate) methods: usize,
    /// Whether the type is a struct that is not `Copy`.
    pub(super) has_state: bool,
    /// Whether the type is such a struct with a method that takes `self`, inherent or of a
    /// workspace trait: an object, not a value.
    pub(crate) owner: bool,
    /// The types that this one depends on, by index.
    pub(crate) links: BTreeMap<usize, Link>,
}

/// The reason why a type depends on another: the first place that names it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) file: usize,
    pub(crate) line: usize,
    /// The trait through which the type depends; empty if it names the other type.
    pub(crate) by_trait: String,
}

/// The types of one target.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) types: Vec<Type>,
}

/// A trait of this target or of another crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trait {
    /// Path from the crate's root.
    Local(Vec<String>),
    /// Name only.
    Foreign(String),
}

impl Types {
    /// Returns the type's name, with as much of its path as distinguishes it from others of that
    /// name.
    pub(crate) fn name(&self, index: usize) -> String {
        let path = &self.types[index].path;
        let parts = (1..path.len()).find(|count| {
            let tail = &path[path.len() - count..];
            let others = self.types.iter().filter(|other| other.path.ends_with(tail));
            others.count() == 1
        });
        path[path.len() - parts.unwrap_or(path.len())..].join("::")
    }

    /// Returns the index of the type that a name in the settings refers to.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let wanted: Vec<&str> = name.split("::").collect();
        let fits = |found: &Type| {
            let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
            path.ends_with(&wanted)
        };
        self.types.iter().position(fits)
    }
}
