//! The sentence under a table, computed from it.

use bench_core::workload::definition::{Action, Target};

use crate::engine_style;
use crate::number;
use crate::table::standing::{self, Ranked};
use crate::table::{Outcome, Row, Table};

/// Joins names with commas, and with "and" before the last.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the sentences under a table: which store is first and by how much, which is last, and
/// further remarks.
pub(crate) fn verdict(table: &Table) -> String {
    let ranking = standing::ranking(table);
    let mut sentences = vec![first(table, &ranking)];
    sentences.extend(our_place(table, &ranking));
    sentences.extend(last(table, &ranking));
    sentences.extend(unranked(table, &ranking));
    sentences.extend(of_bare_loop(table));
    sentences.extend(by_hand(table));
    sentences.extend(beside(table));
    sentences.extend(missing(table));
    sentences.extend(remarks(table));
    sentences.extend(found(table));
    sentences.join(" ")
}

fn first(table: &Table, ranking: &[Ranked<'_>]) -> String {
    let Some(((row, rate), rest)) = ranking.split_first() else {
        return "No store has a figure here that can be ranked.".into();
    };
    let Some((next, next_rate)) = rest.first() else {
        return format!("Only {} has a figure here that can be ranked.", row.title());
    };
    let leaders = standing::leaders(table);
    if leaders.len() > 1 {
        return format!(
            "{} tie for first place: their spreads overlap.",
            titles(leaders.into_iter().map(|(row, _)| row))
        );
    }
    let what = if table.is_event() {
        "quickest"
    } else {
        "fastest"
    };
    match standing::over(rate, next_rate) {
        Some(times) => format!(
            "{} is {what}, {} times {}, the next.",
            row.title(),
            number::ratio(times),
            next.title()
        ),
        None => format!("{} is {what}.", row.title()),
    }
}

/// Returns the titles of rows as a list.
fn titles<'t>(rows: impl Iterator<Item = &'t Row>) -> String {
    list(&rows.map(Row::title).collect::<Vec<_>>())
}

/// Returns the rank of CairnDB if another store is ahead of it.
fn our_place(table: &Table, ranking: &[Ranked<'_>]) -> Option<String> {
    let at = ranking
        .iter()
        .position(|(row, _)| row.engine == engine_style::OURS)?;
    let (ours, our_rate) = ranking.get(at)?;
    // The fastest row that is ahead in every round; the fastest of all may tie.
    let (first, first_rate) = ranking.iter().find(|(_, rate)| rate.beats(our_rate))?;
    let times = standing::over(first_rate, our_rate)?;
    Some(format!(
        "{} is number {} of {}: {}.",
        ours.title(),
        at + 1,
        ranking.len(),
        outdone(table, &first.title(), times)
    ))
}

/// Returns by how much the first is ahead: it takes less time for an event, and does more of
/// anything else.
fn outdone(table: &Table, first: &str, times: f64) -> String {
    let times = number::ratio(times);
    if table.is_event() {
        format!("{first} is {times} times as quick")
    } else {
        format!("{first} does {times} times as much")
    }
}

fn last(table: &Table, ranking: &[Ranked<'_>]) -> Option<String> {
    let [(first, first_rate), _, .., (row, rate)] = ranking else {
        return None;
    };
    if row.engine == engine_style::OURS || !first_rate.beats(rate) {
        return None;
    }
    let times = standing::over(first_rate, rate)?;
    Some(format!(
        "{} is last: {}.",
        row.title(),
        outdone(table, &first.title(), times)
    ))
}

/// Returns a sentence about unranked rows that would have come first.
fn unranked(table: &Table, ranking: &[Ranked<'_>]) -> Option<String> {
    let best = ranking.first()?.1;
    let ahead =
        |row: &&Row| row.unranked().is_some() && row.rate().is_some_and(|rate| rate.beats(best));
    let names: Vec<String> = table.engines().filter(ahead).map(Row::title).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| format!("{} {verb} faster still but not ranked.", list(&names)))
}

/// Returns the ratio of our rate to what the disk and the system calls allow.
fn of_bare_loop(table: &Table) -> Option<String> {
    let ours = table.row(engine_style::OURS)?;
    let bare = table.row(engine_style::BARE)?.rate()?.middle;
    Some(format!(
        "{} does {} times the {} per second of the bare loop.",
        ours.title(),
        number::ratio(ours.rate()?.middle / bare),
        number::rate(bare)
    ))
}

/// Returns a sentence about stores without a merge operation, which do more work in this row.
fn by_hand(table: &Table) -> Option<String> {
    let measured = |row: &&Row| row.rate().is_some() && row.by_hand();
    let mut names: Vec<String> = Vec::new();
    for row in table.engines().filter(measured) {
        let name = row.name().marked();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let verb = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| {
        format!(
            "{} {verb} no merge operation: each merge is a read and a put there, while the others may write the operand alone.",
            list(&names)
        )
    })
}

/// Returns the rates of the concurrent writers: a store that writes less leaves more to its
/// readers.
fn beside(table: &Table) -> Option<String> {
    let rows = table.engines();
    let writers = rows.filter_map(|row| Some((row, row.writer()?.middle)));
    let mut writers: Vec<(&Row, f64)> = writers.collect();
    writers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let reported = |(row, rate): &(&Row, f64)| format!("{} ({})", number::rate(*rate), row.title());
    match writers.as_slice() {
        [] => None,
        [only] => Some(format!(
            "The concurrent writer did {} operations per second.",
            reported(only)
        )),
        [most, .., least] => Some(format!(
            "The concurrent writers did between {} and {} operations per second; the readers pay for that.",
            reported(least),
            reported(most)
        )),
    }
}

fn missing(table: &Table) -> Option<String> {
    let failed = |row: &&Row| matches!(row.outcome, Outcome::Failed(_));
    let names: Vec<String> = table.engines().filter(failed).map(Row::title).collect();
    (!names.is_empty()).then(|| format!("{} failed.", list(&names)))
}

/// Returns the remarks of rows with a figure, such as that a store marked below Os did lose writes.
fn remarks(table: &Table) -> Vec<String> {
    let measured = table.engines().filter(|row| row.rate().is_some());
    let remark = |row: &Row| {
        let reason = row.first(|record| record.reason.clone())?;
        Some(format!(
            "{}: {}.",
            row.title(),
            reason.trim_end_matches('.')
        ))
    };
    measured.filter_map(remark).collect()
}

/// Returns the share of requested keys that existed.
fn found(table: &Table) -> Option<String> {
    if !matches!(
        table.workload()?.action,
        Action::Get(Target::All | Target::Hot) | Action::MultiGet | Action::Seek
    ) {
        return None;
    }
    let mut shares = table.engines().filter_map(|row| {
        let record = row.typical()?;
        let (found, ops) = (record.found?, record.ops.filter(|&ops| ops > 0)?);
        Some(number::float(found) / number::float(ops))
    });
    let first = shares.next()?;
    let same = shares.all(|share| (share - first).abs() < 0.005);
    same.then(|| format!("{:.1} % of the requested keys existed.", 100.0 * first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_with_and() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&names), "a, b and c");
        assert_eq!(list(&names[..1]), "a");
        assert_eq!(list(&[]), "");
    }
}
