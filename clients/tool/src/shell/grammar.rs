//! The command line of the shell: that of `cairn`, without the directory.
//!
//! It is made from the same definition: the directory is inserted before a line is parsed, and left
//! out of the help.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, FromArgMatches};

use super::words::{Word, Words};
use crate::arguments::{Arguments, Command, elsewhere};
use crate::failure::{Failure, Result};

/// Commands of `cairn` that have no use inside the shell.
const OUTSIDE: [&str; 4] = ["shell", "completions", "man", "copy"];
/// The name of the argument that the shell inserts.
const DIRECTORY: &str = "directory";
/// The option that stands for the directory, which the shell has.
const STORE: &str = "store";

/// What a line asks for.
pub(super) enum Line {
    Empty,
    /// The end of the shell.
    End,
    /// A help text.
    Text(String),
    Command(Box<Arguments>),
}

/// What follows a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Continue,
    End,
}

/// The commands of the shell over one directory.
#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) directory: PathBuf,
    definition: clap::Command,
}

impl Grammar {
    pub(super) fn new(directory: &Path) -> Grammar {
        let definition = Arguments::command().no_binary_name(true);
        let definition = definition
            .disable_help_subcommand(true)
            .mut_subcommands(|command| {
                let outside = OUTSIDE.contains(&command.get_name());
                let command = command.hide(outside);
                if !takes_directory(&command) {
                    return command;
                }
                // A hidden argument that is required would still be in the usage.
                let usage = command.clone().render_usage().to_string();
                let usage = usage.replace("Usage: ", "").replace("cairn ", "");
                let usage = usage.replace(" <DIRECTORY>", "");
                let lines = usage.lines().filter(|line| !line.contains("--store"));
                let usage = lines.collect::<Vec<&str>>().join("\n");
                let command = command.override_usage(usage);
                command.mut_args(|argument| {
                    let id = argument.get_id();
                    let is_hidden = id == DIRECTORY || id == STORE;
                    argument.hide(is_hidden)
                })
            });
        Grammar {
            directory: directory.to_owned(),
            definition,
        }
    }

    /// Returns the names of the commands.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let commands = self.definition.get_subcommands();
        let commands = commands.filter(|command| !command.is_hide_set());
        commands
            .map(clap::Command::get_name)
            .chain(["help", "exit"])
    }

    /// Returns the long options of a command.
    pub(super) fn options(&self, command: &str) -> Vec<String> {
        let Some(command) = self.definition.find_subcommand(command) else {
            return Vec::new();
        };
        let shown = command
            .get_arguments()
            .filter(|argument| !argument.is_hide_set());
        let own = shown.filter_map(clap::Arg::get_long);
        let all = own.chain(["comparator", "help"]);
        all.map(|long| format!("--{long}")).collect()
    }

    /// Parses the words of a line.
    pub(super) fn parse(&self, words: Words) -> Result<Line> {
        let unclosed = |_| Failure::usage("a quote is not closed");
        let words = words.map_err(unclosed)?;
        let Some((name, rest)) = words.split_first() else {
            return Ok(Line::Empty);
        };
        match &*name.text {
            "exit" | "quit" => return Ok(Line::End),
            "help" => return self.help(rest).map(Line::Text),
            name if OUTSIDE.contains(&name) => {
                return Err(Failure::usage(format!(
                    "`{name}` has no use inside the shell"
                )));
            }
            _ => {}
        }
        let mut arguments: Vec<OsString> = vec![name.text.clone().into()];
        let command = self.command(&name.text)?;
        if takes_directory(command) {
            arguments.push(self.directory.clone().into());
        }
        for word in rest {
            arguments.push(argument(&name.text, word)?);
        }
        let parsed = self.definition.clone().try_get_matches_from(arguments);
        let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
        match parsed {
            Ok(arguments) if reads_stdin(&arguments.command) => Err(Failure::usage(format!(
                "`{}` cannot read stdin inside the shell: name the file",
                name.text
            ))),
            Ok(arguments) if names_store(&arguments.command) => Err(Failure::usage(
                "`--store` has no use inside the shell, which has a directory",
            )),
            Ok(arguments) => Ok(Line::Command(Box::new(arguments))),
            Err(refusal) if !refusal.use_stderr() => Ok(Line::Text(refusal.to_string())),
            Err(refusal) => {
                let text = refusal.to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                let text = text.replace("For more information, try '--help'.", "");
                let (text, name) = (text.trim_end(), &name.text);
                Err(Failure::usage(format!(
                    "{text}\n\n`help {name}` explains the command."
                )))
            }
        }
    }

    /// Returns the command with this name.
    fn command(&self, name: &str) -> Result<&clap::Command> {
        let unknown = || {
            let answer = elsewhere(name).unwrap_or("`help` lists the commands");
            Failure::usage(format!("there is no command `{name}`; {answer}"))
        };
        self.definition.find_subcommand(name).ok_or_else(unknown)
    }

    /// Returns the help of a command, or the list of commands.
    fn help(&self, words: &[Word]) -> Result<String> {
        if let Some(word) = words.first() {
            let mut command = self.command(&word.text)?.clone();
            return Ok(command.render_long_help().to_string());
        }
        let commands = self.definition.get_subcommands();
        let rows = commands
            .filter(|command| !command.is_hide_set())
            .map(|command| {
                let about = command.get_about().map(ToString::to_string);
                format!(
                    "  {:<12}{}\n",
                    command.get_name(),
                    about.unwrap_or_default()
                )
            });
        let rows: String = rows.collect();
        let directory = self.directory.display();
        Ok(format!(
            "Commands on {directory}, as in the system's shell, but without the directory:\n\
             {rows}\n  help        Print this list, or `help COMMAND` the help of a command\n  \
             exit        End, as the end of the input does\n\n\
             Quotes keep spaces and newlines: put key 'a value\nof two lines'. Backslash begins the \
             escapes of keys and values, such as \\n and \\xNN, also between quotes.\n"
        ))
    }
}

