//! `index.html`: the blocks as one page without scripts, external resources or frames.
//!
//! Values reach the page through maud, which escapes them. Only the style sheet and the patterns
//! are not escaped; they are constants of this crate.

mod chart;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::{Block, Cell, Grid, Item, Line, Name, Tone};
use crate::engine_style::{NIGHT, Pattern, STYLES, index};

const STYLE: &str = include_str!("html/style.css");

/// Returns the whole page.
pub(crate) fn page(blocks: &[Block]) -> String {
    let title = blocks.iter().find_map(|block| match block {
        Block::Heading(1, text) => Some(text.as_str()),
        _ => None,
    });
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title.unwrap_or_default()) }
                style { (PreEscaped(STYLE)) (PreEscaped(swatches())) }
            }
            body {
                (patterns())
                main { (body(blocks)) }
            }
        }
    };
    markup.into_string()
}

/// Returns the style classes that set the engine's colour.
fn swatches() -> String {
    let class = |(index, style): (usize, &crate::engine_style::EngineStyle)| {
        format!(".f{index}{{--face:{}}}", style.colour)
    };
    let day: String = STYLES.iter().enumerate().map(class).collect();
    let night = NIGHT.map(|(engine, colour)| format!(".f{}{{--face:{colour}}}", index(engine)));
    format!(
        "{day}@media screen and (prefers-color-scheme:dark){{{}}}",
        night.concat()
    )
}

/// Patterns drawn over the ground of a bar, one for each style, as long as the longest bar. Shapes
/// are reused and clipped instead of filled with a pattern, because in print every fill would
/// become an image.
fn patterns() -> Markup {
    html! {
        svg.defs width="0" height="0" aria-hidden="true" {
            defs {
                @for (index, style) in STYLES.iter().enumerate() {
                    @let (path, width) = strokes(style.pattern);
                    path id={"t" (index)} d=(path) stroke=(style.ink) stroke-width=(width)
                        stroke-linecap=[(style.pattern == Pattern::Dots).then_some("round")] fill="none" {}
                }
            }
        }
    }
}

/// Length of the drawn patterns: slightly more than that of any bar.
const PATTERN_PX: usize = 440;

/// Returns the path of a pattern, and the width of its strokes.
fn strokes(pattern: Pattern) -> (String, &'static str) {
    let every = |step: usize, shape: fn(usize) -> String| -> String {
        (0..PATTERN_PX).step_by(step).map(shape).collect()
    };
    let level = |heights: &[u32]| -> String {
        let lines = heights.iter().map(|y| format!("M0 {y}h{PATTERN_PX}"));
        lines.collect()
    };
    match pattern {
        Pattern::Solid => (String::new(), "0"),
        Pattern::Slash => (every(8, |x| format!("M{x} 16l16 -16")), "1.4"),
        Pattern::Backslash => (every(8, |x| format!("M{x} 0l16 16")), "1.4"),
        Pattern::Dots => (
            every(8, |x| format!("M{} 4h0M{x} 8h0M{} 12h0", x + 4, x + 4)),
            "2.4",
        ),
        Pattern::Upright => (every(4, |x| format!("M{} 0v16", x + 2)), "1"),
        Pattern::Level => (level(&[5, 11]), "1.4"),
        Pattern::Cross => (every(8, |x| format!("M{x} 16l16 -16M{x} 0l16 16")), "0.9"),
        Pattern::Mesh => (
            every(8, |x| format!("M{} 0v16", x + 4)) + &level(&[5, 11]),
            "0.9",
        ),
        Pattern::Wide => (every(10, |x| format!("M{x} 16l16 -16")), "3"),
        Pattern::Chevron => (every(8, |x| format!("M{x} 0l4 8l-4 8")), "1.2"),
        Pattern::Ruled => (level(&[4, 8, 12]), "0.8"),
        Pattern::Hollow => (level(&[1, 15]), "1"),
    }
}

