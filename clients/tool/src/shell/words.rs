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

/// The words of a line.
pub(super) type Words = Result<Vec<Word>, Unclosed>;

/// Words that are still being read: a command whose quotes are open goes on with the next line,
/// without reading what precedes it again.
#[derive(Debug, Default)]
pub(super) struct WordReader {
    whole: Vec<Word>,
    word: Option<Word>,
    quote: Option<char>,
    /// Whether the rest of the line is a comment.
    in_comment: bool,
    /// Characters that were read.
    #[cfg(test)]
    pub(super) examined: usize,
}

impl WordReader {
    /// Reads on. After `#` at the start of a word, the rest of the line is a comment.
    pub(super) fn read(&mut self, text: &str) {
        for char in text.chars() {
            #[cfg(test)]
            {
                self.examined += 1;
            }
            let word = &mut self.word;
            match (self.quote, char) {
                _ if self.in_comment => self.in_comment = char != '\n',
                (Some(open), _) if char == open => self.quote = None,
                (None, '\'' | '"') => {
                    self.quote = Some(char);
                    word.get_or_insert_default().quoted = true;
                }
                (None, '#') if word.is_none() => self.in_comment = true,
                (None, _) if char.is_ascii_whitespace() => self.whole.extend(word.take()),
                _ => word.get_or_insert_default().text.push(char),
            }
        }
    }

    /// Returns whether a quote is open.
    pub(super) fn is_open(&self) -> bool {
        self.quote.is_some()
    }

    /// Returns the words up to here, and begins again.
    pub(super) fn end(&mut self) -> Words {
        let mut ended = std::mem::take(self);
        #[cfg(test)]
        {
            self.examined = ended.examined;
        }
        ended.whole.extend(ended.word);
        match ended.quote {
            None => Ok(ended.whole),
            Some(_) => Err(Unclosed),
        }
    }
}

/// Returns the words of a line.
pub(super) fn words(line: &str) -> Words {
    let mut reader = WordReader::default();
    reader.read(line);
    reader.end()
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
