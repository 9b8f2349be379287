//! `--add_rounds`: plans more rounds for the complete run in a file.
//!
//! The file becomes that of a run that was planned with more rounds and stopped after those that it
//! has; from then on it is resumed like any other. Figures of two builds or settings are never
//! mixed: such a file is removed, and the run begins with the first round.

use std::path::Path;

use bench_core::result::outline::{Fact, Note, Outline, SuiteEnd};
use serde_json::Value;

use super::journal::Journal;
use super::run_plan::RunPlan;
use super::{fingerprint, lock};
use crate::config::Config;
use crate::output::notify;

/// Plans the suite for the file `json`; returns the plan and the number of rounds that the file has
/// if the plan adds rounds, otherwise 0.
///
/// # Errors
/// As planning; also if the file cannot be read, replaced or locked.
pub(super) fn plan(config: &Config, name: &str, json: &Path) -> Result<(RunPlan, u32), String> {
    let _lock = lock::results(json)?;
    let anew = || RunPlan::new(config, name, config.suite_rounds).map(|plan| (plan, 0));
    let failed = |error: std::io::Error| format!("--add_rounds: {}: {error}", json.display());
    let text = std::fs::read(json).map_err(failed)?;
    let found = Journal::parse(&text).unwrap_or_default();
    let Some(before) = &found.outline else {
        return anew();
    };
    let same = RunPlan::new(config, name, Some(before.rounds))?;
    if let Some(what) = fingerprint::difference(before, &same.outline) {
        notify(&format!(
            "{} has another run ({what}), which this one replaces\n",
            json.display()
        ));
        std::fs::write(json, "").map_err(failed)?;
        return anew();
    }
    if !found.ended {
        return Ok((same, 0));
    }
    let (kept, (suite, _)) = (found.last_round(before.rounds), anew()?);
    let plan = RunPlan::new(config, name, Some(kept + suite.outline.rounds))?;
    let text = planned_as(&text[..found.bytes], &plan.outline).map_err(|it| failed(it.into()))?;
    // The lock ends with the old file; its name is free for a new run from then on.
    let extended = json.with_extension("json.new");
    let written = std::fs::write(&extended, text);
    written
        .and_then(|()| std::fs::rename(&extended, json))
        .map_err(failed)?;
    Ok((plan, kept))
}

/// Returns the lines of a run as if it had been planned with `outline` and stopped.
fn planned_as(text: &[u8], outline: &Outline) -> serde_json::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    for line in lines.filter(|line| line.len() > 1) {
        let object: Value = serde_json::from_slice(line)?;
        // What lack of time left out may be run now.
        let left_out = matches!(fact(&object), Some(Fact::Rounds(_) | Fact::Latency));
        match object["type"].as_str() {
            Some(SuiteEnd::KIND) => {}
            Some(Outline::KIND) => {
                serde_json::to_writer(&mut kept, outline)?;
                kept.push(b'\n');
            }
            _ if left_out => {}
            _ => kept.extend_from_slice(line),
        }
    }
    Ok(kept)
}

/// Returns the fact in a note.
fn fact(line: &Value) -> Option<Fact> {
    let note: Option<Note> =
        (line["type"] == "note").then(|| serde_json::from_value(line.clone()).ok())?;
    note?.fact
}
