//! `db_bench` with faulty engines: the tests of this package run it as users run `db_bench`, and
//! check that each defect fails the row in which it shows.

mod defect;
mod engines;
mod session;
mod shared;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    db_bench::main(engines::ALL)
}
