//! Progress of a suite: a status line on a terminal, a line per section and round elsewhere, or a
//! line per row with `--verbose`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bench_core::result::record::{Record, Status};
use bench_core::workload::catalog;
use bench_core::workload::definition::Workload;
use bench_core::workload::settings::Variant;

use crate::output::{notify, status};

/// The form in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// A line for every row, with `--verbose`.
    Rows,
    /// One line that is rewritten, on a terminal of this width.
    Line(usize),
    /// A line for every section and round, if stderr is not a terminal.
    Sections,
}

/// One engine's run of one job in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// The round; 0 for the pass that times each operation.
    pub(super) round: u32,
    pub(super) job: usize,
    pub(super) engine: String,
}

/// The current turn.
#[derive(Debug)]
struct Current {
    planned: Planned,
    section: String,
    began: Instant,
}

/// Progress of a suite.
#[derive(Debug)]
pub(super) struct Progress {
    style: Style,
    rounds: u32,
    /// Turns that have not started.
    remaining: VecDeque<Planned>,
    /// Duration of the last turn of an engine at a job.
    known: BTreeMap<(usize, String), Duration>,
    current: Option<Current>,
    /// Time at which the suite should have ended, if it has a limit.
    deadline: Option<Instant>,
    /// Messages already shown; each is shown once.
    shown: BTreeSet<String>,
}

impl Progress {
    pub(super) fn new(verbose: bool) -> Self {
        let style = match status::columns() {
            _ if verbose => Style::Rows,
            Some(columns) => Style::Line(columns),
            None => Style::Sections,
        };
        Self {
            style,
            rounds: 0,
            remaining: VecDeque::new(),
            known: BTreeMap::new(),
            current: None,
            deadline: None,
            shown: BTreeSet::new(),
        }
    }

    /// Sets the planned turns, in order, and the time at which they should have ended.
    pub(super) fn plan(&mut self, rounds: u32, turns: Vec<Planned>, deadline: Option<Instant>) {
        self.rounds = rounds;
        self.remaining = turns.into();
        self.deadline = deadline;
    }

    /// Records the start of a turn. Planned turns before it were left out.
    pub(super) fn begin(&mut self, planned: Planned, section: &str) {
        if let Some(at) = self.remaining.iter().position(|turn| *turn == planned) {
            self.remaining.drain(..=at);
        }
        let same = self.current.as_ref().is_some_and(|current| {
            current.planned.round == planned.round && current.section == section
        });
        self.current = Some(Current {
            planned,
            section: section.to_owned(),
            began: Instant::now(),
        });
        if self.style == Style::Sections && !same {
            notify(&format!(
                "{}: section {section}, {}\n",
                self.pass(),
                self.left()
            ));
        }
    }

    /// Records the end of the turn.
    pub(super) fn end(&mut self) {
        if let Some(current) = &self.current {
            let key = (current.planned.job, current.planned.engine.clone());
            self.known.insert(key, current.began.elapsed());
        }
    }

    /// Records the start of a workload of the turn.
    pub(super) fn workload(&self, section: &str, workload: &str) {
        self.status(section, workload, "");
    }

    /// Shows that a workload takes long.
    pub(super) fn waiting(&self, workload: &str, seconds: u64, limit: u64) {
        let Some(current) = &self.current else {
            return;
        };
        if let Style::Line(_) = self.style {
            let word = format!(" for {seconds} s (limit {limit} s)");
            self.status(&current.section, workload, &word);
        } else {
            let planned = &current.planned;
            notify(&format!(
                "round {} {:<16} {workload}: running for {seconds} s, limit {limit} s\n",
                planned.round.max(1),
                planned.engine
            ));
        }
    }

    /// Records the end of a row.
    pub(super) fn row(&self, record: &Record) {
        if self.style == Style::Rows {
            notify(&row(record));
        }
    }

    /// Announces the pass that times each operation.
    pub(super) fn timing(&self) {
        if self.style == Style::Rows {
            notify("timing every operation, in a separate pass\n");
        }
    }

    /// Shows a message, once unless every row is shown.
    pub(super) fn message(&mut self, text: &str) {
        if self.shown.insert(text.to_owned()) || self.style == Style::Rows {
            notify(&format!("{text}\n"));
        }
    }

    fn status(&self, section: &str, workload: &str, word: &str) {
        let (Style::Line(columns), Some(current)) = (self.style, &self.current) else {
            return;
        };
        let engine = &current.planned.engine;
        let (pass, left) = (self.pass(), self.left());
        let text = format!("{pass}  section {section}  {engine}  {workload}{word}  {left}");
        status::show(&text, columns);
    }

    /// Returns the round, such as `round 2 of 3`.
    fn pass(&self) -> String {
        match self.current.as_ref().map(|current| current.planned.round) {
            Some(0) => "timing pass".into(),
            Some(round) => format!("round {round} of {}", self.rounds),
            None => String::new(),
        }
    }

    /// Returns the remaining time, such as `4 min left`.
    fn left(&self) -> String {
        match self.estimate() {
            Some(left) => format!("{} left", duration(left)),
            None => "estimating the time left".into(),
        }
    }

