//! `Sheet`: one table of the reference part, with its prose.

use serde::Serialize;

/// A titled table, or prose, or both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sheet {
    /// Title.
    pub(crate) title: String,
    /// Markdown of this crate; no value from outside is in it.
    pub(crate) prose: &'static str,
    /// Headings of the columns.
    pub(crate) head: Vec<String>,
    /// Lines; one cell alone is a heading.
    pub(crate) lines: Vec<Vec<String>>,
}

impl Sheet {
    pub(super) fn new(
        title: &str,
        prose: &'static str,
        head: &[&str],
        lines: Vec<Vec<String>>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            prose,
            head: head.iter().map(|&title| title.to_owned()).collect(),
            lines,
        }
    }
}
