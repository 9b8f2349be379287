//! Text for a terminal: without control characters, and wrapped.

/// Returns a string without characters that a terminal interprets.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// Wraps words into lines of at most this many columns.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::from("  ");
    let mut column = 2;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 2 && column + 1 + length > width {
            lines.push_str("\n  ");
            column = 2;
        }
        if column > 2 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped() {
        assert_eq!(wrapped("aa bb cc", 8), "  aa bb\n  cc\n");
        assert_eq!(wrapped("", 8), "  \n");
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb"), "a [2Jb");
    }
}
