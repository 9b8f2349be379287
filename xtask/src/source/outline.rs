//! The items of one file: modules, functions, definitions, and the parts that are test code.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Meta, Stmt, TraitItem};

/// A `mod name;` or `mod name { }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The enclosing inline modules.
    pub(crate) scope: Vec<String>,
    /// The module's name.
    pub(crate) name: String,
    /// The value of `#[path = "..."]`.
    pub(crate) path: Option<String>,
    /// Whether the module has its body in this file.
    pub(crate) inline: bool,
    /// Whether the module is test code.
    pub(crate) test: bool,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// The function's name.
    pub(crate) name: String,
    /// The line of `fn`.
    pub(crate) line: usize,
    /// Number of lines from `fn` to the closing brace.
    pub(crate) lines: usize,
    /// Whether the function is test code.
    pub(crate) test: bool,
}

/// The declarations of one file.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Declared modules.
    pub(crate) modules: Vec<Module>,
    /// Functions with a body, including methods.
    pub(crate) functions: Vec<Function>,
    /// Names defined at module level: (inline scope, name).
    pub(crate) defined: BTreeSet<(Vec<String>, String)>,
}

/// Configurations under which only tests are built.
const TEST_CFGS: [&str; 2] = ["test", "loom"];

/// Returns the parts of a file that are built only for tests.
pub(super) fn test_ranges(file: &syn::File) -> Vec<Range<LineColumn>> {
    if file.attrs.iter().any(is_test) {
        let [line, column] = [usize::MAX; 2];
        let all = LineColumn { line: 0, column: 0 }..LineColumn { line, column };
        return vec![all];
    }
    let mut ranges = TestRanges(Vec::new());
    ranges.visit_file(file);
    ranges.0
}

/// Returns whether a span starts inside one of the ranges.
pub(super) fn within(ranges: &[Range<LineColumn>], span: Span) -> bool {
    if ranges.is_empty() {
        return false;
    }
    let start = span.start();
    ranges.iter().any(|range| range.contains(&start))
}

/// Returns whether the attribute marks its item as test code.
fn is_test(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let mut words = Vec::new();
            all_words(&list.tokens, &mut words);
            words.iter().enumerate().any(|(at, word)| {
                TEST_CFGS.contains(&word.as_str()) && (at == 0 || words[at - 1] != "not")
            })
        }
        _ => false,
    }
}

fn all_words(tokens: &TokenStream, words: &mut Vec<String>) {
    for tree in tokens.clone() {
        match tree {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => all_words(&group.stream(), words),
            _ => {}
        }
    }
}

/// Collects the extent of everything with a test attribute.
struct TestRanges(Vec<Range<LineColumn>>);

impl TestRanges {
    /// Adds the node if its attributes mark it as test code; returns whether they do.
    fn take(&mut self, attributes: &[Attribute], node: &impl Spanned) -> bool {
        let test = attributes.iter().any(is_test);
        if test {
            let span = node.span();
            self.0.push(span.start()..span.end());
        }
        test
    }
}

impl<'ast> Visit<'ast> for TestRanges {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.take(item_attributes(item), item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(it) => &it.attrs,
            ImplItem::Fn(it) => &it.attrs,
            ImplItem::Type(it) => &it.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !self.take(attributes, item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        let attributes = match item {
            TraitItem::Const(it) => &it.attrs,
            TraitItem::Fn(it) => &it.attrs,
            TraitItem::Type(it) => &it.attrs,
            _ => return visit::visit_trait_item(self, item),
        };
        if !self.take(attributes, item) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.take(&field.attrs, field);
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !self.take(&field.attrs, field) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !self.take(&variant.attrs, variant) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !self.take(&arm.attrs, arm) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(it) => &it.attrs[..],
            Stmt::Macro(it) => &it.attrs,
            Stmt::Expr(it, _) => expression_attributes(it),
            Stmt::Item(_) => &[],
        };
        if !self.take(attributes, statement) {
            visit::visit_stmt(self, statement);
        }
    }
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn expression_attributes(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Assign(it) => &it.attrs,
        Expr::Block(it) => &it.attrs,
        Expr::Call(it) => &it.attrs,
        Expr::ForLoop(it) => &it.attrs,
        Expr::If(it) => &it.attrs,
        Expr::Macro(it) => &it.attrs,
        Expr::Match(it) => &it.attrs,
        Expr::MethodCall(it) => &it.attrs,
        Expr::Return(it) => &it.attrs,
        Expr::Unsafe(it) => &it.attrs,
        Expr::While(it) => &it.attrs,
        _ => &[],
    }
}

