//! `completions` and `man`, from the definition of the command line. `make install` calls them.

use clap::CommandFactory;
use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

use crate::arguments::{Arguments, CompletingShell, Completions, Man};
use crate::failure::Failure;
use crate::output::Output;

/// Prints the script that completes command lines of `cairn`.
pub(super) fn completions(arguments: &Completions) -> Result<(), Failure> {
    let mut command = Arguments::command();
    let mut output = Output::stdout()?;
    let out = output.buffer();
    match arguments.shell {
        CompletingShell::Bash => generate(Bash, &mut command, "cairn", out),
        CompletingShell::Zsh => generate(Zsh, &mut command, "cairn", out),
        CompletingShell::Fish => generate(Fish, &mut command, "cairn", out),
    }
    output.finish()
}

/// Writes the manual pages.
pub(super) fn man(arguments: &Man) -> Result<(), Failure> {
    let target = &arguments.target;
    clap_mangen::generate_to(Arguments::command(), target).map_err(|error| {
        let target = target.display();
        Failure::Other(format!("the pages cannot be written to {target}: {error}"))
    })
}
