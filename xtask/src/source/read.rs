//! The pass over the tokens of a file.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

use super::model::{Function, Implementation, Import, Module, Source, Type};
use super::tokens::{
    after_generics, attribute, body, colons, group, is_defined, is_part, is_punct, is_word,
    item_end, marks_test, name_index, pieces, unquoted, value, word,
};

/// Reads everything but the prose.
pub(super) fn read(tokens: TokenStream) -> Source {
    let mut reader = Reader::default();
    reader.stream(tokens, Place::Module, false);
    let Reader {
        mut source, used, ..
    } = reader;
    for import in &mut source.imports {
        import.passed_on &= !used.contains(&import.name);
    }
    source
}

/// What tokens belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A file or an inline module.
    Module,
    /// The braces of an inherent implementation that counts.
    Implementation,
    Code,
    /// A `use` tree or a visibility, whose words are no paths in code.
    Names,
}

/// The token at an index, among those of the same braces.
#[derive(Clone, Copy)]
struct Here<'a> {
    trees: &'a [TokenTree],
    at: usize,
    place: Place,
    test: bool,
}

impl Here<'_> {
    fn line(&self) -> usize {
        self.trees[self.at].span().start().line
    }
}

#[derive(Default)]
struct Reader {
    source: Source,
    /// The inline modules that enclose the current token.
    scope: Vec<String>,
    /// First segments of the paths in code outside tests.
    used: BTreeSet<String>,
    /// The value of the last `#[path = "..."]`, until its module takes it.
    path: Option<String>,
}

