//! The sentences under a table, computed from it.

use bench_core::result::record::Record;
use bench_core::workload::definition::{Action, Target};

use crate::engine;
use crate::list::{distinct, list};
use crate::number;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

/// Returns the sentences: which store is first and by how much, and what the figures do not show.
pub(crate) fn notes(run: &Run, table: &Table) -> Vec<String> {
    let mut sentences = vec![first(table)];
    sentences.extend(unranked(table));
    sentences.extend(of_bare_loop(table));
    sentences.extend(of_limits(run, table));
    sentences.extend(by_hand(table));
    sentences.extend(other_threads(table));
    sentences.extend(missing(table));
    sentences.extend(open_loop(table));
    sentences.extend(lukewarm(table));
    sentences.extend(remarks(table));
    sentences.extend(found(table));
    sentences.extend(filters(table));
    sentences
}

fn first(table: &Table) -> String {
    let ranking = standing::ranking(table);
    let leaders = standing::leaders(table);
    match (ranking.as_slice(), leaders.len()) {
        ([], _) => "No store has a figure here that can be ranked.".into(),
        ([(row, _)], _) => format!("Only {} has a figure here that can be ranked.", row.title()),
        (_, 2..) => {
            let names: Vec<String> = leaders.iter().map(|(row, _)| row.title()).collect();
            let names = list(&names);
            format!("{names} tie for first place: their spreads overlap.")
        }
        ([(row, rate), (next, other), ..], _) => {
            let what = if table.is_event() {
                "quickest"
            } else {
                "fastest"
            };
            let times = standing::over(rate, other).map_or_else(String::new, |times| {
                format!(
                    ", {} times {}, the next",
                    number::ratio(times),
                    next.title()
                )
            });
            format!("{} is {what}{times}.", row.title())
        }
    }
}

/// Returns the titles of the rows that fit, each once, and the verb in the right number.
fn those(table: &Table, verbs: [&str; 2], fits: impl Fn(&Row) -> bool) -> Option<String> {
    let rows = table.engines().filter(|row| fits(row));
    let names = distinct(rows.map(Row::title));
    let verb = verbs[usize::from(names.len() > 1)];
    (!names.is_empty()).then(|| format!("{} {verb}", list(&names)))
}

/// Returns a sentence about unranked rows that would have come first.
fn unranked(table: &Table) -> Option<String> {
    let best = standing::ranking(table).first()?.1;
    let ahead =
        |row: &Row| row.unranked().is_some() && row.rate().is_some_and(|rate| rate.beats(best));
    let names = those(table, ["is", "are"], ahead)?;
    Some(format!("{names} faster still but not ranked."))
}

/// Returns the ratio of our rate to what the disk and the system calls allow.
fn of_bare_loop(table: &Table) -> Option<String> {
    let ours = table.row(engine::OURS)?;
    let bare = table.row(engine::BARE)?.rate()?.middle;
    Some(format!(
        "{} does {} times the {} per second of the bare loop.",
        ours.title(),
        number::ratio(ours.rate()?.middle / bare),
        number::rate(bare)
    ))
}

/// The bare loops whose rates bound those of a row, and what they do.
fn limits_of(action: Action) -> &'static [(&'static str, &'static str)] {
    match action {
        Action::Get(_) | Action::MultiGet => &[
            (
                "depth",
                "random reads of 4 KB per second that the device does with as many threads",
            ),
            (
                "chase3",
                "times per second that three loads follow one another in as much memory",
            ),
        ],
        Action::Seek => &[(
            "chase3",
            "times per second that three loads follow one another in as much memory",
        )],
        Action::Fill(_) => &[(
            "amp2",
            "entries per second that a bare loop appends to two files",
        )],
        _ => &[],
    }
}

/// Returns the ratios of our rate to those of the bare loops in the same section.
fn of_limits(run: &Run, table: &Table) -> Vec<String> {
    let ours = table.row(engine::OURS);
    let rate = ours.and_then(|row| Some((row.title(), row.rate()?.middle)));
    let (Some(workload), Some((title, rate))) = (table.workload(), rate) else {
        return Vec::new();
    };
    let share = |(name, what): &(&str, &str)| {
        let is_limit = |other: &&Table| {
            let (key, of) = (&table.key, &other.key);
            other.workload().is_some_and(|it| it.name == *name)
                && (&key.suite, &key.section, &key.data) == (&of.suite, &of.section, &of.data)
        };
        let limit = run.tables.iter().find(is_limit)?;
        let limit = limit.row(engine::OURS)?.rate()?.middle;
        Some(format!(
            "{title} does {} times the {} {what}.",
            number::ratio(rate / limit),
            number::rate(limit)
        ))
    };
    limits_of(workload.action)
        .iter()
        .filter_map(share)
        .collect()
}

