//! The engines: `CairnDB` as its adapter has it, each with one lie.

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine};
use bench_core::fault::Fault;
use bench_core::runner;
use bench_core::settings::Settings;
use db_bench::{Extra, Run};
use engine_cairndb::Cairn;

use crate::lie::Lie;
use crate::store::LiarStore;

const fn extra(name: &'static str, run: Run) -> Extra {
    Extra { name, run }
}

/// Every liar.
pub(crate) const ALL: &[Extra] = &[
    extra("drops_keys", |plan, emit| {
        runner::run(&Liar(Lie::DropsKeys), plan, emit)
    }),
    extra("flips_bytes", |plan, emit| {
        runner::run(&Liar(Lie::FlipsBytes), plan, emit)
    }),
    extra("acknowledges_first", |plan, emit| {
        runner::run(&Liar(Lie::AcknowledgesFirst), plan, emit)
    }),
    extra("loses_compacting", |plan, emit| {
        runner::run(&Liar(Lie::LosesCompacting), plan, emit)
    }),
    extra("skips_sync", |plan, emit| {
        runner::run(&Liar(Lie::SkipsSync), plan, emit)
    }),
    extra("ignores_memory", |plan, emit| {
        runner::run(&Liar(Lie::IgnoresMemory), plan, emit)
    }),
    extra("crashes", |plan, emit| {
        runner::run(&Liar(Lie::Crashes), plan, emit)
    }),
    extra("crashes_once", |plan, emit| {
        runner::run(&Liar(Lie::CrashesOnce), plan, emit)
    }),
    extra("crashes_closing", |plan, emit| {
        runner::run(&Liar(Lie::CrashesClosing), plan, emit)
    }),
    extra("crashes_after_error", |plan, emit| {
        runner::run(&Liar(Lie::CrashesAfterError), plan, emit)
    }),
    extra("lingers", |plan, emit| {
        runner::run(&Liar(Lie::Lingers), plan, emit)?;
        loop {
            std::thread::park();
        }
    }),
];

/// An engine with a lie.
#[derive(Clone, Copy, Debug)]
struct Liar(Lie);

impl Engine for Liar {
    type Store = LiarStore;

    fn name(&self) -> &'static str {
        match self.0 {
            Lie::DropsKeys => "drops_keys",
            Lie::FlipsBytes => "flips_bytes",
            Lie::AcknowledgesFirst => "acknowledges_first",
            Lie::LosesCompacting => "loses_compacting",
            Lie::SkipsSync => "skips_sync",
            Lie::IgnoresMemory => "ignores_memory",
            Lie::Crashes => "crashes",
            Lie::CrashesOnce => "crashes_once",
            Lie::CrashesClosing => "crashes_closing",
            Lie::CrashesAfterError => "crashes_after_error",
            Lie::Lingers => "lingers",
        }
    }

    fn title(&self) -> &'static str {
        "Liar"
    }

    fn version(&self) -> String {
        Cairn.version()
    }

    fn capabilities(&self) -> Capabilities {
        Cairn.capabilities()
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<LiarStore, Fault> {
        let durability = match self.0 {
            Lie::SkipsSync => Durability::Os,
            _ => settings.durability,
        };
        let settings = Settings {
            durability,
            ..*settings
        };
        Ok(LiarStore::new(self.0, dir, Cairn.open(dir, &settings)?))
    }
}
