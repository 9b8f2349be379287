//! `cargo xtask count`: lines of code and tests of each house and crate, and words of documents.
//!
//! A line counts if it holds a token: blank lines and comments do not. Tests are test targets,
//! files that only tests reach, and items under `#[cfg(test)]` or `#[test]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proc_macro2::{TokenStream, TokenTree};

use crate::house::House;
use crate::source::Source;

/// Lines of Rust, without blank lines and comments.
#[derive(Clone, Copy, Default)]
struct Lines {
    code: usize,
    tests: usize,
}

/// Returns the counts as a table, with a line for each crate after that of its house.
pub(crate) fn table(house: &House) -> String {
    let mut counts: BTreeMap<String, Lines> = BTreeMap::new();
    for (path, source) in &house.sources {
        let in_test = house.is_test(path)
            || ["/benches/", "/examples/"]
                .iter()
                .any(|dir| path.contains(dir));
        let lines = lines(source, in_test || path.starts_with("examples/"));
        let parts: Vec<&str> = path.split('/').collect();
        let depth = if path.starts_with("bench/engines/") {
            3
        } else {
            2
        };
        for depth in 0..=depth.min(parts.len() - 1) {
            let count = counts.entry(parts[..depth].join("/")).or_default();
            count.code += lines.code;
            count.tests += lines.tests;
        }
    }
    let mut text = format!("{:<28}{:>9}{:>9}\n", "Rust, lines of", "code", "tests");
    for (name, Lines { code, tests }) in counts {
        let name = if name.is_empty() { "all" } else { &name };
        let _ = writeln!(text, "{name:<28}{code:>9}{tests:>9}");
    }
    let _ = writeln!(text, "{:<28}{:>9}", "words of documents", words(house));
    text
}

/// Returns the number of words of all Markdown files, but for those that the report shows.
pub(crate) fn words(house: &House) -> usize {
    let documents = house.tree.with_suffix(".md");
    documents
        .filter(|(path, _)| !path.starts_with("bench/report/prose/"))
        .map(|(_, text)| text.split_whitespace().count())
        .sum()
}

/// Counts the lines of a file that hold a token.
fn lines(source: &Source, all_tests: bool) -> Lines {
    let (mut code, mut tests) = (BTreeSet::new(), BTreeSet::new());
    collect(&source.tokens, &mut |span| {
        let is_test = all_tests || source.is_test(span);
        let found = if is_test { &mut tests } else { &mut code };
        found.extend(span.start().line..=span.end().line);
    });
    Lines {
        code: code.len(),
        tests: tests.difference(&code).count(),
    }
}

/// Calls `found` with the span of each token, and of each delimiter.
fn collect(tokens: &TokenStream, found: &mut impl FnMut(proc_macro2::Span)) {
    let mut trees = tokens.clone().into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                found(group.span_open());
                collect(&group.stream(), found);
                found(group.span_close());
            }
            // A documentation comment is `#[doc = "..."]`, whose tokens have the comment's span.
            TokenTree::Punct(ref punct)
                if punct.as_char() == '#' && is_documentation(&mut trees) => {}
            tree => found(tree.span()),
        }
    }
}

/// Returns whether the tokens after a `#` are those of a documentation comment, and skips them.
fn is_documentation(trees: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) -> bool {
    let doc = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.stream().to_string().starts_with("doc ="),
        _ => false,
    };
    // `//!` has a `!` before the group, as has an inner attribute, which is no line of code either.
    if matches!(trees.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
        trees.next();
    }
    trees.next_if(doc).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_count_and_comments_do_not() {
        let text = "//! A.\n\nuse a::B;\n\n/// C.\nfn f() {\n    // D.\n    b();\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    #[test]\n    fn g() {}\n}\n";
        let Ok(source) = Source::parse(text) else {
            panic!("it is valid");
        };
        let found = lines(&source, false);
        assert_eq!((found.code, found.tests), (4, 5));
        let found = lines(&source, true);
        assert_eq!((found.code, found.tests), (0, 9));
    }
}
