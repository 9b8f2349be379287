//! The prose of one file: its comments and its string literals, each with its place.
//!
//! A comment is the text between two tokens, or a token whose text starts with `//` or `/*` (a doc
//! comment).

use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};

/// The kind of a piece of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProseKind {
    /// `//`, `///`, `//!`.
    Line,
    /// `/* */` and its doc forms.
    Block,
    /// A string literal.
    Literal,
}

/// A comment or a string literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: ProseKind,
    /// Byte range in the file, including the markers, without the line break of a line comment.
    pub(crate) range: Range<usize>,
}

/// Returns all prose of a file, in order.
pub(super) fn pieces(text: &str, tokens: &TokenStream) -> Vec<Piece> {
    let mut reader = ProseReader {
        text,
        lines: std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect(),
        end: 0,
        found: Vec::new(),
    };
    reader.stream(tokens);
    reader.gap(text.len());
    reader.found
}

struct ProseReader<'a> {
    text: &'a str,
    /// Offset of the start of each line.
    lines: Vec<usize>,
    /// End of the previous token.
    end: usize,
    found: Vec<Piece>,
}

impl ProseReader<'_> {
    fn stream(&mut self, tokens: &TokenStream) {
        for tree in tokens.clone() {
            match tree {
                TokenTree::Group(group) => {
                    self.token(group.span_open(), false);
                    self.stream(&group.stream());
                    self.token(group.span_close(), false);
                }
                TokenTree::Literal(literal) => self.token(literal.span(), true),
                TokenTree::Punct(punct) => self.token(punct.span(), false),
                TokenTree::Ident(ident) => self.token(ident.span(), false),
            }
        }
    }

    fn token(&mut self, span: Span, literal: bool) {
        let range = self.offset(span.start())..self.offset(span.end());
        // All tokens that represent a doc comment have the span of the whole comment.
        if range.start < self.end {
            return;
        }
        self.gap(range.start);
        let text = &self.text[range.clone()];
        if text.starts_with("//") || text.starts_with("/*") {
            self.comment(range.start, text);
        } else if literal && is_string(text) {
            self.push(ProseKind::Literal, range.start, text);
        }
        self.end = range.end;
    }

    /// Returns the byte offset of a place. `Span::byte_range` would search a map for each token.
    fn offset(&self, place: LineColumn) -> usize {
        let start = self.lines[place.line - 1];
        let line = &self.text[start..];
        let mut chars = line.char_indices().map(|(at, _)| at);
        start + chars.nth(place.column).unwrap_or(line.len())
    }

    /// Reads the comments between the last token and `to`.
    fn gap(&mut self, to: usize) {
        let mut at = self.end;
        while let Some(next) = self.text[at..to].find('/') {
            at += next;
            let rest = &self.text[at..to];
            let len = if rest.starts_with("/*") {
                block_len(rest)
            } else {
                rest.find('\n').unwrap_or(rest.len())
            };
            self.comment(at, &self.text[at..at + len]);
            at += len;
        }
        self.end = to;
    }

    fn comment(&mut self, start: usize, text: &str) {
        if text.starts_with("/*") {
            self.push(ProseKind::Block, start, text);
        } else {
            self.push(ProseKind::Line, start, text.trim_end());
        }
    }

    fn push(&mut self, kind: ProseKind, start: usize, text: &str) {
        let range = start..start + text.len();
        self.found.push(Piece { kind, range });
    }
}

fn is_string(literal: &str) -> bool {
    let quote = literal.find(['"', '\'']);
    quote.is_some_and(|at| literal[at..].starts_with('"'))
}

/// Returns the length in bytes of the block comment at the start of the text; such comments nest.
fn block_len(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_found_and_nothing_else() {
        let text = "//! head\n// one\nfn f(/* in /* two */ */ x: u8) {\n    let a = \"// no\"; // after\n\
                    \u{20}   /// doc\n    let b = r#\"raw \" text\"#;\n    g(b'/', '\"', x / 2)\n}\n// end";
        let tokens: TokenStream = text.parse().unwrap();
        let found: Vec<_> = pieces(text, &tokens)
            .iter()
            .map(|piece| (piece.kind, &text[piece.range.clone()]))
            .collect();
        assert_eq!(
            found,
            [
                (ProseKind::Line, "//! head"),
                (ProseKind::Line, "// one"),
                (ProseKind::Block, "/* in /* two */ */"),
                (ProseKind::Literal, "\"// no\""),
                (ProseKind::Line, "// after"),
                (ProseKind::Line, "/// doc"),
                (ProseKind::Literal, "r#\"raw \" text\"#"),
                (ProseKind::Line, "// end"),
            ]
        );
    }
}
