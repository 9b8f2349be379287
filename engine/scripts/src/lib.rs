//! Test scripts: commands with their expected output.
//!
//! A script is a text file in the style of Pebble's `datadriven`:
//!
//! ```text
//! # A comment.
//! command word name=value
//! input
//! ----
//! expected output
//! ```
//!
//! Input and output may be empty; a blank line ends the output. The commands of one file share the
//! state of one driver. If `CAIRN_REWRITE` is set, [`run_folder`] replaces the expected output in
//! the files with the actual output.
//!
//! The Rust crate `datadriven` was not suitable. Its environment variables have no prefix, so a
//! `RUN` set for another program would skip every script, and its command arguments are unordered.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Environment variable that makes [`run_folder`] replace the expected output of all scripts run.
const REWRITE: &str = "CAIRN_REWRITE";

/// A command with its arguments and input.
///
/// A driver takes the arguments it knows; any argument left over is an error in the script.
#[derive(Debug)]
pub struct Command {
    /// The first word of the command's line.
    pub name: String,
    /// The lines between the command and `----`.
    pub input: Vec<String>,
    arguments: Vec<String>,
}

impl Command {
    /// Parses the command on `line`, without input.
    pub fn new(line: &str) -> Command {
        let mut words = line.split_whitespace().map(str::to_owned);
        Command {
            name: words.next().unwrap_or_default(),
            input: Vec::new(),
            arguments: words.collect(),
        }
    }

    /// Takes the argument `name`, which has no value; returns whether it was present.
    pub fn flag(&mut self, name: &str) -> bool {
        let at = self.arguments.iter().position(|found| found == name);
        at.map(|at| self.arguments.remove(at)).is_some()
    }

    /// Takes the next argument without `=`.
    ///
    /// # Errors
    /// If none is left.
    pub fn word(&mut self) -> Result<String, String> {
        let mut arguments = self.arguments.iter();
        let at = arguments.position(|found| !found.contains('='));
        let at = at.ok_or_else(|| format!("`{}` lacks an argument", self.name))?;
        Ok(self.arguments.remove(at))
    }

    /// Takes the value of the argument `name`, if present.
    ///
    /// # Errors
    /// If the value does not parse.
    pub fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        let is_it = |found: &String| found.split_once('=').is_some_and(|(key, _)| key == name);
        let Some(at) = self.arguments.iter().position(is_it) else {
            return Ok(None);
        };
        let argument = self.arguments.remove(at);
        let (_, text) = argument.split_once('=').unwrap_or_default();
        let value = text.parse();
        value.map_or_else(
            |_| Err(format!("cannot read `{argument}`")),
            |it| Ok(Some(it)),
        )
    }

    /// Checks that all arguments have been taken.
    ///
    /// # Errors
    /// If one is left.
    pub fn finish(&self) -> Result<(), String> {
        match self.arguments.first() {
            None => Ok(()),
            Some(left) => Err(format!("`{}` takes no `{left}`", self.name)),
        }
    }
}

/// The outcome of one script.
#[derive(Debug, Default)]
struct Outcome {
    /// The script with the actual output.
    rewritten: String,
    /// Output that differs from the expected output.
    differences: Vec<String>,
    /// Commands that failed, do not exist or have wrong arguments.
    errors: Vec<String>,
}

/// Runs the commands of the script `text`.
fn run(
    name: &str,
    text: &str,
    driver: &mut dyn FnMut(&mut Command) -> Result<String, String>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        outcome.rewritten.push_str(line);
        outcome.rewritten.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{name}:{}: {line}", index + 1);
        // Shown if the driver panics.
        eprintln!("{place}");
        let mut command = Command::new(line);
        let input = lines.by_ref().map(|(_, line)| line.to_owned());
        command.input = input.take_while(|line| line != "----").collect();
        for line in command.input.iter().map(String::as_str).chain(["----"]) {
            outcome.rewritten.push_str(line);
            outcome.rewritten.push('\n');
        }
        let expected = lines.by_ref().map(|(_, line)| line);
        let expected: Vec<&str> = expected.take_while(|line| !line.is_empty()).collect();
        let (actual, errors) = match driver(&mut command) {
            Ok(output) => (output, command.arguments),
            Err(error) => (String::new(), vec![error]),
        };
        let errors = errors
            .iter()
            .map(|error| format!("{place}\nfailed: {error}"));
        outcome.errors.extend(errors);
        let actual: Vec<&str> = actual.lines().filter(|line| !line.is_empty()).collect();
        if actual != expected {
            let (expected, actual) = (expected.join("\n"), actual.join("\n"));
            let difference = format!("{place}\n--- expected\n{expected}\n--- actual\n{actual}");
            outcome.differences.push(difference);
        }
        for line in actual {
            outcome.rewritten.push_str(line);
            outcome.rewritten.push('\n');
        }
        outcome.rewritten.push('\n');
    }
    outcome
        .rewritten
        .truncate(outcome.rewritten.trim_end().len());
    outcome.rewritten.push('\n');
    outcome
}

