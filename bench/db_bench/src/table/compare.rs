//! Ratio of our figure to the best peer's.

use bench_core::result::outline::Outline;
use bench_core::result::spread::Spread;
use bench_core::result::standing::{Standing, standing};

use super::row::{BARE, HARNESS, OURS, OURS_IN_C, Row, Rows};

/// Mark of a ratio of our plain row to peers in a variant that our engine does not have.
const PLAIN: &str = " (plain)";

/// Returns the ratio of our rate to that of the ranked peer with the highest middle, that peer, and
/// whether it is a tie with any ranked peer. In a row of a variant that does not run with our
/// engine, such as a filter that is among our plain settings, our plain row is compared.
pub(super) fn ratio(rows: &Rows, row: &Row, outline: &Outline) -> String {
    let own = row.rates(OURS, outline.aggregate).map(|own| (own, ""));
    let plain = || {
        let plain = rows.plain_of(row)?;
        Some((plain.rates(OURS, outline.aggregate)?, PLAIN))
    };
    let own = own.or_else(|| row.of(OURS).next().is_none().then(plain).flatten());
    let peers: Vec<(&String, Spread)> = outline
        .engines
        .iter()
        .filter(|name| ![OURS, OURS_IN_C, BARE, HARNESS].contains(&name.as_str()))
        .filter(|name| row.is_ranked(name))
        .filter_map(|name| Some((name, row.rates(name, outline.aggregate)?)))
        .collect();
    let best = peers
        .iter()
        .max_by(|a, b| a.1.middle.total_cmp(&b.1.middle));
    let (Some((ours, plain)), Some((name, theirs))) = (own, best) else {
        return "-".into();
    };
    let note = match standing(&ours, peers.iter().copied()) {
        _ if ours.rounds.min(theirs.rounds) == 1 => " (one round)",
        Some(Standing::Tied(_)) => " (tie)",
        _ => "",
    };
    format!("{:.2}x {name}{plain}{note}", ours.middle / theirs.middle)
}
