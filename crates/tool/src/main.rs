//! `cairn`: looks into a database and changes it, from the shell.
//!
//! Floor 8. A command line is parsed by `arguments`, carried out by one function of `commands`, and
//! ends with one of the exit codes of `failure`.
//!
//! 1. Databases are untrusted: no file is mapped, and every page is verified at every access.
//! 2. A command that only reads opens the database read-only and changes nothing.
//! 3. What is printed from a database is escaped, except by `get --raw`, so that no key or value
//!    can control a terminal or break a line.
//!
//! Threads: one, besides the engine's own in commands that write.

#![forbid(unsafe_code)]

mod arguments;
mod coding;
mod commands;
mod copy;
mod database;
mod escape;
mod failure;
mod holder;
mod inspect;
mod json;
mod orders;
mod output;
mod pager;
mod place;
mod progress;
mod range;
mod shell;
mod store;
mod terminal;
mod transfer;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::{Code, Failure};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => {
            // A closed pipe cannot be reported anywhere.
            let _ = refusal.print();
            let usage = refusal.use_stderr();
            return if usage { Code::Usage } else { Code::Done }.into();
        }
    };
    let declared = arguments
        .comparator
        .as_deref()
        .map_or(Ok(()), orders::declare);
    let run = || match &arguments.command {
        Command::Shell(shell) => shell::shell(shell, &commands::run),
        command => commands::run(command),
    };
    match declared.and_then(|()| run()) {
        Ok(()) => Code::Done.into(),
        Err(failure) => {
            failure.report();
            Failure::code(&failure).into()
        }
    }
}
