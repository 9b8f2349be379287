//! `db_bench` with engines that lie: the tests of this package run it as users run `db_bench`, and
//! look whether each lie fails the row it was told in.

mod defect;
mod engines;
mod session;
mod shared;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    db_bench::main(engines::ALL)
}
