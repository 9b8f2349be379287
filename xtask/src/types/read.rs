//! Reads the types of a target from its files: first the definitions, then the implementers of each
//! trait, then the links between types.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, FnArg, Ident, ImplItem, ImplItemFn, Item, ItemImpl, Meta, Path};

use super::model::{Link, Trait, Type, Types};
use super::names::Names;
use crate::source::modules::{ModulePath, Modules};

/// Maximum depth of aliases of aliases that are followed.
const ALIASES_MAX: usize = 8;

/// Reads the types of a target; `traits` are the names of all traits of the workspace.
pub(crate) fn read(modules: &Modules, traits: &BTreeSet<String>) -> Types {
    let mut reader = Reader {
        modules,
        traits,
        types: Vec::new(),
        known: BTreeMap::new(),
        aliases: BTreeMap::new(),
        implementers: BTreeMap::new(),
    };
    let mut items = Vec::new();
    for (index, file) in modules.files.iter().enumerate().filter(|(_, f)| !f.test) {
        reader.located(index, &file.module, &file.source.file.items, &mut items);
    }
    for item in &items {
        reader.define(item);
    }
    for item in &items {
        reader.implement(item);
    }
    for item in &items {
        reader.link_item(item);
    }
    Types {
        types: reader.types,
    }
}

/// An item with the module in which its names are resolved.
struct Located<'a> {
    file: usize,
    module: ModulePath,
    item: &'a Item,
}

struct Reader<'a> {
    modules: &'a Modules,
    traits: &'a BTreeSet<String>,
    types: Vec<Type>,
    /// Index in `types` by path.
    known: BTreeMap<Vec<String>, usize>,
    /// The module in which an alias's names are resolved, and the aliased type.
    aliases: BTreeMap<Vec<String>, (ModulePath, &'a syn::Type)>,
    implementers: BTreeMap<Trait, BTreeSet<usize>>,
}

impl<'a> Reader<'a> {
    /// Collects all items outside test code, including those of inline modules.
    fn located(
        &self,
        file: usize,
        module: &ModulePath,
        items: &'a [Item],
        found: &mut Vec<Located<'a>>,
    ) {
        for item in items {
            if self.modules.files[file].source.is_test(item.span()) {
                continue;
            }
            if let Item::Mod(inner) = item {
                if let Some((_, items)) = &inner.content {
                    let module = path_of(module, &inner.ident);
                    self.located(file, &module, items, found);
                }
                continue;
            }
            found.push(Located {
                file,
                module: module.clone(),
                item,
            });
        }
    }

    /// Records a type or an alias.
    fn define(&mut self, located: &Located<'a>) {
        let (ident, fields, is_struct) = match located.item {
            Item::Struct(it) => (&it.ident, it.fields.len(), !is_copy(&it.attrs)),
            Item::Enum(it) => (&it.ident, 0, false),
            Item::Union(it) => (&it.ident, it.fields.named.len(), false),
            Item::Type(it) => {
                let alias = (located.module.clone(), &*it.ty);
                self.aliases
                    .insert(path_of(&located.module, &it.ident), alias);
                return;
            }
            _ => return,
        };
        let path = path_of(&located.module, ident);
        self.known.insert(path.clone(), self.types.len());
        self.types.push(Type {
            path,
            file: located.file,
            line: ident.span().start().line,
            fields,
            methods: 0,
            has_state: is_struct,
            owner: false,
            links: BTreeMap::new(),
        });
    }

