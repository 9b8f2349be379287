//! In how many rows CairnDB is ahead, and of whom.

use std::fmt::Write as _;

use bench_core::result::spread::Spread;
use bench_core::result::standing::Standing;

use crate::engine_style;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::table::{Outcome, Row, Table, standing};

/// Rows named in the last sentence. More are named only if CairnDB is ahead in few.
const BEHIND_NAMED: usize = 8;

/// Our rate over the best ranked peer's, and its title, with a remark if that is not the whole
/// story: that it is a tie, and on the peer that it ties with or is behind if that is another one.
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

/// Whether CairnDB was to run a row and has no figure of it, while a ranked peer has.
fn has_none_of_ours(table: &Table) -> bool {
    let failed = |row: &Row| row.engine == engine_style::OURS && row.rate().is_none();
    table.engines().any(failed) && standing::best_peer(table).is_some()
}

/// Whether a peer that would be ranked failed in a round, and therefore has no figure at all.
fn has_failed_peer(table: &Table) -> bool {
    let failed = |row: &Row| {
        let outcome = matches!(row.outcome, Outcome::Failed(_));
        outcome && !standing::is_ours(row) && row.unranked().is_none()
    };
    table.engines().any(failed)
}

/// The outcome of the rows for CairnDB.
#[derive(Default)]
struct Tally {
    ahead: usize,
    level: usize,
    /// Names of the rows in which it is behind, with the ratio.
    behind: Vec<String>,
    /// Rows more in which it has no figure.
    without: usize,
    /// Rows with a round far from the middle.
    wide: usize,
    /// Rows in which a peer failed, and how many of them CairnDB is ahead in.
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

    /// The beginning of a sentence with the three counts; `None` without a row.
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

    /// What the figures leave out, each in a sentence with a blank before it.
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

/// How many rows CairnDB is ahead, level and behind in, and which it is behind in.
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

/// The same without the names of the rows.
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
