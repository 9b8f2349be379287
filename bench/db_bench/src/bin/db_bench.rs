//! The program: its library, with the engines that everybody has.

use std::process::ExitCode;

fn main() -> ExitCode {
    db_bench::main(&[])
}