/// Returns the scripts in `folder`, sorted by name.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts are files of the source tree"
)]
fn scripts_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the script folder exists");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let mut scripts: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == "txt"))
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "no script in {}", folder.display());
    scripts
}

/// Runs every script in `folder`, each with its own driver. The driver returns the output of a
/// command, or an error that no expected output can accept: it does not understand the command.
///
/// # Panics
/// If the output of a command is not the expected output, or a script is not understood.
pub fn run_folder<D>(folder: &Path, mut driver: impl FnMut() -> D)
where
    D: FnMut(&mut Command) -> Result<String, String>,
{
    let rewrite = std::env::var_os(REWRITE).is_some();
    let mut report = String::new();
    for path in scripts_in(folder) {
        let text = fs::read_to_string(&path).expect("a script is readable UTF-8");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let outcome = run(&name, &text, &mut driver());
        if rewrite {
            save(&path, &text, &outcome.rewritten);
        }
        let differences = outcome.differences.iter().filter(|_| !rewrite);
        for failure in outcome.errors.iter().chain(differences) {
            let _ = writeln!(report, "{failure}\n");
        }
    }
    assert!(
        report.is_empty(),
        "{report}{REWRITE}=1 accepts the actual output"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "scripts are files of the source tree"
)]
fn save(path: &Path, old: &str, new: &str) {
    if old != new {
        fs::write(path, new).expect("a script can be rewritten");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the numbers of the input to a running total, after the argument `from`.
    fn sum() -> impl FnMut(&mut Command) -> Result<String, String> {
        let mut total = 0;
        move |command| {
            if command.name != "add" {
                return Err(format!("no command `{}`", command.name));
            }
            total += command.value("from")?.unwrap_or(0);
            let numbers = command.input.iter().flat_map(|line| line.parse::<u64>());
            total += numbers.sum::<u64>();
            Ok(format!("{total}\n"))
        }
    }

    const SCRIPT: &str = "# Sums.\nadd from=3\n1\n2\n----\n6\n\n\nadd\n----\n6\n";

    #[test]
    fn a_script_with_the_right_output_passes_and_is_left_as_it_is() {
        let outcome = run("sums", SCRIPT, &mut sum());
        assert!(outcome.errors.is_empty() && outcome.differences.is_empty());
        assert_eq!(outcome.rewritten, SCRIPT);
    }

    #[test]
    fn other_output_is_reported_with_its_place_and_replaced() {
        let wrong = SCRIPT.replacen('6', "7\n8", 1);
        let outcome = run("sums", &wrong, &mut sum());
        let expected = "sums:2: add from=3\n--- expected\n7\n8\n--- actual\n6";
        assert_eq!(outcome.differences, [expected]);
        assert_eq!(outcome.rewritten, SCRIPT);
    }

    #[test]
    fn a_command_or_an_argument_that_nobody_knows_is_an_error() {
        let text = "remove\n----\n\nadd to=4 twice\n----\n0\n\nadd from=x\n----\n";
        let outcome = run("sums", text, &mut sum());
        let errors = outcome.errors.join("\n");
        assert_eq!(outcome.errors.len(), 4, "{errors}");
        for part in [
            "no command `remove`",
            "to=4",
            "twice",
            "cannot read `from=x`",
        ] {
            assert!(errors.contains(part), "{part} in {errors}");
        }
    }

    #[test]
    fn words_and_flags_are_taken_once() {
        let mut command = Command::new("crash power fill=old:3 now");
        assert!(command.flag("now") && !command.flag("now"));
        assert_eq!(
            command.value::<String>("fill"),
            Ok(Some("old:3".to_owned()))
        );
        assert_eq!(command.word().as_deref(), Ok("power"));
        assert!(command.word().is_err());
    }
}
