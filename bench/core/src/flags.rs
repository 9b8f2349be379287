//! Command lines in the style of LevelDB's and RocksDB's programs: one table, one parser.
//!
//! The parser accepts `-flag` and `--flag`, a value after `=` or as the next word, bare booleans,
//! `--noflag`, `--flagfile=FILE` and `--undefok=a,b`. A flag of the original program that has no
//! effect here causes one warning. A flag that would change what is measured, and that this program
//! does not support, is rejected with the reason, unless its value matches what the program does
//! anyway. The error for an unknown flag suggests the nearest name; the error for a bad value lists
//! the allowed values.

mod kind;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

pub use kind::FlagKind;

/// One flag.
#[derive(Debug, PartialEq)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The allowed values.
    pub kind: FlagKind,
    /// The value used when the flag is not given; empty for "not given".
    pub default: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The topic under which the help lists the flag.
    pub topic: &'static str,
}

/// Returns a flag with one name.
pub const fn flag(
    topic: &'static str,
    name: &'static str,
    kind: FlagKind,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag {
        name,
        aliases: &[],
        kind,
        default,
        help,
        topic,
    }
}

impl Flag {
    /// Adds other names.
    #[must_use]
    pub const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// A flag of the model that would change what is measured, in a way this program does not offer.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: &'static str,
    /// Whether the flag is a switch.
    pub switch: bool,
    /// Values that match what the program does anyway.
    pub harmless: &'static [&'static str],
    /// Why no other value is accepted, and what to do instead.
    pub reason: &'static str,
}

/// All flags of one program.
#[derive(Debug)]
pub struct Family {
    /// The program's own flags.
    pub flags: &'static [Flag],
    /// The program whose flags are tolerated.
    pub model: &'static str,
    /// The model's flags that are rejected.
    pub refused: &'static [Refused],
    /// Tolerated flags that take a value.
    pub tolerated_valued: &'static [&'static str],
    /// Tolerated switches.
    pub tolerated_switches: &'static [&'static str],
}

impl Refused {
    /// Checks that a value matches what the program does anyway.
    fn check(&self, value: &str) -> Result<(), String> {
        let plain = if self.switch {
            FlagKind::Bool.check(value)
        } else {
            Some(value.to_owned())
        };
        if plain.is_some_and(|plain| self.harmless.contains(&plain.as_str())) {
            return Ok(());
        }
        Err(format!("--{}={value}: {}", self.name, self.reason))
    }
}

enum FlagMatch {
    Own(&'static Flag, Sense),
    Refused(&'static Refused, Sense),
    Tolerated { takes_value: bool },
    Nothing,
}

/// The form of a switch: `--flag` or `--noflag`.
enum Sense {
    Plain,
    Negated,
}

impl Family {
    fn own(&self, name: &str) -> Option<&'static Flag> {
        let is_named = |flag: &&Flag| flag.name == name || flag.aliases.contains(&name);
        self.flags.iter().find(is_named)
    }

    /// Finds the flag with this name. Dashes inside names count as underscores.
    fn find(&self, name: &str) -> FlagMatch {
        let plain = name.replace('-', "_");
        let positive = plain.strip_prefix("no");
        if let Some(flag) = self.own(&plain) {
            return FlagMatch::Own(flag, Sense::Plain);
        }
        let negated = positive.and_then(|name| self.own(name));
        if let Some(flag) = negated.filter(|flag| flag.kind == FlagKind::Bool) {
            return FlagMatch::Own(flag, Sense::Negated);
        }
        let refused = |name: &str| self.refused.iter().find(|flag| flag.name == name);
        if let Some(flag) = refused(&plain) {
            return FlagMatch::Refused(flag, Sense::Plain);
        }
        if let Some(flag) = positive.and_then(refused).filter(|flag| flag.switch) {
            return FlagMatch::Refused(flag, Sense::Negated);
        }
        if self.tolerated_valued.contains(&plain.as_str()) {
            return FlagMatch::Tolerated { takes_value: true };
        }
        let is_switch = |name: &str| self.tolerated_switches.contains(&name);
        if is_switch(&plain) || positive.is_some_and(is_switch) {
            return FlagMatch::Tolerated { takes_value: false };
        }
        FlagMatch::Nothing
    }

    /// Returns the error message for an unknown flag.
    fn unknown(&self, word: &str, name: &str) -> String {
        match nearest(name, self.flags.iter().map(|flag| flag.name)) {
            Some(near) => format!("Invalid flag '{word}': did you mean --{near}?"),
            None => format!("Invalid flag '{word}': --help lists what there is"),
        }
    }
}

/// Returns the known name that a misspelt name most likely stands for.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|near| (distance(name, near), near))
        .min()
        .filter(|&(steps, near)| steps <= (near.len() / 3).max(2))
        .map(|(_, near)| near)
}

/// The flags that were given, by name, checked against their kinds.
#[derive(Clone, Debug)]
pub struct Given {
    family: &'static Family,
    values: BTreeMap<&'static str, String>,
    /// Flags of the model that were given and have no effect here.
    pub tolerated: BTreeSet<String>,
    /// Warnings for stderr, one for each tolerated flag.
    pub warnings: Vec<String>,
}

