//! Bars, latencies and strips as vector graphics: shapes print in every browser, backgrounds do
//! not.
//!
//! Lengths are percentages of the page's width, so the same drawing fits a desktop and a phone.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::document::{Bar, Bars, Latency, Measured, Name, PERCENTILES, Percentiles, Strip, Value};
use crate::number;

/// Fraction of the fastest bar beyond which a spread is cut off and left open.
const OVERHANG: f64 = 1.06;

/// Returns a small square in an engine's colour and pattern.
pub(super) fn swatch(style: usize) -> Markup {
    html! {
        svg.swatch width="12" height="12" aria-hidden="true" { (ground(style, "100%", 12)) }
    }
}

/// Returns a thin bar under a number.
pub(super) fn small_bar(style: usize, share: f64) -> Markup {
    html! {
        svg.small height="8" aria-hidden="true" { (ground(style, &percent(share), 8)) }
    }
}

/// Returns a rectangle in an engine's colour and pattern.
fn ground(style: usize, width: &str, height: u32) -> Markup {
    html! {
        svg.ground width=(width) height=(height) {
            rect width="100%" height="100%" class={"f" (style)} {}
            use href={"#t" (style)} {}
        }
    }
}

/// Returns an engine's title, followed by its variant.
pub(super) fn title(name: &Name) -> Markup {
    html! {
        (name.marked())
        @if let Some(variant) = &name.variant { " " span.tag { (variant) } }
    }
}

fn percent(share: f64) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, OVERHANG)
    } else {
        0.0
    };
    format!("{:.2}%", share * 100.0)
}

/// Returns the rows of one workload.
pub(super) fn bars(bars: &Bars) -> Markup {
    let measured = || {
        bars.rows.iter().filter_map(|bar| match &bar.value {
            Value::Measured(measured) => Some(measured),
            Value::Missing(..) => None,
        })
    };
    // Empty columns are omitted.
    let shown = Columns {
        baseline: measured().any(|measured| measured.times_baseline.is_some()),
        reference: measured().any(|measured| measured.times_reference.is_some()),
        writer: measured().any(|measured| measured.writer.is_some()),
        range: measured().any(|measured| measured.range.is_some()),
    };
    html! {
        table.bars {
            tbody { @for bar in &bars.rows { (row(bar, shown)) } }
        }
    }
}

/// The columns that follow the bars.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent columns, not a state"
)]
#[derive(Clone, Copy)]
struct Columns {
    baseline: bool,
    reference: bool,
    writer: bool,
    range: bool,
}

fn row(bar: &Bar, shown: Columns) -> Markup {
    let head = html! {
        th scope="row" {
            (bar.name.marked())
            @match (&bar.name.variant, &bar.unranked) {
                (Some(variant), Some(reason)) => { " " span.tag { (variant) ", " (reason) } }
                (Some(word), None) | (None, Some(word)) => { " " span.tag { (word) } }
                (None, None) => {}
            }
        }
    };
    match &bar.value {
        Value::Measured(measured) => html! {
            tr.unranked[bar.unranked.is_some()].leads[measured.leads] {
                (head)
                td.value { (measured.text) }
                td.bar { (drawn(bar.name.style, measured)) }
                @if shown.baseline { td.times { (measured.times_baseline.as_deref().unwrap_or_default()) } }
                @if shown.reference { td.reference { (measured.times_reference.as_deref().unwrap_or_default()) } }
                @if shown.writer { td.writer { (measured.writer.as_deref().unwrap_or_default()) } }
                @if shown.range { td.range { (measured.range.as_deref().unwrap_or_default()) } }
            }
        },
        Value::Missing(word, reason) => html! {
            tr.missing.failed[*word == "failed"] {
                (head)
                td.value { (word) }
                td.reason colspan="5" { (reason) }
            }
        },
    }
}

/// Returns the bar with its spread across the end.
fn drawn(style: usize, measured: &Measured) -> Markup {
    let open = measured.high > OVERHANG;
    let (low, high) = (percent(measured.low), percent(measured.high));
    let spread = measured.range.is_some();
    html! {
        svg.drawn height="16" role="img" aria-label=(measured.hint) {
            title { (measured.hint) }
            (ground(style, &percent(measured.share), 16))
            @if spread {
                @for class in ["halo", "line"] {
                    g class=(class) {
                        line x1=(low) x2=(high) y1="8" y2="8" {}
                        line x1=(low) x2=(low) y1="4" y2="12" {}
                        @if !open { line x1=(high) x2=(high) y1="4" y2="12" {} }
                    }
                }
            }
        }
    }
}

