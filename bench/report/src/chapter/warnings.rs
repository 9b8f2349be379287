//! Warnings that the reader needs before trusting a figure.

use bench_core::result::record::{Record, Status};
use bench_core::workload::definition::Workload;
use bench_core::workload::durability::Survival;

use crate::engine_style;
use crate::input::{Machine, ReportInput};
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, verdict};

/// Minimum number of rounds that show the real spread.
const ROUNDS_FEW: usize = 3;

/// Ending of the note that counts failures.
pub(super) const FAILURES_NOTE: &str = "; the rows, and Rows without a Figure, give the reasons.";

/// Text in the reason of a row that failed because its process was killed and the promised data was
/// missing or could not be opened.
const KILLED: &str = "after SIGKILL";

/// Returns the warnings that the reader needs before trusting a figure.
pub(super) fn warnings(run: &Run) -> Vec<String> {
    let source = &run.source;
    let mut notes = stopped(source);
    notes.extend(source.notes.iter().cloned());
    let reported = notes.iter().any(|note| note.contains("resumed"));
    if source.machines.len() > 1 && !reported {
        notes.push(format!(
            "This run was stopped and resumed: it was started {} times. Finished rows were kept.",
            source.machines.len()
        ));
    }
    notes.extend(mixed(&source.machines));
    let asserting = |machine: &Machine| machine.flag("assertions") == Some(true);
    if source.machines.iter().any(asserting) {
        notes.push("db_bench was built with assertions, which make CairnDB slower.".into());
    }
    notes.extend(rounds(run));
    let failed = source
        .records
        .iter()
        .filter(|record| record.status == Status::Failed)
        .count();
    if failed > 0 {
        let plural = if failed == 1 { "" } else { "s" };
        notes.push(format!(
            "{failed} measurement{plural} failed{FAILURES_NOTE}"
        ));
    }
    let unverified = rows_where(run, |row| {
        let all = row.records.iter().chain(&row.timed);
        let unseen = |record: &Record| record.verified == Some(false) && record.reason.is_none();
        row.engine != engine_style::HARNESS && all.into_iter().any(unseen)
    });
    if !unverified.is_empty() {
        notes.push(format!(
            "Answers could not be compared with what was written (unverified) in {}.",
            some(&unverified)
        ));
    }
    notes.extend(uncounted(run));
    notes.extend(losses(run));
    notes
}

/// Returns the suites that did not complete. An outline without a fingerprint predates the line
/// that marks the end, or was written by hand.
fn stopped(source: &ReportInput) -> Vec<String> {
    let open = source.suites.iter().filter(|outline| {
        let tells_ends = outline.fingerprint.is_some();
        tells_ends && !source.ended.contains(&outline.name)
    });
    let reported = open.map(|outline| {
        format!(
            "Suite {} did not run to its end: it was stopped, or is still running. This report covers the part \
             finished by then. To resume the suite, add --resume to the command under Provenance.",
            outline.name
        )
    });
    reported.collect()
}

