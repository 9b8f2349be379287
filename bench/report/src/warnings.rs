//! Warnings that the reader needs before trusting a figure.

use bench_core::result::record::{Record, Status};
use bench_core::workload::definition::Workload;
use bench_core::workload::durability::Survival;

use crate::engine;
use crate::input::{Machine, ReportInput};
use crate::list::{distinct, list};
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table};

/// Minimum number of rounds that show the real spread.
const ROUNDS_FEW: usize = 3;

/// Text in the reason of a row that failed because its process was killed and the promised data was
/// missing or could not be opened.
const KILLED: &str = "after SIGKILL";

/// Returns the warnings that the reader needs before trusting a figure.
pub(crate) fn warnings(run: &Run) -> Vec<String> {
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
    let asserting = |machine: &Machine| machine.facts.get("assertions") == Some(&true.into());
    if source.machines.iter().any(asserting) {
        notes.push("db_bench was built with assertions, which make CairnDB slower.".into());
    }
    notes.extend(rounds(run));
    let records = source.records.iter();
    let failed = records
        .filter(|record| record.status == Status::Failed)
        .count();
    if failed > 0 {
        let plural = if failed == 1 { "" } else { "s" };
        notes.push(format!(
            "{failed} measurement{plural} failed; the rows, and Rows without a figure, give the \
             reasons."
        ));
    }
    let unverified = rows_where(run, |_, row| {
        let mut all = row.records.iter().chain(&row.timed);
        all.any(|record| record.verified == Some(false) && record.reason.is_none())
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
            "Suite {} did not run to its end: it was stopped, or is still running. This report \
             covers the part \
             finished by then. To resume the suite, add --resume to the command under Machine and \
             program.",
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
        let values = distinct(machines.iter().filter_map(|machine| machine.text(fact)));
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
    let synced = |counted: bool| {
        let sync = |record: &Record| record.durability.as_deref() == Some(Survival::Sync.word());
        let is = move |it: &Record| sync(it) && it.fsyncs.is_some() == counted;
        rows_where(run, move |table, row| {
            let writes = table.workload().is_some_and(Workload::changes);
            writes && row.rate().is_some() && row.records.iter().any(is)
        })
    };
    let labels = synced(false);
    let place = match (labels.is_empty(), synced(true).is_empty()) {
        (true, _) => return None,
        (_, true) => "the synchronous rows of this run".to_owned(),
        _ => format!("some synchronous rows ({})", some(&labels)),
    };
    let caches = run.source.machines.iter();
    let caches = distinct(caches.filter_map(|machine| machine.text("write_cache")));
    let caches = if caches.is_empty() {
        "not known".to_owned()
    } else {
        list(&caches)
    };
    Some(format!(
        "Flushes of the device could not be counted in {place}, because it reports none (write \
         cache: {caches}). \
         Survival of such writes after loss of power was not checked there."
    ))
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
    let rows = || run.tables.iter().flat_map(Table::engines);
    let allowed = distinct(rows().filter(lost).map(Row::title));
    let promised = distinct(rows().filter(broken).map(Row::title));
    // If a store's killed row has no figure for another reason, the outcome is unknown.
    let mut killed = run
        .tables
        .iter()
        .filter(|it| it.engines().any(|row| lost(&row)));
    let unknown = killed.any(|table| table.engines().any(|row| row.rate().is_none()));
    let only = promised.is_empty() && !unknown;
    let mut sentences = Vec::new();
    if !allowed.is_empty() {
        sentences.push(format!(
            "{} lost acknowledged writes when the process was killed, which only stores marked \
             below Os may{}.",
            list(&allowed),
            if only { "; no other store did" } else { "" }
        ));
    }
    if !promised.is_empty() {
        sentences.push(format!(
            "{} had promised that such writes survive, but lost some when the process was killed.",
            list(&promised)
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Returns the labels of the tables with a row that fits, other than the harness's.
fn rows_where(run: &Run, fits: impl Fn(&Table, &Row) -> bool) -> Vec<String> {
    let fits = |table: &Table, row: &Row| row.engine != engine::HARNESS && fits(table, row);
    let tables = run.all_tables();
    let tables = tables.filter(|table| table.rows.iter().any(|row| fits(table, row)));
    distinct(tables.map(outline::label))
}

/// Returns the first few labels of a list.
fn some(labels: &[String]) -> String {
    const SHOWN: usize = 4;
    if labels.len() <= SHOWN + 1 {
        return list(labels);
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
    let measured = |table: &Table| -> Vec<usize> {
        let rows = table.engines().filter(|row| row.rate().is_some());
        rows.map(Row::rounds).collect()
    };
    let most = |suite: &Option<String>| {
        let tables = run.tables.iter().filter(|table| table.key.suite == *suite);
        tables.flat_map(measured).max().unwrap_or(0)
    };
    let mut notes = Vec::new();
    match run.suites().iter().map(most).max() {
        Some(1) => notes.push(
            "One round only: there is no spread, and no difference can be called a tie.".to_owned(),
        ),
        Some(rounds @ 2..ROUNDS_FEW) => notes.push(format!(
            "{rounds} rounds only: the spread shown is narrower than the real one."
        )),
        _ => {}
    }
    let (mut short, mut labels) = (0, Vec::new());
    for table in &run.tables {
        let most = most(&table.key.suite);
        let wanted = planned(run, table).map_or(most, |own| own.min(most));
        let fewer = measured(table)
            .into_iter()
            .filter(|&count| count < wanted)
            .count();
        short += fewer;
        labels.extend((fewer > 0).then(|| outline::label(table)));
    }
    if short > 0 {
        let rows = if short == 1 { "row has" } else { "rows have" };
        notes.push(format!(
            "{short} {rows} fewer rounds than the others of the suite: {}.",
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