/// Returns percentiles on a logarithmic axis, followed by the numbers.
pub(super) fn latency(latency: &Latency) -> Markup {
    html! {
        table.latency {
            thead {
                tr {
                    th {}
                    th.axis { (axis(latency)) }
                    @for title in PERCENTILES { th.n scope="col" { (title) } }
                }
            }
            tbody { @for row in &latency.rows { (points(latency, row)) } }
        }
    }
}

fn decades(latency: &Latency) -> Vec<(f64, String)> {
    let span = f64::from((latency.last - latency.first).max(1));
    (latency.first..=latency.last)
        .map(|exponent| {
            let at = f64::from(exponent - latency.first) / span;
            (at, number::round_time(10_f64.powi(exponent)))
        })
        .collect()
}

fn axis(latency: &Latency) -> Markup {
    let marks = decades(latency);
    let last = marks.len() - 1;
    // Labels of a long axis would overlap, so every second one is omitted.
    let step = if marks.len() > 6 { 2 } else { 1 };
    html! {
        svg.drawn height="16" aria-hidden="true" {
            @for (index, (at, text)) in marks.iter().enumerate() {
                @if index % step == 0 {
                    @let anchor = if index == 0 { "start" } else if index == last { "end" } else { "middle" };
                    text x=(percent(*at)) y="12" text-anchor=(anchor) { (text) }
                }
            }
        }
    }
}

fn points(latency: &Latency, row: &Percentiles) -> Markup {
    let known: Vec<(usize, f64)> = row
        .points
        .iter()
        .enumerate()
        .filter_map(|(index, point)| Some((index, latency.at((*point)?))))
        .collect();
    let (first, last) = (
        known.first().map_or(0.0, |point| point.1),
        known.last().map_or(0.0, |point| point.1),
    );
    let style = row.name.style;
    html! {
        tr {
            th scope="row" { (swatch(style)) (title(&row.name)) }
            td.axis {
                svg.drawn height="18" aria-hidden="true" {
                    @for (at, _) in decades(latency) {
                        line.tick x1=(percent(at)) x2=(percent(at)) y1="0" y2="18" {}
                    }
                    line x1=(percent(first)) x2=(percent(last)) y1="9" y2="9" class={"reach f" (style)} {}
                    @for (index, at) in &known {
                        @match index {
                            0 => { circle cx=(percent(*at)) cy="9" r="5" class={"dot f" (style)} {} }
                            5 => { line x1=(percent(*at)) x2=(percent(*at)) y1="4" y2="14" class={"end f" (style)} {} }
                            _ => { circle cx=(percent(*at)) cy="9" r="3" class={"dot f" (style)} {} }
                        }
                    }
                }
            }
            @for (title, point) in PERCENTILES.iter().zip(row.points) {
                td.n data-label=(title) { (shown(point)) }
            }
        }
    }
}

fn shown(point: Option<u64>) -> String {
    point.map_or_else(|| "-".into(), |time| number::time(number::float(time)))
}

/// Returns rates second by second, a strip for each engine.
pub(super) fn timeline(strips: &[Strip]) -> Markup {
    html! {
        table.strips {
            tbody {
                @for strip in strips {
                    tr {
                        th scope="row" { (swatch(strip.name.style)) (title(&strip.name)) }
                        td.strip { (area(strip)) }
                        td.aside { (strip.text) }
                    }
                }
            }
        }
    }
}

const STRIP_HEIGHT: f64 = 36.0;
/// Maximum number of points; beyond it, seconds are grouped and each group shows its lowest, so
/// that no stall is lost.
const STRIP_POINTS: usize = 600;

/// Returns a stepped area, scaled from zero to the strip's own maximum.
fn area(strip: &Strip) -> Markup {
    let whole = strip.values.len().saturating_sub(1).max(1);
    let step = whole.div_ceil(STRIP_POINTS);
    let values: Vec<u64> = strip.values[..whole.min(strip.values.len())]
        .chunks(step)
        .filter_map(|chunk| chunk.iter().min().copied())
        .collect();
    let most = number::float(values.iter().copied().max().unwrap_or(1).max(1));
    let mut path = format!("M0 {STRIP_HEIGHT}");
    for (index, value) in values.iter().enumerate() {
        let y = STRIP_HEIGHT - (STRIP_HEIGHT - 2.0) * number::float(*value) / most;
        // Writing to a String cannot fail, here and below.
        let _ = write!(path, "L{index} {y:.1}L{} {y:.1}", index + 1);
    }
    let _ = write!(path, "L{} {STRIP_HEIGHT}Z", values.len());
    let view = format!("0 0 {} {STRIP_HEIGHT}", values.len().max(1));
    html! {
        svg.drawn height="36" viewBox=(view) preserveAspectRatio="none" role="img" aria-label=(strip.text) {
            path class={"area f" (strip.name.style)} d=(path) {}
        }
    }
}
