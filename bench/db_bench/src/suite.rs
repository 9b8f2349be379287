//! The suite mode: sections as data, every engine, several rounds, one table at the end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bench_core::catalog;
use bench_core::place;
use bench_core::plan::Plan;
use bench_core::record::{Record, Status};
use bench_core::runner::Event;
use bench_core::settings::Memory;
use serde::Deserialize;

use crate::config::Config;
use crate::machine::Machine;
use crate::output::{Json, print, tell};
use crate::supervise::{self, Ending};
use crate::table::{self, Results};

/// The sections of `make bench`.
const FIRST: &str = include_str!("../../suites/first.toml");

/// Rounds of `quick` that have not begun by then are left out.
const QUICK_ROUNDS_UNTIL: Duration = Duration::from_mins(8);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    section: Vec<Section>,
}

/// Rows under one amount of memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    name: String,
    memory: u64,
    part: Vec<Part>,
}

/// What one child process runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    reading: bool,
    rows: Vec<String>,
}

impl Part {
    /// What each row is called in the table: a read after a compaction says so.
    fn labels(&self) -> Vec<String> {
        let mut compacted = false;
        let label = |name: &String| {
            let known = catalog::named(name);
            compacted &= known.is_none_or(|workload| !workload.changes());
            let reads = known.is_some_and(|workload| {
                !workload.changes() && !matches!(name.as_str(), "compact" | "open")
            });
            let text = if compacted && reads {
                format!("{name}, compacted")
            } else {
                name.clone()
            };
            compacted |= name == "compact";
            text
        };
        self.rows.iter().map(label).collect()
    }
}

/// Everything about one run of a suite that outlives a child.
struct Run<'c> {
    config: &'c Config,
    name: &'c str,
    json: Json,
    results: Results,
    absent: BTreeMap<String, String>,
    notes: Vec<String>,
    started: Instant,
}

/// Runs the suite and prints its table; gives whether everything asked for was there and right.
pub(crate) fn run(config: &Config, name: &str) -> Result<bool, String> {
    let suite: Suite =
        toml::from_str(FIRST).map_err(|error| format!("the suite's data: {error}"))?;
    let machine = Machine::here(&config.base);
    let json = Json::create(config.json.as_deref(), &machine)?;
    let mut run = Run {
        config,
        name,
        json,
        results: Results::default(),
        absent: BTreeMap::new(),
        notes: Vec::new(),
        started: Instant::now(),
    };
    for line in machine.summary(&config.base) {
        tell(&format!("{line}\n"));
    }
    let mut rounds_done = 0;
    for round in 1..=config.rounds {
        if round > 1 && name == "quick" && run.started.elapsed() > QUICK_ROUNDS_UNTIL {
            run.notes.push(format!(
                "rounds {round} to {} were left out: eight minutes had passed",
                config.rounds
            ));
            break;
        }
        for section in &suite.section {
            for engine in config.rotated(round) {
                run.engine(section, &engine, round)?;
            }
        }
        rounds_done = round;
    }
    for line in machine.summary(&config.base) {
        print(&format!("{line}\n"));
    }
    let shape = table::Shape {
        engines: &config.engines,
        num: config.plan.num,
        rounds: rounds_done,
    };
    print(&table::render(
        &shape,
        &run.results,
        &run.absent,
        &run.notes,
    ));
    tell(&format!(
        "took {:.0} s\n",
        run.started.elapsed().as_secs_f64()
    ));
    Ok(!run.results.any_failed() && (run.absent.is_empty() || !config.named))
}