    /// Returns the estimated time of the remaining turns: each takes as long as last time, and one
    /// that has not run yet as long as the mean of the others. Later rounds start only within the
    /// time limit.
    fn estimate(&self) -> Option<Duration> {
        let current = self.current.as_ref()?;
        let turns = u32::try_from(self.known.len())
            .ok()
            .filter(|&turns| turns > 0)?;
        let mean = self.known.values().sum::<Duration>() / turns;
        let of = |turn: &Planned| {
            let known = self.known.get(&(turn.job, turn.engine.clone()));
            known.copied().unwrap_or(mean)
        };
        let now = of(&current.planned).saturating_sub(current.began.elapsed());
        let all = now + self.remaining.iter().map(of).sum::<Duration>();
        let Some(deadline) = self.deadline else {
            return Some(all);
        };
        let same = |turn: &&Planned| turn.round == current.planned.round;
        let round = now + self.remaining.iter().filter(same).map(of).sum::<Duration>();
        let allowed = deadline.saturating_duration_since(Instant::now());
        Some(all.min(allowed).max(round))
    }
}

/// Formats a duration in whole minutes, rounded up.
fn duration(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60).max(1);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// Returns the line of a row.
fn row(record: &Record) -> String {
    let what = match (record.status, record.rate()) {
        (Status::Ok, Some(rate)) => amount(&record.workload, rate),
        (Status::Ok, None) => "timed".to_owned(),
        _ => record.reason.clone().unwrap_or_default(),
    };
    let section = record.section.as_deref().unwrap_or_default();
    let pass = if record.rate().is_none() && record.status == Status::Ok {
        "timing ".to_owned()
    } else {
        format!("round {}", record.round)
    };
    format!(
        "{pass} {section:<9} {:<16} {:<28} {what}\n",
        record.engine,
        label(record)
    )
}

/// Formats a rate, or the time of an event.
fn amount(workload: &str, rate: f64) -> String {
    let took = Duration::try_from_secs_f64(1.0 / rate);
    match took {
        Ok(took) if catalog::named(workload).is_some_and(Workload::is_event) => {
            format!("{took:.2?}")
        }
        _ => format!("{rate:.0} a second"),
    }
}

/// Returns the name of a row: its workload, and what distinguishes it from others of that name.
fn label(record: &Record) -> String {
    let unusual = [
        (&record.state, "as left"),
        (&record.data, "synthetic"),
        (&record.variant, Variant::Fair.word()),
    ];
    let unusual = unusual.into_iter().filter_map(|(value, usual)| {
        let value = value.as_deref();
        value.filter(|value| *value != usual)
    });
    // Several directories are distinguished by file system and path.
    let place = record.file_system.as_deref();
    let place = place.filter(|place| place.contains(", "));
    let parts = unusual.chain(place).map(|part| format!(" [{part}]"));
    record.workload.clone() + &parts.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(round: u32, engine: &str) -> Planned {
        let engine = engine.into();
        Planned {
            round,
            job: 0,
            engine,
        }
    }

    fn progress(deadline: Option<Duration>) -> Progress {
        let mut progress = Progress::new(true);
        let turns = [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (0, "a")];
        let turns = turns.map(|(round, engine)| turn(round, engine)).to_vec();
        progress.plan(2, turns, deadline.map(|left| Instant::now() + left));
        progress
    }

    #[test]
    fn rows_of_one_workload_are_distinguished() {
        let record = |parts: [&str; 4]| {
            let [state, data, variant, file_system] = parts.map(|part| Some(part.to_owned()));
            Record {
                workload: "fillseq".into(),
                state,
                data,
                variant,
                file_system,
                ..Record::default()
            }
        };
        let apart = record(["compacted", "json", "bloom10", "ext4, /mnt/a"]);
        assert_eq!(
            label(&apart),
            "fillseq [compacted] [json] [bloom10] [ext4, /mnt/a]"
        );
        let plain = record(["as left", "synthetic", "fair", "ext4"]);
        assert_eq!(label(&plain), "fillseq");
        assert_eq!(amount("compact", 10.0), "100.00ms");
        assert_eq!(amount("fillseq", 1234.4), "1234 a second");
    }

    #[test]
    fn durations_are_whole_minutes() {
        assert_eq!(duration(Duration::from_secs(0)), "1 min");
        assert_eq!(duration(Duration::from_secs(61)), "2 min");
        assert_eq!(duration(Duration::from_secs(3601)), "1 h 1 min");
    }

    #[test]
    fn remaining_turns_take_as_long_as_the_last_time() {
        let mut progress = progress(None);
        progress.begin(turn(1, "a"), "1C");
        assert_eq!(progress.estimate(), None);
        progress
            .known
            .insert((0, "a".into()), Duration::from_mins(1));
        progress.begin(turn(1, "b"), "1C");
        let left = progress.estimate().expect("a turn is known").as_secs();
        // b takes the mean of the known turns, which is a's time, and three turns are left after
        // it.
        assert!((230..=240).contains(&left), "{left}");
    }

    #[test]
    fn rounds_that_were_left_out_are_not_waited_for() {
        let mut progress = progress(None);
        progress.begin(turn(0, "a"), "1C");
        assert!(progress.remaining.is_empty());
        assert_eq!(progress.pass(), "timing pass");
    }

    #[test]
    fn a_limit_of_time_shortens_the_estimate_but_not_the_round_that_runs() {
        for (limit, expected) in [(150, 140..=150), (10, 110..=120)] {
            let mut progress = progress(Some(Duration::from_secs(limit)));
            progress
                .known
                .insert((0, "a".into()), Duration::from_mins(1));
            progress.begin(turn(1, "a"), "1C");
            let left = progress.estimate().expect("a turn is known").as_secs();
            assert!(expected.contains(&left), "{left}");
        }
    }
}
