//! The outline of a suite, for readers of its results: the second object of `--json`.
//!
//! Records name their section. The outline holds the headings of the sections in the order in which
//! they are shown, the baselines by which figures are divided, and the aggregation of rounds.
//! Records and occasional [`Note`]s follow it; the last object is a [`SuiteEnd`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The aggregation of a row's rounds into one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The middle round, or the mean of the two in the middle.
    #[default]
    Median,
    /// The mean without the lowest and the highest round. If the suite itself requests this, only
    /// the last instance of a workload counts ([`Outline::last_instance_counts`]).
    Trimmed,
}

impl Aggregate {
    /// Returns the word of the flag.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Trimmed => "trimmed",
        }
    }

    /// Returns its name in a table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Trimmed => "mean without lowest and highest",
        }
    }

    /// Returns the figure of some rounds; `None` if there are none. Fewer than three rounds are not
    /// trimmed.
    #[expect(clippy::cast_precision_loss, reason = "a handful of rounds")]
    pub fn of(self, values: &[f64]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        if self == Self::Median {
            return Some(crate::result::result_line::median(values));
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = match sorted.len() {
            0..3 => &sorted[..],
            count => &sorted[1..count - 1],
        };
        Some(middle.iter().sum::<f64>() / middle.len() as f64)
    }
}

/// A suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outline {
    /// `suite`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name, which is also in each record.
    pub name: String,
    /// Its title.
    pub title: String,
    /// A description in a sentence or two.
    pub about: String,
    /// Number of entries.
    pub num: u64,
    /// Rounds.
    pub rounds: u32,
    /// The aggregation of rounds.
    pub aggregate: Aggregate,
    /// Whether `--aggregate` overrode the suite's aggregation. The flag determines how rounds
    /// become a figure, not which rows count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aggregate_asked: bool,
    /// Engines in the requested order, including unavailable ones.
    pub engines: Vec<String>,
    /// Directories of `--db`.
    pub directories: Vec<String>,
    /// Sections in display order.
    pub sections: Vec<Section>,
    /// Variants in addition to the plain settings.
    pub variants: Vec<Named>,
    /// Rows for which the suite itself specifies fewer rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fewer_rounds: Vec<FewerRounds>,
    /// The settings that determine its figures. Absent in files written by older versions.
    #[serde(rename = "decided", skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

impl Outline {
    /// The word in `kind`.
    pub const KIND: &'static str = "suite";

    /// Returns whether only the last instance counts of a workload that a section runs several
    /// times.
    pub fn last_instance_counts(&self) -> bool {
        (self.aggregate == Aggregate::Trimmed) != self.aggregate_asked
    }
}

/// Number of rounds of one section over one data set, if fewer than the suite's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FewerRounds {
    /// The section its rows are shown in.
    pub section: String,
    /// Its data set.
    pub data: String,
    /// Rounds.
    pub rounds: u32,
}

/// A section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Section {
    /// Its name, which is also in each record.
    pub name: String,
    /// The chapter that it starts or continues.
    pub chapter: String,
    /// Its heading within the chapter; consecutive sections may share one.
    pub heading: String,
    /// The caption of its table, if a heading has several tables.
    pub table: String,
    /// A description of the section's peculiarities.
    pub about: String,
    /// The section whose first workload this one's figures are divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// A variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    /// Its name, which is also in each record.
    pub name: String,
    /// A description.
    pub about: String,
}

/// The settings, apart from its outline, that determine the figures of a suite, resolved from suite
/// and flags. A stopped run resumes only if none of them has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// The settings that are the same for every process, by name.
    pub everywhere: Settings,
    /// The other settings, by database name: one set for each process that uses the database.
    pub jobs: BTreeMap<String, Vec<Settings>>,
}

/// Settings by name.
pub type Settings = BTreeMap<String, Value>;

/// The last line of a suite, written when everything has run. Without it the run was stopped or is
/// still in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "end")]
pub struct SuiteEnd {
    /// The name of the suite.
    pub suite: String,
}

impl SuiteEnd {
    /// The word in its `type`.
    pub const KIND: &'static str = "end";
}

/// A fact that a report must mention, for example that a run was resumed or that rounds were
/// skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "note")]
pub struct Note {
    /// The text of the note.
    pub text: String,
    /// The fact in a form that a later process can use to resume the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<Fact>,
}

/// Facts that a later process needs to know about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The run was stopped and resumed.
    Resumed,
    /// An engine was not available.
    Absent {
        /// Its name.
        engine: String,
        /// Why.
        reason: String,
    },
    /// The rounds from this one on were skipped.
    Rounds(u32),
    /// The pass that times each operation was skipped.
    Latency,
    /// A process died after all its rows had been reported.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rounds_lose_the_lowest_and_the_highest() {
        let rounds = [7.0, 1.0, 3.0, 100.0, 5.0];
        assert_eq!(Aggregate::Trimmed.of(&rounds), Some(5.0));
        assert_eq!(Aggregate::Median.of(&rounds), Some(5.0));
        assert_eq!(Aggregate::Trimmed.of(&[4.0, 2.0]), Some(3.0));
        assert_eq!(Aggregate::Median.of(&[]), None);
    }

    #[test]
    fn an_end_is_an_object_with_a_type() {
        let suite = "quick".into();
        let text = serde_json::to_string(&SuiteEnd { suite }).expect("plain data");
        assert_eq!(
            text,
            format!(r#"{{"type":"{}","suite":"quick"}}"#, SuiteEnd::KIND)
        );
    }

    #[test]
    fn a_note_is_an_object_with_a_type() {
        let note = |fact| {
            let text = "x".into();
            serde_json::to_string(&Note { text, fact }).expect("plain data")
        };
        assert_eq!(note(None), r#"{"type":"note","text":"x"}"#);
        assert_eq!(
            note(Some(Fact::Rounds(2))),
            r#"{"type":"note","text":"x","fact":{"rounds":2}}"#
        );
    }
}
