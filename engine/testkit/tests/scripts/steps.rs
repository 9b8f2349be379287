//! The command `test`: lines with loops and conditions instead of outputs.

use std::fmt;
use std::str::FromStr;

use cairndb::Error;
use cairndb_scripts::Command;
use cairndb_sim::Profile;

use crate::machine::Machine;
use crate::writes::range_of;

/// Why a line failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The database returned an error; with what a script prints after it.
    Store(Error, &'static str),
    /// The line is wrong, or what it expects is not the case.
    Script(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Store(error, "")
    }
}

impl From<String> for Trouble {
    fn from(text: String) -> Trouble {
        Trouble::Script(text)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Store(error, more) => write!(out, "error: {error}{more}"),
            Trouble::Script(text) => write!(out, "{text}"),
        }
    }
}

/// Number of looks at a condition, a second of the machine apart, before a test fails.
const WAITS_MAX: u32 = 5_000_000;
const OPERATORS: [&str; 5] = [" <= ", " >= ", " < ", " > ", " = "];

/// Splits `line` at `mark`.
fn split<'a>(line: &'a str, mark: &str) -> Result<(&'a str, &'a str), String> {
    line.split_once(mark)
        .ok_or_else(|| format!("`{line}` lacks `{mark}`"))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Parses a number such as `1.2`, `8e6`, `64K` or `1M`.
fn number(text: &str) -> Option<f64> {
    let unit = match text.as_bytes().last() {
        Some(b'K') => 1024.0,
        Some(b'M') => 1024.0 * 1024.0,
        _ => 1.0,
    };
    let number = text.trim_end_matches(['K', 'M']).parse::<f64>().ok();
    number.map(|number| number * unit)
}

/// A number of bytes such as `64K`.
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    fn exactly(number: f64) -> Option<Bytes> {
        format!("{number:.0}").parse().ok().map(Bytes)
    }
}

impl FromStr for Bytes {
    type Err = ();

    fn from_str(text: &str) -> Result<Bytes, ()> {
        number(text).and_then(Bytes::exactly).ok_or(())
    }
}

impl Machine {
    /// Runs `lines` on a new machine. Adds their output to `shown`.
    pub(crate) fn test(&mut self, command: &mut Command) -> Result<String, Trouble> {
        command.word()?;
        self.renew(command)?;
        let (lines, mut shown) = (command.input.clone(), String::new());
        self.block(&lines, &mut shown)?;
        Ok(shown)
    }

    /// Runs `lines`; the lines after one that are indented more are its body.
    pub(crate) fn block(&mut self, lines: &[String], shown: &mut String) -> Result<(), Trouble> {
        let mut rest = lines;
        while let Some((line, after)) = rest.split_first() {
            let inner = |next: &&String| indent(next) > indent(line);
            let (body, next) = after.split_at(after.iter().take_while(inner).count());
            rest = next;
            let line = line.trim();
            if !line.starts_with('#') {
                let done = self.statement(line, body, shown);
                done.map_err(|trouble| format!("{line}\n{trouble}"))?;
            }
        }
        Ok(())
    }