/// Returns whether the shell inserts the directory.
fn takes_directory(command: &clap::Command) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|argument| argument.get_id() == DIRECTORY)
}

/// Returns whether a command would take the lines of the script for its data.
fn reads_stdin(command: &Command) -> bool {
    let is_stdin = |path: &Option<PathBuf>| path.as_ref().is_none_or(|path| path == Path::new("-"));
    match command {
        Command::Load(load) => is_stdin(&load.file),
        Command::Import(import) => is_stdin(&import.source),
        _ => false,
    }
}

/// Returns whether a command works on another store than the shell.
fn names_store(command: &Command) -> bool {
    let store = match command {
        Command::Get(get) => &get.store,
        Command::Put(put) => &put.store,
        Command::Delete(delete) => &delete.store,
        Command::Scan(scan) => &scan.store,
        _ => return false,
    };
    store.store.is_some()
}

/// Returns the argument of a command that a word stands for.
fn argument(command: &str, word: &Word) -> Result<OsString> {
    match (&*word.text, word.quoted) {
        // A file: `dump` and `export` write to stdout, and `reads_stdin` names the others.
        ("-", _) if ["dump", "export", "load", "import"].contains(&command) => Ok("-".into()),
        ("-", false) => Err(Failure::usage(
            "`-` cannot be stdin inside the shell: quote a value that spans lines, or read it with \
             --file",
        )),
        // On the command line, the value `-` is written like this.
        ("-", true) => Ok("\\x2d".into()),
        (text, _) => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;
    use crate::failure::Code;

    /// Returns the message with which a line is refused.
    fn refusal(grammar: &Grammar, line: &str) -> String {
        let Err(failure) = grammar.parse(words(line)) else {
            panic!("{line} is accepted");
        };
        assert_eq!(failure.code(), Code::Usage, "{line}");
        failure.message().to_owned()
    }

    #[test]
    fn the_directory_is_inserted() {
        let grammar = Grammar::new(Path::new("fruit"));
        let Ok(Line::Command(arguments)) = grammar.parse(words("get --hex '00 ff'")) else {
            panic!("a command");
        };
        let Command::Get(get) = arguments.command else {
            panic!("get");
        };
        assert_eq!(
            (get.directory, get.key),
            ("fruit".into(), Some("00 ff".into()))
        );
    }

    #[test]
    fn help_leaves_the_directory_out() {
        let grammar = Grammar::new(Path::new("fruit"));
        for name in grammar
            .names()
            .filter(|name| !["help", "exit"].contains(name))
        {
            let Ok(Line::Text(text)) = grammar.parse(words(&format!("help {name}"))) else {
                panic!("help of {name}");
            };
            assert!(!text.contains("<DIRECTORY>"), "{text}");
            assert!(
                text.contains("Usage: ") && !text.contains("--store"),
                "{text}"
            );
            assert!(grammar.options(name).contains(&"--help".to_owned()));
        }
        assert!(
            matches!(grammar.parse(words("help")), Ok(Line::Text(text)) if text.contains("scan"))
        );
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let grammar = Grammar::new(Path::new("fruit"));
        for line in [
            "look",
            "shell",
            "put key -",
            "get",
            "get 'a",
            "help look",
            "scan --limit x",
            "load",
            "import --format csv",
            "load -",
            "import --format csv -",
            "delete key --store file:other",
            "scan --store file:other",
            "copy file:one file:other",
        ] {
            refusal(&grammar, line);
        }
        assert!(matches!(
            grammar.parse(words("put key '-'")),
            Ok(Line::Command(_))
        ));
        assert!(matches!(
            grammar.parse(words("load file")),
            Ok(Line::Command(_))
        ));
        for line in ["dump -", "export --format csv '-'"] {
            assert!(
                matches!(grammar.parse(words(line)), Ok(Line::Command(_))),
                "{line}"
            );
        }
        for (line, advice) in [
            ("load -", "name the file"),
            ("look", "`help` lists"),
            ("get", "`help get` explains"),
        ] {
            let message = refusal(&grammar, line);
            assert!(message.contains(advice), "{message}");
            assert!(!message.contains("'--help'"), "{message}");
        }
        assert!(matches!(grammar.parse(words("quit")), Ok(Line::End)));
        assert!(matches!(
            grammar.parse(words(" # nothing")),
            Ok(Line::Empty)
        ));
    }
}
