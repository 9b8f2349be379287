//! `--add_rounds`: plans more rounds for the complete run in a file.
//!
//! The file becomes that of a run that was planned with more rounds and stopped after those that it
//! has; from then on it is resumed like any other. Figures of two builds or settings are never
//! mixed: such a file is removed, and the run begins with the first round.

use std::path::Path;

use bench_core::result::outline::{Fact, Note, Outline, SuiteEnd};
use serde_json::Value;

use super::run_plan::RunPlan;
use super::{fingerprint, lock};
use crate::config::Config;
use crate::output::notify;

/// The run in a file.
struct Found {
    /// Its lines, as text and as objects.
    lines: Vec<(String, Value)>,
    outline: Outline,
    /// Number of rounds that it has.
    rounds: u32,
    is_complete: bool,
}

/// Plans the suite for the file `json`; returns the plan and the number of rounds that the file has
/// if the plan adds rounds, otherwise 0.
///
/// # Errors
/// As planning; also if the file cannot be read, replaced or locked.
pub(super) fn plan(config: &Config, name: &str, json: &Path) -> Result<(RunPlan, u32), String> {
    let _lock = lock::results(json)?;
    let anew = || RunPlan::new(config, name, config.suite_rounds).map(|plan| (plan, 0));
    let failed = |error: std::io::Error| format!("--add_rounds: {}: {error}", json.display());
    let Some(found) = Found::read(&std::fs::read_to_string(json).map_err(failed)?) else {
        return anew();
    };
    let same = RunPlan::new(config, name, Some(found.outline.rounds))?;
    if let Some(what) = fingerprint::difference(&found.outline, &same.outline) {
        notify(&format!(
            "{} has another run ({what}), which this one replaces\n",
            json.display()
        ));
        std::fs::write(json, "").map_err(failed)?;
        return anew();
    }
    if !found.is_complete {
        return Ok((same, 0));
    }
    let (kept, (suite, _)) = (found.rounds, anew()?);
    let plan = RunPlan::new(config, name, Some(kept + suite.outline.rounds))?;
    let text = found.planned_as(&plan.outline)?;
    // The lock ends with the old file; its name is free for a new run from then on.
    let extended = json.with_extension("json.new");
    let written = std::fs::write(&extended, text);
    written
        .and_then(|()| std::fs::rename(&extended, json))
        .map_err(failed)?;
    Ok((plan, kept))
}

impl Found {
    /// Returns the run, or `None` if the text has no whole line that describes one.
    fn read(text: &str) -> Option<Found> {
        let whole = &text[..text.rfind('\n')?];
        let lines = whole.lines();
        let lines = lines.map(|line| Ok((line.to_owned(), serde_json::from_str(line)?)));
        let lines: serde_json::Result<Vec<(String, Value)>> = lines.collect();
        let lines = lines.ok()?;
        let of = |kind: &str| {
            lines
                .iter()
                .map(|(_, line)| line)
                .find(|line| line["type"] == kind)
        };
        let outline: Outline = serde_json::from_value(of(Outline::KIND)?.clone()).ok()?;
        let left_out = lines.iter().find_map(|(_, line)| match fact(line)? {
            Fact::Rounds(from) => Some(from.saturating_sub(1)),
            _ => None,
        });
        Some(Found {
            rounds: left_out.unwrap_or(outline.rounds),
            is_complete: of(SuiteEnd::KIND).is_some(),
            outline,
            lines,
        })
    }

    /// Returns the lines of the run as if it had been planned with `outline` and stopped.
    fn planned_as(self, outline: &Outline) -> Result<String, String> {
        let outline = serde_json::to_string(outline).map_err(|error| error.to_string())?;
        let kept = self.lines.into_iter().filter_map(|(text, line)| {
            // What lack of time left out may be run now.
            let left_out = matches!(fact(&line), Some(Fact::Rounds(_) | Fact::Latency));
            match line["type"].as_str() {
                Some(SuiteEnd::KIND) => None,
                Some(Outline::KIND) => Some(outline.clone() + "\n"),
                _ => (!left_out).then_some(text + "\n"),
            }
        });
        Ok(kept.collect())
    }
}

/// Returns the fact in a note.
fn fact(line: &Value) -> Option<Fact> {
    let note: Option<Note> =
        (line["type"] == "note").then(|| serde_json::from_value(line.clone()).ok())?;
    note?.fact
}