fn body(blocks: &[Block]) -> Markup {
    let chapters: Vec<(usize, &str)> = blocks
        .iter()
        .enumerate()
        .filter_map(|(index, block)| match block {
            Block::Heading(2, text) => Some((index, text.as_str())),
            _ => None,
        })
        .collect();
    let first = chapters.first().map_or(blocks.len(), |(index, _)| *index);
    html! {
        header { (run(blocks, 0..first)) }
        @if chapters.len() > 1 {
            nav aria-label="Chapters" {
                ol {
                    @for (index, text) in &chapters {
                        li { a href={"#c" (index)} { (text) } }
                    }
                }
            }
        }
        (run(blocks, first..blocks.len()))
    }
}

fn run(blocks: &[Block], range: std::ops::Range<usize>) -> Markup {
    html! {
        @for index in range {
            @let breaks = index > 0 && matches!(blocks[index - 1], Block::PageBreak);
            (block(&blocks[index], index, breaks))
        }
    }
}

fn block(block: &Block, index: usize, breaks: bool) -> Markup {
    match block {
        Block::Heading(1, text) => html! { h1 { (text) } },
        Block::Heading(2, text) => html! {
            h2 id={"c" (index)} class=[breaks.then_some("newpage")] { (text) }
        },
        Block::Heading(3, text) => html! { h3 { (text) } },
        Block::Heading(_, text) => html! { h4 { (text) } },
        Block::Text(text) => html! { p { (text) } },
        Block::Verdict(text) => html! { p.verdict { (text) } },
        Block::Note(text) => html! { p.note role="note" { (text) } },
        Block::List(items) => list(items),
        Block::Legend(names) => legend(names),
        Block::Bars(bars) => chart::bars(bars),
        Block::Latency(latency) => chart::latency(latency),
        Block::Timeline(strips) => chart::timeline(strips),
        Block::Grid(grid) => table(grid),
        Block::PageBreak => html! {},
    }
}

fn list(items: &[Item]) -> Markup {
    html! {
        ul {
            @for item in items {
                li {
                    @if !item.subject.is_empty() { b { (item.subject) } " " }
                    (item.text)
                }
            }
        }
    }
}

fn legend(names: &[Name]) -> Markup {
    html! {
        ul.legend aria-label="Colours" {
            @for name in names {
                li { (chart::swatch(name.style)) (chart::title(name)) }
            }
        }
    }
}

