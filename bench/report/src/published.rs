//! Figures published by others, as data, and checks of those that their own documents allow to
//! recompute.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::number;

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

    /// Returns a sentence about each figure that does not follow.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for row in &self.row {
            for engine in row.ops.keys() {
                let title = crate::engine_style::title(engine);
                if let Some(ratio) = self.ratio(row, engine).filter(|check| !check.follows) {
                    found.push(format!(
                        "{}: {title} is printed as {}x baseline; its rates give {}x.",
                        row.section,
                        number::ratio(ratio.printed),
                        number::ratio(ratio.computed)
                    ));
                }
                if let Some(bar) = row.bar(engine).filter(|check| !check.follows) {
                    found.push(format!(
                        "{}: the bar of {title} is {:.0} px wide; its rate gives {:.1} px.",
                        row.section, bar.printed, bar.computed
                    ));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'p>(page: &'p Page2011, place: &str, workload: &str) -> &'p Row2011 {
        let is = |row: &&Row2011| row.place == place && row.workload.as_deref() == Some(workload);
        page.row.iter().find(is).expect("published")
    }

    #[test]
    fn every_table_of_2011_is_there() {
        let page = page_2011();
        assert_eq!(page.row.len(), 19);
        assert_eq!(page.engines.len(), 3);
        let figures: usize = page.row.iter().map(|row| row.ops.len()).sum();
        let bars: usize = page.row.iter().map(|row| row.bar_px.len()).sum();
        assert_eq!((figures, bars), (54, 52));
        for row in &page.row {
            let names = |figures: &Figures| figures.keys().cloned().collect::<Vec<_>>();
            assert!(
                row.bar_px.is_empty() || names(&row.bar_px) == names(&row.ops),
                "{}",
                row.section
            );
        }
    }

    #[test]
    fn five_printed_ratios_do_not_follow() {
        let page = page_2011();
        let mut wrong = Vec::new();
        for row in &page.row {
            for engine in row.ops.keys() {
                if page.ratio(row, engine).is_some_and(|check| !check.follows) {
                    wrong.push((
                        row.place.as_str(),
                        row.workload.as_deref().expect("one"),
                        engine.as_str(),
                    ));
                }
            }
        }
        assert_eq!(
            wrong,
            [
                ("2C", "fillseqsync", "kyoto_treedb"),
                ("2C", "fillseqsync", "leveldb"),
                ("2C", "fillrandsync", "kyoto_treedb"),
                ("2C", "fillrandsync", "leveldb"),
                ("3B", "readseq", "kyoto_treedb"),
            ]
        );
        let treedb = page
            .ratio(row(&page, "3B", "readseq"), "kyoto_treedb")
            .expect("printed");
        assert!((treedb.computed - 1_230_000.0 / 1_010_000.0).abs() < 1e-9);
    }

    #[test]
    fn bars_are_computed_again() {
        let page = page_2011();
        let bar =
            |place, workload, engine| row(&page, place, workload).bar(engine).expect("printed");
        assert!(bar("1A", "readseq", "leveldb").follows);
        assert!(bar("1A", "readseq", "sqlite3").follows);
        let wide = bar("1A", "readseq", "kyoto_treedb");
        assert!(
            !wide.follows && (wide.computed - 87.717).abs() < 0.01,
            "{wide:?}"
        );
        assert!(!bar("2E", "fillseq", "leveldb").printed.is_nan());
        let narrow = bar("2E", "fillrandom", "sqlite3");
        assert!(narrow.follows, "{narrow:?}");
    }

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
