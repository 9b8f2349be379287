//! The rules of fairness, in every report.

use crate::document::{Block, Item};
use crate::engine_style;
use crate::run::Run;
use crate::table::{Row, Table};

const RULES: [(&str, &str); 7] = [
    (
        "Equal durability or no ranking.",
        "Every ranked write survives SIGKILL when its call returns (Os), in the synchronous rows loss of power (Sync). \
         Where the device counts the flushes it completes, a synchronous row with fewer of them than writes fails; where it does \
         not, a warning at the head says so. A store that keeps acknowledged writes in its own process \
         is shown, marked \u{201c}below Os\u{201d} and not ranked. So are settings that give up more than the others \
         (the variant \u{201c}seed\u{201d} of WiredTiger: no log, no checksums).",
    ),
    (
        "Equal memory.",
        "Every store is told the same total, split as it can. Peak anonymous memory, mapped memory and page cache are \
         reported apart, because not every store counts the same things.",
    ),
    (
        "Every byte read.",
        "The harness folds every byte of each value it reads into a sum, for every store, and checks counts and contents \
         against what was written. One wrong answer fails the row.",
    ),
    (
        "Debt shown.",
        "A fill's rate ends with its last call. What it left to do is shown beside it: time until quiet, size on disk \
         when quiet, bytes written over raw bytes. Reads run over the store as the fills left it and again after compact.",
    ),
    (
        "Harness cost shown.",
        "A store that stores nothing runs every row; what that costs is everybody's floor. Latencies come from a pass of \
         their own, because looking at the clock costs as much as many operations.",
    ),
    (
        "Noise shown.",
        "Lowest, middle and highest round on every bar. A difference inside the spread is called a tie: a store is \
         ahead of another when every round of it is, and ahead in a row when it is ahead of everybody ranked there. \
         Ratios between stores of one run are the result; absolute times are this machine's.",
    ),
    (
        "Bias stated.",
        "Where CairnDB loses, which defaults favour whom and what the classic data flatters has a chapter of its own, \
         written against ourselves.",
    ),
];

/// What the mark of rows that merge by hand stands for, where there are any.
pub(crate) fn by_hand(run: &Run) -> Option<String> {
    let mut rows = run.tables.iter().flat_map(Table::engines);
    rows.any(Row::by_hand).then(|| {
        format!(
            "{} stands behind a store that has no merge of its own: in rows that merge it reads the value, compares \
             and puts, where the others may write the operand and leave the rest to later reads and compactions.",
            engine_style::BY_HAND
        )
    })
}

/// The chapter.
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
            "How to read the bars: the longest belongs to the fastest row of its table, and longer is better \
             everywhere. The thin line across the end of a bar goes from the lowest round to the highest. Pale bars are \
             not ranked. Where a writer goes on beside readers, bars are the readers' rates and the writer's stands \
             beside them.{}",
            by_hand(run).map_or_else(String::new, |text| format!(" {text}"))
        )),
    ]
}
