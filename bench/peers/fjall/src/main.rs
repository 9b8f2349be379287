//! `db_bench` with fjall in addition to its own engines.

use std::process::ExitCode;

use bench_core::engine::Engine as _;
use bench_core::measure::runner;
use db_bench::Extra;
use peer_fjall::Fjall;

fn main() -> ExitCode {
    db_bench::main(&[Extra {
        name: "fjall",
        version: || Fjall.version(),
        run: |plan, emit| runner::run(&Fjall, plan, emit),
    }])
}
