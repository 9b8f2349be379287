//! Reads the types of a target from its files: first the definitions, then their implementations.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::{Ident, ImplItem, Item, ItemImpl};

use super::model::{Type, Types};
use crate::source::modules::{ModulePath, Modules};

/// Reads the types of a target.
pub(crate) fn read(modules: &Modules) -> Types {
    let mut reader = TypeReader {
        modules,
        types: Vec::new(),
        known: BTreeMap::new(),
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

struct TypeReader<'a> {
    modules: &'a Modules,
    types: Vec<Type>,
    /// Index in `types` by path.
    known: BTreeMap<Vec<String>, usize>,
}

impl<'a> TypeReader<'a> {
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

    /// Records a type.
    fn define(&mut self, located: &Located<'a>) {
        let (ident, fields) = match located.item {
            Item::Struct(it) => (&it.ident, it.fields.len()),
            Item::Enum(it) => (&it.ident, 0),
            Item::Union(it) => (&it.ident, it.fields.named.len()),
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
        });
    }

    /// Counts the functions of an inherent implementation.
    fn implement(&mut self, located: &Located<'a>) {
        let Item::Impl(implementation) = located.item else {
            return;
        };
        if implementation.trait_.is_some() {
            return;
        }
        if let Some(index) = self.implementer(&located.module, implementation) {
            self.types[index].methods += self.functions(located.file, implementation);
        }
    }

    /// Returns the type that an implementation is for, if this target defines it.
    fn implementer(&self, module: &[String], implementation: &ItemImpl) -> Option<usize> {
        let syn::Type::Path(written) = &*implementation.self_ty else {
            return None;
        };
        if written.path.leading_colon.is_some() {
            return None;
        }
        let words = written.path.segments.iter().map(|s| s.ident.to_string());
        let found = self.modules.named(module, &words.collect::<Vec<_>>())?;
        let mut path = found.module;
        path.extend(found.name);
        self.known.get(&path).copied()
    }

    /// Returns the number of functions of an implementation outside test code.
    fn functions(&self, file: usize, implementation: &ItemImpl) -> usize {
        let source = &self.modules.files[file].source;
        let functions = implementation.items.iter().filter(|item| match item {
            ImplItem::Fn(function) => !source.is_test(function.sig.fn_token.span),
            _ => false,
        });
        functions.count()
    }
}

fn path_of(module: &[String], ident: &Ident) -> Vec<String> {
    let mut path = module.to_vec();
    path.push(ident.to_string());
    path
}
