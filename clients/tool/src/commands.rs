//! The commands, a function each.

mod backup;
mod changes;
mod copy;
mod diff;
mod generate;
mod keyspaces;
mod leveldb;
mod originals;
mod read;
mod repair;
mod stats;
mod stores;
mod transfer;
mod upgrade;
mod whole;
mod write;

use std::path::Path;

use crate::arguments::Command;
use crate::failure::{Code, Failure, Result};
use crate::inspect::{Part, Style, print};
use crate::progress::interrupt;
use transfer::given;

/// Carries out a command.
pub(crate) fn run(command: &Command) -> Result<()> {
    let Some(left) = left_by_interrupt(command) else {
        return carry_out(command);
    };
    let _catch = interrupt::catch();
    carry_out(command).map_err(|failure| match failure.code() {
        Code::Interrupted => Failure::interrupted(left),
        _ => failure,
    })
}

/// Returns what Ctrl-C leaves of a long command; `None` of one that it may end at any point.
fn left_by_interrupt(command: &Command) -> Option<&'static str> {
    let again = [
        "run it again to continue",
        "run it again without --restart to continue",
    ];
    let continues = |restart| again[usize::from(restart)];
    Some(match command {
        Command::Verify(_) | Command::VerifyBackup(_) => "nothing was changed",
        Command::Repair(_) => "there is no new database; run it again to begin again",
        Command::Fork(_) => "there is no fork; run it again to begin again",
        Command::Backup(_) => "run it again to continue",
        Command::Restore(_) => "there is no database; run it again to begin again",
        Command::Prune(_) => "run it again to remove the rest",
        Command::Changes(changes) if changes.lease.is_some() => "run it again to continue",
        Command::Changes(_) => "`--after` with the last place continues",
        Command::Compact(_) => "what is compacted stays so; run it again to continue",
        Command::Upgrade(_) => "the database is whole; run it again to convert it",
        Command::Load(load) => continues(load.resume.restart),
        Command::Import(import) => continues(import.resume.restart),
        Command::Copy(copy) => continues(copy.restart),
        Command::Dump(dump) if is_made(dump.file.as_deref()) => continues(dump.resume.restart),
        Command::Export(export) if is_made(export.target.as_deref()) => {
            continues(export.resume.restart)
        }
        _ => return None,
    })
}

/// Returns whether a target is a file or directory that a command makes, and can continue.
fn is_made(target: Option<&Path>) -> bool {
    given(target).is_some_and(|path| !path.exists() || path.is_file() || path.is_dir())
}

fn carry_out(command: &Command) -> Result<()> {
    match command {
        Command::Get(arguments) => read::get(arguments),
        Command::Scan(arguments) => read::scan(arguments),
        Command::Count(arguments) => read::count(arguments),
        Command::Put(arguments) => write::put(arguments),
        Command::Delete(arguments) => write::delete(arguments),
        Command::Stats(arguments) => stats::stats(arguments),
        Command::Keyspaces(arguments) => keyspaces::list(arguments),
        Command::CreateKeyspace(arguments) => keyspaces::create(arguments),
        Command::DropKeyspace(arguments) => keyspaces::drop(arguments),
        Command::Tables(it) => {
            let style = Style::new(it.coding, it.json, it.entries);
            print(Part::Tables, &it.directory, it.file.as_deref(), style)
        }
        Command::Log(it) => {
            let style = Style::new(it.coding, it.json, it.entries);
            print(Part::Log, &it.directory, it.file.as_deref(), style)
        }
        Command::Manifest(it) => {
            let style = Style::new(it.coding, it.json, false);
            print(Part::Manifest, &it.directory, it.file.as_deref(), style)
        }
        Command::Verify(arguments) => whole::verify(arguments),
        Command::Repair(arguments) => repair::repair(arguments),
        Command::Compact(arguments) => whole::compact(arguments),
        Command::Fork(arguments) => whole::fork(arguments),
        Command::Diff(arguments) => diff::diff(arguments),
        Command::Changes(arguments) => changes::changes(arguments),
        Command::Leases(arguments) => changes::leases::list(arguments),
        Command::DropLease(arguments) => changes::leases::drop(arguments),
        Command::Backup(arguments) => backup::backup(arguments),
        Command::Restore(arguments) => backup::restore(arguments),
        Command::Backups(arguments) => backup::backups(arguments),
        Command::VerifyBackup(arguments) => backup::verify(arguments),
        Command::Prune(arguments) => backup::prune(arguments),
        Command::Destroy(arguments) => whole::destroy(arguments),
        Command::Dump(arguments) => transfer::dump(arguments),
        Command::Load(arguments) => transfer::load(arguments),
        Command::Export(arguments) => transfer::export(arguments),
        Command::Import(arguments) => transfer::import(arguments),
        Command::Copy(arguments) => copy::copy(arguments),
        // The program opens the shell, which carries out all other commands here.
        Command::Shell(_) => Err(Failure::usage("the shell is open already")),
        Command::Completions(arguments) => generate::completions(arguments),
        Command::Man(arguments) => generate::man(arguments),
        Command::Upgrade(arguments) => upgrade::upgrade(arguments),
    }
}
