//! The same row in several sections, such as over growing numbers of entries, or in several
//! directories.

use crate::run::Run;
use crate::sheets::sheet::Sheet;
use crate::table::{Key, Row, Table};
use crate::verdict::times_text;

/// Returns a line for each store and row that ran in several places.
pub(super) fn growth(run: &Run, prose: &'static str) -> Sheet {
    let mut lines = Vec::new();
    for (at, table) in run.tables.iter().enumerate() {
        let same = |other: &&Table| is_same(table, other);
        if table.compares() && !run.tables[..at].iter().any(|other| same(&other)) {
            let twins: Vec<&Table> = run.tables[at..].iter().filter(same).collect();
            lines.extend(table.engines().filter_map(|row| line(&twins, table, row)));
        }
    }
    let head = ["Row", "Store", "Figures", "last to first"];
    Sheet::new("The same rows in several sections", prose, &head, lines)
}

/// Returns whether two tables differ only in the section or the directory.
fn is_same(table: &Table, other: &Table) -> bool {
    let key = Key {
        section: table.key.section.clone(),
        file_system: table.key.file_system.clone(),
        instance: table.key.instance,
        ..other.key.clone()
    };
    key == table.key && other.state == table.state
}

fn line(tables: &[&Table], first: &Table, row: &Row) -> Option<Vec<String>> {
    let mut rates = Vec::new();
    let mut figures = Vec::new();
    for table in tables {
        let mut rows = table.engines();
        let same = rows.find(|other| other.engine == row.engine && other.variant == row.variant);
        let Some(rate) = same.and_then(Row::rate) else {
            continue;
        };
        let section = table.key.section.as_deref().unwrap_or_default();
        let place = table.key.file_system.as_deref().filter(|_| table.elsewhere);
        let place = place
            .map(|place| format!(" on {place}"))
            .unwrap_or_default();
        figures.push(format!("{section}{place}: {}", table.amount(rate.middle)));
        rates.push(if table.is_event() {
            1.0 / rate.middle
        } else {
            rate.middle
        });
    }
    let [first_rate, .., last] = rates.as_slice() else {
        return None;
    };
    let state = first.state.unwrap_or_default();
    Some(vec![
        format!("{} {state}", first.key.workload)
            .trim_end()
            .to_owned(),
        row.title(),
        figures.join("; "),
        times_text(last / first_rate),
    ])
}
