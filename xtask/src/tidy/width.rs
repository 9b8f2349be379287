//! A comment that is alone on its lines is at most 100 columns wide, including its indentation.
//!
//! rustfmt breaks code but not comments. A line that cannot be broken, such as a URL or the row of
//! a table, may be wider.

use crate::finding::Finding;
use crate::house::House;
use crate::source::prose::ProseKind;

/// Maximum number of columns of a comment line.
const COLUMNS_MAX: usize = 100;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in &house.sources {
        let text = house.tree.text(path).unwrap_or_default();
        for piece in &source.prose {
            let start = text[..piece.range.start].rfind('\n').map_or(0, |at| at + 1);
            let line = &text[start..piece.range.end];
            let body = line.trim_start().trim_start_matches(['/', '!']);
            let alone = piece.kind == ProseKind::Line && line.trim_start().starts_with("//");
            let breakable = !body.trim_start().starts_with('|') && body.trim().contains(' ');
            if alone && breakable && line.chars().count() > COLUMNS_MAX {
                let number = 1 + text[..start].matches('\n').count();
                let message = format!("comment wider than {COLUMNS_MAX} columns: break it");
                findings.push(Finding::new(path, number, "width", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    #[test]
    fn wide_comments_that_can_be_broken_are_found() {
        let words = format!("// {}", "a ".repeat(60));
        let table = format!("// | {}", "a ".repeat(60));
        let address = format!("// <https://a/{}>", "a".repeat(100));
        let text = format!("//! A.\n{words}\nfn f() {{}}\n    {words}\n{table}\n{address}\n");
        let found = lines(&check(&house("", &[("a.rs", &text)])));
        let places: Vec<&str> = found
            .iter()
            .filter_map(|line| line.split(": ").next())
            .collect();
        assert_eq!(places, ["a.rs:2", "a.rs:4"]);
    }
}
