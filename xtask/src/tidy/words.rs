//! Words that must not be reintroduced, because the field has better ones; and comments of at most
//! 100 columns.
//!
//! The rule searches comments, string literals and Markdown for whole words, ignoring case; a
//! phrase may be broken between two lines. Identifiers are not prose. The settings state the number
//! of remaining uses of each word, which only decreases.
//!
//! rustfmt breaks code but not comments. The width includes the indentation of a comment that is
//! alone on its line. A line that cannot be broken, such as a URL or the row of a table, may be
//! wider.

use crate::findings::Findings;
use crate::house::House;
use crate::settings::Word;

const RULE: &str = "words";
/// Maximum number of columns of a comment line.
const COLUMNS_MAX: usize = 100;

pub(super) fn check(house: &House, findings: &mut Findings) {
    let sources = house.sources.iter();
    let sources = sources.map(|(path, source)| (path.as_str(), source.prose.as_str()));
    let mut files = Vec::new();
    for (path, prose) in sources.chain(house.tree.with_suffix(".md")) {
        files.push((path, spoken(prose)));
        if path.ends_with(".rs") {
            let text = house.tree.text(path).unwrap_or_default();
            width(path, text, prose, findings);
        }
    }
    for word in &house.settings.words {
        find(word, &files, findings);
    }
}

fn width(path: &str, text: &str, prose: &str, findings: &mut Findings) {
    for (index, (line, prose)) in text.lines().zip(prose.lines()).enumerate() {
        // The marks of a comment are no prose; those in a literal are.
        let alone = line.trim_start().starts_with("//") && !prose.trim_start().starts_with("//");
        let breakable = !prose.trim().starts_with('|') && prose.trim().contains(' ');
        if alone && breakable && line.trim_end().chars().count() > COLUMNS_MAX {
            let message = format!("comment wider than {COLUMNS_MAX} columns: break it");
            findings.add(path, index + 1, "width", message);
        }
    }
}

/// Adds the findings of one entry if the tree has another count than the settings: all places if it
/// has more, because it is unknown which of them are new.
fn find(entry: &Word, files: &[(&str, Vec<Spoken<'_>>)], findings: &mut Findings) {
    let mut places = Vec::new();
    for phrase in &entry.words {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        for (path, spoken) in files {
            let fits = |said: &&[Spoken<'_>]| {
                let mut pairs = said.iter().zip(&wanted);
                pairs.all(|((word, _), wanted)| word.eq_ignore_ascii_case(wanted))
            };
            let said = spoken.windows(wanted.len()).filter(fits);
            places.extend(said.map(|said| (path, said[0].1, phrase)));
        }
    }
    let (count, granted, words) = (places.len(), entry.count, entry.words.join(", "));
    if count == granted {
        return;
    }
    let mut advice = format!("set it to {count}");
    if count > granted {
        "fix the new ones".clone_into(&mut advice);
        for (path, line, phrase) in places {
            findings.add(
                path,
                line,
                RULE,
                format!("`{phrase}`: write {}", entry.instead),
            );
        }
    }
    let message =
        format!("[[word]] {words}: count = {granted}, but the tree has {count}: {advice}");
    findings.setting(RULE, message);
}

/// A word of prose with its line, or an empty one for punctuation, which ends a phrase.
type Spoken<'a> = (&'a str, usize);

fn spoken(text: &str) -> Vec<Spoken<'_>> {
    let punctuation = |c: char| !c.is_alphanumeric() && c != '_';
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let chunks = line.split_whitespace();
        for part in chunks.flat_map(|chunk| chunk.split_inclusive(punctuation)) {
            let word = part.trim_end_matches(punctuation);
            found.push((word, index + 1));
            if word.len() < part.len() {
                found.push(("", index + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    #[test]
    fn words_are_found_where_they_are_prose() {
        let source = "//! A wug, and Wugs.\n\n// It is at\n// ease; at, ease.\nfn wug() { wug_b(\"\\nwug\", a) }\n\
                      /* a\n wug */\nfn f() {} // at\nconst A: &str = \"ease\";";
        let files = [
            ("a.rs", source),
            ("b.md", "# One\n\nA `wug` at\nease.\n"),
            ("e.sh", "# wug"),
        ];
        let in_four = [
            "a.rs:1: words: `wug`: write cat",
            "a.rs:5:",
            "a.rs:7:",
            "b.md:3:",
            "",
        ];
        let mut more = in_four;
        more[4] = "count = 0, but the tree has 4: fix the new ones";
        for (words, count, parts) in [
            ("[\"wug\"]", 0, &more[..]),
            (
                "[\"at ease\"]",
                0,
                &["a.rs:3:", "b.md:3:", "xtask/tidy.toml: words:"],
            ),
            ("[\"wug\", \"wugs\"]", 5, &[]),
            (
                "[\"wug\"]",
                5,
                &["count = 5, but the tree has 4: set it to 4"],
            ),
        ] {
            let entry = format!("[[word]]\nwords = {words}\ninstead = \"cat\"\ncount = {count}");
            expect(check, &entry, &files, parts);
        }
    }

    #[test]
    fn wide_comments_that_can_be_broken_are_found() {
        let words = format!("// {}", "a ".repeat(60));
        let table = format!("// | {}", "a ".repeat(60));
        let address = format!("// <https://a/{}>", "a".repeat(100));
        let text = format!(
            "//! A.\n{words}\nfn f() {{}} {words}\n    {words}\n{table}\n{address}\nconst A: &str = \"\n{words}\";\n"
        );
        expect(
            check,
            "",
            &[("a.rs", &text)],
            &["a.rs:2: width:", "a.rs:4: width:"],
        );
    }
}
