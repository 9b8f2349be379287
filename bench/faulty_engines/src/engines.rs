//! The engines: `CairnDB` through its adapter, each with one defect.

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine};
use bench_core::fault::Fault;
use bench_core::measure::runner;
use bench_core::workload::settings::Settings;
use db_bench::{Extra, Run};
use engine_cairndb::Cairn;

use crate::defect::Defect;
use crate::store::FaultyStore;

const fn extra(name: &'static str, run: Run) -> Extra {
    Extra { name, run }
}

/// Every faulty engine.
pub(crate) const ALL: &[Extra] = &[
    extra("drops_keys", |plan, emit| {
        runner::run(&FaultyEngine(Defect::DropsKeys), plan, emit)
    }),
    extra("flips_bytes", |plan, emit| {
        runner::run(&FaultyEngine(Defect::FlipsBytes), plan, emit)
    }),
    extra("acknowledges_first", |plan, emit| {
        runner::run(&FaultyEngine(Defect::AcknowledgesFirst), plan, emit)
    }),
    extra("loses_compacting", |plan, emit| {
        runner::run(&FaultyEngine(Defect::LosesCompacting), plan, emit)
    }),
    extra("skips_sync", |plan, emit| {
        runner::run(&FaultyEngine(Defect::SkipsSync), plan, emit)
    }),
    extra("ignores_memory", |plan, emit| {
        runner::run(&FaultyEngine(Defect::IgnoresMemory), plan, emit)
    }),
    extra("crashes", |plan, emit| {
        runner::run(&FaultyEngine(Defect::Crashes), plan, emit)
    }),
    extra("crashes_once", |plan, emit| {
        runner::run(&FaultyEngine(Defect::CrashesOnce), plan, emit)
    }),
    extra("crashes_closing", |plan, emit| {
        runner::run(&FaultyEngine(Defect::CrashesClosing), plan, emit)
    }),
    extra("crashes_after_error", |plan, emit| {
        runner::run(&FaultyEngine(Defect::CrashesAfterError), plan, emit)
    }),
    extra("lingers", |plan, emit| {
        runner::run(&FaultyEngine(Defect::Lingers), plan, emit)?;
        loop {
            std::thread::park();
        }
    }),
];

/// An engine with a defect.
#[derive(Clone, Copy, Debug)]
struct FaultyEngine(Defect);

impl Engine for FaultyEngine {
    type Store = FaultyStore;

    fn name(&self) -> &'static str {
        match self.0 {
            Defect::DropsKeys => "drops_keys",
            Defect::FlipsBytes => "flips_bytes",
            Defect::AcknowledgesFirst => "acknowledges_first",
            Defect::LosesCompacting => "loses_compacting",
            Defect::SkipsSync => "skips_sync",
            Defect::IgnoresMemory => "ignores_memory",
            Defect::Crashes => "crashes",
            Defect::CrashesOnce => "crashes_once",
            Defect::CrashesClosing => "crashes_closing",
            Defect::CrashesAfterError => "crashes_after_error",
            Defect::Lingers => "lingers",
        }
    }

    fn title(&self) -> &'static str {
        "Faulty"
    }

    fn version(&self) -> String {
        Cairn.version()
    }

    fn capabilities(&self) -> Capabilities {
        Cairn.capabilities()
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<FaultyStore, Fault> {
        let durability = match self.0 {
            Defect::SkipsSync => Durability::Os,
            _ => settings.durability,
        };
        let settings = Settings {
            durability,
            ..*settings
        };
        Ok(FaultyStore::new(self.0, dir, Cairn.open(dir, &settings)?))
    }
}
