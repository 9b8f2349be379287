//! The reference part of the report: tables of text after the results, each with its prose.

/// Includes a file of `prose`.
macro_rules! prose {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/prose/", $name, ".md"))
    };
}

mod bias;
mod growth;
mod published;
mod run;
mod sheet;

pub(crate) use self::run::failures;
pub(crate) use self::sheet::Sheet;

use crate::run::Run;

/// Prose of the columns of costs and percentiles, for the forms that show them.
pub(crate) const COSTS: &str = prose!("costs");
pub(crate) const LATENCY: &str = prose!("latency");

/// Returns every sheet of a run that has something to show.
pub(crate) fn sheets(run: &Run) -> Vec<Sheet> {
    let text = |title, prose| Sheet::new(title, prose, &[], Vec::new());
    let mut sheets = vec![
        bias::losses(run, prose!("losses")),
        bias::dearer(run),
        growth::growth(run, prose!("growth")),
    ];
    sheets.extend(published::sheets(run));
    sheets.extend([
        run::harness(run, prose!("harness")),
        text("Rules of fairness", prose!("fairness")),
        text("What the sections measure", prose!("sections")),
        text("Which defaults favour which store", prose!("own-choices")),
        text("What the classic data flatters", prose!("data")),
        run::missing(run),
        run::stores(run, prose!("stores")),
        run::variants(run),
    ]);
    sheets.extend(run::machines(run));
    sheets.push(run::options(run, prose!("options")));
    sheets.push(text("Acknowledgements", prose!("thanks")));
    sheets.retain(|sheet| {
        sheet.head.is_empty() && !sheet.prose.is_empty() || !sheet.lines.is_empty()
    });
    sheets
}
