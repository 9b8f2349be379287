//! The commands, one function each.

mod copy;
mod generate;
mod inspect;
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

use crate::arguments::Command;
use crate::failure::Failure;

/// Carries out a command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Get(arguments) => read::get(arguments),
        Command::Scan(arguments) => read::scan(arguments),
        Command::Count(arguments) => read::count(arguments),
        Command::Put(arguments) => write::put(arguments),
        Command::Delete(arguments) => write::delete(arguments),
        Command::Stats(arguments) => stats::stats(arguments),
        Command::Tables(arguments) => inspect::tables(arguments),
        Command::Log(arguments) => inspect::log(arguments),
        Command::Manifest(arguments) => inspect::manifest(arguments),
        Command::Verify(arguments) => whole::verify(arguments),
        Command::Repair(arguments) => repair::repair(arguments),
        Command::Compact(arguments) => whole::compact(arguments),
        Command::Checkpoint(arguments) => whole::checkpoint(arguments),
        Command::Destroy(arguments) => whole::destroy(arguments),
        Command::Dump(arguments) => transfer::dump(arguments),
        Command::Load(arguments) => transfer::load(arguments),
        Command::Export(arguments) => transfer::export(arguments),
        Command::Import(arguments) => transfer::import(arguments),
        Command::Copy(arguments) => copy::copy(arguments),
        // The program opens the shell, which carries out all other commands here.
        Command::Shell(_) => Err(Failure::Usage("the shell is open already".to_owned())),
        Command::Completions(arguments) => generate::completions(arguments),
        Command::Man(arguments) => generate::man(arguments),
        Command::Upgrade(arguments) => upgrade::upgrade(arguments),
    }
}
