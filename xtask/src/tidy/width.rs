//! A comment is at most 100 columns wide, including its indentation.
//!
//! rustfmt breaks code but not comments; `cargo xtask wrap` breaks those. Lines that cannot be
//! broken (a URL, a table row) may be wider. The settings state the number of remaining wide lines,
//! which only decreases.

use super::counted::Counted;
use crate::finding::Finding;
use crate::house::House;
use crate::wrap::{COLUMNS_MAX, comment_lines};

const RULE: &str = "width";

pub(super) fn check(house: &House) -> Vec<Finding> {
    counted(house).findings(RULE)
}

/// Returns all comment lines that are too wide.
pub(super) fn counted(house: &House) -> Counted {
    let mut places = Vec::new();
    for (path, source) in &house.sources {
        let text = house.tree.text(path).unwrap_or_default();
        for line in comment_lines(text, source) {
            if line.is_too_wide() {
                let message = format!(
                    "comment wider than {COLUMNS_MAX} columns: run `cargo xtask wrap`, or break it \
                     by hand"
                );
                places.push(Finding::new(path, line.line, RULE, message));
            }
        }
    }
    Counted {
        name: "comment-width".to_owned(),
        granted: house.settings.comment_width,
        places,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    /// Returns the findings for a file with two lines that are too wide.
    fn found(settings: &str) -> Vec<String> {
        let wide = format!("// {}", "a ".repeat(60));
        let text = format!("//! A.\n{wide}\nfn f() {{}}\n    {wide}\n");
        lines(&check(&house(settings, &[("a.rs", &text)])))
    }

    #[test]
    fn wide_comments_are_counted_against_the_settings() {
        assert_eq!(found("comment-width = 2"), Vec::<String>::new());
        let above = found("comment-width = 1");
        assert_eq!(above.len(), 3, "{above:?}");
        assert!(above[0].starts_with("a.rs:2: width: comment wider than 100"));
        assert!(above[1].starts_with("a.rs:4: width:"), "{above:?}");
        assert!(
            above[2].contains("comment-width = 1, but the tree has 2"),
            "{above:?}"
        );
        let below = found("comment-width = 3");
        assert_eq!(below.len(), 1, "{below:?}");
        assert!(below[0].contains(": set it to 2,"), "{below:?}");
    }

    #[test]
    fn narrow_comments_pass_without_a_setting() {
        let files = [("a.rs", "//! A.\n// b\n")];
        assert_eq!(check(&house("", &files)), []);
    }
}
