//! `cargo xtask count`: lines of code and tests of each house and crate, and words of documents.
//!
//! A line counts if it holds a token: blank lines and comments do not. Tests are test targets,
//! files that only tests reach, and items under `#[cfg(test)]` or `#[test]`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::house::House;
use crate::source::Source;

/// Returns the counts as a table, with a line for each crate after that of its house.
pub(crate) fn table(house: &House) -> String {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (path, source) in &house.sources {
        let rooted = format!("/{path}");
        let beside = |dir| rooted.contains(dir);
        let all_tests = house.is_test(path) || ["/benches/", "/examples/"].iter().any(beside);
        let lines = lines(source, all_tests);
        let parts: Vec<&str> = path.split('/').collect();
        let depth = 2 + usize::from(path.starts_with("bench/engines/"));
        for depth in 0..=depth.min(parts.len() - 1) {
            let count = counts.entry(parts[..depth].join("/")).or_default();
            *count = [count[0] + lines[0], count[1] + lines[1]];
        }
    }
    let mut text = format!("{:<28}{:>9}{:>9}\n", "Rust, lines of", "code", "tests");
    for (name, [code, tests]) in counts {
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

/// Returns the number of lines of code and of tests of a file.
fn lines(source: &Source, all_tests: bool) -> [usize; 2] {
    let (code, tests) = (&source.code_lines, &source.test_lines);
    if all_tests {
        return [0, code.union(tests).count()];
    }
    [code.len(), tests.difference(code).count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    #[test]
    fn tokens_count_and_comments_do_not() {
        let text = "//! A.\n\nuse a::B;\n\n/// C.\nfn f() {\n    // D.\n    b();\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    #[test]\n    fn g() {}\n}\n";
        let Ok(source) = source::parse(text) else {
            panic!("it is valid");
        };
        assert_eq!(lines(&source, false), [4, 5]);
        assert_eq!(lines(&source, true), [0, 9]);
    }
}
