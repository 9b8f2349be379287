//! `completions` and `man`, from the definition of the command line. `make install` calls them.

use std::path::Path;
use std::{fs, io};

use clap::{Command, CommandFactory};
use clap_complete::generate;
use roff::{Roff, roman};

use crate::arguments::examples::HEADING;
use crate::arguments::{Arguments, Completions, Man};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Prints the script that completes command lines of `cairn`.
pub(super) fn completions(arguments: &Completions) -> Result<()> {
    let mut command = Arguments::command();
    let mut output = Output::stdout()?;
    generate(arguments.shell, &mut command, "cairn", output.buffer());
    output.finish()
}

/// Writes the manual pages.
pub(super) fn man(arguments: &Man) -> Result<()> {
    let target = &arguments.target;
    let mut cairn = Arguments::command().disable_help_subcommand(true);
    cairn.build();
    let commands = cairn.get_subcommands().chain([&cairn]);
    let written = commands
        .cloned()
        .try_for_each(|command| write_page(command, target));
    written.map_err(|error| {
        let target = target.display();
        Failure::other(format!("the pages cannot be written to {target}: {error}"))
    })
}

/// Writes the page of a command. Of what follows its help, indented lines are kept as they are, and
/// others are filled.
fn write_page(command: Command, target: &Path) -> io::Result<()> {
    let long = command.get_after_long_help().map(ToString::to_string);
    let short = command.get_after_help().map(ToString::to_string);
    let examples = long.as_ref().and_then(|text| text.strip_prefix(HEADING));
    let last = match (examples, &short) {
        (Some(text), _) => Some(("EXAMPLES", text.trim_start_matches('\n'))),
        (None, Some(text)) => Some(("NOTES", &**text)),
        (None, None) => None,
    };
    let command = command
        .after_help(None::<&str>)
        .after_long_help(None::<&str>);
    let source = concat!("cairn ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command).source(source);
    let mut page = Vec::new();
    man.render(&mut page)?;
    if let Some((heading, text)) = last {
        let mut roff = Roff::new();
        roff.control("SH", [heading]);
        let mut is_kept = false;
        for line in text.lines() {
            if line.starts_with(' ') != is_kept {
                is_kept = !is_kept;
                roff.control(if is_kept { "nf" } else { "fi" }, []);
            }
            roff.text([roman(line)]);
        }
        roff.control("fi", []).to_writer(&mut page)?;
    }
    fs::write(target.join(man.get_filename()), page)
}
