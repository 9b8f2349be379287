//! Source text to tokens, with comments apart.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An identifier or keyword.
    Word,
    /// A string, character or number, as written.
    Literal,
    /// `::`, or one character of punctuation.
    Mark,
}

/// One token of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// As written.
    pub(crate) text: &'a str,
    /// Line from 1.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) kind: TokenKind,
}

impl Token<'_> {
    /// Whether it is this word or mark (never a literal).
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Literal && self.text == text
    }
}

/// One comment, with its markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    /// As written, several lines for a block comment.
    pub(crate) text: &'a str,
    /// Its first line, from 1.
    pub(crate) line: usize,
}

/// The tokens and comments of one file.
#[derive(Debug, Default)]
pub(crate) struct Code<'a> {
    /// In order.
    pub(crate) tokens: Vec<Token<'a>>,
    /// In order.
    pub(crate) comments: Vec<Comment<'a>>,
}

/// Splits source text. Malformed text gives some tokens, never an endless loop.
pub(crate) fn lex(text: &str) -> Code<'_> {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        code: Code::default(),
    };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.code
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    code: Code<'a>,
}

fn is_word_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else {
            return;
        };
        if c.is_whitespace() {
            self.skip(c.len_utf8());
        } else if rest.starts_with("//") {
            let len = rest.find('\n').unwrap_or(rest.len());
            self.comment(len);
        } else if rest.starts_with("/*") {
            self.comment(block_comment_len(rest));
        } else if let Some(len) = string_len(rest) {
            self.token(len, TokenKind::Literal);
        } else if let Some(name) = rest
            .strip_prefix("r#")
            .filter(|s| s.starts_with(is_word_start))
        {
            let len = name.find(|c| !is_word(c)).unwrap_or(name.len());
            self.token(2 + len, TokenKind::Word);
        } else if is_word_start(c) {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.token(len, TokenKind::Word);
        } else if c.is_ascii_digit() {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.token(len, TokenKind::Literal);
        } else if c == '\'' {
            self.quote();
        } else if rest.starts_with("::") {
            self.token(2, TokenKind::Mark);
        } else {
            self.token(c.len_utf8(), TokenKind::Mark);
        }
    }

    /// A character literal, or the mark of a lifetime.
    fn quote(&mut self) {
        let mut chars = self.rest().char_indices().skip(1);
        let first = chars.next();
        let second = chars.next();
        match (first, second) {
            (Some((_, '\\')), Some((after, escaped))) => {
                let from = after + escaped.len_utf8();
                let close = self.rest()[from..].find('\'').map_or(0, |at| at + 1);
                self.token(from + close, TokenKind::Literal);
            }
            (Some(_), Some((close, '\''))) => self.token(close + 1, TokenKind::Literal),
            _ => self.token(1, TokenKind::Mark),
        }
    }

    fn skip(&mut self, len: usize) {
        self.line += self.rest()[..len].matches('\n').count();
        self.at += len;
    }

    fn token(&mut self, len: usize, kind: TokenKind) {
        let token = Token {
            text: &self.rest()[..len],
            line: self.line,
            kind,
        };
        self.code.tokens.push(token);
        self.skip(len);
    }

    fn comment(&mut self, len: usize) {
        let comment = Comment {
            text: &self.rest()[..len],
            line: self.line,
        };
        self.code.comments.push(comment);
        self.skip(len);
    }
}

/// Length of the (nested) block comment that `text` starts with.
fn block_comment_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Length of the string literal that `text` starts with, prefix and quotes included.
fn string_len(text: &str) -> Option<usize> {
    let prefix = ["", "b", "c"].iter().find(|prefix| {
        text.strip_prefix(**prefix)
            .is_some_and(|s| s.starts_with('"'))
    });
    if let Some(prefix) = prefix {
        let mut escaped = false;
        let body = prefix.len() + 1;
        for (at, c) in text[body..].char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(body + at + 1),
                _ => {}
            }
        }
        return Some(text.len());
    }
    let raw = ["r", "br", "cr"]
        .iter()
        .find_map(|p| text.strip_prefix(p))?;
    let hashes = raw.find(|c| c != '#').unwrap_or(raw.len());
    if !raw[hashes..].starts_with('"') {
        return None;
    }
    let close = format!("\"{}", &raw[..hashes]);
    let body = text.len() - raw.len() + hashes + 1;
    let end = text[body..].find(&close);
    Some(end.map_or(text.len(), |at| body + at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        lex(text).tokens.iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_marks_and_paths() {
        assert_eq!(
            texts("use crate::a_b::{C, r#type};"),
            [
                "use", "crate", "::", "a_b", "::", "{", "C", ",", "r#type", "}", ";"
            ]
        );
    }

    #[test]
    fn strings_hide_what_they_hold() {
        let code = lex(r##"x("// no \" \\", r#"unsafe "{" "#, b"}", '"', '\'', 'a, c"z")"##);
        let literals: Vec<_> = code
            .tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Literal)
            .collect();
        assert_eq!(literals.len(), 6, "{literals:?}");
        assert!(code.comments.is_empty());
        assert!(code.tokens.iter().any(|t| t.is("'")), "the lifetime");
        assert!(!code.tokens.iter().any(|t| t.is("unsafe")));
    }

    #[test]
    fn comments_nest_and_lines_count() {
        let code = lex("/* a /* b\n */ c */ x // d\ny \"\n\" z");
        let lines: Vec<_> = code.tokens.iter().map(|t| (t.text, t.line)).collect();
        assert_eq!(lines, [("x", 2), ("y", 3), ("\"\n\"", 3), ("z", 4)]);
        assert_eq!(code.comments[1].text, "// d");
    }

    #[test]
    fn unfinished_literals_end_with_the_text() {
        for text in ["\"a", "r#\"a\"", "'", "'\\", "/* a", "b\"\\"] {
            lex(text);
        }
    }
}
