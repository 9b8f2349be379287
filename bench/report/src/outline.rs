//! The outline of the page of 2011: its chapters and sections in order, and the rows of each.

pub(crate) mod sections;

use std::fmt::Write as _;

use crate::table::{Key, StoreState, Table};

/// A chapter of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chapter {
    /// Heading.
    pub(crate) title: &'static str,
    /// Sections in order.
    pub(crate) sections: &'static [Section],
}

/// A section of a chapter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// Name that suites use for the section.
    pub(crate) place: &'static str,
    /// Heading; empty if the chapter's heading is enough.
    pub(crate) title: &'static str,
    /// Introductory text.
    pub(crate) text: &'static str,
}

const fn section(place: &'static str, title: &'static str, text: &'static str) -> Section {
    Section { place, title, text }
}

/// The chapters that hold results.
pub(crate) const CHAPTERS: [Chapter; 4] = [
    Chapter {
        title: "1. Baseline Performance",
        sections: &[
            section("1A", "A. Sequential Reads", ""),
            section("1B", "B. Random Reads", ""),
            section("1C", "C. Sequential Writes", ""),
            section("1D", "D. Random Writes", ""),
        ],
    },
    Chapter {
        title: "2. Write Performance under Different Configurations",
        sections: &[
            section(
                "2A",
                "A. Large Values",
                "An empty database is filled with values a thousand times the usual size. The result depends on how \
                 often each store copies a value: into a log, into a table, and again in compactions.",
            ),
            section(
                "2B",
                "B. Batch Writes",
                "A batch is atomic, and its thousand entries share its cost. Rates count \
                 entries. A store without atomic batches has no row here.",
            ),
            section(
                "2C",
                "C. Synchronous Writes",
                "Every write is safe from loss of power before its call returns. If the device counts the flushes it \
                 completes, a row with fewer flushes than writes fails; if it does not, the top of this report says so. \
                 The device decides most of these figures. \
                 The page of 2011 turned the disk's write cache off for this section; Provenance states \
                 whether it is on here.",
            ),
            section(
                "2D",
                "D. Turning Compression Off",
                "The same fills with compression off in every store that has it. A store without compression \
                 shows how much two runs of the same work differ.",
            ),
            section(
                "2E",
                "E. Using More Memory",
                "The same fills with the larger memory. Stores with a write buffer get most of it for the buffer; \
                 the others get all of it as cache.",
            ),
        ],
    },
    Chapter {
        title: "3. Read Performance under Different Configurations",
        sections: &[
            section(
                "3A",
                "A. Larger Caches",
                "The same reads with the larger memory, most of it used as cache where a store divides it.",
            ),
            section(
                "3B",
                "B. No Compression Reads",
                "The same reads over a database that was written without compression.",
            ),
        ],
    },
    Chapter {
        title: "Note about File Systems",
        sections: &[section(
            "FS",
            "",
            "The page of 2011 ends with a note that synchronous writes were much slower on ext4 than on ext3. Here \
             the same rows run in each given directory.",
        )],
    },
];

/// Returns the place in the outline of a suite's section, from the first word of its name.
pub(crate) fn place(key: &Key) -> Option<&'static str> {
    let section = key.section.as_deref()?;
    let word = section.split([' ', ':', '.', ',']).next()?;
    let whole = section.trim_end_matches(['.', ':']);
    // "1 thread" is not a section of that page.
    let of_one = match (whole, key.workload.as_str()) {
        ("1", "readseq") => "1A",
        ("1", "readrandom") => "1B",
        ("1", "fillseq") => "1C",
        ("1", "fillrandom") => "1D",
        _ => word,
    };
    let all = CHAPTERS.iter().flat_map(|chapter| chapter.sections);
    all.map(|section| section.place)
        .find(|place| place.eq_ignore_ascii_case(of_one))
}

/// Returns the introductory text of a place.
pub(crate) fn text(place: &str) -> &'static str {
    let mut all = CHAPTERS.iter().flat_map(|chapter| chapter.sections);
    all.find(|section| section.place == place)
        .map_or("", |section| section.text)
}

