//! The items of one file: modules, functions, definitions, and which tokens are test code.

use std::collections::BTreeSet;

use super::lexer::{Code, Token, TokenKind};

/// A `mod name;` or `mod name { }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// Inline modules around it.
    pub(crate) scope: Vec<String>,
    /// Its name.
    pub(crate) name: String,
    /// `#[path = "..."]`.
    pub(crate) path: Option<String>,
    /// Whether it has a body here.
    pub(crate) inline: bool,
    /// Whether it is test code.
    pub(crate) test: bool,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The line of `fn`.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace.
    pub(crate) lines: usize,
    /// Whether it is test code.
    pub(crate) test: bool,
}

/// What one file declares.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Declared modules.
    pub(crate) modules: Vec<Module>,
    /// Functions with a body, methods included.
    pub(crate) functions: Vec<Function>,
    /// Names defined at module level: (inline scope, name).
    pub(crate) defined: BTreeSet<(Vec<String>, String)>,
    /// For every token, whether it is under `#[cfg(test)]`, `#[cfg(loom)]` or `#[test]`.
    pub(crate) test: Vec<bool>,
    /// For every token, the index into `scopes` of the inline module it stands in.
    pub(crate) scope_of: Vec<usize>,
    /// Inline module paths; the first is empty.
    pub(crate) scopes: Vec<Vec<String>>,
}

/// Configurations under which only tests are built.
const TEST_CFGS: [&str; 2] = ["test", "loom"];
const DEFINING: [&str; 8] = [
    "fn", "struct", "enum", "union", "trait", "const", "static", "type",
];
const ITEM_STARTS: [&str; 16] = [
    "mod",
    "fn",
    "use",
    "struct",
    "enum",
    "union",
    "impl",
    "trait",
    "const",
    "static",
    "type",
    "unsafe",
    "async",
    "extern",
    "macro_rules",
    "pub",
];

/// Reads the items of a file.
pub(crate) fn outline(code: &Code<'_>) -> Outline {
    let tokens = &code.tokens;
    let mut reader = Reader {
        tokens,
        outline: Outline {
            test: test_tokens(tokens),
            scopes: vec![Vec::new()],
            ..Outline::default()
        },
        open: Vec::new(),
        scope: Vec::new(),
        scope_index: 0,
        pending: None,
    };
    for at in 0..tokens.len() {
        reader.step(at);
    }
    reader.outline
}

/// What a brace opened.
enum Open {
    Module(String),
    Function(Function),
    Other,
}

struct Reader<'a, 'b> {
    tokens: &'b [Token<'a>],
    outline: Outline,
    /// The braces around the current token.
    open: Vec<Open>,
    /// The inline modules around the current token, and their index in `outline.scopes`.
    scope: Vec<String>,
    scope_index: usize,
    /// The item whose `{` or `;` has not come yet.
    pending: Option<Open>,
}

impl Reader<'_, '_> {
    fn step(&mut self, at: usize) {
        self.outline.scope_of.push(self.scope_index);
        let token = self.tokens[at];
        if token.is("{") {
            self.enter();
        } else if token.is("}") {
            self.leave(token.line);
        } else if token.is(";") {
            // A `;` inside `[u8; 4]` of a signature does not end it.
            if !inside_brackets(self.tokens, at) {
                self.pending = None;
            }
        } else if let Some(name) = named_item(self.tokens, at) {
            self.item(at, name.to_owned());
        }
    }

    fn enter(&mut self) {
        let entered = self.pending.take().unwrap_or(Open::Other);
        if let Open::Module(name) = &entered {
            self.scope.push(name.clone());
            self.scope_index = self.outline.scopes.len();
            self.outline.scopes.push(self.scope.clone());
        }
        self.open.push(entered);
    }

    fn leave(&mut self, line: usize) {
        match self.open.pop() {
            Some(Open::Module(_)) => {
                self.scope.pop();
                let scopes = &self.outline.scopes;
                let found = scopes.iter().position(|known| *known == self.scope);
                self.scope_index = found.unwrap_or(0);
            }
            Some(Open::Function(mut function)) => {
                function.lines = line - function.line + 1;
                self.outline.functions.push(function);
            }
            Some(Open::Other) | None => {}
        }
    }

    fn item(&mut self, at: usize, name: String) {
        let token = self.tokens[at];
        let test = self.outline.test[at];
        let at_module_level = self.open.iter().all(|open| matches!(open, Open::Module(_)));
        if at_module_level {
            let defined = (self.scope.clone(), name.clone());
            self.outline.defined.insert(defined);
        }
        if token.is("mod") {
            let inline = self.tokens.get(at + 2).is_some_and(|t| t.is("{"));
            self.pending = inline.then(|| Open::Module(name.clone()));
            self.outline.modules.push(Module {
                scope: self.scope.clone(),
                name,
                path: path_attribute(self.tokens, at),
                inline,
                test,
            });
        } else if token.is("fn") {
            self.pending = Some(Open::Function(Function {
                name,
                line: token.line,
                lines: 0,
                test,
            }));
        }
    }
}