/// Returns at which rates the operations of an open loop were to begin, and which stores did not
/// keep up.
fn open_loop(table: &Table) -> Option<String> {
    let offered = |row: &Row| row.first(|record| record.offered_per_sec);
    let rates = table
        .engines()
        .filter_map(|row| Some((row.title(), offered(row)?)));
    let rates = rates.map(|(title, rate)| format!("{title} {}", number::rate(rate)));
    let rates: Vec<String> = distinct(rates);
    if rates.is_empty() {
        return None;
    }
    let late = |row: &Row| {
        let lags = |record: &Record| Some(record.rate()? < 0.98 * record.offered_per_sec?);
        row.records.iter().filter_map(lags).any(|late| late)
    };
    let late = those(table, ["did", "did"], late);
    let late = late.map_or_else(String::new, |names| format!(" {names} not keep up."));
    Some(format!(
        "Operations began at a fixed rate per second ({}), and latencies count from then: compare the \
         percentiles.{late}",
        list(&rates)
    ))
}

/// Returns the stores that had more than 1 MiB of their database in memory at the start of a row
/// that should begin with none.
fn lukewarm(table: &Table) -> Option<String> {
    let cached = |record: &Record| record.cached_before.unwrap_or(0);
    let is_warm = |row: &Row| row.records.iter().any(|record| cached(record) > 1 << 20);
    let names = those(table, ["was", "were"], is_warm)?;
    Some(format!(
        "{names} lukewarm: part of the database was in memory at the start."
    ))
}

/// Returns a sentence about stores without a merge operation, which do more work in this row.
fn by_hand(table: &Table) -> Option<String> {
    let names = those(table, ["has", "have"], |row| {
        row.rate().is_some() && row.by_hand() && row.is_plain()
    })?;
    Some(format!(
        "{names} no merge operation: each merge is a read and a put there, while the others may \
         write the operand alone."
    ))
}

/// Returns the rates of the concurrent writers: a store that writes less leaves more to its
/// readers.
fn other_threads(table: &Table) -> Option<String> {
    let writers = table.engines();
    let writers = writers.filter_map(|row| Some((row.writer()?.middle, row.title())));
    let mut writers: Vec<(f64, String)> = writers.collect();
    writers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let shown = |(rate, title): &(f64, String)| format!("{} ({title})", number::rate(*rate));
    let (least, most) = (writers.first()?, writers.last()?);
    Some(format!(
        "The concurrent writers did between {} and {} operations per second; the readers pay for \
         that.",
        shown(least),
        shown(most)
    ))
}

fn missing(table: &Table) -> Option<String> {
    let failed = |row: &Row| matches!(row.outcome, Outcome::Failed(_));
    Some(format!("{}.", those(table, ["failed", "failed"], failed)?))
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

/// Returns the share of requested keys that existed, if it is the same for all.
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

/// Returns whether a record's options state that filters are built, if they mention filters: for
/// CairnDB, and for stores that build none by default.
fn builds_filters(record: &Record) -> Option<bool> {
    let built = |(name, value): &(String, String)| match name.as_str() {
        "bloom_bits" => Some(value.parse::<u32>().is_ok_and(|bits| bits > 0)),
        // CairnDB's option: a number, or a word for the default.
        "filter_bits" => Some(value != "0"),
        "filter_policy" => Some(value != "nullptr"),
        _ => None,
    };
    record.options.iter().find_map(built)
}

/// Returns the stores that have no filters in any variant of a row that looks up keys, and in which
/// CairnDB has them.
fn filters(table: &Table) -> Option<String> {
    let looks_up = match table.workload()?.action {
        Action::Get(_)
        | Action::MultiGet
        | Action::Update
        | Action::ReadWrite
        | Action::ReadMerge
        | Action::GetBeside(_) => true,
        Action::Ycsb(mix) => mix.read + mix.modify > 0,
        _ => false,
    };
    let has = |row: &Row| row.first(builds_filters);
    standing::ours(table).filter(|(row, _)| looks_up && has(row) == Some(true))?;
    let filtered = |engine: &str| {
        let mut rows = table.engines();
        rows.any(|row| row.engine == engine && row.rate().is_some() && has(row) == Some(true))
    };
    let without =
        |row: &Row| row.rate().is_some() && has(row) == Some(false) && !filtered(&row.engine);
    let names = those(table, ["has", "have"], without)?;
    Some(format!(
        "CairnDB has filters here; {names} none in any variant."
    ))
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
