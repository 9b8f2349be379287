//! `cairn`: looks into a database and changes it, from the shell.
//!
//! Floor 9. A command line is parsed by `arguments`, carried out by one function of `commands`, and
//! ends with one of the exit codes of `failure`.
//!
//! 1. Databases are untrusted: no file is mapped, and every page is verified at every access.
//! 2. A command that only reads opens the database read-only and changes nothing. While another
//!    process has it open for writing, the command follows it, and may make the file `SHARED`.
//! 3. What is printed is escaped, except by `get --raw`, so that no key, value or name can control
//!    a terminal or break a line.
//!
//! Threads: one, besides the engine's own in commands that write.

#![forbid(unsafe_code)]
#![deny(
    clippy::print_stderr,
    reason = "its macros panic without stderr: use `message::notify`"
)]

mod arguments;
mod coding;
mod commands;
mod copy;
mod database;
mod escape;
mod failure;
mod inspect;
mod json;
mod message;
mod orders;
mod output;
mod pager;
mod place;
mod progress;
mod range;
mod shell;
mod sink;
mod space;
mod store;
mod terminal;
mod transfer;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use arguments::{Arguments, Command, elsewhere};
use failure::{Code, Failure};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => {
            return explain(&refusal).into();
        }
    };
    let order = arguments.comparator.as_deref();
    let declared = order.map_or(Ok(()), orders::declare);
    let run = || match &arguments.command {
        Command::Shell(shell) => shell::shell(shell, &commands::run),
        command => commands::run(command),
    };
    match declared.and_then(|()| run()) {
        Ok(()) => Code::Done.into(),
        Err(failure) => failure.report().code().into(),
    }
}

/// Prints the help that was asked for, or why the command line is wrong.
fn explain(refusal: &clap::Error) -> Code {
    if let Some(ContextValue::String(name)) = refusal.get(ContextKind::InvalidSubcommand)
        && let Some(answer) = elsewhere(name)
    {
        let message = format!("there is no command `{name}`; {answer}");
        return Failure::usage(message).report().code();
    }
    if refusal.use_stderr() {
        message::notify(&refusal.to_string());
        return Code::Usage;
    }
    match refusal.print() {
        Ok(()) => Code::Done,
        Err(error) => Failure::output(&error).report().code(),
    }
}