/// The name of the item whose keyword stands at `at`.
fn named_item<'a>(tokens: &[Token<'a>], at: usize) -> Option<&'a str> {
    let token = tokens[at];
    if token.is("macro_rules") && tokens.get(at + 1)?.is("!") {
        return Some(tokens.get(at + 2)?.text);
    }
    if !token.is("mod") && !DEFINING.iter().any(|word| token.is(word)) {
        return None;
    }
    let name = tokens.get(at + 1).filter(|t| t.kind == TokenKind::Word)?;
    let name = if name.is("mut") {
        tokens.get(at + 2)?
    } else {
        name
    };
    (!ITEM_STARTS.contains(&name.text)).then_some(name.text)
}

/// Whether the token at `at` stands inside `[` `]` opened since the last brace.
fn inside_brackets(tokens: &[Token<'_>], at: usize) -> bool {
    let mut depth = 0;
    for token in tokens[..at].iter().rev() {
        match token.text {
            "]" if token.is("]") => depth += 1,
            "[" if token.is("[") && depth == 0 => return true,
            "[" if token.is("[") => depth -= 1,
            "{" | "}" if token.kind == TokenKind::Mark => return false,
            _ => {}
        }
    }
    false
}

/// The attribute starting at `at` (a `#`): index behind it and whether it is an inner one.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> Option<(usize, bool)> {
    let inner = tokens.get(at + 1)?.is("!");
    let open = at + 1 + usize::from(inner);
    if !tokens[at].is("#") || !tokens.get(open)?.is("[") {
        return None;
    }
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.is("[") {
            depth += 1;
        } else if token.is("]") {
            depth -= 1;
            if depth == 0 {
                return Some((index + 1, inner));
            }
        }
    }
    None
}

/// Whether the attribute in `tokens` makes its item test code.
fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let words: Vec<&str> = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Word)
        .map(|token| token.text)
        .collect();
    match words.as_slice() {
        ["test"] => true,
        ["cfg", rest @ ..] => rest
            .iter()
            .enumerate()
            .any(|(at, word)| TEST_CFGS.contains(word) && (at == 0 || rest[at - 1] != "not")),
        _ => false,
    }
}

fn test_tokens(tokens: &[Token<'_>]) -> Vec<bool> {
    let mut test = vec![false; tokens.len()];
    let mut at = 0;
    while at < tokens.len() {
        let Some((end, inner)) = attribute_end(tokens, at) else {
            at += 1;
            continue;
        };
        if is_test_attribute(&tokens[at..end]) {
            let stop = if inner {
                tokens.len()
            } else {
                item_end(tokens, end)
            };
            test[at..stop].fill(true);
            at = stop;
        } else {
            at = end;
        }
    }
    test
}

/// The index behind the item, field, statement or arm that starts at `at`.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while let Some((end, _)) = tokens.get(at).and_then(|_| attribute_end(tokens, at)) {
        at = end;
    }
    let item = tokens
        .get(at)
        .is_some_and(|t| ITEM_STARTS.iter().any(|word| t.is(word)));
    let import = tokens[at..].iter().take(5).any(|t| t.is("use"));
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        if token.kind != TokenKind::Mark {
            continue;
        }
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return index,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 && item && !import {
                    return index + 1;
                }
            }
            ";" if depth == 0 => return index + 1,
            "," if depth == 0 && !item => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// `#[path = "..."]` among the attributes before the item keyword at `at`.
fn path_attribute(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let before = &tokens[..at];
    let from = before
        .iter()
        .rposition(|t| t.is(";") || t.is("}") || t.is("{"))
        .map_or(0, |index| index + 1);
    before[from..].windows(3).find_map(|three| match three {
        [name, equals, value] if name.is("path") && equals.is("=") => {
            Some(value.text.trim_matches('"').to_owned())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    #[test]
    fn modules_with_scope_path_and_test() {
        let code = lex("mod a; #[cfg(test)] mod b; mod c { #[path = \"x.rs\"] mod d; } mod e;");
        let found: Vec<_> = outline(&code)
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
        let code =
            lex("impl A {\n fn a(x: [u8; 4]) -> u8\n {\n if x {}\n 1 }\n}\nfn b() {}\nfn c();");
        let found: Vec<_> = outline(&code)
            .functions
            .into_iter()
            .map(|f| (f.name, f.line, f.lines))
            .collect();
        assert_eq!(found, [("a".to_owned(), 2, 4), ("b".to_owned(), 7, 1)]);
    }

    #[test]
    fn test_code_ends_with_its_item() {
        let code = lex(
            "#[cfg(test)] use a::{b}; fn x() {} #[test] fn y() { z } struct S { \
                        #[cfg(test)] f: u8, g: u8 } #[cfg(not(test))] fn w() {} \
                        #[cfg(all(test, loom))] impl T for U {}",
        );
        let outline = outline(&code);
        let live: Vec<_> = code
            .tokens
            .iter()
            .zip(&outline.test)
            .filter(|(token, test)| !**test && token.kind == TokenKind::Word)
            .map(|(token, _)| token.text)
            .collect();
        assert_eq!(
            live,
            [
                "fn", "x", "struct", "S", "g", "u8", "cfg", "not", "test", "fn", "w"
            ]
        );
    }

    #[test]
    fn definitions_are_those_of_modules_only() {
        let code =
            lex("const A: u8 = 1; fn f() { const B: u8 = 2; } mod m { pub static mut C: u8 = 3; }");
        let names: Vec<_> = outline(&code)
            .defined
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["A", "f", "m", "C"]);
    }
}
