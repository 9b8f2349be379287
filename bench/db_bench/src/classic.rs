//! The classic mode: runs one list over each engine and prints LevelDB's lines on stdout.

mod latency_pass;

use std::collections::{BTreeMap, BTreeSet};

use bench_core::measure::runner::Event;
use bench_core::result::record::{Record, Status};
use bench_core::workload::catalog;
use bench_core::workload::durability::Survival;
use bench_core::workload::plan::Plan;
use bench_core::workload::step::Step;

use crate::config::{Config, ROW_TIMEOUT_DEFAULT};
use crate::flags::nearest;
use crate::machine::Machine;
use crate::output::{Output, notify, print};
use crate::supervise::{self, Ending, Start};
use crate::turn_order;

use latency_pass::Timed;

/// The state that outlives a child.
struct Run<'c> {
    config: &'c Config,
    machine: Machine,
    output: Output,
    absent: BTreeSet<String>,
    /// Unknown names in the list, already reported.
    unknown: BTreeSet<&'c str>,
    good: bool,
}

/// Runs the list. Returns whether everything requested was available and correct, and the lines of
/// the results.
pub(crate) fn run(config: &Config) -> Result<(bool, String), String> {
    // Checked before anything is opened, because an error about a directory would hide a typing
    // error.
    let unknown = unknown(&config.plan.benchmarks);
    for sentence in unknown.values() {
        notify(&format!("{sentence}\n"));
    }
    let mut asked = config
        .plan
        .benchmarks
        .iter()
        .filter(|name| !name.is_empty());
    if !unknown.is_empty() && asked.all(|name| unknown.contains_key(name.as_str())) {
        return Ok((false, String::new()));
    }
    let machine = Machine::here(&config.bases, config.allocator.as_deref());
    let mut output = Output::create(config.json.as_deref(), config.csv.as_deref())?;
    output.object(&machine)?;
    let mut run = Run {
        config,
        machine,
        output,
        absent: BTreeSet::new(),
        good: unknown.is_empty(),
        unknown: unknown.into_keys().collect(),
    };
    let several = config.engines.len() > 1 || config.rounds > 1;
    for round in 1..=config.rounds {
        for engine in turn_order::turns(&config.engines, 0, round) {
            if run.absent.contains(&engine) {
                continue;
            }
            if several {
                print(&format!(
                    "Engine:     {engine} (round {round} of {})\n",
                    config.rounds
                ));
            }
            run.engine(&engine, round)?;
        }
    }
    Ok((run.good, run.output.lines))
}

/// Returns the entries of a list that cannot be run, each with the reason.
fn unknown(list: &[String]) -> BTreeMap<&str, String> {
    let wrong = |entry: &String| match Step::parse(entry) {
        Err(sentence) => Some(sentence),
        Ok(step) if catalog::named(&step.name).is_some() => None,
        Ok(step) => {
            let known = catalog::CATALOG.iter().map(|workload| workload.name);
            let hint = nearest(&step.name, known);
            Some(format!("unknown benchmark '{}'{hint}", step.name))
        }
    };
    let named = list.iter().filter(|entry| !entry.is_empty());
    named
        .filter_map(|entry| Some((entry.as_str(), wrong(entry)?)))
        .collect()
}

impl Run<'_> {
    /// Runs the whole list over one engine.
    fn engine(&mut self, engine: &str, round: u32) -> Result<(), String> {
        let mut asked = self.config.plan_for(engine, round);
        asked
            .benchmarks
            .retain(|name| !self.unknown.contains(name.as_str()));
        let limit = self.config.row_timeout.unwrap_or(ROW_TIMEOUT_DEFAULT);
        let mut timed = Timed::default();
        if asked.histogram {
            notify("every operation is timed first, in a separate pass\n");
            timed = Timed::measure(&asked, limit)?;
        }
        let plan = Plan {
            histogram: false,
            ..asked
        };
        let mut trouble = None;
        let ending = supervise::run(&[plan], &Start::default(), limit, &mut |_, event| {
            let event = timed.complete(event);
            trouble = trouble.take().or(self.event(engine, event).err());
        });
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        match ending {
            Ending::Complete => {}
            Ending::Unavailable(reason) => {
                notify(&format!("{engine}: {reason}\n"));
                self.good &= !self.config.named;
                self.absent.insert(engine.to_owned());
            }
            Ending::Broken { reason, .. } => {
                notify(&format!("open error: {reason}\n"));
                self.good = false;
            }
        }
        self.output.settle()
    }

    /// Shows an event of a child.
    fn event(&mut self, engine: &str, event: Event) -> Result<(), String> {
        match event {
            Event::Loaded { version, library } => {
                self.output.build(engine, version, library)?;
            }
            Event::Engine {
                title,
                version,
                options,
            } => {
                notify(&self.machine.header(&title, &version));
                let shown: Vec<String> = options
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                notify(&format!("Options:    {}\n", shown.join(" ")));
            }
            Event::Text(text) => print(&text),
            Event::Note(text) => notify(&text),
            Event::Row {
                text,
                histogram,
                record,
            } => {
                print(&text);
                if !histogram.is_empty() {
                    notify(&format!(
                        "the times of {} come from a separate pass, the rate does not\n",
                        record.workload
                    ));
                    print(&histogram);
                }
                notify(&cost(&record));
                self.good &= record.status != Status::Failed;
                self.output.row(&record)?;
                if let Some(file) = &self.config.intervals {
                    file.write(&record)?;
                }
            }
            Event::Broken(reason) => {
                notify(&format!("{reason}\n"));
                self.good = false;
            }
            Event::Begin(_) | Event::Waiting { .. } | Event::Unavailable(_) | Event::End => {}
        }
        Ok(())
    }
}

/// Returns the cost of a writing row in addition to its time, as one line for stderr; empty for
/// other rows.
#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn cost(record: &Record) -> String {
    let mut parts = Vec::new();
    if record.durability.as_deref() == Some(Survival::BELOW_OS) {
        parts.push("below Os, not ranked".to_owned());
    }
    if let Some(settle) = record.settle_ns {
        parts.push(format!("idle after {:.3} s", settle as f64 * 1e-9));
    }
    if let Some(disk) = record.disk_bytes {
        let live = record.live_bytes.filter(|&bytes| bytes > 0);
        let times = live.map(|live| format!(", {:.2}x the live data", disk as f64 / live as f64));
        parts.push(format!("{disk} bytes on disk{}", times.unwrap_or_default()));
    }
    let raw = record.user_bytes.filter(|&bytes| bytes > 0);
    for (who, written) in [
        ("engine", record.engine_write_bytes),
        ("kernel", record.io_write_bytes),
    ] {
        if let (Some(written), Some(raw)) = (written, raw) {
            parts.push(format!(
                "{:.2}x written ({who})",
                written as f64 / raw as f64
            ));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    if let Some(peak) = record.anon_rss_peak {
        parts.push(format!(
            "at most {:.1} MB anonymous",
            peak as f64 / 1_048_576.0
        ));
    }
    format!("{:12}   {}\n", "", parts.join(", "))
}