    /// Counts the functions of an implementation, and records which type implements which trait.
    fn implement(&mut self, located: &Located<'a>) {
        let Item::Impl(implementation) = located.item else {
            return;
        };
        let Some(index) = self.implementer(&located.module, implementation) else {
            return;
        };
        let inherent = implementation.trait_.is_none();
        if let Some((path, _)) = &implementation.trait_ {
            let Some(implemented) = self.trait_of(&located.module, path) else {
                return;
            };
            let implementers = self.implementers.entry(implemented).or_default();
            implementers.insert(index);
        }
        for function in self.functions(located.file, implementation) {
            let found = &mut self.types[index];
            found.methods += usize::from(inherent);
            let receives = matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_)));
            found.owner |= found.has_state && receives;
        }
    }

    /// Records the types that a definition or an implementation names.
    fn link_item(&mut self, located: &Located<'a>) {
        let mut names = Names::default();
        let from = match located.item {
            Item::Struct(it) => {
                names.generics(&it.generics);
                names.visit_fields(&it.fields);
                self.index(&located.module, &it.ident)
            }
            Item::Enum(it) => {
                names.generics(&it.generics);
                for variant in &it.variants {
                    names.visit_fields(&variant.fields);
                }
                self.index(&located.module, &it.ident)
            }
            Item::Union(it) => {
                names.visit_fields_named(&it.fields);
                self.index(&located.module, &it.ident)
            }
            Item::Impl(it) => {
                let standard = it.trait_.as_ref();
                let standard = standard
                    .is_some_and(|(path, _)| self.trait_of(&located.module, path).is_none());
                if standard {
                    return;
                }
                let functions = self.functions(located.file, it);
                if !functions.is_empty() {
                    names.generics(&it.generics);
                }
                for function in functions {
                    names.signature(&function.sig);
                }
                self.implementer(&located.module, it)
            }
            _ => return,
        };
        let Some(from) = from else {
            return;
        };
        for path in names.0 {
            let line = path.span().start().line;
            if self.modules.files[located.file].source.is_test(path.span()) {
                continue;
            }
            let place = Link {
                file: located.file,
                line,
                by_trait: String::new(),
            };
            self.link(from, &located.module, path, &place, 0);
        }
    }

    /// Records that `from` names `path`.
    fn link(&mut self, from: usize, module: &[String], path: &Path, place: &Link, depth: usize) {
        let Some(found) = self.definition(module, path) else {
            self.link_trait(from, module, path, place);
            return;
        };
        if let Some(to) = self.known.get(&found) {
            if *to != from {
                let links = &mut self.types[from].links;
                links.entry(*to).or_insert_with(|| place.clone());
            }
        } else if let Some((module, alias)) = self.aliases.get(&found).cloned() {
            let mut names = Names::default();
            names.visit_type(alias);
            if depth < ALIASES_MAX {
                for path in names.0 {
                    self.link(from, &module, path, place, depth + 1);
                }
            }
        } else {
            self.link_trait(from, module, path, place);
        }
    }

    /// Records that `from` names a trait, and thereby all types that implement it.
    fn link_trait(&mut self, from: usize, module: &[String], path: &Path, place: &Link) {
        let Some(named) = self.trait_of(module, path) else {
            return;
        };
        let implementers = self.implementers.get(&named).cloned().unwrap_or_default();
        if implementers.contains(&from) {
            return;
        }
        for to in implementers {
            let links = &mut self.types[from].links;
            links.entry(to).or_insert_with(|| Link {
                by_trait: path
                    .segments
                    .last()
                    .map_or(String::new(), |s| s.ident.to_string()),
                ..place.clone()
            });
        }
    }

    fn index(&self, module: &[String], ident: &Ident) -> Option<usize> {
        self.known.get(&path_of(module, ident)).copied()
    }

    /// Returns the type that an implementation is for, if this target defines it.
    fn implementer(&self, module: &[String], implementation: &ItemImpl) -> Option<usize> {
        let syn::Type::Path(written) = &*implementation.self_ty else {
            return None;
        };
        let found = self.definition(module, &written.path)?;
        self.known.get(&found).copied()
    }

    /// Returns the path from the crate's root of the item that `path` names, if this target defines
    /// it.
    fn definition(&self, module: &[String], path: &Path) -> Option<Vec<String>> {
        if path.leading_colon.is_some() {
            return None;
        }
        let words: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let found = self.modules.named(module, &words)?;
        let mut path = found.module;
        path.extend(found.name);
        Some(path)
    }

    /// Returns the workspace trait that a path names.
    fn trait_of(&self, module: &[String], path: &Path) -> Option<Trait> {
        let name = path.segments.last()?.ident.to_string();
        if !self.traits.contains(&name) {
            return None;
        }
        let local = self.definition(module, path);
        Some(local.map_or(Trait::Foreign(name), Trait::Local))
    }

    /// Returns the functions of an implementation outside test code.
    fn functions(&self, file: usize, implementation: &'a ItemImpl) -> Vec<&'a ImplItemFn> {
        let source = &self.modules.files[file].source;
        let functions = implementation.items.iter().filter_map(|item| match item {
            ImplItem::Fn(function) => Some(function),
            _ => None,
        });
        functions
            .filter(|function| !source.is_test(function.sig.fn_token.span))
            .collect()
    }
}

fn path_of(module: &[String], ident: &Ident) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(ident.to_string());
    path
}

/// Returns whether a type derives `Copy`.
fn is_copy(attributes: &[Attribute]) -> bool {
    let derives = |tokens: &TokenStream| {
        tokens
            .clone()
            .into_iter()
            .any(|tree| tree.to_string() == "Copy")
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("derive") && derives(&list.tokens),
        _ => false,
    })
}
