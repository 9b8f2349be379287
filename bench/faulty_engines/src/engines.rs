//! The engines: `CairnDB` through its adapter, each with one defect.

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine};
use bench_core::fault::Fault;
use bench_core::measure::runner::{self, Event};
use bench_core::workload::plan::Plan;
use bench_core::workload::settings::Settings;
use db_bench::Extra;
use engine_cairndb::Cairn;

use crate::defect::Defect;
use crate::store::FaultyStore;

macro_rules! engines {
    ($($name:literal: $defect:ident,)*) => {
        /// Every faulty engine.
        pub(crate) const ALL: &[Extra] = &[$(Extra {
                version: || env!("CARGO_PKG_VERSION").to_owned(),
            name: $name,
            run: |plan, emit| FaultyEngine($name, Defect::$defect).run(plan, emit),
        },)*];
    };
}

engines! {
    "drops_keys": DropsKeys,
    "flips_bytes": FlipsBytes,
    "acknowledges_first": AcknowledgesFirst,
    "loses_compacting": LosesCompacting,
    "skips_sync": SkipsSync,
    "ignores_memory": IgnoresMemory,
    "crashes": Crashes,
    "crashes_once": CrashesOnce,
    "crashes_closing": CrashesClosing,
    "crashes_after_error": CrashesAfterError,
    "lingers": Lingers,
}

/// An engine with a defect.
#[derive(Clone, Copy, Debug)]
struct FaultyEngine(&'static str, Defect);

impl FaultyEngine {
    fn run(self, plan: &Plan, emit: &mut dyn FnMut(Event)) -> Result<(), Fault> {
        runner::run(&self, plan, emit)?;
        if self.1 != Defect::Lingers {
            return Ok(());
        }
        loop {
            std::thread::park();
        }
    }
}

impl Engine for FaultyEngine {
    type Store = FaultyStore;

    fn name(&self) -> &'static str {
        self.0
    }

    fn title(&self) -> &'static str {
        "Faulty"
    }

    fn capabilities(&self) -> Capabilities {
        Cairn.capabilities()
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<FaultyStore, Fault> {
        let durability = match self.1 {
            Defect::SkipsSync => Durability::Os,
            _ => settings.durability,
        };
        let settings = Settings {
            durability,
            ..*settings
        };
        Ok(FaultyStore::new(self.1, dir, Cairn.open(dir, &settings)?))
    }
}