/// Returns the name that an item defines in its module, with its span.
pub(super) fn defined_name(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Const(it) => Some(&it.ident),
        Item::Enum(it) => Some(&it.ident),
        Item::Fn(it) => Some(&it.sig.ident),
        Item::Macro(it) => it.ident.as_ref(),
        Item::Mod(it) => Some(&it.ident),
        Item::Static(it) => Some(&it.ident),
        Item::Struct(it) => Some(&it.ident),
        Item::Trait(it) => Some(&it.ident),
        Item::Type(it) => Some(&it.ident),
        Item::Union(it) => Some(&it.ident),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn outline(text: &str) -> Outline {
        Source::parse(text).unwrap().outline
    }

    #[test]
    fn modules_with_scope_path_and_test() {
        let text = "mod a; #[cfg(test)] mod b; mod c { #[path = \"x.rs\"] mod d; } mod e;";
        let found: Vec<_> = outline(text)
            .modules
            .into_iter()
            .map(|m| (m.scope.join("::"), m.name, m.path, m.inline, m.test))
            .collect();
        let of = |scope: &str, name: &str, path: Option<&str>, inline, test| {
            (
                scope.to_owned(),
                name.to_owned(),
                path.map(str::to_owned),
                inline,
                test,
            )
        };
        assert_eq!(
            found,
            [
                of("", "a", None, false, false),
                of("", "b", None, false, true),
                of("", "c", None, true, false),
                of("c", "d", Some("x.rs"), false, false),
                of("", "e", None, false, false),
            ]
        );
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "impl A {\n fn a(x: [u8; 4]) -> u8\n {\n if x {}\n 1 }\n}\nfn b() {}\n\
                    trait T { fn c(); }\nmacro_rules! m { () => { fn d() {\n } } }";
        let found: Vec<_> = outline(text)
            .functions
            .into_iter()
            .map(|f| (f.name, f.line, f.lines))
            .collect();
        let of = |name: &str, line, lines| (name.to_owned(), line, lines);
        assert_eq!(found, [of("a", 2, 4), of("b", 7, 1), of("d", 9, 2)]);
    }

    #[test]
    fn test_code_ends_with_its_item() {
        let text = "#[cfg(test)] use a::{b}; fn x() { #[cfg(test)] h(); i(); } #[test] fn y() { z }\n\
                    struct S { #[cfg(test)] f: u8, g: u8 } #[cfg(not(test))] fn w() {}\n\
                    #[cfg(all(test, loom))] impl T for U {}";
        let source = Source::parse(text).unwrap();
        let is_test_code = |word: &str| source.is_test(source.word(word).unwrap().span());
        for word in ["b", "h", "y", "z", "f", "U"] {
            assert!(is_test_code(word), "{word}");
        }
        for word in ["x", "i", "S", "g", "w"] {
            assert!(!is_test_code(word), "{word}");
        }
    }

    #[test]
    fn a_file_can_be_test_code_as_a_whole() {
        let source = Source::parse("//! T.\n#![cfg(test)]\nfn f() {}").unwrap();
        assert!(source.is_test(source.word("f").unwrap().span()));
    }

    #[test]
    fn definitions_are_those_of_modules_only() {
        let text =
            "const A: u8 = 1; fn f() { const B: u8 = 2; } mod m { pub static mut C: u8 = 3; }";
        let names: Vec<_> = outline(text)
            .defined
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["A", "f", "m", "C"]);
    }
}