impl Run<'_> {
    /// All parts of a section for one engine and round.
    fn engine(&mut self, section: &Section, engine: &str, round: u32) -> Result<(), String> {
        if self.absent.contains_key(engine) {
            return Ok(());
        }
        let base = self.config.plan_for(engine, round);
        let mut broken: Option<String> = None;
        for part in &section.part {
            if let Some(reason) = &broken {
                self.lose(section, part, &base, reason)?;
                continue;
            }
            match self.part(section, part, &base)? {
                Ending::Complete => {}
                Ending::Unavailable(reason) => {
                    tell(&format!("{engine}: {reason}\n"));
                    self.absent.insert(engine.to_owned(), reason);
                    return Ok(());
                }
                Ending::Broken(reason) => {
                    tell(&format!("{engine}: {reason}\n"));
                    broken = Some(reason);
                }
            }
        }
        // What cannot be removed is in nobody's way: the next run asks again.
        let _ = place::remove(&base.db);
        Ok(())
    }

    /// One child process; rows it never reached count as failed when its store broke.
    fn part(&mut self, section: &Section, part: &Part, base: &Plan) -> Result<Ending, String> {
        let plan = Plan {
            benchmarks: part.rows.clone(),
            memory: Memory::split(section.memory, part.reading),
            use_existing_db: part.reading,
            progress: false,
            suite: Some(self.name.to_owned()),
            section: Some(section.name.clone()),
            ..base.clone()
        };
        let labels = part.labels();
        let (mut entry, mut reached, mut trouble) = (0, 0, None);
        let ending = supervise::run(&plan, self.config.row_timeout, &mut |event| match event {
            Event::Begin(index) => entry = index,
            Event::Row { record, .. } => {
                reached = entry + 1;
                trouble = trouble.take().or(self.json.row(&record).err());
                tell(&progress(section, &labels[entry], &record));
                self.results.add(&section.name, &labels[entry], *record);
            }
            _ => {}
        });
        if let Ending::Broken(reason) = &ending {
            let rest = Part {
                reading: part.reading,
                rows: part.rows[reached..].to_vec(),
            };
            self.lose(section, &rest, &plan, reason)?;
        }
        trouble.map_or(Ok(ending), Err)
    }

    /// Records rows that could not be reached.
    fn lose(
        &mut self,
        section: &Section,
        part: &Part,
        plan: &Plan,
        reason: &str,
    ) -> Result<(), String> {
        for (name, label) in part.rows.iter().zip(part.labels()) {
            let record = Record {
                engine: plan.engine.clone(),
                suite: Some(self.name.to_owned()),
                section: Some(section.name.clone()),
                workload: name.clone(),
                instance: 1,
                round: plan.round,
                status: Status::Failed,
                reason: Some(reason.to_owned()),
                ..Record::default()
            };
            self.json.row(&record)?;
            self.results.add(&section.name, &label, record);
        }
        Ok(())
    }
}

/// One line of progress.
fn progress(section: &Section, label: &str, record: &Record) -> String {
    let what = match (record.status, record.rate()) {
        (Status::Ok, Some(rate)) => table::amount(label, rate),
        (_, _) => record.reason.clone().unwrap_or_default(),
    };
    format!(
        "round {} {:>6} {:<8} {label:<24} {what}\n",
        record.round, section.name, record.engine
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_names_only_workloads_that_exist() {
        let suite: Suite = toml::from_str(FIRST).expect("well formed");
        assert_eq!(suite.section.len(), 2);
        for section in &suite.section {
            for name in section.part.iter().flat_map(|part| &part.rows) {
                assert!(catalog::named(name).is_some(), "{name}");
            }
            assert!(
                !section.part[0].reading,
                "{}: the first part starts from nothing",
                section.name
            );
        }
    }

    #[test]
    fn reads_after_a_compaction_have_names_of_their_own() {
        let rows = [
            "fillrandom",
            "readseq",
            "compact",
            "readseq",
            "open",
            "deleteseq",
            "readseq",
        ];
        let part = Part {
            reading: false,
            rows: rows.map(str::to_owned).to_vec(),
        };
        assert_eq!(
            part.labels(),
            [
                "fillrandom",
                "readseq",
                "compact",
                "readseq, compacted",
                "open",
                "deleteseq",
                "readseq"
            ]
        );
    }
}
