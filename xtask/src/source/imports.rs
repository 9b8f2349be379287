//! The imports of one file: `use` trees and paths inside code.

use syn::UseTree;

/// One path of a `use` tree, or one path in code.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Line number from 1.
    pub(crate) line: usize,
    /// Whether the import is in test code.
    pub(crate) test: bool,
}

/// Splits `a::{b, c as d, e::*}` into one import per leaf, each with the line of its leaf.
pub(super) fn leaves(tree: &UseTree, base: &Import, found: &mut Vec<Import>) {
    let mut import = base.clone();
    match tree {
        UseTree::Path(path) => {
            import.path.push(path.ident.to_string());
            leaves(&path.tree, &import, found);
        }
        UseTree::Group(group) => {
            for item in &group.items {
                leaves(item, base, found);
            }
        }
        UseTree::Glob(glob) => {
            import.glob = true;
            import.line = glob.star_token.span.start().line;
            found.push(import);
        }
        UseTree::Name(name) => {
            // `a::{self}` binds `a`; a path that starts with `self` keeps it.
            if name.ident != "self" || import.path.is_empty() {
                import.path.push(name.ident.to_string());
            }
            import.name = import.path.last().cloned().unwrap_or_default();
            import.line = name.ident.span().start().line;
            found.push(import);
        }
        UseTree::Rename(rename) => {
            if rename.ident != "self" || import.path.is_empty() {
                import.path.push(rename.ident.to_string());
            }
            import.name = rename.rename.to_string();
            import.line = rename.ident.span().start().line;
            found.push(import);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn read(text: &str) -> Vec<Import> {
        Source::parse(text).unwrap().imports
    }

    #[test]
    fn trees_become_one_import_per_leaf() {
        let found = read("use crate::{a::{self, B as C},\n d::*, e};");
        let leaves: Vec<_> = found
            .iter()
            .map(|i| (i.path.join("::"), i.name.as_str(), i.glob, i.line))
            .collect();
        assert_eq!(
            leaves,
            [
                ("crate::a".to_owned(), "a", false, 1),
                ("crate::a::B".to_owned(), "C", false, 1),
                ("crate::d".to_owned(), "", true, 2),
                ("crate::e".to_owned(), "e", false, 2),
            ]
        );
    }

    #[test]
    fn paths_in_code_count_and_carry_their_scope() {
        let found = read(
            "mod m { pub(in crate::z) fn f() { super::g::h(); x.y::<T>(); print!(\"\", a::b::c) } }",
        );
        let paths: Vec<_> = found
            .iter()
            .map(|i| (i.scope.join("::"), i.path.join("::")))
            .collect();
        let of = |path: &str| ("m".to_owned(), path.to_owned());
        assert_eq!(paths, [of("super::g::h"), of("a::b::c")]);
    }

    #[test]
    fn re_exports_know_whether_the_file_uses_the_name() {
        let found =
            read("pub use a::{X, Y}; pub(crate) use b::Z; use c::W; fn f(x: X) -> W { q.Y }");
        let passed_on: Vec<_> = found
            .iter()
            .filter(|i| i.passed_on)
            .map(|i| i.name.as_str())
            .collect();
        assert_eq!(passed_on, ["Y", "Z"]);
    }
}