impl Reader {
    fn stream(&mut self, tokens: TokenStream, place: Place, test: bool) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut test_end, mut names_end) = (0, 0);
        // The index of the body that needs another place than `Code`.
        let mut inside = None;
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            if let Some(said) = attribute(&trees, at) {
                let inner = usize::from(is_punct(trees.get(at + 1), '!'));
                if value(said, "doc").is_some() {
                    // A documentation comment.
                    at += 2 + inner;
                    continue;
                }
                self.path = value(said, "path").or(self.path.take());
                if marks_test(said) {
                    let ends = [item_end(&trees, at), trees.len()];
                    test_end = test_end.max(ends[inner]);
                }
            }
            let here = Here {
                trees: &trees,
                at,
                place: if at < names_end { Place::Names } else { place },
                test: test || at < test_end,
            };
            match tree {
                TokenTree::Group(group) => {
                    let body = inside.take_if(|(body, _)| *body == at);
                    self.group(group, here, body.map(|(_, place)| place));
                }
                TokenTree::Ident(ident) => {
                    self.covers(ident.span(), here.test);
                    let words = &mut self.source.words;
                    words.entry(ident.to_string()).or_insert(here.line());
                    if ident == "use" && !is_punct(trees.get(at + 1), '<') {
                        names_end = self.imports(here);
                    } else if here.place != Place::Names {
                        self.path(here);
                        inside = self.definition(here, &ident.to_string()).or(inside);
                    }
                }
                tree => self.covers(tree.span(), here.test),
            }
            at += 1;
        }
    }

    fn group(&mut self, group: &Group, here: Here<'_>, body: Option<Place>) {
        let restricts = here.at > 0
            && is_word(here.trees.get(here.at - 1), "pub")
            && group.delimiter() == Delimiter::Parenthesis;
        let names = restricts || here.place == Place::Names;
        let place = body.unwrap_or(if names { Place::Names } else { Place::Code });
        self.covers(group.span_open(), here.test);
        self.stream(group.stream(), place, here.test);
        self.covers(group.span_close(), here.test);
        if place == Place::Module {
            self.scope.pop();
        }
    }

    /// Records the lines of a token.
    fn covers(&mut self, span: Span, test: bool) {
        let source = &mut self.source;
        let lines = [&mut source.code_lines, &mut source.test_lines];
        let [code, tests] = lines;
        let lines = if test { tests } else { code };
        lines.extend(span.start().line..=span.end().line);
    }

    /// Records what the keyword at an index defines; returns the index of its body and the place
    /// that this is, if it needs another than `Code`.
    fn definition(&mut self, here: Here<'_>, keyword: &str) -> Option<(usize, Place)> {
        let Here {
            trees, at, test, ..
        } = here;
        let in_module = here.place == Place::Module;
        let name = name_index(trees, at).and_then(|at| word(trees.get(at)));
        if let Some(name) = name.as_ref().filter(|_| in_module) {
            let defined = (self.scope.clone(), name.clone());
            self.source.defined.insert(defined);
        }
        let end = body(trees, at + 1);
        match (keyword, name) {
            ("fn", Some(name)) if !test => self.function(here, name, end),
            ("mod", Some(name)) => {
                let end = end.filter(|end| *end == at + 2);
                self.source.modules.push(Module {
                    scope: self.scope.clone(),
                    name: name.clone(),
                    path: self.path.take(),
                    inline: end.is_some(),
                    test,
                });
                self.scope.extend(end.map(|_| name));
                return Some((end?, Place::Module));
            }
            ("struct" | "enum" | "union", Some(name)) if in_module && !test => {
                self.source.types.push(Type {
                    path: [&self.scope[..], &[name]].concat(),
                    line: here.line(),
                    fields: usize::from(keyword != "enum") * fields(trees, at + 2),
                    methods: 0,
                });
            }
            ("impl", _) if in_module && !test => return self.implementation(here, end?),
            ("include", _) if is_punct(trees.get(at + 1), '!') => {
                let file = group(trees.get(at + 2), Delimiter::Parenthesis)?.to_string();
                self.source.included.push(unquoted(&file));
            }
            _ => {}
        }
        None
    }

    fn function(&mut self, here: Here<'_>, name: String, end: Option<usize>) {
        if here.place == Place::Implementation
            && let Some(counted) = self.source.implementations.last_mut()
        {
            counted.methods += 1;
        }
        if let Some(TokenTree::Group(body)) = end.map(|end| &here.trees[end]) {
            let line = here.line();
            let lines = body.span_close().end().line - line + 1;
            self.source.functions.push(Function { name, line, lines });
        }
    }

    /// Records an inherent implementation; one of a trait is no body that counts.
    fn implementation(&mut self, here: Here<'_>, end: usize) -> Option<(usize, Place)> {
        let trees = here.trees;
        let of_trait =
            |at: usize| is_word(trees.get(at), "for") && !is_punct(trees.get(at + 1), '<');
        if (here.at..end).any(of_trait) {
            return None;
        }
        self.source.implementations.push(Implementation {
            scope: self.scope.clone(),
            path: segments(trees, after_generics(trees, here.at + 1)),
            methods: 0,
        });
        Some((end, Place::Implementation))
    }

    /// Records a path in code: its first segment, and the whole path if it has several.
    fn path(&mut self, here: Here<'_>) {
        if is_part(here.trees, here.at) || is_defined(here.trees, here.at) {
            return;
        }
        let path = segments(here.trees, here.at);
        if !here.test {
            self.used.insert(path[0].clone());
        }
        if colons(here.trees, here.at + 1) {
            self.source.imports.push(Import {
                scope: self.scope.clone(),
                path,
                line: here.line(),
                test: here.test,
                ..Import::default()
            });
        }
    }

    /// Records the `use` at an index; returns the index of its end.
    fn imports(&mut self, here: Here<'_>) -> usize {
        let Here {
            trees, at, test, ..
        } = here;
        let mut rest = trees[at..].iter();
        let len = rest.position(|tree| is_punct(Some(tree), ';'));
        let end = len.map_or(trees.len(), |len| at + len);
        let before = |count: usize| trees.get(at.wrapping_sub(count));
        let restricted = group(before(1), Delimiter::Parenthesis).is_some();
        let base = Import {
            scope: self.scope.clone(),
            passed_on: is_word(before(1 + usize::from(restricted)), "pub"),
            test,
            ..Import::default()
        };
        self.leaves(&trees[at + 1..end], base);
        end
    }

    /// Splits `a::{b, c as d, e::*}` into one import per leaf, each with the line of its leaf.
    fn leaves(&mut self, tree: &[TokenTree], mut import: Import) {
        let mut renamed = None;
        for (at, part) in tree.iter().enumerate() {
            match part {
                TokenTree::Group(group) => {
                    for piece in pieces(group.stream()) {
                        self.leaves(&piece, import.clone());
                    }
                    return;
                }
                TokenTree::Ident(ident) if ident == "as" => {
                    renamed = word(tree.get(at + 1));
                    break;
                }
                TokenTree::Ident(ident) => {
                    import.line = ident.span().start().line;
                    // `a::{self}` binds `a`; a path that starts with `self` keeps it.
                    if ident != "self" || import.path.is_empty() {
                        import.path.push(ident.to_string());
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    import.line = punct.span().start().line;
                    import.glob = true;
                    renamed = Some(String::new());
                }
                _ => {}
            }
        }
        import.name = renamed.or(import.path.last().cloned()).unwrap_or_default();
        self.source.imports.push(import);
    }
}

