//! Writes: the keys and values that a command names, and the contents that they should leave.

use std::collections::BTreeMap;

use cairndb::{Db, Durability, Result as DbResult, WriteBatch, WriteOptions};
use cairndb_env::random::Random;
use cairndb_scripts::Command;

use crate::text::value_of;

/// What a database should contain.
pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// One write of a command.
pub(crate) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
}

impl Write {
    pub(crate) fn run(&self, db: &Db, options: WriteOptions) -> DbResult<()> {
        let options = &options;
        match self {
            Write::Put(key, value) => db.put_with(key, value, options),
            Write::Delete(key) => db.delete_with(key, options),
            Write::Merge(key, operand) => db.merge_with(key, operand, options),
        }
    }

    pub(crate) fn add_to(&self, batch: &mut WriteBatch) {
        match self {
            Write::Put(key, value) => batch.put(key, value),
            Write::Delete(key) => batch.delete(key),
            Write::Merge(key, operand) => batch.merge(key, operand),
        }
    }

    /// Does to `contents` what the write does to the database.
    pub(crate) fn apply(self, contents: &mut Contents) {
        match self {
            Write::Put(key, value) => drop(contents.insert(key, value)),
            Write::Delete(key) => drop(contents.remove(&key)),
            Write::Merge(key, operand) => contents.entry(key).or_default().extend(operand),
        }
    }
}

/// Takes the durability that `command` names; `os` if it names none.
pub(crate) fn durability(command: &mut Command) -> WriteOptions {
    let levels = [
        ("none", Durability::None),
        ("os", Durability::Os),
        ("sync", Durability::Sync),
    ];
    let level = levels.into_iter().find(|(name, _)| command.flag(name));
    let level = level.map_or(Durability::Os, |(_, level)| level);
    WriteOptions::new().durability(level)
}

/// Parses the writes of one line of input.
fn writes_of(line: &str) -> Result<Vec<Write>, String> {
    let mut line = Command::new(line);
    let key = line.word()?;
    let key_bytes = || key.clone().into_bytes();
    let writes = match &*line.name.clone() {
        "put" => vec![Write::Put(key_bytes(), value_of(&line.word()?)?)],
        "merge" => vec![Write::Merge(key_bytes(), value_of(&line.word()?)?)],
        "delete" => vec![Write::Delete(key_bytes())],
        "fill" => {
            let count = line
                .word()?
                .parse()
                .map_err(|_| "invalid count".to_owned())?;
            let value = value_of(&line.word()?)?;
            let keys = (0..count).map(|number: u32| format!("{key}{number:04}").into_bytes());
            keys.map(|key| Write::Put(key, value.clone())).collect()
        }
        other => return Err(format!("unknown write: {other}")),
    };
    line.finish()?;
    Ok(writes)
}

/// Parses the writes of all lines of input.
pub(crate) fn all_writes(command: &Command) -> Result<Vec<Write>, String> {
    let lines = command.input.iter().map(|line| writes_of(line));
    Ok(lines
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// Parses a number, or a sum or difference such as `20+5`.
fn number(text: &str) -> Option<u32> {
    let parts = text.split_inclusive(['+', '-']).collect::<Vec<_>>();
    let mut total = 0_u32;
    for (at, part) in parts.iter().enumerate() {
        let number = part.trim_end_matches(['+', '-']).parse().ok()?;
        let minus = at > 0 && parts[at - 1].ends_with('-');
        total = if minus {
            total.checked_sub(number)?
        } else {
            total + number
        };
    }
    Some(total)
}

/// Splits a key into its prefix, which ends with `:`, and the rest.
fn prefixed(text: &str) -> (&str, &str) {
    text.split_at(text.find(':').map_or(0, |at| at + 1))
}

/// Parses a key: a number has eight digits, anything else stands for itself.
pub(crate) fn key_of(text: &str) -> Vec<u8> {
    let (prefix, rest) = prefixed(text);
    number(rest).map_or_else(|| text.into(), |n| format!("{prefix}{n:08}").into())
}

/// Parses `FIRST..END`.
pub(crate) fn range_of(text: &str) -> Option<std::ops::Range<u32>> {
    let (first, end) = text.split_once("..")?;
    Some(number(first)?..number(end)?)
}

/// The keys that a command names, in the order in which it writes them.
pub(crate) struct Keys {
    /// The single key, or the prefix of all.
    text: String,
    range: Option<std::ops::Range<u32>>,
    step: u32,
    except: Option<u32>,
    scatter: Option<u32>,
    times: u32,
}

impl Keys {
    /// Takes the keys from `command`; `main.rs` has the syntax.
    pub(crate) fn take(command: &mut Command) -> Result<Keys, String> {
        let word = command.word()?;
        let (prefix, rest) = prefixed(&word);
        let range = range_of(rest);
        let text = if range.is_some() { prefix } else { &word };
        let count = range.as_ref().map_or(1, |range| range.end - range.start);
        Ok(Keys {
            text: text.to_owned(),
            range,
            step: command.value("step")?.unwrap_or(1),
            except: command.value("except")?,
            scatter: command.value("scatter")?,
            times: command.value("times")?.unwrap_or(count),
        })
    }

    /// Returns the number of scattered keys.
    pub(crate) fn scattered(&self) -> u32 {
        self.scatter.map_or(0, |_| self.times)
    }

    /// Returns the keys. Scattered ones continue after `before` others.
    pub(crate) fn iter(&self, before: u32) -> impl Iterator<Item = Vec<u8>> + use<'_> {
        let step = usize::try_from(self.step).unwrap();
        let turns = (0..self.times).step_by(step);
        let turns = turns.filter(|turn| self.except.is_none_or(|n| !turn.is_multiple_of(n)));
        turns.map(move |turn| match &self.range {
            None => key_of(&self.text),
            Some(range) => {
                let place = self.scatter.map_or(turn, |factor| {
                    let place = before.wrapping_add(turn).wrapping_mul(factor);
                    place % (range.end - range.start)
                });
                format!("{}{:08}", self.text, range.start + place).into()
            }
        })
    }
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words.flatten().take(len).collect()
}

/// Parses the text form of the value of the `n`th write; `main.rs` has the syntax.
pub(crate) fn value_at(text: &str, n: u32) -> Result<Vec<u8>, String> {
    let noise = |len| Ok(noise(n.into(), len));
    match text {
        "record" => {
            let (customer, price) = (n.wrapping_mul(2_654_435_761) >> 8, n % 997);
            let start = format!("{{\"customer\":\"C-{customer:07}\",\"price\":{price}");
            Ok(format!("{start},\"currency\":\"NOK\"}}").into())
        }
        "prose" if n % 7 == 3 => noise(20_000),
        "prose" => {
            let lines = (0..400).map(|at| format!("line {at} of a text, as put in write {n}\n"));
            Ok(lines.collect::<String>().into())
        }
        _ => match text.strip_prefix("noise:") {
            Some(len) => noise(len.parse().map_err(|_| format!("not a length: {len}"))?),
            None => value_of(text),
        },
    }
}
