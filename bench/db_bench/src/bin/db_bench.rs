//! The program: the library with the usual engines.

use std::process::ExitCode;

fn main() -> ExitCode {
    db_bench::main(&[])
}
