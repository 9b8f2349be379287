//! The examples in the help of each command and in its manual page.
//!
//! A test runs them in a directory with a database `fruit` of three entries and a LevelDB database
//! `old`. In `examples.txt`, the examples of a command follow its name. A line that begins with
//! `$ ` is typed; what follows is what it prints.

use clap::Command;

/// What precedes the examples in a help text.
pub(crate) const HEADING: &str = "Examples:";

const EXAMPLES: &str = include_str!("examples.txt");

/// Adds its examples to the long help of a command.
pub(super) fn added(command: Command) -> Command {
    let is_other = |line: &&str| line.strip_prefix("# ") != Some(command.get_name());
    let lines = EXAMPLES.lines().skip_while(is_other).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("# "));
    let lines: String = lines.flat_map(|line| ["\n  ", line]).collect();
    if lines.is_empty() {
        return command;
    }
    command.after_long_help(format!("{HEADING}{lines}"))
}
