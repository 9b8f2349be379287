//! Runs the picker on the scripts in `testdata/scripts/picker`.
//!
//! ```text
//! settings [unit=BYTES] [runs-max=N]   size of a flush, and runs above which writers wait
//! runs                                 replaces the runs with those of the input, newest first
//! flush                                puts the runs of the input on top
//! pick                                 prints the compaction chosen while writes continue
//! pick-idle                            prints the compaction chosen while the database is idle
//! pick-for-values slack=BYTES          prints the compaction that shows which values are dead
//! pick-for-stall free=N                 prints a writer's choice among the `N` newest runs
//! compact [idle]                       compacts until nothing is left to pick; prints each choice
//! load count=N bytes=BYTES [readers=N] flushes and compacts `N` times, with readers that tolerate
//!                                      at most `readers` runs; prints the cost
//! ```
//!
//! A line of input is `COUNT x BYTES [entries=N] [deletes=N] [hidden=N] [hides-much]
//! [values=BYTES] [damaged]`. A compacted run is as
//! large as its inputs: nothing was overwritten. No tombstones remain in the last run.

use std::fmt::Write;
use std::path::Path;

use cairndb_scripts::{Command, run_folder};

use super::{Group, RUNS_STALL, RunSize, pick, pick_for_stall, pick_for_values, pick_idle};

/// Number of compactions after which a script has failed, because it would never end.
const STEPS_MAX: usize = 1000;

struct Picker {
    runs: Vec<RunSize>,
    unit: u64,
    runs_max: usize,
}

fn shown(group: Option<Group>) -> String {
    group.map_or("none".to_owned(), |group| {
        format!("{}..={}", group.first, group.last)
    })
}

