//! `cargo xtask wrap`: breaks comment lines at 100 columns, and never changes a word.
//!
//! Only paragraphs with a line that is too wide are changed. Comments are read as Markdown, so
//! code, tables, headings and lists are preserved. Comments that cannot be broken safely are left
//! for the author to fix: a comment after code, or a word wider than the line.

mod breaks;
mod paragraphs;

use std::path::Path;

use crate::source::Source;
use crate::source::prose::ProseKind;
use crate::tree::Tree;

/// Maximum number of columns of a comment line, including indentation.
pub(crate) const COLUMNS_MAX: usize = 100;

/// Wraps the comments of every Rust file below `root`; returns the paths of the changed ones.
pub(crate) fn run(root: &Path) -> Result<Vec<String>, String> {
    let tree = Tree::read(root)?;
    let mut changed = Vec::new();
    for (path, text) in tree.with_suffix(".rs") {
        let source = Source::parse(text).map_err(|(line, message)| {
            format!("{path}:{line}: is not a valid Rust file: {message}")
        })?;
        let wrapped = wrap(text, &source);
        if wrapped != text {
            std::fs::write(root.join(path), wrapped).map_err(|e| format!("{path}: {e}"))?;
            changed.push(path.to_owned());
        }
    }
    Ok(changed)
}

/// A comment that is alone on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommentLine<'a> {
    /// Line number from 1.
    pub(crate) line: usize,
    /// Byte offset of the start of the line in the file.
    start: usize,
    indent: &'a str,
    /// `//`, `///` or `//!`.
    mark: &'a str,
    /// The text after the mark and a space.
    body: &'a str,
}

impl CommentLine<'_> {
    /// Returns the number of columns of the whole line.
    fn columns(&self) -> usize {
        let space = usize::from(!self.body.is_empty());
        self.prefix_columns() + space + self.body.chars().count()
    }

    fn prefix_columns(&self) -> usize {
        self.indent.chars().count() + self.mark.len()
    }

    /// Returns whether the line is too wide and could be broken at a space.
    pub(crate) fn is_too_wide(&self) -> bool {
        self.columns() > COLUMNS_MAX && paragraphs::can_be_broken(self.body)
    }
}

/// Returns the comments of a file that are alone on their lines, without block comments.
pub(crate) fn comment_lines<'a>(text: &'a str, source: &Source) -> Vec<CommentLine<'a>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut counted = 0;
    for piece in source
        .prose
        .iter()
        .filter(|piece| piece.kind == ProseKind::Line)
    {
        let before = &text[..piece.range.start];
        line += text[counted..piece.range.start].matches('\n').count();
        counted = piece.range.start;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let indent = &before[start..];
        let comment = &text[piece.range.clone()];
        if !indent.trim().is_empty() {
            continue;
        }
        let mark = match comment.as_bytes() {
            [b'/', b'/', b'/', b'/', ..] => continue,
            [b'/', b'/', b'/' | b'!', ..] => &comment[..3],
            _ => &comment[..2],
        };
        let rest = &comment[mark.len()..];
        let Some(body) = rest.strip_prefix(' ').or(rest.is_empty().then_some("")) else {
            continue;
        };
        found.push(CommentLine {
            line,
            start,
            indent,
            mark,
            body,
        });
    }
    found
}

/// Returns the text with its comments wrapped.
pub(crate) fn wrap(text: &str, source: &Source) -> String {
    if text.contains('\r') {
        return text.to_owned();
    }
    let lines = comment_lines(text, source);
    let mut wrapped = String::with_capacity(text.len());
    let mut copied = 0;
    let follows = |a: &CommentLine<'_>, b: &CommentLine<'_>| {
        a.line + 1 == b.line && a.mark == b.mark && a.indent == b.indent
    };
    for run in lines.chunk_by(follows) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let room = COLUMNS_MAX.saturating_sub(first.prefix_columns() + 1);
        let bodies: Vec<&str> = run.iter().map(|line| line.body).collect();
        let end = text[last.start..]
            .find('\n')
            .map_or(text.len(), |at| last.start + at);
        wrapped += &text[copied..first.start];
        let new: Vec<String> = paragraphs::wrap(&bodies, room)
            .iter()
            .map(|body| {
                format!("{}{} {body}", first.indent, first.mark)
                    .trim_end()
                    .to_owned()
            })
            .collect();
        wrapped += &new.join("\n");
        copied = end;
    }
    wrapped += &text[copied..];
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str) -> String {
        wrap(text, &Source::parse(text).unwrap())
    }

    #[test]
    fn comments_are_wrapped_inside_their_indentation() {
        let words = "word ".repeat(25);
        let text =
            format!("mod a {{\n    /// One.\n    ///\n    /// {words}\n    fn f() {{}}\n}}\n");
        let expected = format!(
            "mod a {{\n    /// One.\n    ///\n    /// {}\n    /// {}\n    fn f() {{}}\n}}\n",
            "word ".repeat(18).trim(),
            "word ".repeat(7).trim()
        );
        assert_eq!(wrapped(&text), expected);
        assert_eq!(wrapped(&expected), expected);
        assert!(
            expected
                .lines()
                .all(|line| line.chars().count() <= COLUMNS_MAX)
        );
    }

    #[test]
    fn what_is_no_comment_line_stays() {
        let wide = "a ".repeat(60);
        for text in [
            format!("const A: &str = \"\n// {wide}\n\";"),
            format!("/* {wide} */"),
            format!("fn f() {{}} // {wide}"),
            format!("//// {wide}"),
            format!("//{wide}"),
            "// short\n// lines\n//! stay\n".to_owned(),
        ] {
            assert_eq!(wrapped(&text), text);
        }
    }

    #[test]
    fn marks_and_indentation_part_paragraphs() {
        let wide = "word ".repeat(30);
        let text = format!("//! {}\n//! end\n/// other\nfn f() {{}}\n", wide.trim());
        let new = wrapped(&text);
        assert!(new.contains("word end\n/// other\n"), "{new}");
    }

    #[test]
    fn a_line_is_too_wide_only_if_it_can_be_broken() {
        let count = |text: &str| {
            let source = Source::parse(text).unwrap();
            let lines = comment_lines(text, &source);
            lines.iter().filter(|line| line.is_too_wide()).count()
        };
        let (wide, url) = ("a ".repeat(60), "a".repeat(120));
        assert_eq!(count(&format!("// {wide}b")), 1);
        assert_eq!(count(&format!("// {}", "a ".repeat(48))), 0);
        for text in [
            format!("// {url}"),
            format!("/// - {url}\nfn f() {{}}"),
            format!("//! | {wide}|"),
        ] {
            assert_eq!(count(&text), 0, "{text}");
        }
    }
}
