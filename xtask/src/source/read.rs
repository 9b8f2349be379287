//! The visitor that fills a file's outline and its imports.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Delimiter, LineColumn, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, Item, ItemMod, ItemUse, Lit, Meta, Visibility};

use super::imports::{Import, leaves};
use super::outline::{Function, Module, Outline, defined_name, within};

/// Returns the outline, imports and included files of a parsed file.
pub(super) fn read(
    file: &syn::File,
    test: &[Range<LineColumn>],
) -> (Outline, Vec<Import>, Vec<String>) {
    let mut reader = SourceReader {
        test,
        scope: Vec::new(),
        at_module_level: true,
        outline: Outline::default(),
        imports: Vec::new(),
        included: Vec::new(),
        words: BTreeSet::new(),
    };
    reader.visit_file(file);
    for import in &mut reader.imports {
        import.passed_on &= !reader.words.contains(&import.name);
    }
    (reader.outline, reader.imports, reader.included)
}

struct SourceReader<'a> {
    test: &'a [Range<LineColumn>],
    /// The inline modules that enclose the current item.
    scope: Vec<String>,
    at_module_level: bool,
    outline: Outline,
    imports: Vec<Import>,
    included: Vec<String>,
    /// First segments of the paths in code outside tests.
    words: BTreeSet<String>,
}

impl SourceReader<'_> {
    fn is_test(&self, span: Span) -> bool {
        within(self.test, span)
    }

    fn function(&mut self, name: &syn::Ident, from: Span, to: Span) {
        let line = from.start().line;
        self.outline.functions.push(Function {
            name: name.to_string(),
            line,
            lines: to.end().line - line + 1,
            test: self.is_test(from),
        });
    }

    /// Records a path in code: its first segment, and the whole path if it has several.
    fn path(&mut self, path: Vec<String>, has_more: bool, span: Span) {
        let test = self.is_test(span);
        if !test {
            self.words.insert(path[0].clone());
        }
        if has_more {
            self.imports.push(Import {
                scope: self.scope.clone(),
                path,
                name: String::new(),
                glob: false,
                passed_on: false,
                line: span.start().line,
                test,
            });
        }
    }

    /// Reads the arguments or the definition of a macro: paths, and functions with a body.
    fn macro_tokens(&mut self, tokens: &TokenStream) {
        let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let colons = |at: usize| is_punct(trees.get(at), ':') && is_punct(trees.get(at + 1), ':');
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            match tree {
                TokenTree::Group(group) => self.macro_tokens(&group.stream()),
                TokenTree::Ident(first) => {
                    let continues =
                        at > 0 && is_punct(trees.get(at - 1), '.') || at > 1 && colons(at - 2);
                    if first == "fn" {
                        self.macro_function(&trees[at..]);
                    }
                    let mut path = vec![first.to_string()];
                    let has_more = colons(at + 1);
                    while colons(at + 1)
                        && let Some(TokenTree::Ident(next)) = trees.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if !continues {
                        self.path(path, has_more, first.span());
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Measures the function whose `fn` is the first of the tokens.
    fn macro_function(&mut self, trees: &[TokenTree]) {
        let [keyword, TokenTree::Ident(name), rest @ ..] = trees else {
            return;
        };
        let body = rest.iter().find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group)),
            TokenTree::Punct(punct) if punct.as_char() == ';' => Some(None),
            _ => None,
        });
        if let Some(Some(body)) = body {
            self.function(name, keyword.span(), body.span_close());
        }
    }
}

fn is_punct(tree: Option<&TokenTree>, wanted: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

impl<'ast> Visit<'ast> for SourceReader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if self.at_module_level
            && let Some(name) = defined_name(item)
        {
            let defined = (self.scope.clone(), name.to_string());
            self.outline.defined.insert(defined);
        }
        let outside = std::mem::replace(&mut self.at_module_level, false);
        visit::visit_item(self, item);
        self.at_module_level = outside;
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        self.outline.modules.push(Module {
            scope: self.scope.clone(),
            name: name.clone(),
            path: path_attribute(module),
            inline: module.content.is_some(),
            test: self.is_test(module.mod_token.span),
        });
        if let Some((_, items)) = &module.content {
            self.scope.push(name);
            let outside = std::mem::replace(&mut self.at_module_level, true);
            for item in items {
                self.visit_item(item);
            }
            self.at_module_level = outside;
            self.scope.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let base = Import {
            scope: self.scope.clone(),
            path: Vec::new(),
            name: String::new(),
            glob: false,
            passed_on: !matches!(item.vis, Visibility::Inherited),
            line: 0,
            test: self.is_test(item.use_token.span),
        };
        leaves(&item.tree, &base, &mut self.imports);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        visit::visit_item_fn(self, item);
        let (from, to) = (item.sig.fn_token.span, item.block.brace_token.span.close());
        self.function(&item.sig.ident, from, to);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        visit::visit_impl_item_fn(self, item);
        let (from, to) = (item.sig.fn_token.span, item.block.brace_token.span.close());
        self.function(&item.sig.ident, from, to);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        visit::visit_trait_item_fn(self, item);
        if let Some(block) = &item.default {
            let (from, to) = (item.sig.fn_token.span, block.brace_token.span.close());
            self.function(&item.sig.ident, from, to);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none()
            && let Some(first) = path.segments.first()
        {
            let words: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
            let has_more = words.len() > 1;
            self.path(words, has_more, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call.path.is_ident("include")
            && let Ok(file) = call.parse_body::<syn::LitStr>()
        {
            self.included.push(file.value());
        }
        visit::visit_macro(self, call);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.macro_tokens(tokens);
    }

    /// `pub(in path)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

/// Returns the `#[path = "..."]` of a module.
fn path_attribute(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        }
    })
}