/// Maximum nesting depth of flag files.
const FILES_DEEP: u32 = 8;

impl Given {
    /// Parses a command line.
    ///
    /// # Errors
    /// An error message that names the argument and the problem.
    pub fn parse(family: &'static Family, words: &[String]) -> Result<Self, String> {
        let mut given = Self {
            family,
            values: BTreeMap::new(),
            tolerated: BTreeSet::new(),
            warnings: Vec::new(),
        };
        given.words(words, &mut BTreeSet::new(), 0)?;
        Ok(given)
    }

    fn words(
        &mut self,
        words: &[String],
        undefined: &mut BTreeSet<String>,
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
                let next = rest.next().cloned();
                next.ok_or_else(|| format!("--{name} needs a value"))
            };
            match name {
                "flagfile" => {
                    let path = value.map_or_else(next, Ok)?;
                    self.file(&path, undefined, depth)?;
                }
                "undefok" => {
                    let names = value.map_or_else(next, Ok)?;
                    undefined.extend(names.split(',').map(str::to_owned));
                }
                _ if undefined.contains(name)
                    && matches!(self.family.find(name), FlagMatch::Nothing) => {}
                _ => self.flag(word, name, value, &mut next)?,
            }
        }
        Ok(())
    }

    /// Parses one flag of the tables; `next` returns the word after it.
    fn flag(
        &mut self,
        word: &str,
        name: &str,
        value: Option<String>,
        next: &mut dyn FnMut() -> Result<String, String>,
    ) -> Result<(), String> {
        match self.family.find(name) {
            FlagMatch::Own(flag, Sense::Negated) => match value {
                Some(_) => Err(format!(
                    "Invalid flag '{word}': --no{} takes no value",
                    flag.name
                )),
                None => self.set(flag, "0"),
            },
            FlagMatch::Own(flag, Sense::Plain) => {
                let value = match value {
                    Some(value) => value,
                    None if flag.kind == FlagKind::Bool => "1".to_owned(),
                    None => next()?,
                };
                self.set(flag, &value)
            }
            FlagMatch::Refused(flag, sense) => {
                let value = match (value, sense) {
                    (Some(value), _) => value,
                    (None, Sense::Negated) => "0".to_owned(),
                    (None, Sense::Plain) if flag.switch => "1".to_owned(),
                    (None, Sense::Plain) => next()?,
                };
                flag.check(&value)
            }
            FlagMatch::Tolerated { takes_value } => {
                if takes_value && value.is_none() {
                    next()?;
                }
                let plain = name.replace('-', "_");
                if self.tolerated.insert(plain) {
                    let model = self.family.model;
                    self.warnings.push(format!(
                        "--{name} is a flag of {model} that means nothing here; it is ignored"
                    ));
                }
                Ok(())
            }
            FlagMatch::Nothing => Err(self.family.unknown(word, name)),
        }
    }

    /// Reads flags from a file, one per line; `#` starts a comment.
    fn file(
        &mut self,
        path: &str,
        undefined: &mut BTreeSet<String>,
        depth: u32,
    ) -> Result<(), String> {
        if depth > FILES_DEEP {
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
        self.words(&words, undefined, depth + 1)
    }

    fn set(&mut self, flag: &'static Flag, value: &str) -> Result<(), String> {
        let checked = flag.kind.check(value).ok_or_else(|| {
            let (name, allowed) = (flag.name, flag.kind.allowed());
            format!("--{name}={value}: {allowed} is allowed")
        })?;
        self.values.insert(flag.name, checked);
        Ok(())
    }

    /// Returns the value of a flag if it was given.
    pub fn given(&self, name: &str) -> Option<&str> {
        debug_assert!(
            self.family.own(name).is_some(),
            "{name} is not in the table"
        );
        self.values.get(name).map(String::as_str)
    }

    /// Returns the given value of a flag, or its default.
    pub fn text(&self, name: &str) -> &str {
        let default = || self.family.own(name).map_or("", |flag| flag.default);
        self.given(name).unwrap_or_else(default)
    }

    /// Returns whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == "1"
    }

    /// Returns the value of a flag as an integer; the table guarantees that it parses.
    pub fn number(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or(-1)
    }

    /// Returns the value of a flag as a non-negative integer.
    pub fn count(&self, name: &str) -> u64 {
        u64::try_from(self.number(name)).unwrap_or(0)
    }

    /// Returns the value that a given word stands for.
    pub fn word<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.given(name)?.into()).ok()
    }

    /// Returns the value of a flag if it was given and is not negative.
    pub fn chosen(&self, name: &str) -> Option<u64> {
        self.given(name)?.parse().ok()
    }
}

/// Returns the edit distance of two words: the number of characters to insert, remove, replace or
/// swap with their neighbour.
fn distance(from: &str, to: &str) -> usize {
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

#[cfg(test)]
mod tests;
