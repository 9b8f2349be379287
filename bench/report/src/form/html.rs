//! `index.html`: the template with the style sheet, the script, the data and the summary inside.

use serde_json::{Value, json};

use crate::engine;
use crate::form::{row, terminal};
use crate::model::Model;
use crate::sheets;

const TEMPLATE: &str = include_str!("../page.html");
const STYLE: &str = include_str!("../page.css");
const SCRIPT: &str = include_str!("../page.js");

/// Width of the summary that a browser without script shows.
const COLUMNS: usize = 100;

/// Returns the whole page. Values from outside are in two places: escaped in the summary, and in
/// the data, which the script writes as text.
pub(crate) fn page(model: &Model) -> String {
    let summary = terminal::summary(model, COLUMNS);
    let summary = summary.replace('&', "&amp;").replace('<', "&lt;");
    // The end of a script, or the start of a comment in it, needs a `<`.
    let data = data(model).to_string().replace('<', "\\u003c");
    let parts = [
        ("/*style*/", STYLE),
        ("<!--summary-->", &summary),
        ("/*data*/", &data),
        ("/*script*/", SCRIPT),
    ];
    let (mut page, mut rest) = (String::new(), TEMPLATE);
    for (mark, part) in parts {
        // One pass over the template: a mark in a value stays text.
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page + rest
}

/// Returns what the page shows: the model without what only programs read.
fn data(model: &Model) -> Value {
    let shown = model.results.iter();
    let shown = shown.filter(|row| row.counted && engine::is_store(&row.engine));
    json!({
        "origin": [model.suite_lines.join("; "), model.origin.clone()],
        "verdict": model.verdict,
        "remarks": model.remarks,
        "peers": model.peers,
        "warnings": model.warnings,
        "tables": model.tables,
        "head": row::head(),
        "costs": row::RATES,
        "percentiles": row::RATES + model.cost_titles.len(),
        "rows": shown.map(row::compact).collect::<Vec<_>>(),
        "prose": [sheets::COSTS, sheets::LATENCY],
        "sheets": model.sheets,
    })
}
