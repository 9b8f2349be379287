//! What other programs call the commands: an unknown name is answered with the command that does
//! it.

/// Names elsewhere, and what does the same here.
const NAMES: &str = "\
ls list keys: `scan --keys-only` prints the keys
values: `scan --values-only` prints the values
iterate range query cat show print: `scan` prints entries, and `get` a value
info status size du stat properties: `stats` prints what the database takes
set insert add write update: `put` sets the value of a key
read find lookup fetch: `get` prints the value of a key
rm del remove unset: `delete` deletes keys, and `destroy` a database
drop erase clear: `destroy` removes a database
new create init open: `put --create` creates a database
snapshot clone branch: `fork` makes a database that shares files
replicate archive: `backup` copies what is written to another place
feed cdc tail follow: `changes` prints what is written, as it is written
compare: `diff` prints the keys whose values differ
undump: `load` reads the stream of `dump`
check fsck validate scrub: `verify` reads everything and checks it
recover fix: `repair` writes what is intact into a new database
vacuum gc optimize flush: `compact` removes what is deleted from the files
convert migrate: `upgrade` converts a LevelDB database
columns families cf namespaces: `keyspaces` prints the names of the keyspaces
sst sstable files wal: `tables`, `log` and `manifest` print the files
repl cli console batch: `shell` reads commands from a prompt or a script";

/// Returns each name elsewhere, and what does the same here.
fn answers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = NAMES
        .lines()
        .map(|row| row.split_once(": ").unwrap_or_default());
    rows.flat_map(|(names, answer)| names.split(' ').map(move |name| (name, answer)))
}

/// Returns what does here what another program calls `name`.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    answers().find_map(|(known, answer)| (known == name).then_some(answer))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_answer_names_a_command_and_no_name_is_one() {
        let definition = Arguments::command();
        for (name, answer) in answers() {
            let command = answer.split(['`', ' ']).nth(1).expect("a command");
            assert!(definition.find_subcommand(command).is_some(), "{answer}");
            assert!(definition.find_subcommand(name).is_none(), "{name}");
            assert_eq!(elsewhere(name), Some(answer), "{name} is there twice");
        }
        assert_eq!(elsewhere("look"), None);
    }
}
