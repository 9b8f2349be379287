//! Where a table belongs: its chapter and heading in its suite, and its section on the page of
//! 2011.

use std::fmt::Write as _;

use bench_core::workload::catalog;

use crate::run::Run;
use crate::table::{COMPACTED, Key, Table};

/// Sections of the page of 2011, in its order.
const PLACES: [&str; 12] = [
    "1A", "1B", "1C", "1D", "2A", "2B", "2C", "2D", "2E", "3A", "3B", "FS",
];

/// Returns the section of the page of 2011 that a suite's section stands for: the first word of its
/// name.
pub(crate) fn place(key: &Key) -> Option<&'static str> {
    let word = key.section.as_deref()?.split(' ').next()?;
    PLACES.into_iter().find(|place| *place == word)
}

/// The place of a table in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Heading of its chapter.
    pub(crate) chapter: String,
    /// Heading of its section, such as `2C Synchronous Writes`.
    pub(crate) section: String,
    /// What the suite says about the section.
    pub(crate) about: String,
}

/// Returns the place of a table, as its suite states it.
pub(crate) fn heading(run: &Run, table: &Table) -> Heading {
    let key = &table.key;
    let name = key.section.as_deref().unwrap_or_default();
    let place = place(key);
    let sections = run.outline(key.suite.as_deref());
    let sections = sections.map_or(&[][..], |outline| outline.sections.as_slice());
    let known = sections.iter().position(|section| section.name == name);
    let (chapter, heading) = known.map_or(("", ""), |at| {
        (&*sections[at].chapter, &*sections[at].heading)
    });
    let first_of = |texts: [&str; 3]| {
        let given = texts.into_iter().find(|text| !text.is_empty());
        given.unwrap_or_default().to_owned()
    };
    let suite = key.suite.as_deref().unwrap_or_default();
    // The page's heading starts with the letter that the place ends with.
    let words = heading.split_once(". ").map_or(heading, |(_, words)| words);
    let section = match place {
        Some(place) if !words.is_empty() => format!("{place} {words}"),
        _ => first_of([words, name, suite]),
    };
    Heading {
        chapter: match chapter {
            "" => first_of([suite, "Results", ""]),
            chapter => after_suite(run, table, chapter),
        },
        section,
        about: known.map_or_else(String::new, |at| sections[at].about.clone()),
    }
}

/// Returns whether two names mean the same workload, as `fillsync` and `fillrandsync` do.
pub(crate) fn same_workload(one: &str, other: &str) -> bool {
    let known =
        |name| catalog::named(name).map(|it| (it.action, it.batch, it.sync, it.values, it.divisor));
    one == other || known(one).is_some_and(|found| known(other) == Some(found))
}

/// Returns a short name: place, workload, state.
pub(crate) fn label(table: &Table) -> String {
    let key = &table.key;
    let mut text = match (place(key), &key.section) {
        (Some(place), _) => format!("{place} {}", key.workload),
        (None, Some(section)) if *section == key.workload => section.clone(),
        (None, Some(section)) => format!("{section}: {}", key.workload),
        (_, None) => key.workload.clone(),
    };
    if table.state == COMPACTED {
        text.push_str(", after compact");
    }
    // Writing to a String cannot fail, here and below.
    if let Some(data) = key.data.as_deref().filter(|data| *data != "synthetic") {
        let _ = write!(text, ", {data}");
    }
    if let Some(threads) = key.threads.filter(|&threads| threads > 1) {
        let _ = write!(text, ", {threads} threads");
    }
    if let Some(place) = key.file_system.as_ref().filter(|_| table.elsewhere) {
        let _ = write!(text, ", on {place}");
    }
    text
}

/// Like [`label`], after the name of the suite if the run has several.
pub(crate) fn full_label(run: &Run, table: &Table) -> String {
    after_suite(run, table, &label(table))
}

/// Returns a text after the name of the table's suite if the run has several.
fn after_suite(run: &Run, table: &Table, text: &str) -> String {
    match &table.key.suite {
        Some(suite) if run.suites().len() > 1 => format!("{suite}: {text}"),
        _ => text.to_owned(),
    }
}
