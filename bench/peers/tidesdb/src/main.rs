//! `db_bench` with `TidesDB` in addition to its own engines.

use std::process::ExitCode;

use bench_core::engine::Engine as _;
use bench_core::measure::runner;
use db_bench::Extra;
use peer_tidesdb::TidesDb;

fn main() -> ExitCode {
    db_bench::main(&[Extra {
        name: "tidesdb",
        version: || TidesDb.version(),
        run: |plan, emit| runner::run(&TidesDb, plan, emit),
    }])
}