/// Returns the path whose first word is at an index, up to generic arguments.
fn segments(trees: &[TokenTree], mut at: usize) -> Vec<String> {
    let mut path: Vec<String> = word(trees.get(at)).into_iter().collect();
    while colons(trees, at + 1)
        && let Some(next) = word(trees.get(at + 3))
    {
        path.push(next);
        at += 3;
    }
    path
}

/// Returns the number of fields of the struct whose name is before an index.
fn fields(trees: &[TokenTree], from: usize) -> usize {
    let braces = body(trees, from).map(|at| &trees[at]);
    let tuple = || {
        let until = trees[from..]
            .iter()
            .take_while(|tree| !is_punct(Some(tree), ';'));
        until
            .filter(|tree| group(Some(tree), Delimiter::Parenthesis).is_some())
            .last()
    };
    match braces.or_else(tuple) {
        Some(TokenTree::Group(group)) => pieces(group.stream()).len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// Reads a file and describes a part of it.
    fn read_as<T>(
        text: &str,
        describe: impl Fn(&T) -> String,
        part: fn(Source) -> Vec<T>,
    ) -> Vec<String> {
        part(parse(text).unwrap()).iter().map(describe).collect()
    }

    #[test]
    fn modules_with_scope_path_and_test() {
        let text = "mod a; #[cfg(test)] mod b; mod c { #[path = \"x.rs\"] mod d; } mod e;";
        let describe = |m: &Module| {
            format!(
                "{:?} {} {:?} {} {}",
                m.scope, m.name, m.path, m.inline, m.test
            )
        };
        let expected = [
            "[] a None false false",
            "[] b None false true",
            "[] c None true false",
            "[\"c\"] d Some(\"x.rs\") false false",
            "[] e None false false",
        ];
        assert_eq!(read_as(text, describe, |source| source.modules), expected);
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "impl A {\n fn a(x: [u8; 4]) -> u8\n {\n if x {}\n 1 }\n}\nfn b() {}\n\
                    trait T { fn c(); }\nmacro_rules! m { () => { fn d() {\n } } }\n#[test] fn e() {}";
        let describe = |f: &Function| format!("{} {} {}", f.name, f.line, f.lines);
        let found = read_as(text, describe, |source| source.functions);
        assert_eq!(found, ["a 2 4", "b 7 1", "d 9 2"]);
    }

    #[test]
    fn paths_and_leaves_of_trees_are_imports() {
        let describe = |i: &Import| {
            let (scope, path) = (i.scope.join("::"), i.path.join("::"));
            let signs = [(i.glob, "*"), (i.passed_on, "^"), (i.test, "test")];
            let signs = signs.map(|(is, sign)| if is { sign } else { "" }).concat();
            format!("{}:{scope}|{path}|{}{signs}", i.line, i.name)
        };
        let cases = [
            (
                "use crate::{a::{self, B as C},\n d::*, e};",
                &[
                    "1:|crate::a|a",
                    "1:|crate::a::B|C",
                    "2:|crate::d|*",
                    "2:|crate::e|e",
                ][..],
            ),
            (
                "mod m { pub(in crate::z) fn f() { super::g::h(); x.y::<T>(); print!(\"\", a::b::c) } }",
                &["1:m|super::g::h|", "1:m|a::b::c|"],
            ),
            (
                "pub use a::{X, Y}; pub(crate) use b::Z; use c::W; fn f(x: X) -> W { q.Y }\n\
                 mod Y { fn Z() { let r: Z = ..1; } }",
                &["1:|a::X|X", "1:|a::Y|Y^", "1:|b::Z|Z", "1:|c::W|W"],
            ),
            (
                "fn f() -> impl A + use<'a> { <T as b::C>::d; ..e::F; &g::<H>::i }\n\
                 #[cfg(test)] fn t() { j::k() } const L: *const m::N = 0;",
                &["1:|b::C|", "1:|e::F|", "1:|g|", "2:|j::k|test", "2:|m::N|"],
            ),
        ];
        for (text, expected) in cases {
            let found = read_as(text, describe, |source| source.imports);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn test_code_ends_with_its_item() {
        let product = "use a; fn x() { i(); } struct S { g: Vec<u8, u8> } match k { B { .. } => 2 }\n\
                       #[cfg(not(any(test, loom)))] fn w() {} enum E { V }";
        let tests = "#[cfg(test)]\nuse a::{b};\n#[test]\nfn y<A, B>() where A: C, B: D\n{\nz\n}\n\
                     #[cfg(all(test, loom))]\nimpl T for U\n{}\n#[cfg(test)]\nconst A: [u8; 1] = {\n[1]\n};\n";
        let parts = "fn x() {\n#[cfg(test)]\nh();\n#[cfg(test)]\nif a {}\nelse {}\ni();\n#[cfg(test)]\n{}\n}\n\
                     struct S {\n#[cfg(test)]\nf: Vec<u8, u8>,\ng: u8 }\nmatch a {\n#[cfg(test)]\nA { .. }\n=> 1,\nB => 2 }";
        let whole = "//! T.\n#![cfg(test)]\nfn f() {}";
        let lines = |text: &str| {
            let Source {
                code_lines,
                test_lines,
                ..
            } = parse(text).unwrap();
            (Vec::from_iter(code_lines), Vec::from_iter(test_lines))
        };
        assert_eq!(lines(product), (vec![1, 2], vec![]));
        assert_eq!(lines(tests), (vec![], (1..=14).collect()));
        let tested = vec![2, 3, 4, 5, 6, 8, 9, 12, 13, 16, 17, 18];
        assert_eq!(lines(parts), (vec![1, 7, 10, 11, 14, 15, 19], tested));
        assert_eq!(lines(whole), (vec![], vec![2, 3]));
    }

    #[test]
    fn definitions_are_those_of_modules_only() {
        let text = "const A: *const B = 1; const fn f() { const D: u8 = 2; } macro_rules! e { () => {} }\n\
                    mod m { pub static mut C: u8 = 3; } impl G { fn h() {} } union U { a: u8 }";
        let names = |source: Source| source.defined.into_iter().map(|(_, name)| name).collect();
        let found: Vec<String> = read_as(text, String::clone, names);
        assert_eq!(found, ["A", "U", "e", "f", "m", "C"]);
    }

    #[test]
    fn types_have_fields_and_implementations_methods() {
        let text = "struct A<T: Fn(u8) -> u8> where T: B { a: Map<u8, u8>, #[cfg(test)] b: fn(u8, u8) -> T }\n\
                    struct C(u8, u8); struct D; enum E { F { g: u8 } } #[cfg(test)] struct H { a: u8 }\n\
                    mod m { union I { a: u8 } } fn f() { struct J; }\n\
                    impl<T: for<'a> K<'a>> m::I<T> { fn a() { fn b() {} } #[cfg(test)] fn c() {} fn d() }\n\
                    impl K for A { fn a() {} } #[cfg(test)] impl D { fn a() {} }";
        let describe = |it: &Type| format!("{}:{} {}", it.line, it.path.join("::"), it.fields);
        let found = read_as(text, describe, |source| source.types);
        assert_eq!(found, ["1:A 2", "2:C 2", "2:D 0", "2:E 0", "3:m::I 1"]);
        let describe = |it: &Implementation| format!("{} {}", it.path.join("::"), it.methods);
        let found = read_as(text, describe, |source| source.implementations);
        assert_eq!(found, ["m::I 2"]);
    }
}
