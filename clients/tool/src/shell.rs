//! `cairn shell`: the commands at a prompt, or from a script on stdin, over one database.
//!
//! Each line is one command of `cairn` without the directory. The database is opened for each
//! command and closed after it, so that between commands other processes can open it, and nothing
//! is lost if the shell is killed.
//!
//! `words.rs` splits a line, `grammar.rs` is the command line without the directory, `prompt.rs`
//! reads lines from a terminal, `script.rs` from a pipe or a file.

mod grammar;
mod prompt;
mod script;
mod words;

use std::io::{self, IsTerminal};

use crate::arguments::{Command, Shell};
use crate::failure::Result;
use crate::orders;
use crate::output::print_text;
use grammar::{Grammar, Line, Next};
use words::Words;

/// Carries out one command.
pub(crate) type Run<'r> = &'r dyn Fn(&Command) -> Result<()>;

/// Reads commands until the end of stdin, from a person or from a script.
pub(crate) fn shell(arguments: &Shell, run: Run<'_>) -> Result<()> {
    let grammar = Grammar::new(&arguments.directory);
    let mut carry_out = |line: Words| carry_out(&grammar, line, run);
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return prompt::read(&grammar, &mut carry_out);
    }
    script::Script::new(io::stdin().lock()).carry_out(arguments.keep_going, &mut carry_out)
}

/// Carries out one line.
fn carry_out(grammar: &Grammar, line: Words, run: Run<'_>) -> Result<Next> {
    match grammar.parse(line)? {
        Line::Empty => Ok(Next::Continue),
        Line::End => Ok(Next::End),
        Line::Text(text) => {
            print_text(&text)?;
            Ok(Next::Continue)
        }
        Line::Command(arguments) => {
            if let Some(name) = &arguments.comparator {
                orders::declare(name)?;
            }
            match run(&arguments.command) {
                // The reader of a page may have ended the command.
                Err(failure) if !failure.is_closed() => Err(failure),
                _ => Ok(Next::Continue),
            }
        }
    }
}
