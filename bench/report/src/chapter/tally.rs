//! The number of rows in which CairnDB is ahead, and of which peers.

use std::fmt::Write as _;

use bench_core::result::spread::Spread;
use bench_core::result::standing::Standing;

use crate::engine_style;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

/// Number of rows named in the last sentence. The others are counted only.
const BEHIND_NAMED: usize = 8;

/// Returns the ratio of our rate to the best ranked peer's, and the peer's title, with a remark on
/// a tie, or on another peer that it ties with or is behind.
pub(super) fn to_best_peer(table: &Table) -> Option<(f64, String)> {
    let ((row, ours), (peer, theirs)) = (standing::ours(table)?, standing::best_peer(table)?);
    let same = |other: &Row| std::ptr::eq(other, peer);
    let word = match standing::among_ranked(table, row)? {
        Standing::Tied(other) if same(other) => ", tie".to_owned(),
        Standing::Tied(other) => format!(", tie with {}", other.title()),
        Standing::Behind(other) if !same(other) => format!(", behind {}", other.title()),
        Standing::Ahead | Standing::Behind(_) => String::new(),
    };
    let times = standing::over(ours, theirs)?;
    Some((times, format!("{}{word}", peer.title())))
}

/// Returns whether CairnDB should have run a row and has no figure, while a ranked peer has one.
fn has_none_of_ours(table: &Table) -> bool {
    let failed = |row: &Row| row.engine == engine_style::OURS && row.rate().is_none();
    table.engines().any(failed) && standing::best_peer(table).is_some()
}

/// Returns whether a peer that would be ranked failed in a round and therefore has no figure.
fn has_failed_peer(table: &Table) -> bool {
    let failed = |row: &Row| {
        let outcome = matches!(row.outcome, Outcome::Failed(_));
        outcome && !standing::is_ours(row) && row.unranked().is_none()
    };
    table.engines().any(failed)
}

/// Counts of the outcomes of rows for CairnDB.
#[derive(Default)]
struct Tally {
    ahead: usize,
    level: usize,
    /// Names of the rows in which CairnDB is behind, with the ratio.
    behind: Vec<String>,
    /// Number of further rows in which CairnDB has no figure.
    without: usize,
    /// Number of rows with a round far from the middle.
    wide: usize,
    /// Number of rows in which a peer failed, and in how many of them CairnDB is ahead.
    failed: usize,
    ahead_of_failed: usize,
}

impl Tally {
    fn count(&mut self, table: &Table) {
        self.without += usize::from(has_none_of_ours(table));
        let Some((row, ours)) = standing::ours(table).filter(|(row, _)| row.is_ranked()) else {
            return;
        };
        let Some(standing) = standing::among_ranked(table, row) else {
            return;
        };
        let best = standing::best_peer(table).map(|(_, rate)| rate);
        self.wide += usize::from(ours.is_wide() || best.is_some_and(Spread::is_wide));
        let failed = usize::from(has_failed_peer(table));
        self.failed += failed;
        match standing {
            Standing::Ahead => {
                self.ahead += 1;
                self.ahead_of_failed += failed;
            }
            Standing::Tied(_) => self.level += 1,
            Standing::Behind(_) => {
                let reported = to_best_peer(table).map_or_else(String::new, |(times, peer)| {
                    format!(" ({}x {peer})", number::ratio(times))
                });
                self.behind
                    .push(format!("{}{reported}", outline::label(table)));
            }
        }
    }

    /// Returns the start of a sentence with the three counts; `None` if there are no rows.
    fn headline(&self) -> Option<String> {
        let all = self.ahead + self.level + self.behind.len();
        (all > 0).then(|| {
            format!(
                "Against all ranked peers of each row, CairnDB is ahead in {} of {all}, ties in {} and is behind in {}",
                self.ahead,
                self.level,
                self.behind.len()
            )
        })
    }

    /// Returns what the figures leave out, each in a sentence preceded by a space.
    fn remarks(&self) -> String {
        let mut text = String::new();
        let plural = |rows: usize| if rows == 1 { "" } else { "s" };
        // Writing to a String cannot fail, here and below.
        if self.without > 0 {
            let _ = write!(
                text,
                " In {} more row{} CairnDB failed or was skipped and a peer was not.",
                self.without,
                plural(self.without)
            );
        }
        if self.failed > 0 {
            let _ = write!(
                text,
                " In {} row{} of these a peer failed in at least one round and has no rank; CairnDB is ahead in {} of them.",
                self.failed,
                plural(self.failed),
                self.ahead_of_failed
            );
        }
        if self.wide > 0 {
            let _ = write!(
                text,
                " In {} rows a round of CairnDB or of the best peer is more than a tenth away from the middle: the row is \
                 short, or the machine was busy, and another run may order them otherwise.",
                self.wide
            );
        }
        text
    }
}

/// Returns the numbers of rows in which CairnDB is ahead, ties and is behind, and the rows in which
/// it is behind.
pub(crate) fn wins(run: &Run) -> Option<String> {
    let tally = counted(run);
    let behind = &tally.behind;
    let named = &behind[..behind.len().min(BEHIND_NAMED)];
    let mut text = tally.headline()?;
    // Writing to a String cannot fail, here and below.
    if !named.is_empty() {
        let _ = write!(text, ": {}", named.join("; "));
    }
    let more = behind.len() - named.len();
    if more > 0 {
        let _ = write!(text, "; and {more} more, named under Biases");
    }
    text.push('.');
    text.push_str(&tally.remarks());
    Some(text)
}

/// Like [`wins`], but without the names of the rows.
pub(crate) fn tally(run: &Run) -> Option<String> {
    let tally = counted(run);
    let headline = tally.headline()?;
    Some(format!("{headline}.{}", tally.remarks()))
}

fn counted(run: &Run) -> Tally {
    let mut tally = Tally::default();
    for table in &run.tables {
        tally.count(table);
    }
    tally
}
