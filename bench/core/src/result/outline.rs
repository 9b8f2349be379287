//! The outline of a suite, for readers of its results: the second object of `--json`.
//!
//! Records name their section. The outline holds the headings of the sections in the order in which
//! they are shown, what a figure is divided by, and how rounds become one figure. It is followed by
//! records, and now and then a [`Note`]; the last object is an [`End`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the rounds of a row become one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The middle one, or the mean of the two in the middle.
    #[default]
    Median,
    /// The lowest and the highest round are left out and the rest averaged. If the suite itself
    /// says so, the last instance of a workload counts ([`Outline::last_instance_counts`]).
    Trimmed,
}

impl Aggregate {
    /// The word of the flag.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Trimmed => "trimmed",
        }
    }

    /// What a table calls it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Trimmed => "mean without lowest and highest",
        }
    }

    /// The figure of some rounds; `None` for no round. Fewer than three rounds are not trimmed.
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
    /// What it is, in a sentence or two.
    pub about: String,
    /// Entries.
    pub num: u64,
    /// Rounds.
    pub rounds: u32,
    /// How they become one figure.
    pub aggregate: Aggregate,
    /// Whether `--aggregate` chose between trimming and not where the suite says the other: it says
    /// how rounds become a figure, not which rows count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aggregate_asked: bool,
    /// Engines in the order of asking, absent ones included.
    pub engines: Vec<String>,
    /// Directories of `--db`.
    pub directories: Vec<String>,
    /// Sections in the order of showing.
    pub sections: Vec<Section>,
    /// Variants in addition to the plain settings.
    pub variants: Vec<Named>,
    /// Rows that have fewer rounds than the others by the suite itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fewer_rounds: Vec<FewerRounds>,
    /// What determines its figures. Absent in files that older versions wrote.
    #[serde(rename = "decided", skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

impl Outline {
    /// The word in `kind`.
    pub const KIND: &'static str = "suite";

    /// Whether of a workload that a section runs several times the last instance alone counts.
    pub fn last_instance_counts(&self) -> bool {
        (self.aggregate == Aggregate::Trimmed) != self.aggregate_asked
    }
}

/// Rounds of one section over one data set, if fewer than the suite's.
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
    /// The chapter it begins or continues.
    pub chapter: String,
    /// Its heading inside the chapter; sections that follow each other may share one.
    pub heading: String,
    /// The caption of its table, where a heading has several tables.
    pub table: String,
    /// What is special about it.
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
    /// What it is.
    pub about: String,
}

/// What determines the figures of a suite apart from its outline, resolved from suite and flags: a
/// run that was stopped resumes only if none of it has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// What is the same for every process, by name.
    pub everywhere: Settings,
    /// The rest, for each database by name: one for each process that works on it.
    pub jobs: BTreeMap<String, Vec<Settings>>,
}

/// Settings by name.
pub type Settings = BTreeMap<String, Value>;

/// The last line of a suite, written when everything has run. Without it the run was stopped, or
/// still goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "end")]
pub struct End {
    /// The name of the suite.
    pub suite: String,
}

impl End {
    /// The word in its `type`.
    pub const KIND: &'static str = "end";
}

/// Something that a report must mention: that a run was resumed, that rounds were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "note")]
pub struct Note {
    /// What.
    pub text: String,
    /// The same in a form that a later process can use when it resumes the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<Fact>,
}

/// Facts that a later process needs to know about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// It was stopped and resumed.
    Resumed,
    /// This engine was not there, and why.
    Absent {
        /// Its name.
        engine: String,
        /// Why.
        reason: String,
    },
    /// The rounds from this one on were left out.
    Rounds(u32),
    /// The pass that times each operation was left out.
    Latency,
    /// A process was lost after all its rows had been reported.
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
        let text = serde_json::to_string(&End { suite }).expect("plain data");
        assert_eq!(
            text,
            format!(r#"{{"type":"{}","suite":"quick"}}"#, End::KIND)
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
