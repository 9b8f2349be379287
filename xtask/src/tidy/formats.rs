//! Every page of `docs/format/` that describes bytes names its golden file, and every golden file
//! is named by a page and read by a test. A format therefore cannot change without its document.

use crate::findings::Findings;
use crate::house::House;

const RULE: &str = "format";
const PAGES: &str = "docs/format/";
const GOLDEN: &str = "testdata/golden/";

pub(super) fn check(house: &House, findings: &mut Findings) {
    let paths = || house.tree.files().map(|(path, _)| path);
    let golden = || {
        let files = paths().filter_map(|path| path.strip_prefix(GOLDEN)?.rsplit_once('.'));
        files.filter(|(_, ending)| *ending != "md")
    };
    let pages = || {
        house
            .tree
            .with_suffix(".md")
            .filter(|(path, _)| path.starts_with(PAGES))
    };
    for (path, text) in pages().filter(|(path, _)| !path.ends_with("README.md")) {
        if !golden().any(|(stem, _)| text.contains(stem)) {
            let message =
                format!("names no golden file: pin its bytes under {GOLDEN} and name the file");
            findings.add(path, 0, RULE, message);
        }
    }
    for (stem, ending) in golden() {
        let path = format!("{GOLDEN}{stem}.{ending}");
        if !pages().any(|(_, text)| text.contains(stem)) {
            let message = format!("no page of {PAGES} names this golden file");
            findings.add(&path, 0, RULE, message);
        }
        // A test may assemble the name: `testdata/golden/table-{name}.hex`.
        let family = format!("{GOLDEN}{}-{{", stem.split('-').next().unwrap_or(stem));
        let reads = |text: &str| text.contains(stem) || text.contains(&family);
        if !house.tree.with_suffix(".rs").any(|(_, text)| reads(text)) {
            findings.add(&path, 0, RULE, "no test reads this golden file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    #[test]
    fn pages_golden_files_and_tests_belong_together() {
        let test = "fn f() { golden(\"log.hex\"); f(\"testdata/golden/log-{name}.hex\") }";
        let files = [
            ("docs/format/README.md", "An overview."),
            (
                "docs/format/log.md",
                "Pinned by `testdata/golden/log.hex` and log-old.hex.",
            ),
            ("docs/format/table.md", "Pages."),
            ("testdata/golden/log.hex", "00"),
            ("testdata/golden/lost.hex", "00"),
            ("testdata/golden/log-old.hex", "00"),
            ("a/src/tests.rs", test),
        ];
        let parts = [
            "docs/format/table.md: format: names no golden",
            "lost.hex: format: no page",
            "lost.hex: format: no test",
        ];
        expect(check, "", &files, &parts);
    }
}
