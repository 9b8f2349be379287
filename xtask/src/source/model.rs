//! What a file declares and imports.

use std::collections::{BTreeMap, BTreeSet};

/// A `mod name;` or `mod name { }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The enclosing inline modules.
    pub(crate) scope: Vec<String>,
    pub(crate) name: String,
    /// The value of `#[path = "..."]`.
    pub(crate) path: Option<String>,
    /// Whether the module has its body in this file.
    pub(crate) inline: bool,
    pub(crate) test: bool,
}

/// A function with a body outside test code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of `fn`.
    pub(crate) line: usize,
    /// Number of lines from `fn` to the closing brace.
    pub(crate) lines: usize,
}

/// One path of a `use` tree, or one path in code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Import {
    /// The enclosing inline modules.
    pub(crate) scope: Vec<String>,
    /// The path as written, including `crate`, `self` and `super`.
    pub(crate) path: Vec<String>,
    /// The bound name: the last segment or the name after `as`; empty for a path in code.
    pub(crate) name: String,
    /// Whether the path ends in `*`.
    pub(crate) glob: bool,
    /// Whether the file only re-exports the name and does not use it itself.
    pub(crate) passed_on: bool,
    pub(crate) line: usize,
    pub(crate) test: bool,
}

/// A struct, enum or union at module level outside test code.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    /// The enclosing modules, those of this file at first, and the name.
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// Number of fields of a struct or union; 0 for an enum.
    pub(crate) fields: usize,
    /// Number of functions in inherent implementations.
    pub(crate) methods: usize,
}

/// An inherent implementation at module level outside test code.
#[derive(Clone, Debug)]
pub(crate) struct Implementation {
    /// The enclosing inline modules.
    pub(crate) scope: Vec<String>,
    /// The path of the type as written.
    pub(crate) path: Vec<String>,
    /// Number of functions outside test code.
    pub(crate) methods: usize,
}

/// One file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) modules: Vec<Module>,
    pub(crate) functions: Vec<Function>,
    /// `use` trees and paths in code, in order.
    pub(crate) imports: Vec<Import>,
    /// Names defined at module level: (inline scope, name).
    pub(crate) defined: BTreeSet<(Vec<String>, String)>,
    pub(crate) types: Vec<Type>,
    pub(crate) implementations: Vec<Implementation>,
    /// The files that `include!("...")` names.
    pub(crate) included: Vec<String>,
    /// Each identifier and keyword, with the first line that has it.
    pub(crate) words: BTreeMap<String, usize>,
    /// The lines that hold a token outside test code.
    pub(crate) code_lines: BTreeSet<usize>,
    /// The lines that hold a token of test code.
    pub(crate) test_lines: BTreeSet<usize>,
    /// The comments and string literals; see [`super::prose`].
    pub(crate) prose: String,
}