/// Returns the differences between the starts of a resumed run: a table then mixes rows of two
/// programs or two machines.
fn mixed(machines: &[Machine]) -> Vec<String> {
    const FACTS: [(&str, &str); 4] = [
        ("commit", "db_bench"),
        ("compiler", "compiler"),
        ("cpu", "processor"),
        ("kernel", "kernel"),
    ];
    let differing = FACTS.into_iter().filter_map(|(fact, what)| {
        let mut values: Vec<String> = Vec::new();
        for value in machines.iter().filter_map(|machine| machine.text(fact)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        (values.len() > 1).then(|| {
            format!(
                "Rows before and after the stop have a different {what}: {}.",
                values.join(", then ")
            )
        })
    });
    differing.collect()
}

/// Returns a note on synchronous rows whose flushes were not counted: only the stores claim that
/// their writes survive loss of power.
fn uncounted(run: &Run) -> Option<String> {
    let synced = |row: &Row, counted: bool| {
        let mut records = row.records.iter();
        let sync = |record: &Record| record.durability.as_deref() == Some(Survival::Sync.word());
        let is = |record: &Record| sync(record) && record.fsyncs.is_some() == counted;
        row.engine != engine_style::HARNESS && row.rate().is_some() && records.any(is)
    };
    let writes = |table: &&Table| table.workload().is_some_and(Workload::changes);
    let tables = |counted: bool| {
        let all = run.all_tables().filter(writes);
        let mut labels: Vec<String> = all
            .filter(|table| table.rows.iter().any(|row| synced(row, counted)))
            .map(outline::label)
            .collect();
        labels.dedup();
        labels
    };
    let labels = tables(false);
    if labels.is_empty() {
        return None;
    }
    let place = if tables(true).is_empty() {
        "the synchronous rows of this run".to_owned()
    } else {
        format!("some synchronous rows ({})", some(&labels))
    };
    Some(format!(
        "Flushes of the device could not be counted in {place}, because it reports none (write cache: {}). \
         Survival of such writes after loss of power was not checked there.",
        write_caches(&run.source.machines)
    ))
}

/// Returns the write cache mode that the kernel reports for the databases' disk at each start.
fn write_caches(machines: &[Machine]) -> String {
    let mut words: Vec<String> = Vec::new();
    for machine in machines {
        let word = machine.text("write_cache");
        let word = word.unwrap_or_else(|| "not known".to_owned());
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        words.push("not known".to_owned());
    }
    verdict::list(&words)
}

/// Returns a note on acknowledged writes lost after SIGKILL. Where no more was promised, such rows
/// end well, with a reason; elsewhere they fail.
fn losses(run: &Run) -> Option<String> {
    let lost = |row: &&Row| {
        let mut records = row.records.iter();
        records.any(|record| {
            // A row that only reads has nothing to lose; its reason names the state it ran over.
            let reported = record.status == Status::Ok && record.reason.is_some();
            reported && record.state.is_none()
        })
    };
    let broken =
        |row: &&Row| matches!(&row.outcome, Outcome::Failed(reason) if reason.contains(KILLED));
    let titles = |rows: &mut dyn Iterator<Item = &Row>| {
        let mut names: Vec<String> = Vec::new();
        for title in rows.map(Row::title) {
            if !names.contains(&title) {
                names.push(title);
            }
        }
        names
    };
    let rows = || run.tables.iter().flat_map(Table::engines);
    let allowed = titles(&mut rows().filter(lost));
    let promised = titles(&mut rows().filter(broken));
    // If a store's killed row has no figure for another reason, the outcome is unknown.
    let killed = run
        .tables
        .iter()
        .filter(|table| table.engines().any(|row| lost(&row)));
    let unknown = killed
        .flat_map(Table::engines)
        .any(|row| row.rate().is_none());
    let mut sentences = Vec::new();
    if !allowed.is_empty() {
        let nobody = if promised.is_empty() && !unknown {
            "; no other store did"
        } else {
            ""
        };
        sentences.push(format!(
            "{} lost acknowledged writes when the process was killed, which only stores marked \
             below Os may{nobody}.",
            verdict::list(&allowed)
        ));
    }
    if !promised.is_empty() {
        sentences.push(format!(
            "{} had promised that such writes survive, but lost some when the process was killed.",
            verdict::list(&promised)
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Returns the labels of the tables with a row that satisfies `holds`.
fn rows_where(run: &Run, holds: impl Fn(&Row) -> bool) -> Vec<String> {
    let tables = run.all_tables();
    let tables = tables.filter(|table| table.rows.iter().any(&holds));
    let mut labels: Vec<String> = tables.map(outline::label).collect();
    labels.dedup();
    labels
}

/// Returns the first few labels of a list.
fn some(labels: &[String]) -> String {
    const SHOWN: usize = 4;
    if labels.len() <= SHOWN + 1 {
        return verdict::list(labels);
    }
    format!(
        "{} and {} more",
        labels[..SHOWN].join(", "),
        labels.len() - SHOWN
    )
}

/// Returns notes on rounds: too few to show a spread, or fewer in some rows than in others of the
/// same suite.
fn rounds(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    let (mut short, mut labels) = (0, Vec::new());
    let mut most_of_all = 0;
    for suite in run.suites() {
        let tables = || run.tables.iter().filter(|table| table.key.suite == suite);
        let measured = |table: &'_ Table| -> Vec<usize> {
            let rows = table.engines().filter(|row| row.rate().is_some());
            rows.map(Row::rounds).collect()
        };
        let most = tables().flat_map(measured).max().unwrap_or(0);
        for table in tables() {
            let wanted = planned(run, table).map_or(most, |own| own.min(most));
            let fewer = measured(table)
                .iter()
                .filter(|&&count| count < wanted)
                .count();
            short += fewer;
            if fewer > 0 {
                labels.push(outline::label(table));
            }
        }
        most_of_all = most_of_all.max(most);
    }
    if most_of_all == 1 {
        notes.push(
            "One round only: there is no spread, and no difference can be called a tie.".into(),
        );
    } else if most_of_all > 0 && most_of_all < ROUNDS_FEW {
        notes.push(format!(
            "{most_of_all} rounds only: the spread shown is narrower than the real one."
        ));
    }
    if short > 0 {
        let (rows, verb) = if short == 1 {
            ("row", "has")
        } else {
            ("rows", "have")
        };
        notes.push(format!(
            "{short} {rows} {verb} fewer rounds than the others of the suite: {}.",
            some(&labels)
        ));
    }
    notes
}

/// Returns the number of rounds that the suite itself sets for the rows of a table, if fewer than
/// for its others.
fn planned(run: &Run, table: &Table) -> Option<usize> {
    let key = &table.key;
    let outline = run.source.outline(key.suite.as_deref())?;
    let mut fewer = outline.fewer_rounds.iter();
    let own = fewer.find(|fewer| {
        key.section.as_ref() == Some(&fewer.section) && key.data.as_ref() == Some(&fewer.data)
    });
    own.and_then(|own| usize::try_from(own.rounds).ok())
}
