//! Runs the picker on the scripts in `testdata/scripts/picker`.
//!
//! ```text
//! settings [unit=BYTES] [runs-max=N]   size of a flush, and runs above which writers wait
//! runs                                 replaces the runs by those of the input, newest first
//! flush                                puts the runs of the input on top
//! pick                                 what is compacted while writes go on
//! pick-idle                            what is compacted when nothing else is going on
//! pick-for-room free=N                 what a writer compacts of the `N` newest runs
//! compact [idle]                       compacts until nothing is left to pick; prints each choice
//! load count=N bytes=BYTES [readers=N] flushes and compacts `N` times, beside readers that like
//!                                      no more runs than `readers`; prints what that took
//! ```
//!
//! A line of input is `COUNT x BYTES [entries=N] [deletes=N] [damaged]`. A compacted run is as
//! large as its inputs: nothing was overwritten. In the last run no tombstones are left.

use std::fmt::Write;
use std::path::Path;

use cairndb_scripts::{Command, run_folder};

use super::{Group, RUNS_STALL, RunSize, pick, pick_for_room, pick_idle};

/// Compactions after which a script has failed: they would never end.
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

/// A size with an optional unit.
fn bytes(text: &str) -> Result<u64, String> {
    let shift = match text.bytes().last() {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let number: u64 = digits.parse().map_err(|_| format!("no size: {text}"))?;
    Ok(number << shift)
}

/// The runs that one line of input describes.
fn parse(line: &str) -> Result<Vec<RunSize>, String> {
    // Its first word has the place of a command's name.
    let mut line = Command::new(line);
    let count: usize = line
        .name
        .parse()
        .map_err(|_| format!("no count: {}", line.name))?;
    if !line.flag("x") {
        return Err("COUNT x BYTES is missing".to_owned());
    }
    let damaged = line.flag("damaged");
    let bytes = bytes(&line.word()?)?;
    let run = RunSize {
        bytes,
        entries: line.value("entries")?.unwrap_or(bytes / 60),
        deletes: line.value("deletes")?.unwrap_or(0),
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
            "pick-for-room" => {
                let free = command.value("free")?.unwrap_or(self.runs.len());
                let group = pick_for_room(&self.runs, free, self.unit, self.runs_max);
                Ok(shown(group))
            }
            "compact" => self.compact(command.flag("idle")),
            "load" => self.load(command),
            other => Err(format!("no command `{other}`")),
        }
    }

    fn pick(&self) -> Option<Group> {
        pick(&self.runs, self.unit, self.runs_max)
    }

    /// Compacts `group`; bytes written.
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
        Err("the picker never comes to an end".to_owned())
    }

    fn load(&mut self, command: &mut Command) -> Result<String, String> {
        // As `Schedule::runs_max`: a view with no more runs than readers like is nobody's concern.
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

    /// The runs, equal neighbours on one line.
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
