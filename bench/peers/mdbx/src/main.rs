//! `db_bench` with libmdbx in addition to its own engines.

use std::process::ExitCode;

use bench_core::engine::Engine as _;
use bench_core::measure::runner;
use db_bench::Extra;
use peer_mdbx::Mdbx;

fn main() -> ExitCode {
    db_bench::main(&[Extra {
        name: "mdbx",
        version: || Mdbx.version(),
        run: |plan, emit| runner::run(&Mdbx, plan, emit),
    }])
}
