//! The module tree of one target, the imports between its files, and its types.
//!
//! A path is followed through re-exports to the module that defines the name: `use crate::Error`
//! in a crate whose root contains `pub use error::Error` is an import of `error`, not of the root.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::source::{Import, Module, Source, Type};
use crate::tree::{join, parent};

/// A module's path from the crate's root; the path of the root is empty.
pub(crate) type ModulePath = Vec<String>;

/// All parsed files by path.
pub(crate) type Sources = BTreeMap<String, Rc<Source>>;

/// Maximum depth of re-exports of re-exports that are followed.
const REEXPORTS_MAX: usize = 8;

/// One file of a target.
pub(crate) struct File {
    /// Path relative to the workspace's root.
    pub(crate) path: String,
    /// The module that the file defines.
    pub(crate) module: ModulePath,
    /// Whether the whole file is test code.
    pub(crate) test: bool,
    /// The parsed contents.
    pub(crate) source: Rc<Source>,
}

/// One import of one file from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    /// Index of the importing file.
    pub(crate) from: usize,
    /// Index of the imported file.
    pub(crate) to: usize,
    /// Line of the import.
    pub(crate) line: usize,
}

/// What a path names: the index of the file, and the full path of the item; `None` if the path
/// names a module, or an item not found in it.
type Named = (usize, Option<ModulePath>);

/// The files of a target with their modules.
#[derive(Default)]
pub(crate) struct Modules {
    /// The files, starting with the root.
    pub(crate) files: Vec<File>,
    /// The file of each module, including inline modules.
    by_path: BTreeMap<ModulePath, usize>,
}

impl Modules {
    /// Reads the target whose root file is `root`, following `mod` declarations.
    pub(crate) fn read(sources: &Sources, root: &str) -> Modules {
        let mut modules = Modules::default();
        let mut todo = vec![(root.to_owned(), ModulePath::new(), false)];
        let mut seen = BTreeSet::new();
        while let Some((path, module, test)) = todo.pop() {
            let Some(source) = sources.get(&path).filter(|_| seen.insert(path.clone())) else {
                continue;
            };
            let index = modules.files.len();
            for declared in &source.modules {
                let name = std::slice::from_ref(&declared.name);
                let child = [&module, &declared.scope, name].concat();
                if declared.inline {
                    modules.by_path.insert(child, index);
                    continue;
                }
                for file in candidates(&path, path == root, declared) {
                    todo.push((file, child.clone(), test || declared.test));
                }
            }
            modules.by_path.entry(module.clone()).or_insert(index);
            let source = Rc::clone(source);
            modules.files.push(File {
                path,
                module,
                test,
                source,
            });
        }
        modules
    }

    /// Returns the files outside test code with their indexes.
    fn product(&self) -> impl Iterator<Item = (usize, &File)> {
        self.files.iter().enumerate().filter(|(_, file)| !file.test)
    }

    /// Returns every import between two files outside test code, without re-exports that the
    /// re-exporting file does not use itself.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (from, file) in self.product() {
            let imports = file.source.imports.iter();
            for import in imports.filter(|import| !import.test && !import.passed_on) {
                let scope = [&file.module[..], &import.scope].concat();
                if let Some((to, _)) = self.walk(&scope, &import.path, 0)
                    && to != from
                    && !self.files[to].test
                {
                    let line = import.line;
                    edges.push(Edge { from, to, line });
                }
            }
        }
        edges.sort();
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        edges
    }

    /// Returns the types outside test code by their full paths, each with the index of its file,
    /// and with the methods of all files.
    pub(crate) fn types(&self) -> BTreeMap<ModulePath, (usize, Type)> {
        let mut types = BTreeMap::new();
        for (index, file) in self.product() {
            let found = file.source.types.iter();
            types.extend(found.map(|it| {
                let path = [&file.module[..], &it.path].concat();
                (path, (index, it.clone()))
            }));
        }
        for (_, file) in self.product() {
            for it in &file.source.implementations {
                let scope = [&file.module[..], &it.scope].concat();
                let walked = self.walk(&scope, &it.path, 0);
                let named = walked.or_else(|| self.item(&scope, &it.path, 0));
                if let Some((_, Some(path))) = named
                    && let Some((_, found)) = types.get_mut(&path)
                {
                    found.methods += it.methods;
                }
            }
        }
        types
    }

    /// Resolves `path` in the module `scope`; `None` if its first segment is neither a module of
    /// this target nor a relative one.
    fn walk(&self, scope: &[String], path: &[String], depth: usize) -> Option<Named> {
        let mut module = scope.to_vec();
        for (at, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => {
                    module.pop();
                }
                _ => {
                    module.push(segment.clone());
                    if !self.by_path.contains_key(&module) {
                        module.pop();
                        let rest = (at > 0).then_some(&path[at..])?;
                        return self.item(&module, rest, depth);
                    }
                }
            }
        }
        Some((*self.by_path.get(&module)?, None))
    }

    /// Resolves the item `rest[0]` of a module; `None` if another crate defines it.
    fn item(&self, module: &[String], rest: &[String], depth: usize) -> Option<Named> {
        let index = *self.by_path.get(module)?;
        let (name, file) = (rest.first()?, &self.files[index]);
        let inside = module[file.module.len().min(module.len())..].to_vec();
        if file
            .source
            .defined
            .contains(&(inside.clone(), name.clone()))
        {
            return Some((index, Some([module, &rest[..1]].concat())));
        }
        if depth > REEXPORTS_MAX {
            return Some((index, None));
        }
        let here = |import: &&Import| import.scope == inside && !import.test;
        let imports = || file.source.imports.iter().filter(here);
        let follow = |import: &Import, rest: &[String]| {
            let path = [&import.path[..], rest].concat();
            self.walk(module, &path, depth + 1)
        };
        if let Some(import) = imports().find(|import| import.name == *name) {
            return follow(import, &rest[1..]);
        }
        let by_glob = imports()
            .filter(|import| import.glob)
            .find_map(|import| follow(import, rest).filter(|(_, item)| item.is_some()));
        by_glob.or(Some((index, None)))
    }
}

