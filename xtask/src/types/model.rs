//! The types of a target with their sizes and names.

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
}

/// The types of one target.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) types: Vec<Type>,
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
