//! Figures published by others, as data, and checks of those that their own documents allow to
//! recompute.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Width of the fastest store's bar on the page of 2011, in pixels.
pub(crate) const BAR_PX: f64 = 350.0;

/// Figures by engine.
pub(crate) type Figures = BTreeMap<String, f64>;

/// LevelDB Benchmarks, July 2011.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page2011 {
    /// Versions.
    pub(crate) engines: BTreeMap<String, String>,
    /// Tables of the page.
    pub(crate) row: Vec<Row2011>,
}

/// One table of the page of 2011.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row2011 {
    /// Section of the suites that runs the same workload.
    pub(crate) place: String,
    /// Workload that the suites run there.
    pub(crate) workload: Option<String>,
    /// Section heading.
    pub(crate) section: String,
    /// Operations per second.
    pub(crate) ops: Figures,
    /// Widths of the bars.
    #[serde(default)]
    pub(crate) bar_px: Figures,
    /// The printed "x baseline".
    #[serde(default)]
    pub(crate) times_baseline: Figures,
    /// Additional remarks in the text of the page.
    pub(crate) note: Option<String>,
}

/// The page that compares LevelDB with WiredTiger.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WiredTigerPage {
    /// Operations of the page.
    pub(crate) row: Vec<WiredTigerRow>,
}

/// One operation of the WiredTiger page.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WiredTigerRow {
    /// Workload that the suites run today.
    pub(crate) workload: String,
    /// Section heading.
    pub(crate) section: String,
    /// Throughput as a multiple of LevelDB's.
    pub(crate) times_leveldb: Figures,
    /// Qualifier in the document, such as `about` or `over`.
    #[serde(default)]
    pub(crate) qualifier: BTreeMap<String, String>,
    /// Remark on how the operation was run.
    pub(crate) note: Option<String>,
    /// Ratio of LevelDB's reverse to its forward scan rate.
    pub(crate) leveldb_reverse_over_forward: Option<f64>,
}

/// Returns the page of 2011.
///
/// # Panics
/// Never: the file is part of the program and a test reads it.
pub(crate) fn page_2011() -> Page2011 {
    toml::from_str(include_str!("../../published/leveldb-2011.toml"))
        .expect("the published figures are well formed")
}

/// Returns the WiredTiger page.
///
/// # Panics
/// Never: the file is part of the program and a test reads it.
pub(crate) fn page_wiredtiger() -> WiredTigerPage {
    toml::from_str(include_str!("../../published/wiredtiger.toml"))
        .expect("the published figures are well formed")
}

/// A printed figure and the same figure recomputed from its own document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Check {
    /// Printed figure.
    pub(crate) printed: f64,
    /// Figure computed from the printed rates.
    pub(crate) computed: f64,
    /// Whether rounding explains the difference.
    pub(crate) follows: bool,
}

/// Returns the rounding error of a printed rate: half a unit of its last nonzero digit, but never
/// more than half a unit of its second digit.
fn rounding(rate: f64) -> f64 {
    let mut unit = 1.0;
    while unit * 100.0 <= rate && (rate / (unit * 10.0)).fract() == 0.0 {
        unit *= 10.0;
    }
    unit / 2.0
}

/// Returns the quotient of two printed rates: minimum, nominal, maximum.
fn quotient(rate: f64, base: f64) -> [f64; 3] {
    let (off, base_off) = (rounding(rate), rounding(base));
    [
        (rate - off) / (base + base_off),
        rate / base,
        (rate + off) / (base - base_off),
    ]
}

/// Returns the rounding error of a printed ratio: half a unit of its last digit.
fn ratio_rounding(ratio: f64) -> f64 {
    if ratio >= 0.05 {
        return 0.005;
    }
    let decimals = ratio.to_string().len().saturating_sub(2);
    0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(2))
}

fn check(printed: f64, [least, computed, most]: [f64; 3], off: f64) -> Check {
    Check {
        printed,
        computed,
        follows: printed >= least - off && printed <= most + off,
    }
}

impl Row2011 {
    /// Returns the fastest rate.
    pub(crate) fn fastest(&self) -> f64 {
        self.ops.values().copied().fold(0.0, f64::max)
    }

    /// Checks the width of an engine's bar.
    pub(crate) fn bar(&self, engine: &str) -> Option<Check> {
        let (rate, printed) = (self.ops.get(engine)?, self.bar_px.get(engine)?);
        let fastest = self.fastest();
        let shares = if (rate - fastest).abs() < f64::EPSILON {
            [1.0; 3]
        } else {
            quotient(*rate, fastest)
        };
        Some(check(*printed, shares.map(|share| share * BAR_PX), 1.0))
    }
}

impl Page2011 {
    /// Returns the table of section 1 that a table is compared with.
    pub(crate) fn baseline(&self, row: &Row2011) -> Option<&Row2011> {
        let workload = row.workload.as_deref()?;
        let place = match (workload.starts_with("read"), workload.contains("seq")) {
            (true, true) => "1A",
            (true, false) => "1B",
            (false, true) => "1C",
            (false, false) => "1D",
        };
        self.row.iter().find(|row| row.place == place)
    }

    /// Checks an engine's "x baseline" in a table.
    pub(crate) fn ratio(&self, row: &Row2011, engine: &str) -> Option<Check> {
        let printed = row.times_baseline.get(engine)?;
        let base = self.baseline(row)?.ops.get(engine)?;
        let off = ratio_rounding(*printed);
        let times = quotient(*row.ops.get(engine)?, *base);
        Some(check(*printed, times, off))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_a_unit_of_what_was_printed() {
        let is = |rate: f64, off: f64| assert!((rounding(rate) - off).abs() < 1e-9, "{rate}");
        is(4_030_000.0, 5000.0);
        is(1100.0, 50.0);
        is(1000.0, 50.0);
        is(88.0, 0.5);
        is(7.0, 0.5);
        is(100.0, 5.0);
        assert!((ratio_rounding(3.6) - 0.005).abs() < 1e-12);
        assert!((ratio_rounding(0.003) - 0.0005).abs() < 1e-12);
        assert!((ratio_rounding(0.0004) - 0.00005).abs() < 1e-12);
    }

    #[test]
    fn the_wiredtiger_page_is_there() {
        let page = page_wiredtiger();
        assert_eq!(page.row.len(), 7);
        assert!(
            page.row
                .iter()
                .all(|row| bench_core::workload::catalog::named(&row.workload).is_some())
        );
    }
}
