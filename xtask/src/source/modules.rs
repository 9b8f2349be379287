//! The module tree of one target, and the imports between its files.
//!
//! A path is followed through re-exports to the module that defines the name: `use crate::Error`
//! in a crate whose root contains `pub use error::Error` is an import of `error`, not of the root.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Source;
use super::imports::Import;
use super::outline::Module;
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

/// The definition that a path refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    /// Index of the file.
    pub(crate) file: usize,
    /// The module, which may be inline.
    pub(crate) module: ModulePath,
    /// The item of that module; `None` if the path names the module, or an item not found in it.
    pub(crate) name: Option<String>,
}

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
            let Some(source) = sources.get(&path) else {
                continue;
            };
            if !seen.insert(path.clone()) {
                continue;
            }
            for declared in &source.outline.modules {
                let mut child = module.clone();
                child.extend(declared.scope.iter().cloned());
                child.push(declared.name.clone());
                let child_test = test || declared.test;
                if declared.inline {
                    modules.by_path.insert(child, modules.files.len());
                } else {
                    for file in candidates(&path, path == root, declared) {
                        todo.push((file, child.clone(), child_test));
                    }
                }
            }
            modules
                .by_path
                .entry(module.clone())
                .or_insert(modules.files.len());
            modules.files.push(File {
                source: Rc::clone(source),
                path,
                module,
                test,
            });
        }
        modules
    }

    /// Returns every import between two files outside test code, without re-exports that the
    /// re-exporting file does not use itself.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (from, file) in self.files.iter().enumerate() {
            if file.test {
                continue;
            }
            for import in &file.source.imports {
                if import.test || import.passed_on {
                    continue;
                }
                let mut scope = file.module.clone();
                scope.extend(import.scope.iter().cloned());
                if let Some(to) = self.resolve(&scope, &import.path)
                    && to.file != from
                    && !self.files[to.file].test
                {
                    edges.push(Edge {
                        from,
                        to: to.file,
                        line: import.line,
                    });
                }
            }
        }
        edges.sort();
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        edges
    }

    /// Resolves `path` in the module `scope`; `None` if its first segment is neither a module of
    /// this target nor a relative one.
    fn resolve(&self, scope: &[String], path: &[String]) -> Option<Definition> {
        self.walk(scope, path, 0)
    }

    /// Returns the item that `path` names in the module `scope`, whether defined or imported there.
    pub(crate) fn named(&self, scope: &[String], path: &[String]) -> Option<Definition> {
        self.walk(scope, path, 0)
            .or_else(|| match self.item(scope, path, 0) {
                Item::Defined(found) => Some(found),
                Item::Foreign | Item::Unknown => None,
            })
            .filter(|found| found.name.is_some())
    }

    fn walk(&self, scope: &[String], path: &[String], depth: usize) -> Option<Definition> {
        let mut module = scope.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => {
                module.pop();
            }
            child => {
                module.push(child.to_owned());
                if !self.by_path.contains_key(&module) {
                    return None;
                }
            }
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|segment| segment == "super") {
            module.pop();
            rest = &rest[1..];
        }
        while let Some(segment) = rest.first() {
            module.push(segment.clone());
            if !self.by_path.contains_key(&module) {
                module.pop();
                return match self.item(&module, rest, depth) {
                    Item::Defined(found) => Some(found),
                    Item::Foreign => None,
                    Item::Unknown => self.module(module),
                };
            }
            rest = &rest[1..];
        }
        self.module(module)
    }

    fn module(&self, module: ModulePath) -> Option<Definition> {
        let file = *self.by_path.get(&module)?;
        Some(Definition {
            file,
            module,
            name: None,
        })
    }

    /// Returns the item `rest[0]` of a module.
    fn item(&self, module: &[String], rest: &[String], depth: usize) -> Item {
        let (Some(index), Some(name)) = (self.by_path.get(module), rest.first()) else {
            return Item::Unknown;
        };
        let file = &self.files[*index];
        let inside = module[file.module.len().min(module.len())..].to_vec();
        let outline = &file.source.outline;
        if outline.defined.contains(&(inside.clone(), name.clone())) {
            return Item::Defined(Definition {
                file: *index,
                module: module.to_vec(),
                name: Some(name.clone()),
            });
        }
        if depth > REEXPORTS_MAX {
            return Item::Unknown;
        }
        let here = |import: &&Import| import.scope == inside && !import.test;
        let imports = || file.source.imports.iter().filter(here);
        if let Some(import) = imports().find(|import| import.name == *name) {
            let mut path = import.path.clone();
            path.extend(rest[1..].iter().cloned());
            let found = self.walk(module, &path, depth + 1);
            return found.map_or(Item::Foreign, Item::Defined);
        }
        let by_glob = imports().filter(|import| import.glob).find_map(|import| {
            let mut path = import.path.clone();
            path.extend(rest.iter().cloned());
            let target = self.walk(module, &path, depth + 1);
            target.filter(|found| found.name.is_some())
        });
        by_glob.map_or(Item::Unknown, Item::Defined)
    }
}

/// The meaning of a name in a module.
enum Item {
    Defined(Definition),
    /// Imported from another crate.
    Foreign,
    Unknown,
}

/// Returns the paths where rustc looks for the module `declared` in the file `path`.
fn candidates(path: &str, is_root: bool, declared: &Module) -> Vec<String> {
    let folder = parent(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let owns_folder = is_root || name == "mod.rs";
    let mut base = folder.to_owned();
    if !owns_folder {
        base = format!("{base}/{}", name.trim_end_matches(".rs"));
    }
    for scope in &declared.scope {
        base = format!("{base}/{scope}");
    }
    if let Some(written) = &declared.path {
        let from = if declared.scope.is_empty() {
            folder
        } else {
            &base
        };
        return join(from, written).into_iter().collect();
    }
    [
        format!("{base}/{}.rs", declared.name),
        format!("{base}/{}/mod.rs", declared.name),
    ]
    .into_iter()
    .filter_map(|candidate| join("", &candidate))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<(String, String, usize)> {
        let parse = |(path, text): &(&str, &str)| {
            let source = Source::parse(text).unwrap();
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
