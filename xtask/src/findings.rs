//! The findings of rules: places, the rules' names, and what to do.

use std::collections::BTreeSet;

use crate::house::House;
use crate::settings;

/// The violations of rules: path, line from 1 or 0 for the whole file, the rule's name, and what to
/// do.
#[derive(Default)]
pub(crate) struct Findings(BTreeSet<(String, usize, &'static str, String)>);

impl Findings {
    /// Adds a finding at a line of a file.
    pub(crate) fn add(
        &mut self,
        path: &str,
        line: usize,
        rule: &'static str,
        message: impl Into<String>,
    ) {
        self.0.insert((path.to_owned(), line, rule, message.into()));
    }

    /// Adds a finding about the settings.
    pub(crate) fn setting(&mut self, rule: &'static str, message: impl Into<String>) {
        self.add(settings::PATH, 0, rule, message);
    }

    /// Returns a line of text for each finding.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(path, line, rule, message): &(String, usize, _, _)| match line {
            0 => format!("{path}: {rule}: {message}"),
            _ => format!("{path}:{line}: {rule}: {message}"),
        };
        self.0.iter().map(line).collect()
    }
}

/// A rule adds what it finds.
pub(crate) type Rule = fn(&House, &mut Findings);

/// Checks that a rule finds in a tree as many violations as there are parts, and that each of them
/// contains its part.
#[cfg(test)]
pub(crate) fn expect(rule: Rule, settings: &str, files: &[(&str, &str)], parts: &[&str]) {
    let mut findings = Findings::default();
    rule(&crate::house::house(settings, files), &mut findings);
    let found = findings.lines();
    let fits = found
        .iter()
        .zip(parts)
        .all(|(line, part)| line.contains(part));
    assert!(fits && found.len() == parts.len(), "{found:#?}");
}
