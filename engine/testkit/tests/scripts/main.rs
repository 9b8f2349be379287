//! Recovery tests that run the scripts in `testdata/scripts/recovery`.
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

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod machine;
mod stop;
mod tamper;
mod text;

use std::path::Path;

use cairndb_scripts::{Command, run_folder};

use machine::Machine;

#[test]
fn recovery_does_what_the_scripts_expect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_folder(&root.join("../../testdata/scripts/recovery"), || {
        let mut machine = Machine::new();
        move |command: &mut Command| machine.run(command)
    });
}
