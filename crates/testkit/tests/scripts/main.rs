//! Recovery on the scripts in `testdata/scripts/recovery`.
//!
//! A script works on one simulated machine, with at most one database open. Errors of the database
//! are output; the order of syncs is checked after each command.
//!
//! ```text
//! open [dir=PATH] [read-only] [point-in-time] [must-exist] [reverse] [budget=N] [value-file=N]
//!                             opens; prints the report, after an error whether anything changed
//! write [none|os|sync]        a write for each line of input: `put KEY VALUE`, `delete KEY`,
//!                             `merge KEY VALUE`, `fill PREFIX COUNT VALUE`
//! batch [none|os|sync]        the same as one batch
//! flush, sync, compact, close, checkpoint PATH
//!                             the call of that name
//! step JOB                    runs `flush`, `compact`, `idle-compact`, `persist`, `reap` or
//!                             `drop-values` until it has nothing to do; prints how often
//! snapshot NAME               takes one
//! get [snapshot=NAME]         the values of the keys in the input
//! scan [snapshot=NAME]        all entries; neighbours with the same value are one line
//! crash kill                  ends the process
//! crash power [ordered] [keep=WHICH] [fill=WHAT]
//!                             ends the machine; without `keep` all is lost that was not synced
//! fault KIND:NAME full|io [after=N] [sticky]
//!                             makes an operation fail
//! heal                        no more of that
//! ls, size FILE, log FILE     names of files; a length; the records of a log segment
//! corrupt FILE OFFSET [xor=N], truncate FILE BYTES, remove FILE, copy FILE TO, create FILE TEXT
//!                             tampers with files
//! ```
//!
//! Every command of the database takes `stop=KIND:NAME[#N]`: the machine stops before the `N`th
//! such operation that changes something, and the next command is `crash`. In values `9000*a` is
//! a letter repeated, and `+` joins parts.

#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

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
