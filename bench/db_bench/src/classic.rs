//! The classic mode: one list over each engine, LevelDB's lines on stdout.

use std::collections::BTreeSet;

use bench_core::record::Status;
use bench_core::runner::Event;

use crate::config::Config;
use crate::machine::Machine;
use crate::output::{Json, print, tell};
use crate::supervise::{self, Ending};

/// Runs the list; gives whether everything asked for was there and right.
pub(crate) fn run(config: &Config) -> Result<bool, String> {
    let machine = Machine::here(&config.base);
    let mut json = Json::create(config.json.as_deref(), &machine)?;
    let several = config.engines.len() > 1 || config.rounds > 1;
    let mut absent = BTreeSet::new();
    let mut good = true;
    for round in 1..=config.rounds {
        for engine in config.rotated(round) {
            if absent.contains(&engine) {
                continue;
            }
            if several {
                print(&format!(
                    "Engine:     {engine} (round {round} of {})\n",
                    config.rounds
                ));
            }
            let mut trouble = None;
            let ending = supervise::run(
                &config.plan_for(&engine, round),
                config.row_timeout,
                &mut |event| match event {
                    Event::Engine {
                        title,
                        version,
                        options,
                    } => {
                        tell(&machine.header(&title, &version));
                        let shown: Vec<String> = options
                            .iter()
                            .map(|(name, value)| format!("{name}={value}"))
                            .collect();
                        tell(&format!("Options:    {}\n", shown.join(" ")));
                    }
                    Event::Text(text) => print(&text),
                    Event::Note(text) => tell(&text),
                    Event::Row { text, record } => {
                        print(&text);
                        tell(&cost(&record));
                        good &= record.status != Status::Failed;
                        trouble = trouble.take().or(json.row(&record).err());
                    }
                    Event::Begin(_) | Event::Unavailable(_) | Event::Broken(_) | Event::End => {}
                },
            );
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            match ending {
                Ending::Complete => {}
                Ending::Unavailable(reason) => {
                    tell(&format!("{engine}: {reason}\n"));
                    good &= !config.named;
                    absent.insert(engine);
                }
                Ending::Broken(reason) => {
                    tell(&format!("open error: {reason}\n"));
                    good = false;
                }
            }
        }
    }
    Ok(good)
}

/// What a writing row cost beside its time, as one line for stderr; nothing for other rows.
#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn cost(record: &bench_core::record::Record) -> String {
    let mut parts = Vec::new();
    if let Some(settle) = record.settle_ns {
        parts.push(format!("quiet after {:.3} s", settle as f64 * 1e-9));
    }
    if let Some(disk) = record.disk_bytes {
        parts.push(format!("{disk} bytes on disk"));
    }
    let raw = record.user_bytes.filter(|&bytes| bytes > 0);
    for (who, written) in [
        ("engine", record.engine_write_bytes),
        ("kernel", record.io_write_bytes),
    ] {
        if let (Some(written), Some(raw)) = (written, raw) {
            parts.push(format!(
                "{:.2}x written ({who})",
                written as f64 / raw as f64
            ));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    if let Some(peak) = record.anon_rss_peak {
        parts.push(format!(
            "{:.1} MB anonymous at most",
            peak as f64 / 1_048_576.0
        ));
    }
    format!("{:12}   {}\n", "", parts.join(", "))
}