/// Returns the paths where rustc looks for the module `declared` in the file `path`.
fn candidates(path: &str, is_root: bool, declared: &Module) -> Vec<String> {
    let (folder, name) = (parent(path), &declared.name);
    let mut base = folder.to_owned();
    if !is_root && !path.ends_with("/mod.rs") {
        path.trim_end_matches(".rs").clone_into(&mut base);
    }
    for scope in &declared.scope {
        base = format!("{base}/{scope}");
    }
    let found = match &declared.path {
        Some(written) if declared.scope.is_empty() => vec![join(folder, written)],
        Some(written) => vec![join(&base, written)],
        None => vec![
            join(&base, &format!("{name}.rs")),
            join(&base, &format!("{name}/mod.rs")),
        ],
    };
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn edges(files: &[(&str, &str)]) -> Vec<(String, String, usize)> {
        let parse = |(path, text): &(&str, &str)| {
            let source = source::parse(text).unwrap();
            ((*path).to_owned(), Rc::new(source))
        };
        let sources: Sources = files.iter().map(parse).collect();
        let modules = Modules::read(&sources, files[0].0);
        let name = |index: usize| modules.files[index].module.join("::");
        let mut edges: Vec<_> = modules
            .edges()
            .iter()
            .map(|edge| (name(edge.from), name(edge.to), edge.line))
            .collect();
        edges.sort();
        edges
    }

    fn edge(from: &str, to: &str, line: usize) -> (String, String, usize) {
        (from.to_owned(), to.to_owned(), line)
    }

    #[test]
    fn re_exports_are_seen_through() {
        let found = edges(&[
            (
                "src/lib.rs",
                "mod a; mod b; pub use a::X; pub use other::Y;",
            ),
            ("src/a.rs", "pub struct X;"),
            ("src/b.rs", "use crate::{X, Y};\nuse super::X as Z;"),
        ]);
        assert_eq!(found, [edge("b", "a", 1)]);
    }

    #[test]
    fn children_paths_and_inline_modules_resolve() {
        let found = edges(&[
            ("src/lib.rs", "mod a; mod c { pub fn f() {} }"),
            ("src/a/mod.rs", "mod b;\nfn g() { b::h(); crate::c::f() }"),
            (
                "src/a/b.rs",
                "pub fn h() { super::g() }\n#[cfg(test)] mod tests { use crate::c; }",
            ),
        ]);
        assert_eq!(
            found,
            [edge("a", "", 2), edge("a", "a::b", 2), edge("a::b", "a", 1)]
        );
    }

    #[test]
    fn glob_re_exports_lead_to_the_definition() {
        let found = edges(&[
            (
                "src/lib.rs",
                "mod a; mod b; mod d; pub use a::*; pub use d::*;",
            ),
            ("src/a.rs", "pub struct X;"),
            ("src/b.rs", "use crate::W; fn f() -> super::X {}"),
            ("src/d.rs", "pub struct W;"),
        ]);
        assert_eq!(found, [edge("b", "a", 1), edge("b", "d", 1)]);
    }

    #[test]
    fn test_files_import_what_they_like() {
        let found = edges(&[
            ("src/lib.rs", "mod a;"),
            ("src/a.rs", "#[cfg(test)] mod tests;"),
            ("src/a/tests.rs", "use super::*; use crate::a;"),
        ]);
        assert_eq!(found, []);
    }
}
