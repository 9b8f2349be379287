//! The imports of one file: `use` trees and paths inside code.

use super::lexer::{Token, TokenKind};
use super::outline::Outline;

/// One path of a `use` tree, or one path in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Inline modules around it.
    pub(crate) scope: Vec<String>,
    /// As written, `crate`, `self` and `super` included.
    pub(crate) path: Vec<String>,
    /// The name it binds: the last segment or what follows `as`; empty for a path in code.
    pub(crate) name: String,
    /// Whether it ends in `*`.
    pub(crate) glob: bool,
    /// Whether the file only passes the name on: re-exports it and does not use it itself.
    pub(crate) passed_on: bool,
    /// Line from 1.
    pub(crate) line: usize,
    /// Whether it is test code.
    pub(crate) test: bool,
}

/// The imports of a file, in order.
pub(crate) fn imports(tokens: &[Token<'_>], outline: &Outline) -> Vec<Import> {
    let mut found = Vec::new();
    let mut code_words: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let next_is = |text: &str| tokens.get(at + 1).is_some_and(|next| next.is(text));
        if token.is("use") && !next_is("<") {
            let end = (at..tokens.len())
                .find(|index| tokens[*index].is(";"))
                .unwrap_or(tokens.len());
            let base = Import {
                scope: outline.scopes[outline.scope_of[at]].clone(),
                path: Vec::new(),
                name: String::new(),
                glob: false,
                passed_on: is_public(&tokens[..at]),
                line: token.line,
                test: outline.test[at],
            };
            use_tree(&tokens[at + 1..end], &base, &mut found);
            at = end;
            continue;
        }
        if token.kind == TokenKind::Word {
            let behind_path = at > 0 && (tokens[at - 1].is("::") || tokens[at - 1].is("."));
            let restricts = at > 0 && tokens[at - 1].is("in");
            if !behind_path && !outline.test[at] {
                code_words.push(token.text);
            }
            if !behind_path && !restricts && next_is("::") {
                found.push(code_path(tokens, at, outline));
            }
        }
        at += 1;
    }
    for import in &mut found {
        import.passed_on &= !code_words.contains(&import.name.as_str());
    }
    found
}

fn is_public(before: &[Token<'_>]) -> bool {
    match before {
        [.., last] if last.is("pub") => true,
        [.., last] if last.is(")") => {
            let open = before.iter().rposition(|token| token.is("("));
            open.is_some_and(|open| open > 0 && before[open - 1].is("pub"))
        }
        _ => false,
    }
}

fn code_path(tokens: &[Token<'_>], from: usize, outline: &Outline) -> Import {
    let mut path = vec![tokens[from].text.to_owned()];
    let mut at = from + 1;
    while let (Some(colons), Some(word)) = (tokens.get(at), tokens.get(at + 1)) {
        if !colons.is("::") || word.kind != TokenKind::Word {
            break;
        }
        path.push(word.text.to_owned());
        at += 2;
    }
    Import {
        scope: outline.scopes[outline.scope_of[from]].clone(),
        path,
        name: String::new(),
        glob: false,
        passed_on: false,
        line: tokens[from].line,
        test: outline.test[from],
    }
}

/// Reads `a::{b, c as d, e::*}` into one import per leaf, each with the line of its leaf.
fn use_tree(tokens: &[Token<'_>], base: &Import, found: &mut Vec<Import>) {
    // Prefixes of the open braces: the length of the path when each was entered.
    let mut open: Vec<usize> = Vec::new();
    let mut leaf = base.clone();
    let mut started = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => {
                open.push(leaf.path.len());
                started = false;
            }
            "}" | "," => {
                if started {
                    finish(&leaf, found);
                    started = false;
                }
                if token.is("}") {
                    open.pop();
                }
                leaf.path.truncate(open.last().copied().unwrap_or(0));
                leaf.name.clear();
                leaf.glob = false;
            }
            "::" | "as" => {}
            "*" => {
                leaf.glob = true;
                started = true;
                leaf.line = token.line;
            }
            word => {
                if at > 0 && tokens[at - 1].is("as") {
                    word.clone_into(&mut leaf.name);
                } else {
                    leaf.path.push(word.to_owned());
                    leaf.name.clear();
                }
                started = true;
                leaf.line = token.line;
            }
        }
    }
    if started {
        finish(&leaf, found);
    }
}

fn finish(leaf: &Import, found: &mut Vec<Import>) {
    let mut leaf = leaf.clone();
    // `a::{self}` binds `a`; a path that starts with `self` keeps it.
    if leaf.path.len() > 1 && leaf.path.last().is_some_and(|last| last == "self") {
        leaf.path.pop();
    }
    if leaf.name.is_empty() && !leaf.glob {
        leaf.name = leaf.path.last().cloned().unwrap_or_default();
    }
    found.push(leaf);
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::super::outline::outline;
    use super::*;

    fn read(text: &str) -> Vec<Import> {
        let code = lex(text);
        let outline = outline(&code);
        imports(&code.tokens, &outline)
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
        let found = read("mod m { fn f() { super::g::h(); x.y::<T>(); pub(in crate::z) } }");
        let paths: Vec<_> = found
            .iter()
            .map(|i| (i.scope.join("::"), i.path.join("::")))
            .collect();
        assert_eq!(paths, [("m".to_owned(), "super::g::h".to_owned())]);
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
