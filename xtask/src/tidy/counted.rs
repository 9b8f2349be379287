//! Counts that only decrease: how often something still occurs in the tree, compared with the
//! settings.
//!
//! A count above that in the settings is an error, and so is one below: a removed use cannot be
//! reintroduced unnoticed. `cargo xtask tidy --lower` writes lower counts into the settings.

use crate::finding::Finding;
use crate::settings;

/// A counted item, with all its occurrences in the tree.
pub(super) struct Counted {
    /// The name in the settings, such as `comment-width`.
    pub(super) name: String,
    pub(super) granted: usize,
    /// A finding for each place.
    pub(super) places: Vec<Finding>,
}

impl Counted {
    /// Returns the findings if the settings grant another count: all places if the granted count is
    /// lower, because it is unknown which of them are new.
    pub(super) fn findings(self, rule: &'static str) -> Vec<Finding> {
        let (count, granted) = (self.places.len(), self.granted);
        if count == granted {
            return Vec::new();
        }
        let (mut findings, advice) = if count > granted {
            (self.places, "fix the new ones".to_owned())
        } else {
            let advice = format!("set it to {count}, or run `cargo xtask tidy --lower`");
            (Vec::new(), advice)
        };
        let message = format!(
            "{} = {granted}, but the tree has {count}: {advice}",
            self.name
        );
        findings.push(Finding::new(settings::PATH, 0, rule, message));
        findings
    }
}

/// Returns the text of the settings with the counts of wide comments and of words, in their order,
/// replaced where the new ones are lower.
pub(super) fn lowered(text: &str, width: usize, words: &[usize]) -> String {
    let mut words = words.iter();
    let mut word = None;
    let lines = text.lines().map(|line| {
        if line.trim() == "[[word]]" {
            word = words.next();
        }
        let lower = |key: &str, count: usize| {
            let granted: usize = line.strip_prefix(key)?.trim().parse().ok()?;
            Some(format!("{key} {}\n", granted.min(count)))
        };
        lower("comment-width =", width)
            .or_else(|| lower("count =", *word?))
            .unwrap_or_else(|| format!("{line}\n"))
    });
    lines.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counts_that_went_down_are_written() {
        let text = "comment-width = 9\n[floors]\na = 1\n[[word]]\nwords = [\"x\"]\ncount = 5\n\
                    [[word]]\nwords = [\"y\"]\ncount = 2\n";
        let expected = text.replace('9', "7").replace('5', "3");
        assert_eq!(lowered(text, 7, &[3, 4]), expected);
    }
}
