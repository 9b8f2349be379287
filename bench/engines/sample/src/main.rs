//! `db_bench` with the sample engine in addition to its own engines.

use std::process::ExitCode;

use bench_core::engine::Engine as _;
use bench_core::measure::runner;
use db_bench::Extra;
use engine_sample::Sample;

fn main() -> ExitCode {
    db_bench::main(&[Extra {
        name: "sample",
        version: || Sample.version(),
        run: |plan, emit| runner::run(&Sample, plan, emit),
    }])
}
