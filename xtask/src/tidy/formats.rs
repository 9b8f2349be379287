//! Every page of `docs/format/` that describes bytes names its golden file, and every golden file
//! is named by a page and read by a test. A format therefore cannot change without its document.

use crate::finding::Finding;
use crate::house::House;

const RULE: &str = "format";
const PAGES: &str = "docs/format/";
const GOLDEN: &str = "testdata/golden/";

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages: Vec<(&str, &str)> = house
        .tree
        .with_suffix(".md")
        .filter(|(path, _)| path.starts_with(PAGES))
        .collect();
    let golden: Vec<(&str, &str)> = house
        .tree
        .files()
        .filter_map(|(path, _)| {
            let (stem, ending) = path.strip_prefix(GOLDEN)?.rsplit_once('.')?;
            (ending != "md").then_some((path, stem))
        })
        .collect();
    for (path, text) in &pages {
        let names_one = golden.iter().any(|(_, stem)| text.contains(stem));
        if !path.ends_with("README.md") && !names_one {
            let message =
                format!("names no golden file: pin its bytes under {GOLDEN} and name the file");
            findings.push(Finding::new(*path, 0, RULE, message));
        }
    }
    for (path, stem) in golden {
        if !pages.iter().any(|(_, text)| text.contains(stem)) {
            let message = format!("no page of {PAGES} names this golden file");
            findings.push(Finding::new(path, 0, RULE, message));
        }
        // A test may assemble the name: `testdata/golden/table-{name}.hex`.
        let family = format!("{GOLDEN}{}-{{", stem.split('-').next().unwrap_or(stem));
        let reads = |text: &str| text.contains(stem) || text.contains(&family);
        let read = house.tree.with_suffix(".rs").any(|(_, text)| reads(text));
        if !read {
            findings.push(Finding::new(
                path,
                0,
                RULE,
                "no test reads this golden file",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    #[test]
    fn pages_golden_files_and_tests_belong_together() {
        let house = house(
            "",
            &[
                ("docs/format/README.md", "An overview."),
                (
                    "docs/format/log.md",
                    "Pinned by `testdata/golden/log.hex` and log-old.hex.",
                ),
                ("docs/format/table.md", "Pages."),
                ("testdata/golden/log.hex", "00"),
                ("testdata/golden/lost.hex", "00"),
                ("testdata/golden/log-old.hex", "00"),
                (
                    "a/src/tests.rs",
                    "fn f() { golden(\"log.hex\"); f(\"testdata/golden/log-{name}.hex\") }",
                ),
            ],
        );
        let found = lines(&check(&house));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("docs/format/table.md: format: names no golden"),
            "{found:?}"
        );
        assert!(found[1].contains("lost.hex: format: no page"), "{found:?}");
        assert!(found[2].contains("lost.hex: format: no test"), "{found:?}");
    }
}