/// Returns the heading of one table within its section; `caption` is that of the section.
pub(crate) fn heading(table: &Table, siblings: &[&Table], caption: &str) -> String {
    let named = |other: &&Table| other.key.section == table.key.section;
    let own = siblings.iter().copied().filter(|other| named(other));
    let one = own
        .clone()
        .all(|other| other.key.workload == table.key.workload);
    let mut text = if one && !caption.is_empty() {
        caption.to_owned()
    } else {
        subject(&table.key.workload)
    };
    if let Some(state) = state_text(table.state) {
        text.push_str(", ");
        text.push_str(state);
    }
    let differ =
        |get: fn(&Table) -> Option<String>| siblings.iter().any(|other| get(other) != get(table));
    if differ(|table| table.key.threads.map(|threads| threads.to_string())) {
        let threads = table.key.threads.unwrap_or(1);
        let plural = if threads == 1 { "" } else { "s" };
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, ", {threads} thread{plural}");
    }
    let data = table.key.data.as_deref().unwrap_or("synthetic");
    if data != "synthetic" || differ(|table| table.key.data.clone()) {
        let _ = write!(text, ", {data} data");
    }
    if differ(|table| table.key.file_system.clone()) {
        text.push_str(", on ");
        text.push_str(
            table
                .key
                .file_system
                .as_deref()
                .unwrap_or("an unknown file system"),
        );
    }
    let again = siblings.iter().filter(|other| {
        other.key.workload == table.key.workload
            && other.state == table.state
            && other.key.data == table.key.data
            && other.key.threads == table.key.threads
            && other.key.file_system == table.key.file_system
    });
    if again.count() > 1 {
        let _ = write!(text, ", occurrence {}", table.key.instance);
    }
    text
}

/// Returns the title that the page of 2011 gives a workload, or a similar one for a newer workload,
/// followed by the workload's name.
fn subject(workload: &str) -> String {
    let words = match workload {
        "readseq" | "readseq100K" => "Sequential Reads",
        "readrandom" | "readrand100K" => "Random Reads",
        "readreverse" => "Reverse Reads",
        "readmissing" => "Reads of Missing Keys",
        "readhot" => "Reads of Hot Keys",
        "multireadrandom" => "Random Reads of Many Keys at Once",
        "seekrandom" => "Random Seeks",
        "seekordered" => "Ordered Seeks",
        "fillseq" | "fillseq100K" | "fillseqbatch" | "fillbatch" | "fillseqsync" => {
            "Sequential Writes"
        }
        "fillrandom" | "fillrand100K" | "fill100K" | "fillrandbatch" | "fillrandsync"
        | "fillsync" | "filluniquerandom" | "filluniquebatch" => "Random Writes",
        "appendbatch" => "Sequential Writes after the Last Key",
        "overwrite" => "Random Overwrites",
        "deleteseq" => "Sequential Deletes",
        "deleterandom" | "deletebatch" => "Random Deletes",
        "popfirst" => "First Entries Taken",
        "poplast" => "Last Entries Taken",
        "extract" => "Deletes during a Scan",
        "stallafterbatch" => "The Longest Put after Batches",
        "syncburst" => "A Sync of Earlier Writes",
        "readiter" => "Sequential Reads without a Cursor",
        "compact" => "Compaction",
        "open" => "Opening",
        other => return other.to_owned(),
    };
    format!("{words} ({workload})")
}

/// Returns whether two names mean the same workload, as `fillsync` and `fillrandsync` do.
pub(crate) fn same_workload(one: &str, other: &str) -> bool {
    let known = |name| {
        bench_core::workload::catalog::named(name).map(|workload| {
            (
                workload.action,
                workload.batch,
                workload.sync,
                workload.values,
                workload.divisor,
            )
        })
    };
    one == other || known(one).is_some_and(|found| known(other) == Some(found))
}

/// Returns the state of the store for `report.json` and `report.csv`.
pub(crate) const fn state(state: StoreState) -> Option<&'static str> {
    match state {
        StoreState::Irrelevant => None,
        StoreState::AsLeft => Some("as left"),
        StoreState::Compacted => Some("compacted"),
    }
}

/// Returns the state of the store as text.
pub(crate) const fn state_text(state: StoreState) -> Option<&'static str> {
    match state {
        StoreState::Irrelevant => None,
        StoreState::AsLeft => Some("as loaded"),
        StoreState::Compacted => Some("after compact"),
    }
}

/// Returns a short name for lists and overviews: place, workload, state.
pub(crate) fn label(table: &Table) -> String {
    let key = &table.key;
    let mut text = match (place(key), &key.section) {
        (Some(place), _) => format!("{place} {}", key.workload),
        (None, Some(section)) if *section == key.workload => section.clone(),
        (None, Some(section)) => format!("{section}: {}", key.workload),
        (_, None) => key.workload.clone(),
    };
    if table.state == StoreState::Compacted {
        text.push_str(", after compact");
    }
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
