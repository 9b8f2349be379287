//! The command line: one table of flags, one parser for both families of syntax.
//!
//! `-flag` and `--flag`, a value after `=` or as the next word, bare booleans, `--noflag`,
//! `--flagfile=FILE`, `--undefok=a,b`. A flag that RocksDB's program knows and that means nothing here
//! is told once and ignored; an unknown one is refused with the nearest name; a bad value is refused
//! with what is allowed.

mod rocksdb;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub(crate) use table::{FLAGS, Flag, Kind, TOPICS};

/// The flags given, by name, checked against their kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Given {
    values: BTreeMap<&'static str, String>,
    /// Sentences for stderr.
    pub(crate) warnings: Vec<String>,
}

impl Given {
    /// Reads the words of a command line.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let mut given = Self::default();
        let mut tolerated = BTreeSet::new();
        given.words(words, &mut tolerated, 0)?;
        Ok(given)
    }

    fn words(
        &mut self,
        words: &[String],
        tolerated: &mut BTreeSet<String>,
        depth: u32,
    ) -> Result<(), String> {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
            let Some(body) = body.filter(|body| !body.is_empty()) else {
                return Err(format!(
                    "Invalid argument '{word}': flags begin with - or --"
                ));
            };
            let (name, value) = match body.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (body, None),
            };
            let mut next = || {
                rest.next()
                    .cloned()
                    .ok_or_else(|| format!("--{name} needs a value"))
            };
            match name {
                "flagfile" => {
                    let path = value.map_or_else(next, Ok)?;
                    self.file(&path, tolerated, depth)?;
                }
                "undefok" => {
                    let names = value.map_or_else(next, Ok)?;
                    tolerated.extend(names.split(',').map(str::to_owned));
                }
                _ if tolerated.contains(name) && matches!(find(name), Found::Nothing) => {}
                _ => self.flag(word, name, value, &mut next)?,
            }
        }
        Ok(())
    }

    /// One flag of the tables; `next` gives the word after it.
    fn flag(
        &mut self,
        word: &str,
        name: &str,
        value: Option<String>,
        next: &mut dyn FnMut() -> Result<String, String>,
    ) -> Result<(), String> {
        match find(name) {
            Found::Ours(flag, true) => match value {
                Some(_) => Err(format!(
                    "Invalid flag '{word}': --no{} takes no value",
                    flag.name
                )),
                None => self.set(flag, "0"),
            },
            Found::Ours(flag, false) => {
                let value = match value {
                    Some(value) => value,
                    None if flag.kind == Kind::Bool => "1".to_owned(),
                    None => next()?,
                };
                self.set(flag, &value)
            }
            Found::RocksDb { takes_value } => {
                if takes_value && value.is_none() {
                    next()?;
                }
                self.warn(format!("--{name} is a flag of RocksDB's db_bench that means nothing here; it is ignored"));
                Ok(())
            }
            Found::Nothing => Err(unknown(word, name)),
        }
    }

    fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }

    /// Flags from a file: one or more a line, `#` begins a comment.
    fn file(
        &mut self,
        path: &str,
        tolerated: &mut BTreeSet<String>,
        depth: u32,
    ) -> Result<(), String> {
        if depth > 8 {
            return Err(format!(
                "--flagfile={path}: flag files name each other more than eight deep"
            ));
        }
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("--flagfile={path}: {error}"))?;
        let words: Vec<String> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect();
        self.words(&words, tolerated, depth + 1)
    }

    fn set(&mut self, flag: &'static Flag, value: &str) -> Result<(), String> {
        let value = flag.kind.check(value).ok_or_else(|| {
            format!(
                "--{}={value}: {} is allowed",
                flag.name,
                flag.kind.allowed()
            )
        })?;
        self.values.insert(flag.name, value);
        Ok(())
    }

    /// The value given for a flag, if it was given.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        debug_assert!(
            FLAGS.iter().any(|flag| flag.name == name),
            "{name} is not in the table"
        );
        self.values.get(name).map(String::as_str)
    }

    /// The value of a flag: given, or its default.
    pub(crate) fn text(&self, name: &str) -> &str {
        let default = || {
            FLAGS
                .iter()
                .find(|flag| flag.name == name)
                .map_or("", |flag| flag.default)
        };
        self.given(name).unwrap_or_else(default)
    }

    /// A switch.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.text(name) == "1"
    }

    /// A whole number; the table guarantees that it parses.
    pub(crate) fn number(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or(-1)
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&self, name: &str) -> u64 {
        u64::try_from(self.number(name)).unwrap_or(0)
    }

    /// A number given and not negative.
    pub(crate) fn chosen(&self, name: &str) -> Option<u64> {
        self.given(name)?.parse().ok()
    }
}

