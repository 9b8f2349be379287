//! Fills lines with words, breaking only where the Markdown keeps its meaning.

/// Maximum number of characters of a code span that stays on one line.
const SPAN_CHARS_MAX: usize = 60;

/// Fills lines of `room` characters with the words of a text; the first line has `first_room`.
pub(super) fn fill(text: &str, first_room: usize, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for unit in units(text) {
        let room = if lines.is_empty() { first_room } else { room };
        let len = line.chars().count() + 1 + unit.chars().count();
        if !line.is_empty() && len > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &unit;
    }
    lines.push(line);
    lines
}

/// Splits a text into words; words that must not be separated stay joined.
fn units(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut units: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let len = span_len(&words[at..]);
        let unit = words[at..at + len].join(" ");
        match units.last_mut() {
            Some(last) if begins_block(words[at]) => {
                last.push(' ');
                last.push_str(&unit);
            }
            _ => units.push(unit),
        }
        at += len;
    }
    units
}

/// Returns the number of words in the code span that the first word opens; 1 if it opens none.
fn span_len(words: &[&str]) -> usize {
    let mut marks = 0;
    let mut chars = 0;
    for (index, word) in words.iter().enumerate() {
        marks += word.matches('`').count();
        chars += word.chars().count() + 1;
        if marks % 2 == 0 {
            return index + 1;
        }
        if chars > SPAN_CHARS_MAX {
            break;
        }
    }
    1
}

/// Returns whether a line that starts with this word would no longer be plain text.
fn begins_block(word: &str) -> bool {
    let only = |marks: &str| word.chars().all(|c| marks.contains(c));
    let number = word.strip_suffix(['.', ')']);
    only("-")
        || only("=")
        || only("*")
        || only("+")
        || only("_")
        || only("#")
        || word.starts_with(['|', '>', '<'])
        || word.starts_with("```")
        || word.starts_with("~~~")
        || word.starts_with('[') && word.ends_with("]:")
        || number.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_up_to_the_room() {
        assert_eq!(fill("aa bb cc dd", 5, 5), ["aa bb", "cc dd"]);
        assert_eq!(fill("aa bb cc dd", 2, 8), ["aa", "bb cc dd"]);
        assert_eq!(fill("a verylongword b", 5, 5), ["a", "verylongword", "b"]);
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(fill("ää öö üü", 5, 5), ["ää öö", "üü"]);
    }

    #[test]
    fn a_code_span_stays_on_one_line() {
        assert_eq!(fill("a `let b = c` d", 9, 9), ["a", "`let b = c`", "d"]);
        assert_eq!(fill("a ` b", 3, 3), ["a `", "b"]);
    }

    #[test]
    fn no_line_begins_a_block_by_accident() {
        assert_eq!(fill("aaaa - bbbb", 5, 5), ["aaaa -", "bbbb"]);
        assert_eq!(fill("in 1 of 12. that", 8, 8), ["in 1", "of 12.", "that"]);
        assert_eq!(fill("aaaa # bbbb > cc", 5, 5), ["aaaa #", "bbbb >", "cc"]);
    }
}
