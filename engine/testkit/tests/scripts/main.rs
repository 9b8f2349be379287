//! Tests that run the scripts in `testdata/scripts/recovery` and `testdata/scripts/upkeep`.
//!
//! A script runs on one simulated machine, with at most one open database. Errors of the database
//! are printed; the sync order is checked after each command.
//!
//! ```text
//! open [dir=PATH] [read-only] [point-in-time] [must-exist] [reverse] [budget=N] [value-file=N]
//!                             opens the database; prints the report, or the error and whether
//!                             anything changed
//! write [none|os|sync]        one write per line of input: `put KEY VALUE`, `delete KEY`,
//!                             `merge KEY VALUE`, `fill PREFIX COUNT VALUE`
//! batch [none|os|sync]        writes the same lines as one batch
//! flush, sync, compact, close, checkpoint PATH
//!                             calls the function of the same name
//! step JOB                    runs `flush`, `compact`, `idle-compact`, `persist`, `reap` or
//!                             `drop-values` until no work is left; prints the number of calls
//! snapshot NAME               takes a snapshot
//! get [snapshot=NAME]         prints the values of the keys in the input
//! scan [snapshot=NAME]        prints all entries; neighbours with the same value share a line
//! crash kill                  kills the process
//! crash power [ordered] [keep=WHICH] [fill=WHAT]
//!                             cuts the power; without `keep`, everything unsynced is lost
//! fault KIND:NAME full|io [after=N] [sticky]
//!                             makes an operation fail
//! heal                        removes the faults
//! ls, size FILE, log FILE     prints file names, a file length, the records of a log segment
//! corrupt FILE OFFSET [xor=N], truncate FILE BYTES, remove FILE, copy FILE TO, create FILE TEXT
//!                             tampers with files
//! ```
//!
//! Every command of the database takes `stop=KIND:NAME[#N]`: the machine stops before the `N`th
//! such operation that changes something, and the next command must be `crash`. In values, `9000*a`
//! is a repeated letter, and `+` joins parts.
//!
//! The scripts in `upkeep` state conditions instead of outputs. Each is a list of commands
//!
//! ```text
//! test NAME [threads] [seed=N]
//! LINES
//! ----
//! ```
//!
//! which run the lines on a new machine. A line fails the test if it returns an error. It is one of
//! the commands above, or
//!
//! ```text
//! put KEYS VALUE [none|os|sync] [batch] [every=N], merge KEYS VALUE ..., delete KEYS ...
//!                             writes the keys, and runs the indented lines after every N of them
//! reopen [...]                closes the database, if open, and opens it with its last options
//! read [KEYS] [of=NAME] [forward|backward]
//!                             gets the keys, or gets and scans everything, and compares it with
//!                             what was written before the snapshot or cursor NAME was taken
//! cursor NAME, release NAME   takes a cursor; drops a cursor or snapshot
//! move NAME first|last|next|prev|seek:KEY|seek-for-prev:KEY KEY|end
//!                             moves a cursor, `new` for a new one; checks where it is
//! step JOB ... [times=N] [despite-failures]
//!                             runs each job as often as asked
//! idle, verify, compact A..B  waits for all work, verifies, compacts a range
//! tick NS, capacity FIGURE    advances the clock; limits the length of all files until `heal`
//! corrupt first|middle|last.END OFFSET
//!                             damages a file, `damaged` in the TEXT below
//! check CONDITION, ...        fails unless `FIGURE <= 1.2*FIGURE + 64K` (or <, >, >=, =)
//! wait CONDITION              waits for another thread to make it true
//! let NAME = FIGURE, count NAME if CONDITION
//!                             names a figure, counts how often a condition holds
//! fails KIND[:TEXT] LINE      fails unless the line returns this error, whose text has TEXT
//! for X,Y in A,B C,D          runs the indented lines with each pair instead of `{X}` and `{Y}`
//! crashes [seed=N] [max=N]    runs the indented lines in states that a power failure may leave
//! fresh [threads] [seed=N]    starts a new machine
//! ```
//!
//! `KEYS` is a key or `A..B` with numbers, which are eight digits long, both after any prefix that
//! ends in `:`; also `step=N` for each Nth, `except=N` for all but those, and `scatter=N [times=N]`
//! for another order: the Nth multiple. `VALUE` is as above or `noise:LEN`, `record` (shrinks with
//! others) or `prose` (20 KB, shrinks alone, but for one in seven).
//!
//! Figures are the fields of `cairndb.stats`, `PROPERTY.FIELD` of other properties, `disk` (all
//! files), `values` (value files), `files` and `files.END` (their number), `live` (values that were
//! written and are not dead), `keys`, `size.A..B`, `steps` and `failures` (of the last `step`),
//! `clean`, `comparisons` (since the figure was last read, after `open counting`).

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod figures;
mod machine;
mod reads;
mod steps;
mod stop;
mod tamper;
mod text;
mod writes;

use std::path::Path;

use cairndb_scripts::{Command, run_folder};

use machine::Machine;

fn run(folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_folder(&root.join("../../testdata/scripts").join(folder), || {
        let mut machine = Machine::new();
        move |command: &mut Command| machine.run(command)
    });
}

#[test]
fn recovery_does_what_the_scripts_expect() {
    run("recovery");
}

#[test]
fn upkeep_keeps_what_the_scripts_state() {
    run("upkeep");
}
