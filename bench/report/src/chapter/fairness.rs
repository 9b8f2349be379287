//! The rules of fairness, in every report.

use crate::document::{Block, Item};
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table};

const RULES: [(&str, &str); 7] = [
    (
        "Equal durability or no ranking.",
        "Once its call has returned, every ranked write survives SIGKILL (Os), and in the \
         synchronous rows also loss of power (Sync). If the device counts the flushes it completes, a synchronous \
         row with fewer flushes than writes fails; if it does not, a warning at the top says so. A \
         store that keeps acknowledged writes in its own process is shown, but marked \
         \u{201c}below Os\u{201d} and not ranked. The same holds for settings that give up more \
         than the others do (the \
         variant \u{201c}seed\u{201d} of WiredTiger: no log, no checksums).",
    ),
    (
        "Equal memory.",
        "Every store gets the same total, split where the store allows it. Peak anonymous memory, mapped memory \
         and page cache are reported separately, because stores count different things.",
    ),
    (
        "Every byte read.",
        "The harness adds up every byte of each value that it reads, for every store, and compares \
         counts and contents with what was written. One wrong answer fails the row.",
    ),
    (
        "Debt shown.",
        "A fill's rate ends with its last call. The work that remains is shown next to it: time \
         until idle, size on disk when idle, bytes written over raw bytes. Reads run over the store \
         as loaded and again after compact.",
    ),
    (
        "Harness cost shown.",
        "A store that stores nothing runs every row; its time is the minimum for any store. \
         Latencies come from a separate pass, because reading the clock costs as much as many \
         operations do.",
    ),
    (
        "Noise shown.",
        "Every bar shows the lowest, middle and highest round. A difference within the spread is \
         called a tie: a store is ahead of another if every round of it is, and ahead in a row if it is \
         ahead of all ranked stores there. Ratios between stores of one run are the result; \
         absolute times belong to this machine.",
    ),
    (
        "Bias stated.",
        "A separate chapter, written against ourselves, states where CairnDB loses, which defaults \
         favour which store and what the classic data flatters.",
    ),
];

/// Returns the explanation of the mark of rows that merge by hand, if there are any.
pub(crate) fn by_hand(run: &Run) -> Option<String> {
    let mut rows = run.tables.iter().flat_map(Table::engines);
    rows.any(Row::by_hand).then(|| {
        format!(
            "{} marks a store without a merge operation: in rows that merge, the harness reads the \
             value, compares and puts, while the others may write the operand and leave the rest to \
             later reads and compactions.",
            engine_style::BY_HAND
        )
    })
}

/// Returns the chapter.
pub(crate) fn rules(run: &Run) -> Vec<Block> {
    if run.tables.is_empty() {
        return Vec::new();
    }
    vec![
        Block::heading(2, "Rules of Fairness"),
        Block::List(
            RULES
                .iter()
                .map(|(subject, text)| Item::new(*subject, *text))
                .collect(),
        ),
        Block::text(format!(
            "How to read the bars: the longest bar is the fastest row of its table; longer is always better. \
             The thin line across the end of a bar extends from the lowest round to the highest. \
             Pale bars are not ranked. In rows with a concurrent writer, bars show the readers' \
             rates, followed by the writer's rate.{}",
            by_hand(run).map_or_else(String::new, |text| format!(" {text}"))
        )),
    ]
}