fn table(grid: &Grid) -> Markup {
    let columns = grid.lines.iter().map(|line| match line {
        Line::Group(_) => 1,
        Line::Cells(cells) => cells.len(),
    });
    let columns = columns.max().unwrap_or(1).max(grid.head.len()).max(1);
    let words = grid.head.len() == 3 || grid.head.is_empty();
    let numeric: Vec<bool> = (0..columns).map(|at| is_numeric(grid, at)).collect();
    let units: Vec<usize> = (0..columns).map(|at| unit(grid, at)).collect();
    html! {
        div.scroll tabindex="0" {
            table.grid.words[words].wide[columns > WIDE] {
                @if !grid.head.is_empty() {
                    thead {
                        tr {
                            @for (title, numeric) in grid.head.iter().zip(&numeric) {
                                th.n[*numeric] scope="col" { (unbroken(title)) }
                            }
                        }
                    }
                }
                tbody {
                    @for line in &grid.lines {
                        @match line {
                            Line::Group(title) => {
                                tr.group { th colspan=(columns) scope="colgroup" { span { (title) } } }
                            }
                            Line::Cells(cells) => {
                                tr {
                                    @for (at, one) in cells.iter().enumerate() {
                                        (cell(one, CellAlignment {
                                            first: at == 0,
                                            columns: if cells.len() == 1 { columns } else { 1 },
                                            numeric: numeric[at],
                                            narrow: columns > NARROW,
                                            unit: if numeric[at] { units[at] } else { 0 },
                                        }))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a heading whose words do not break at hyphens.
fn unbroken(title: &str) -> String {
    title.replace('-', "\u{2011}")
}

/// Returns whether a column holds numbers, which are right-aligned.
fn is_numeric(grid: &Grid, column: usize) -> bool {
    let counts = |cell: &Cell| match cell.tone {
        Tone::Number | Tone::Best => true,
        Tone::Bad => cell.text.starts_with(|first: char| first.is_ascii_digit()),
        Tone::Plain | Tone::Faint => false,
    };
    grid.lines.iter().any(|line| match line {
        Line::Cells(cells) => cells.get(column).is_some_and(counts),
        Line::Group(_) => false,
    })
}

/// Splits a number from the unit after its last digit.
fn parted(text: &str) -> (&str, &str) {
    let digits = text.rfind(|letter: char| letter.is_ascii_digit());
    let end = digits.map_or(text.len(), |at| at + 1);
    text.split_at(end)
}

/// Returns the length of the most common unit of a column if its units differ, so that the digits
/// need a separate column to align; 0 if they align without one.
fn unit(grid: &Grid, column: usize) -> usize {
    let mut counts = [0; UNIT_MAX + 1];
    let mut seen: Option<&str> = None;
    let mut differ = false;
    for line in &grid.lines {
        let Line::Cells(cells) = line else { continue };
        let Some(cell) = cells.get(column) else {
            continue;
        };
        if cell.bar.is_some() || !cell.text.contains(|one: char| one.is_ascii_digit()) {
            continue;
        }
        let (_, unit) = parted(&cell.text);
        differ |= seen.is_some_and(|other| other != unit);
        seen = Some(unit);
        if let Some(count) = counts.get_mut(unit.chars().count()) {
            *count += 1;
        }
    }
    let most = counts.iter().enumerate().max_by_key(|(_, count)| **count);
    most.filter(|_| differ).map_or(0, |(length, _)| length)
}

/// Maximum length of words that are not broken in tables of many columns, unless a remark follows.
const SHORT: usize = 24;

/// Number of columns above which a table is set tighter, to fit a page of 1280 pixels.
const WIDE: usize = 9;

/// Number of columns above which a table has many columns.
const NARROW: usize = 6;

/// Maximum length of a unit with a class in the style sheet.
const UNIT_MAX: usize = 4;

/// The alignment of a cell.
#[derive(Clone, Copy)]
struct CellAlignment {
    first: bool,
    columns: usize,
    numeric: bool,
    /// Whether the table has many columns.
    narrow: bool,
    /// Number of letters reserved for units in this column, if its digits are aligned.
    unit: usize,
}

fn cell(cell: &Cell, place: CellAlignment) -> Markup {
    let tone = match cell.tone {
        Tone::Plain | Tone::Number => "",
        Tone::Best => "best",
        Tone::Bad => "bad",
        Tone::Faint => "faint",
    };
    let breaks = cell.text.contains([',', '(']);
    let short = place.narrow && cell.text.chars().count() <= SHORT && !breaks;
    let class = match (place.numeric && !place.first, tone) {
        (true, tone) => format!("n {tone}"),
        (false, tone) if short => format!("s {tone}"),
        (false, tone) => tone.to_owned(),
    };
    let class = Some(class.trim_end()).filter(|class| !class.is_empty());
    let inner = html! {
        @match (cell.style, cell.bar) {
            (Some(style), Some(share)) => { (cell.text) (chart::small_bar(style, share)) }
            (Some(style), None) => { (chart::swatch(style)) (cell.text) }
            _ if place.unit > 0 => {
                @let (number, unit) = parted(&cell.text);
                (number) span class={"u u" (place.unit)} { (unit) }
            }
            _ => { (cell.text) }
        }
        @if let Some(spread) = &cell.spread { " " span.spread { (spread) } }
        @if let Some(tag) = &cell.tag { " " span.tag { (tag) } }
    };
    html! {
        @if place.columns > 1 {
            td.aside colspan=(place.columns) { (inner) }
        } @else if place.first {
            th scope="row" class=[class] { (inner) }
        } @else {
            td class=[class] { (inner) }
        }
    }
}