    fn statement(
        &mut self,
        line: &str,
        body: &[String],
        shown: &mut String,
    ) -> Result<(), Trouble> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "check" => rest
                .split(", ")
                .try_for_each(|condition| self.check(condition)),
            "wait" => self.wait(rest),
            "let" => {
                let (name, text) = split(rest, " = ")?;
                let value = self.value(text)?;
                self.figures.insert(name.to_owned(), value);
                Ok(())
            }
            "count" => {
                let (name, condition) = split(rest, " if ")?;
                let more = f64::from(u8::from(self.holds(condition)?));
                *self.figures.entry(name.to_owned()).or_default() += more;
                Ok(())
            }
            "corrupt" => {
                let (file, at) = split(rest, " ")?;
                self.damaged = self.named(file);
                self.perform(&mut Command::new(&format!("{name} {} {at}", self.damaged)))?;
                Ok(())
            }
            "capacity" => {
                let bytes = self.value(rest)?;
                let bytes = Bytes::exactly(bytes).ok_or_else(|| format!("not a size: {bytes}"))?;
                self.env.set_capacity(bytes.0);
                Ok(())
            }
            "fails" => self.fails(rest, body, shown),
            "for" => self.repeat(rest, body, shown),
            "crashes" => self.crashes(&mut Command::new(line), body, shown),
            "put" | "delete" | "merge" => self.writes(Command::new(line), body, shown),
            _ => {
                let mut command = Command::new(line);
                let output = self.perform(&mut command)?;
                command.finish()?;
                if !matches!(name, "open" | "reopen" | "step") {
                    shown.push_str(&output);
                }
                Ok(())
            }
        }
    }

    /// Runs `body` for each item of `NAME in ITEM ...` or `NAME,NAME in ITEM,ITEM ...`.
    fn repeat(&mut self, line: &str, body: &[String], shown: &mut String) -> Result<(), Trouble> {
        let (names, items) = split(line, " in ")?;
        let numbers = |item: &str| range_of(item).map(|it| it.map(|n| n.to_string()).collect());
        let items = items.split_whitespace();
        let items = items.flat_map(|item| numbers(item).unwrap_or_else(|| vec![item.to_owned()]));
        for item in items {
            let pairs = names.split(',').zip(item.split(','));
            let put_in = |line: &String| {
                let mut line = line.clone();
                for (name, value) in pairs.clone() {
                    line = line.replace(&format!("{{{name}}}"), value);
                }
                line
            };
            let body: Vec<String> = body.iter().map(put_in).collect();
            self.block(&body, shown)?;
        }
        Ok(())
    }

    /// Runs `body` in the states that a crash now may leave.
    fn crashes(
        &mut self,
        command: &mut Command,
        body: &[String],
        shown: &mut String,
    ) -> Result<(), Trouble> {
        let seed = command.value("seed")?.unwrap_or(1);
        let max = command.value("max")?.unwrap_or(8);
        command.finish()?;
        for state in self.env.crash_states(Profile::Weak, seed, max) {
            let mut after = Machine {
                contents: self.contents.clone(),
                figures: std::mem::take(&mut self.figures),
                options: self.options.clone(),
                ..Machine::on(state.image)
            };
            after.block(body, shown)?;
            after.check_order()?;
            self.figures = std::mem::take(&mut after.figures);
        }
        Ok(())
    }

    /// Runs a line that must fail with `KIND` or `KIND:TEXT`.
    fn fails(&mut self, line: &str, body: &[String], shown: &mut String) -> Result<(), Trouble> {
        let (expected, line) = split(line, " ")?;
        let (kind, text) = expected.split_once(':').unwrap_or((expected, ""));
        let damaged = self.damaged.clone();
        let text = if text == "damaged" { &damaged } else { text };
        match self.statement(line, body, shown) {
            Ok(()) => Err("it succeeded".to_owned().into()),
            Err(Trouble::Store(error, _))
                if format!("{:?}", error.kind()) == kind && error.to_string().contains(text) =>
            {
                Ok(())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Returns the name of the `first`, `middle` or `last` file with this ending.
    fn named(&self, file: &str) -> String {
        let (place, ending) = file.split_once('.').unwrap_or_default();
        let names = self
            .files(ending)
            .map(|(path, _)| path.file_name().map(ToOwned::to_owned));
        let names: Vec<_> = names.flatten().collect();
        let name = match place {
            "first" => names.first(),
            "middle" => names.get(names.len() / 2),
            "last" => names.last(),
            _ => None,
        };
        name.map_or_else(
            || file.to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns a sum of products of numbers and figures.
    fn value(&self, text: &str) -> Result<f64, String> {
        let mut sum = 0.0;
        for part in text.split(" + ") {
            let factors = part.split('*').map(|factor| match number(factor.trim()) {
                Some(number) => Ok(number),
                None => self.figure(factor.trim()),
            });
            sum += factors.product::<Result<f64, String>>()?;
        }
        Ok(sum)
    }

    /// Returns the values of both sides of a condition, and whether it holds.
    fn compare(&self, condition: &str) -> Result<(f64, f64, bool), String> {
        let operator = OPERATORS.into_iter().find(|it| condition.contains(it));
        let operator = operator.ok_or_else(|| format!("`{condition}` compares nothing"))?;
        let (left, right) = split(condition, operator)?;
        let (left, right) = (self.value(left)?, self.value(right)?);
        let holds = match operator {
            " <= " => left <= right,
            " >= " => left >= right,
            " < " => left < right,
            " > " => left > right,
            _ => left.total_cmp(&right).is_eq(),
        };
        Ok((left, right, holds))
    }

    fn holds(&self, condition: &str) -> Result<bool, String> {
        Ok(self.compare(condition)?.2)
    }

    fn check(&self, condition: &str) -> Result<(), Trouble> {
        let (left, right, holds) = self.compare(condition)?;
        let text = || format!("not so: {condition}: {left} and {right}");
        Ok(holds.then_some(()).ok_or_else(text)?)
    }

    /// Waits until another thread has made the condition true.
    fn wait(&self, condition: &str) -> Result<(), Trouble> {
        for _ in 0..WAITS_MAX {
            if self.holds(condition)? {
                break;
            }
            self.env.advance_clock(1_000_000_000);
            std::thread::yield_now();
        }
        self.check(condition)
    }
}