enum Found {
    Ours(&'static Flag, bool),
    RocksDb { takes_value: bool },
    Nothing,
}

/// What a name stands for. Dashes inside names count as underscores.
fn find(name: &str) -> Found {
    let plain = name.replace('-', "_");
    let ours = |name: &str| {
        FLAGS
            .iter()
            .find(|flag| flag.name == name || flag.aliases.contains(&name))
    };
    if let Some(flag) = ours(&plain) {
        return Found::Ours(flag, false);
    }
    if let Some(flag) = plain
        .strip_prefix("no")
        .and_then(ours)
        .filter(|flag| flag.kind == Kind::Bool)
    {
        return Found::Ours(flag, true);
    }
    if rocksdb::VALUED.contains(&plain.as_str()) {
        return Found::RocksDb { takes_value: true };
    }
    let switch = |name: &str| rocksdb::SWITCHES.contains(&name);
    if switch(&plain) || plain.strip_prefix("no").is_some_and(switch) {
        return Found::RocksDb { takes_value: false };
    }
    Found::Nothing
}

fn unknown(word: &str, name: &str) -> String {
    let near = FLAGS
        .iter()
        .map(|flag| (distance(name, flag.name), flag.name))
        .min()
        .filter(|&(steps, near)| steps <= (near.len() / 3).max(2));
    match near {
        Some((_, near)) => format!("Invalid flag '{word}': did you mean --{near}?"),
        None => format!("Invalid flag '{word}': --help lists what there is"),
    }
}

/// `; did you mean X?` for the nearest of some names, nothing when none is near.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    known
        .map(|known| (distance(name, known), known))
        .min()
        .filter(|&(steps, known)| steps <= (known.len() / 3).max(2))
        .map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"))
}

/// Characters to insert, remove, replace or exchange with their neighbour to make one word of another.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for row in 0..=from.len() {
        for column in 0..=to.len() {
            rows[row][column] = if row == 0 || column == 0 {
                row + column
            } else {
                let (left, right) = (from[row - 1], to[column - 1]);
                let replaced = rows[row - 1][column - 1] + usize::from(left != right);
                let moved = rows[row - 1][column].min(rows[row][column - 1]) + 1;
                let exchanged =
                    row > 1 && column > 1 && left == to[column - 2] && from[row - 2] == right;
                let crossed = if exchanged {
                    rows[row - 2][column - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(moved).min(crossed)
            };
        }
    }
    rows[from.len()][to.len()]
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "db_bench: the workloads of LevelDB's and RocksDB's db_bench over several stores\n\
         usage: db_bench [--flag=value | --flag value | --switch | --noswitch]...\n",
    );
    // Writing to a String cannot fail, here and below.
    for &topic in TOPICS {
        let _ = writeln!(text, "\n{topic}:");
        for flag in FLAGS.iter().filter(|flag| flag.topic == topic) {
            let default = match flag.default {
                "" => "none",
                long if long.len() > 40 => "LevelDB's list",
                default => default,
            };
            let (name, help, kind) = (flag.name, flag.help, flag.kind.name());
            let _ = writeln!(
                text,
                "  --{name} ({help})  type: {kind}  default: {default}"
            );
        }
    }
    text.push_str("\nworkloads (a suffix repeats or warms up: [X5], [W2], [X5-W2]):\n");
    for workload in bench_core::catalog::CATALOG {
        let _ = writeln!(text, "  {:<22} -- {}", workload.name, workload.help);
    }
    text
}

#[cfg(test)]
mod tests;
