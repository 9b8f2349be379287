//! Words that must not be reintroduced, because the field has better ones.
//!
//! The rule searches comments, string literals and Markdown for whole words, ignoring case; a
//! phrase may be broken between two lines. Identifiers are not prose. The settings state the number
//! of remaining uses of each word, which only decreases.

use std::cmp::Ordering;

use crate::finding::Finding;
use crate::house::House;
use crate::settings::{self, Word, covers};
use crate::source::Source;
use crate::source::prose::ProseKind;

const RULE: &str = "words";

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut files: Vec<(&str, Vec<Spoken<'_>>)> = Vec::new();
    for (path, source) in &house.sources {
        let text = house.tree.text(path).unwrap_or_default();
        files.push((path, of_source(text, source)));
    }
    for (path, text) in house.tree.with_suffix(".md") {
        let mut spoken = Vec::new();
        split(text, 1, false, &mut spoken);
        files.push((path, spoken));
    }
    let words = house.settings.words.iter();
    words.flat_map(|word| find(word, &files)).collect()
}

/// Returns the findings of one entry if the tree has another count than the settings: all places if
/// it has more, because it is unknown which of them are new.
fn find(word: &Word, files: &[(&str, Vec<Spoken<'_>>)]) -> Vec<Finding> {
    let mut places = Vec::new();
    for (path, spoken) in files {
        if word.may_stay.iter().any(|entry| covers(entry, path)) {
            continue;
        }
        for phrase in &word.words {
            let message = format!("`{phrase}`: write {}", word.instead);
            let lines = lines_with(phrase, spoken);
            places.extend(lines.map(|line| Finding::new(*path, line, RULE, message.clone())));
        }
    }
    let (count, granted) = (places.len(), word.count);
    let advice = match count.cmp(&granted) {
        Ordering::Equal => return Vec::new(),
        Ordering::Greater => "fix the new ones".to_owned(),
        Ordering::Less => {
            places.clear();
            format!("set it to {count}")
        }
    };
    let words = word.words.join(", ");
    let message =
        format!("[[word]] {words}: count = {granted}, but the tree has {count}: {advice}");
    places.push(Finding::new(settings::PATH, 0, RULE, message));
    places
}

/// One word of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spoken<'a> {
    word: &'a str,
    line: usize,
    /// Whether only white space separates the word from the previous one.
    joined: bool,
}

fn of_source<'a>(text: &'a str, source: &Source) -> Vec<Spoken<'a>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut end = 0;
    let mut after_comment = false;
    for piece in &source.prose {
        let between = &text[end..piece.range.start];
        line += between.matches('\n').count();
        let piece_text = &text[piece.range.clone()];
        let comment = piece.kind == ProseKind::Line;
        // A comment line continues on the next one.
        let joined = after_comment && comment && between.trim().is_empty();
        let body = if comment {
            piece_text.trim_start_matches('/').trim_start_matches('!')
        } else {
            piece_text
        };
        split(body, line, joined, &mut found);
        line += piece_text.matches('\n').count();
        end = piece.range.end;
        after_comment = comment;
    }
    found
}

/// Splits a text into words; `joined` states whether the first one continues the previous word's
/// text.
fn split<'a>(text: &'a str, first_line: usize, joined: bool, found: &mut Vec<Spoken<'a>>) {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut line = first_line;
    let mut joined = joined;
    let mut rest = text;
    while let Some(start) = rest.find(part) {
        let before = &rest[..start];
        line += before.matches('\n').count();
        joined &= before.chars().all(char::is_whitespace);
        let escaped = before.ends_with('\\');
        let len = rest[start..]
            .find(|c| !part(c))
            .unwrap_or(rest.len() - start);
        let mut word = &rest[start..start + len];
        if escaped {
            // The escape `\n` is not the start of a word.
            word = &word[word.chars().next().map_or(0, char::len_utf8)..];
        }
        if !word.is_empty() {
            found.push(Spoken { word, line, joined });
            joined = true;
        }
        rest = &rest[start + len..];
    }
}

/// Returns the lines where a phrase starts.
fn lines_with<'a>(phrase: &'a str, spoken: &'a [Spoken<'a>]) -> impl Iterator<Item = usize> + 'a {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    spoken.windows(wanted.len()).filter_map(move |window| {
        let fits = window
            .iter()
            .zip(&wanted)
            .all(|(said, wanted)| said.word.eq_ignore_ascii_case(wanted));
        let whole = window[1..].iter().all(|said| said.joined);
        (fits && whole).then_some(window[0].line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    const SOURCE: &str = "//! A wug, and Wugs.\n\n// It is at\n// ease; at, ease.\nfn wug() { wug_b(\"\\nwug\", a) }\n\
                          /* a\n wug */\nfn f() {} // at\n\"ease\"";

    fn found(settings: &str) -> Vec<String> {
        let source = SOURCE.replace("\n\"ease\"", "\nconst A: &str = \"ease\";");
        let files = [
            ("a.rs", source.as_str()),
            ("b.md", "# One\n\nA `wug` at\nease.\n"),
            ("c/d.md", "wug"),
            ("e.sh", "# wug"),
        ];
        lines(&check(&house(settings, &files)))
    }

    fn entry(words: &str, count: usize) -> String {
        format!(
            "[[word]]\nwords = {words}\ninstead = \"cat\"\ncount = {count}\nmay-stay = [\"c/\"]"
        )
    }

    #[test]
    fn words_are_found_where_they_are_prose() {
        let words = found(&entry("[\"wug\"]", 0));
        let places: Vec<&str> = words
            .iter()
            .filter_map(|line| line.split(": ").next())
            .collect();
        assert_eq!(
            places,
            ["a.rs:1", "a.rs:5", "a.rs:7", "b.md:3", "xtask/tidy.toml"]
        );
        assert!(words[0].ends_with("words: `wug`: write cat"), "{words:?}");
        assert!(
            words[4].contains("count = 0, but the tree has 4"),
            "{words:?}"
        );
    }

    #[test]
    fn phrases_go_on_in_the_next_line() {
        let words = found(&entry("[\"at ease\"]", 0));
        let places: Vec<&str> = words
            .iter()
            .filter_map(|line| line.split(": ").next())
            .collect();
        assert_eq!(places, ["a.rs:3", "b.md:3", "xtask/tidy.toml"]);
    }

    #[test]
    fn a_count_only_goes_down() {
        assert_eq!(
            found(&entry("[\"wug\", \"wugs\"]", 5)),
            Vec::<String>::new()
        );
        let below = found(&entry("[\"wug\"]", 5));
        assert_eq!(below.len(), 1, "{below:?}");
        assert!(
            below[0].contains("but the tree has 4: set it to 4"),
            "{below:?}"
        );
    }
}
