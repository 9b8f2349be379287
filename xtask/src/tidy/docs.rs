//! Everything that documents name must exist: links, headings, functions, paths in code spans, and
//! `make` targets.
//!
//! If the text of a link is code and its target is a Rust file (`` [`Db::put`](../x.rs) ``), the
//! file must also contain something of that name, so that a tour of the code cannot rot.

use crate::count;
use crate::finding::Finding;
use crate::house::House;
use crate::settings;
use crate::tree::{join, parent};

/// Folders at the root; paths below them in code spans must exist.
const FOLDERS: [&str; 10] = [
    "engine", "clients", "adapters", "bench", "docs", "xtask", "examples", "testdata", "fuzz",
    ".ci",
];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (words, max) = (count::words(house), house.settings.words_max);
    if let Some(max) = max.filter(|max| words > *max) {
        let message = format!("the documents have {words} words, more than {max}: shorten one");
        findings.push(Finding::new(settings::PATH, 0, "docs", message));
    }
    let targets = make_targets(house.tree.text("Makefile").unwrap_or_default());
    for (path, text) in house.tree.with_suffix(".md") {
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            let mut report = |rule, message: String| {
                findings.push(Finding::new(path, index + 1, rule, message));
            };
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            for name in make_calls(line, fenced) {
                if !targets.contains(&name) {
                    report("make", format!("the Makefile has no target `{name}`"));
                }
            }
            if fenced {
                continue;
            }
            for (label, target) in links(line) {
                if let Err(message) = link(house, path, label, target) {
                    report("link", message);
                }
            }
            // The changelog may name files that were removed since.
            if path != "CHANGELOG.md" {
                for span in spans(line).filter(|span| is_path(span)) {
                    if !house.tree.exists(span) {
                        report("path", format!("`{span}` does not exist"));
                    }
                }
            }
        }
    }
    findings
}

fn link(house: &House, from: &str, label: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() {
        from.to_owned()
    } else {
        join(parent(from), file).ok_or(format!("the link `{target}` leaves the repository"))?
    };
    if !house.tree.exists(&file) {
        return Err(format!(
            "the link `{target}` is broken: `{file}` does not exist"
        ));
    }
    let Some(text) = house.tree.text(&file) else {
        return Ok(());
    };
    if file.ends_with(".md") && !anchor.is_empty() && !headings(text).any(|slug| slug == anchor) {
        return Err(format!("`{file}` has no heading `#{anchor}`"));
    }
    if let (Some(code), true) = (spans(label).next(), file.ends_with(".rs")) {
        let name = last_word(code);
        let is_the_file = file.ends_with(&format!("/{name}.rs"));
        let source = house.sources.get(&file);
        if !is_the_file && source.is_none_or(|source| source.word(name).is_none()) {
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
    let mut fenced = false;
    text.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            return None;
        }
        let kept = title.trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
            _ => None,
        });
        Some(kept.collect())
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

/// Returns the `make` targets that a line names.
fn make_calls(line: &str, fenced: bool) -> Vec<&str> {
    let commands: Vec<&str> = if fenced {
        vec![line.trim_start().trim_start_matches("$ ")]
    } else {
        spans(line).collect()
    };
    commands.into_iter().filter_map(made_target).collect()
}

/// Returns the target of `make target ...`.
fn made_target(command: &str) -> Option<&str> {
    let name = command.strip_prefix("make ")?.split_whitespace().next()?;
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    fn found(readme: &str) -> Vec<String> {
        let house = house(
            "",
            &[
                ("README.md", readme),
                (
                    "Makefile",
                    "X := 1\n.PHONY: test\ntest lint: build ## does\n\tmake y\n",
                ),
                ("docs/a.md", "# Of two Words, (x)\n```\n# not this\n```\n"),
                ("engine/e/src/db.rs", "impl Db { pub fn put() {} } // get"),
            ],
        );
        lines(&check(&house))
    }

    #[test]
    fn what_exists_passes() {
        let text = "[a](docs/a.md#of-two-words-x) [`Db::put()`](engine/e/src/db.rs) `engine/e`\n\
                    `make test` [web](https://example.org/x) [here](#top)\n# Top\n\
                    ```\nmake lint\ncd docs/none\n```\n`engine/{a,b}` `and/or`";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn what_does_not_exist_is_reported() {
        let reported = found(
            "[a](docs/b.md)\n[a](docs/a.md#x)\n[`Db::get`](engine/e/src/db.rs)\n`docs/c.md`\n\
             `make fly`\n[a](../x)\n```\nmake jump\n```",
        );
        let expected = [
            "README.md:1: link: the link `docs/b.md` is broken: `docs/b.md` does not exist",
            "README.md:2: link: `docs/a.md` has no heading `#x`",
            "README.md:3: link: `engine/e/src/db.rs` contains nothing named `get`",
            "README.md:4: path: `docs/c.md` does not exist",
            "README.md:5: make: the Makefile has no target `fly`",
            "README.md:6: link: the link `../x` leaves the repository",
            "README.md:8: make: the Makefile has no target `jump`",
        ];
        assert_eq!(reported, expected);
    }
}
