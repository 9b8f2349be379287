//! The words of a line.
//!
//! Spaces separate words. Between quotes, single or double, everything stands for itself, spaces
//! and newlines too, so that a value may span lines. A backslash has no meaning here: the escapes
//! of keys and values are decoded later, as on the command line, and `\x22` is a double quote.

/// A word, and whether a part of it was in quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// A quote is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// Returns the words of a line. After `#` at the start of a word, the rest of the line is a
/// comment.
pub(super) fn words(line: &str) -> Result<Vec<Word>, Unclosed> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default().quoted = true;
            }
            (None, '#') if word.is_none() => {
                chars.find(|char| *char == '\n');
            }
            (None, _) if char.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().text.push(char),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(_) => Err(Unclosed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        let words = words(line).expect("all quotes are closed");
        words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn quotes_keep_spaces_and_newlines() {
        assert_eq!(texts("put  'a b' \"c'd\""), ["put", "a b", "c'd"]);
        assert_eq!(texts("put key 'two\nlines'"), ["put", "key", "two\nlines"]);
        assert_eq!(texts("put a\\x00 ''"), ["put", "a\\x00", ""]);
        assert_eq!(texts("get a'b c'd"), ["get", "ab cd"]);
    }

    #[test]
    fn comments_and_empty_lines_have_no_words() {
        assert_eq!(texts(" \t\r\n"), [""; 0]);
        assert_eq!(texts("# it's a comment"), [""; 0]);
        assert_eq!(texts("get a#b # c"), ["get", "a#b"]);
    }

    #[test]
    fn an_open_quote_is_unfinished() {
        for line in ["put 'a", "put \"", "put 'a' \"b' c"] {
            assert_eq!(words(line), Err(Unclosed), "{line}");
        }
    }
}
