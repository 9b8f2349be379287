//! `db_bench` with Bf-Tree in addition to its own engines.

use std::process::ExitCode;

use bench_core::engine::Engine as _;
use bench_core::measure::runner;
use db_bench::Extra;
use peer_bftree::BfTree;

fn main() -> ExitCode {
    db_bench::main(&[Extra {
        name: "bftree",
        version: || BfTree.version(),
        run: |plan, emit| runner::run(&BfTree, plan, emit),
    }])
}
