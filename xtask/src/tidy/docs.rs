//! Everything that documents name must exist: links, headings, functions, paths in code spans, and
//! `make` targets.
//!
//! If the text of a link is code and its target is a Rust file (`` [`Db::put`](../x.rs) ``), the
//! file must also contain something of that name, so that a tour of the code cannot rot.

use crate::count;
use crate::findings::Findings;
use crate::house::House;
use crate::tree::{join, parent};

/// Folders at the root; paths below them in code spans must exist.
const FOLDERS: [&str; 10] = [
    "engine", "clients", "adapters", "bench", "docs", "xtask", "examples", "testdata", "fuzz",
    ".ci",
];

pub(super) fn check(house: &House, findings: &mut Findings) {
    let (words, max) = (count::words(house), house.settings.words_max);
    if let Some(max) = max.filter(|max| words > *max) {
        let message = format!("the documents have {words} words, more than {max}: shorten one");
        findings.setting("docs", message);
    }
    let targets = make_targets(house.tree.text("Makefile").unwrap_or_default());
    for (path, text) in house.tree.with_suffix(".md") {
        for (index, line, fenced) in lines(text) {
            let mut report = |rule, message| findings.add(path, index + 1, rule, message);
            let command = line.trim_start().trim_start_matches("$ ");
            let spans = || spans(line).filter(|_| !fenced);
            for name in spans()
                .chain(fenced.then_some(command))
                .filter_map(made_target)
            {
                if !targets.contains(&name) {
                    report("make", format!("the Makefile has no target `{name}`"));
                }
            }
            for (label, target) in links(line).filter(|_| !fenced) {
                if let Err(message) = link(house, path, label, target) {
                    report("link", message);
                }
            }
            for span in spans().filter(|span| is_path(span)) {
                // The changelog may name files that were removed since.
                if path != "CHANGELOG.md" && !house.tree.exists(span) {
                    report("path", format!("`{span}` does not exist"));
                }
            }
        }
    }
}

/// Returns the lines of a document with their indexes, and whether each is in a fence; without the
/// fences themselves.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence).then_some((index, line, fenced))
    })
}

fn link(house: &House, from: &str, label: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match file {
        "" => from.to_owned(),
        file => join(parent(from), file)
            .ok_or_else(|| format!("the link `{target}` leaves the repository"))?,
    };
    if !house.tree.exists(&file) {
        return Err(format!(
            "the link `{target}` is broken: `{file}` does not exist"
        ));
    }
    let text = house.tree.text(&file).unwrap_or_default();
    if file.ends_with(".md") && !anchor.is_empty() && !headings(text).any(|slug| slug == anchor) {
        return Err(format!("`{file}` has no heading `#{anchor}`"));
    }
    if let (Some(code), Some(source)) = (spans(label).next(), house.sources.get(&file)) {
        let name = last_word(code);
        if !file.ends_with(&format!("/{name}.rs")) && !source.words.contains_key(name) {
            return Err(format!("`{file}` contains nothing named `{name}`"));
        }
    }
    Ok(())
}

/// Returns the last identifier of a code span: `put` for `Db::put()`.
fn last_word(code: &str) -> &str {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let code = code.trim_end_matches(|c| !word(c));
    let from = code.rfind(|c| !word(c)).map_or(0, |at| at + 1);
    &code[from..]
}

/// Returns the label and target of every inline link in a line.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices("](").filter_map(|(at, _)| {
        let label = &line[line[..at].rfind('[')? + 1..at];
        let target = &line[at + 2..];
        Some((label, target[..target.find(')')?].trim()))
    })
}

/// Returns the code spans of a line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    match span.split_once('/') {
        Some((first, _)) => FOLDERS.contains(&first) && span.chars().all(plain),
        None => false,
    }
}

/// Returns the anchors of a document's headings, as common renderers generate them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = lines(text).filter_map(|(_, line, fenced)| {
        let title = line.trim_start_matches('#');
        (!fenced && title.len() < line.len()).then(|| title.strip_prefix(' '))?
    });
    titles.map(|title| {
        let kept = title.trim().chars();
        let kept = kept.filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>()
            .replace(' ', "-")
            .to_ascii_lowercase()
    })
}

fn make_targets(makefile: &str) -> Vec<&str> {
    makefile
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', '.']))
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, rest)| !rest.starts_with('='))
        .flat_map(|(names, _)| names.split_whitespace())
        .collect()
}

/// Returns the target of `make target ...`.
fn made_target(command: &str) -> Option<&str> {
    let name = command.strip_prefix("make ")?.split_whitespace().next()?;
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    #[test]
    fn what_exists_passes_and_what_does_not_is_reported() {
        let good = "[a](docs/a.md#of-two-words-x) [`Db::put()`](engine/e/src/db.rs) `engine/e`\n\
                    `make test` [web](https://example.org/x) [here](#top)\n# Top\n\
                    ```\nmake lint\ncd docs/none\n```\n`engine/{a,b}` `and/or`";
        let bad = "[a](docs/b.md)\n[a](docs/a.md#x)\n[`Db::get`](engine/e/src/db.rs)\n`docs/c.md`\n\
                   `make fly`\n[a](../x)\n```\nmake jump\n```";
        let makefile = "X := 1\n.PHONY: test\ntest lint: build ## does\n\tmake y\n";
        let missing = [
            "README.md:1: link: the link `docs/b.md` is broken: `docs/b.md` does not exist",
            "README.md:2: link: `docs/a.md` has no heading `#x`",
            "README.md:3: link: `engine/e/src/db.rs` contains nothing named `get`",
            "README.md:4: path: `docs/c.md` does not exist",
            "README.md:5: make: the Makefile has no target `fly`",
            "README.md:6: link: the link `../x` leaves the repository",
            "README.md:8: make: the Makefile has no target `jump`",
        ];
        for (readme, parts) in [(good, &[][..]), (bad, &missing)] {
            let files = [
                ("README.md", readme),
                ("Makefile", makefile),
                ("docs/a.md", "# Of two Words, (x)\n```\n# not this\n```\n"),
                ("engine/e/src/db.rs", "impl Db { pub fn put() {} } // get"),
            ];
            expect(check, "", &files, parts);
        }
        let words = "xtask/tidy.toml: docs: the documents have 2 words, more than 1";
        expect(check, "words-max = 1", &[("a.md", "a b")], &[words]);
    }
}
