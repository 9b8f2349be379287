//! In how many rows CairnDB is ahead, and of whom.

use std::fmt::Write as _;

use bench_core::spread::Spread;
use bench_core::standing::Standing;

use crate::face;
use crate::number;
use crate::outline;
use crate::run::Run;
use crate::standing;
use crate::table::{Row, Table};

/// Rows named in the last sentence; more are behind only where little is ahead.
const BEHIND_NAMED: usize = 8;

/// Ours over the best ranked peer's, and its title; with a word where that one does not tell the whole:
/// that it is a tie, and with whom or behind whom when not with that one.
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
    let failed = |row: &Row| row.engine == face::OURS && row.rate().is_none();
    table.engines().any(failed) && standing::best_peer(table).is_some()
}

/// In how many rows CairnDB is ahead, level and behind, and in which it is behind.
pub(crate) fn wins(run: &Run) -> Option<String> {
    let (mut ahead, mut level, mut wide, mut behind) = (0, 0, 0, Vec::new());
    let mut without = 0;
    for table in &run.tables {
        without += u32::from(has_none_of_ours(table));
        let Some((row, ours)) = standing::ours(table).filter(|(row, _)| row.is_ranked()) else {
            continue;
        };
        let Some(standing) = standing::among_ranked(table, row) else {
            continue;
        };
        let best = standing::best_peer(table).map(|(_, rate)| rate);
        wide += u32::from(ours.is_wide() || best.is_some_and(Spread::is_wide));
        match standing {
            Standing::Ahead => ahead += 1,
            Standing::Tied(_) => level += 1,
            Standing::Behind(_) => {
                let told = to_best_peer(table).map_or_else(String::new, |(times, peer)| {
                    format!(" ({}x {peer})", number::ratio(times))
                });
                behind.push(format!("{}{told}", outline::label(table)));
            }
        }
    }
    let all = ahead + level + behind.len();
    (all > 0).then(|| {
        let mut text = format!(
            "Against all ranked peers of each row, CairnDB is ahead in {ahead} of {all}, ties in {level} \
             and is behind in {}",
            behind.len()
        );
        let more = behind.len().saturating_sub(BEHIND_NAMED);
        behind.truncate(BEHIND_NAMED);
        // Writing to a String cannot fail, here and below.
        if !behind.is_empty() {
            let _ = write!(text, ": {}", behind.join("; "));
        }
        if more > 0 {
            let _ = write!(text, "; and {more} more, named under Biases");
        }
        text.push('.');
        if without > 0 {
            let plural = if without == 1 { "" } else { "s" };
            let _ = write!(
                text,
                " In {without} row{plural} more CairnDB failed or was skipped and a peer was not."
            );
        }
        if wide > 0 {
            let _ = write!(
                text,
                " In {wide} rows a round of ours or of the best peer lies more than a tenth from the middle: the row is \
                 short, or the machine was not quiet; another run may order them otherwise."
            );
        }
        text
    })
}
