//! The prose of one file: its comments and its string literals.

/// Returns the text with as many lines, in which each character of code is `|` and the marks of a
/// line comment are spaces, so that a sentence continues on the next line.
pub(crate) fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (code, found) = rest.split_at(at);
        mask(code, &mut prose);
        let (piece, after) = found.split_at(piece_len(code, found));
        if piece.starts_with("//") {
            let body = piece.trim_start_matches('/').trim_start_matches('!');
            prose.extend(std::iter::repeat_n(' ', piece.len() - body.len()));
            prose.push_str(body);
        } else if piece.starts_with("/*") {
            prose.push_str(piece);
        } else if piece.starts_with('"') {
            literal(piece, &mut prose);
        } else {
            mask(piece, &mut prose);
        }
        rest = after;
    }
    mask(rest, &mut prose);
    prose
}

fn mask(code: &str, prose: &mut String) {
    prose.extend(
        code.chars()
            .map(|c| if c.is_whitespace() { c } else { '|' }),
    );
}

/// Appends a literal without its escapes: `\n` is not the start of a word.
fn literal(text: &str, prose: &mut String) {
    let mut escaped = false;
    for c in text.chars() {
        let hidden = c == '\\' || escaped && c != '\n';
        prose.push(if hidden { '|' } else { c });
        escaped = c == '\\' && !escaped;
    }
}

/// Returns the length of what starts with a slash or a quote, after the given code.
fn piece_len(code: &str, text: &str) -> usize {
    let until = |from: usize, end: &str| {
        let len = text.get(from..).and_then(|rest| rest.find(end));
        len.map_or(text.len(), |len| from + len + end.len())
    };
    let second = text.chars().nth(1).unwrap_or(' ');
    match &text[..1] {
        "/" if second == '/' => until(0, "\n") - usize::from(text.contains('\n')),
        "/" if second == '*' => until(2, "*/"),
        "\"" => {
            let hashes = &code[code.trim_end_matches('#').len()..];
            if code.ends_with(&format!("r{hashes}")) {
                return until(1, &format!("\"{hashes}"));
            }
            let mut escaped = false;
            let end = text.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map_or(text.len(), |(at, _)| at + 1)
        }
        "'" if second == '\\' => until(3, "'"),
        // A character, or else a lifetime.
        "'" if text.chars().nth(2) == Some('\'') => 2 + second.len_utf8(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_stay_and_nothing_else() {
        let text = "//! head\nfn f(/* in */ x: &'a u8) {\n  a(\"// no\\n\"); // after\n\
                    \u{20} /// doc\n  r#\"raw \" text\"#; g(b'/', '\"', '\\'', x / 2)\n}\n// end";
        let expected = "    head\n|| ||/* in */ || ||| ||| |\n  ||\"// no||\"||    after\n\
                        \u{20}     doc\n  ||\"raw \" text\"#| ||||||| |||| ||||| | | ||\n|\n   end";
        assert_eq!(prose(text), expected);
    }
}