/// Parses a size with an optional unit.
fn bytes(text: &str) -> Result<u64, String> {
    let shift = match text.bytes().last() {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let number: u64 = digits.parse().map_err(|_| format!("bad size: {text}"))?;
    Ok(number << shift)
}

/// Returns the runs that one line of input describes.
fn parse(line: &str) -> Result<Vec<RunSize>, String> {
    // Its first word is in the position of a command's name.
    let mut line = Command::new(line);
    let count: usize = line
        .name
        .parse()
        .map_err(|_| format!("bad count: {}", line.name))?;
    if !line.flag("x") {
        return Err("COUNT x BYTES is missing".to_owned());
    }
    let damaged = line.flag("damaged");
    let bytes = bytes(&line.word()?)?;
    let run = RunSize {
        bytes,
        entries: line.value("entries")?.unwrap_or(bytes / 60),
        deletes: line.value("deletes")?.unwrap_or(0),
        hidden: line.value("hidden")?.unwrap_or(0),
        hides_much: line.flag("hides-much"),
        values: match line.value::<String>("values")? {
            Some(values) => self::bytes(&values)?,
            None => 0,
        },
        damaged,
    };
    line.finish()?;
    Ok(vec![run; count])
}

fn parse_all(input: &[String]) -> Result<Vec<RunSize>, String> {
    let runs = input.iter().map(|line| parse(line));
    Ok(runs.collect::<Result<Vec<_>, _>>()?.concat())
}

impl Picker {
    fn new() -> Picker {
        Picker {
            runs: Vec::new(),
            unit: 100,
            runs_max: RUNS_STALL,
        }
    }

    fn run(&mut self, command: &mut Command) -> Result<String, String> {
        match &*command.name.clone() {
            "settings" => {
                if let Some(unit) = command.value::<String>("unit")? {
                    self.unit = bytes(&unit)?;
                }
                self.runs_max = command.value("runs-max")?.unwrap_or(self.runs_max);
                Ok(String::new())
            }
            "runs" => {
                self.runs = parse_all(&command.input)?;
                Ok(format!("{} runs", self.runs.len()))
            }
            "flush" => {
                self.runs.splice(..0, parse_all(&command.input)?);
                Ok(format!("{} runs", self.runs.len()))
            }
            "pick" => Ok(shown(self.pick())),
            "pick-idle" => Ok(shown(pick_idle(&self.runs))),
            "pick-for-values" => {
                let slack = bytes(&command.value::<String>("slack")?.unwrap_or_default())?;
                Ok(shown(pick_for_values(&self.runs, slack)))
            }
            "pick-for-stall" => {
                let free = command.value("free")?.unwrap_or(self.runs.len());
                let group = pick_for_stall(&self.runs, free, self.unit, self.runs_max);
                Ok(shown(group))
            }
            "compact" => self.compact(command.flag("idle")),
            "load" => self.load(command),
            other => Err(format!("unknown command `{other}`")),
        }
    }

    fn pick(&self) -> Option<Group> {
        pick(&self.runs, self.unit, self.runs_max)
    }

    /// Compacts `group`, and returns the number of bytes written.
    fn apply(&mut self, group: Group) -> u64 {
        let bottom = group.last + 1 == self.runs.len();
        let inputs = &self.runs[group.first..=group.last];
        let sum = |part: fn(&RunSize) -> u64| inputs.iter().map(part).sum::<u64>();
        let deletes = sum(|run| run.deletes);
        let dropped = if bottom { deletes } else { 0 };
        let output = RunSize {
            bytes: sum(|run| run.bytes),
            entries: sum(|run| run.entries) - dropped,
            deletes: deletes - dropped,
            hidden: 0,
            hides_much: false,
            values: sum(|run| run.values),
            damaged: inputs.iter().any(|run| run.damaged),
        };
        self.runs.splice(group.first..=group.last, [output]);
        output.bytes
    }

    fn compact(&mut self, idle: bool) -> Result<String, String> {
        let mut output = String::new();
        for _ in 0..STEPS_MAX {
            let idle_too = || pick_idle(&self.runs).filter(|_| idle);
            let Some(group) = self.pick().or_else(idle_too) else {
                return Ok(output + &self.shape());
            };
            let written = self.apply(group);
            let _ = writeln!(output, "{} written: {written}", shown(Some(group)));
        }
        Err("the picker does not terminate".to_owned())
    }

    fn load(&mut self, command: &mut Command) -> Result<String, String> {
        // Like `Schedule::runs_max`: a view with no more runs than readers tolerate needs no
        // action.
        let readers = command.value("readers")?.unwrap_or(self.runs_max);
        let idle_max = self.runs_max;
        let count: u64 = command.value("count")?.unwrap_or(1);
        let bytes = bytes(&command.value("bytes")?.unwrap_or("100".to_owned()))?;
        let (mut written, mut most) = (0, 0);
        for _ in 0..count {
            self.runs.splice(..0, parse(&format!("1 x {bytes}"))?);
            most = most.max(self.runs.len());
            loop {
                let crowded = self.runs.len() > readers;
                let runs_max = if crowded { readers } else { idle_max };
                let Some(group) = pick(&self.runs, self.unit, runs_max) else {
                    break;
                };
                written += self.apply(group);
            }
        }
        let (whole, tenth) = (
            written / (count * bytes),
            written * 10 / (count * bytes) % 10,
        );
        let shape = self.shape();
        Ok(format!(
            "rewritten {whole}.{tenth} times, at most {most} runs\n{shape}"
        ))
    }

    /// Returns the runs, with equal neighbours on one line.
    fn shape(&self) -> String {
        let mut shape = String::new();
        for alike in self.runs.chunk_by(|a, b| a == b) {
            let run = alike[0];
            let _ = write!(shape, "{} x {}", alike.len(), run.bytes);
            if run.deletes > 0 {
                let _ = write!(shape, " entries={} deletes={}", run.entries, run.deletes);
            }
            shape.push_str(if run.damaged { " damaged\n" } else { "\n" });
        }
        shape
    }
}

#[test]
fn the_picker_chooses_what_the_scripts_expect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_folder(&root.join("../../testdata/scripts/picker"), || {
        let mut picker = Picker::new();
        move |command: &mut Command| picker.run(command)
    });
}
